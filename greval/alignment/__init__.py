"""Improving a metric from its disagreements with people, told honestly: on questions that it did not learn from."""

from greval.alignment.aligning import align, align_async
from greval.alignment.foreseeing import foresee
from greval.alignment.records import Alignment, Attempt, Foreseen, Gain, Way

__all__ = ["Alignment", "Attempt", "Foreseen", "Gain", "Way", "align", "align_async", "foresee"]
