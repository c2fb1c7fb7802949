"""Statistical comparison of methods: paired by question, corrected for multiple tests, with detectable differences."""

from greval.analysis.comparison.api import compare
from greval.analysis.comparison.gate import check
from greval.analysis.comparison.records import Check, Comparison, Contrast

__all__ = ["Check", "Comparison", "Contrast", "check", "compare"]
