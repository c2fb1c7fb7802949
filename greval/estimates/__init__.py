"""Estimates that carry the judge's error: what people would say of all judged things, from labels of some."""

from greval.estimates.estimating import estimate
from greval.estimates.records import Estimate, EstimateRow, Figure

__all__ = ["Estimate", "EstimateRow", "Figure", "estimate"]
