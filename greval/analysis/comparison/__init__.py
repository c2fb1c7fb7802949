"""Comparison of methods with honest statistics: paired by question, corrected, and clear about what is not seen."""

from greval.analysis.comparison.api import compare
from greval.analysis.comparison.gate import check
from greval.analysis.comparison.records import Check, Comparison, Contrast

__all__ = ["Check", "Comparison", "Contrast", "check", "compare"]
