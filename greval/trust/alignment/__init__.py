"""Improving a metric from its disagreements with people, told honestly: on questions that it did not learn from."""

from greval.trust.alignment.api import align, align_async
from greval.trust.alignment.forecast import foresee
from greval.trust.alignment.records import Alignment, Attempt, Foreseen, Gain, Way

__all__ = ["Alignment", "Attempt", "Foreseen", "Gain", "Way", "align", "align_async", "foresee"]
