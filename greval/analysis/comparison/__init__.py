"""Statistical comparison of methods: paired by question, corrected for multiple tests, with detectable differences."""

from greval.analysis.comparison.api import compare
from greval.analysis.comparison.gate import check_gate
from greval.analysis.comparison.records import Comparison, Contrast, GateCheck

__all__ = ["Comparison", "Contrast", "GateCheck", "check_gate", "compare"]
