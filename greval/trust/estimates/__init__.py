"""Estimates that correct for the judge's error: what people would say of all judged items, from labels of some."""

from greval.trust.estimates.api import estimate
from greval.trust.estimates.records import Estimate, EstimateFigure, EstimateRow

__all__ = ["Estimate", "EstimateFigure", "EstimateRow", "estimate"]
