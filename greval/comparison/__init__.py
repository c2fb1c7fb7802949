"""Comparison of methods with honest statistics: paired by question, corrected, and clear about what is not seen."""

from greval.comparison.comparing import compare
from greval.comparison.gate import check
from greval.comparison.records import Check, Comparison, Contrast

__all__ = ["Check", "Comparison", "Contrast", "check", "compare"]
