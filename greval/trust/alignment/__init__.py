"""Improve a metric from its disagreements with people, and measure the gain on questions held out from learning."""

from greval.trust.alignment.api import align, align_async
from greval.trust.alignment.forecast import foresee
from greval.trust.alignment.records import Alignment, Attempt, Foreseen, Gain, Way

__all__ = ["Alignment", "Attempt", "Foreseen", "Gain", "Way", "align", "align_async", "foresee"]
