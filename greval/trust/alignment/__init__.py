"""Improve a metric from its disagreements with people, and measure the gain on questions held out from learning."""

from greval.trust.alignment.api import align, align_async
from greval.trust.alignment.forecast import forecast_align
from greval.trust.alignment.records import AgreementGain, AlignAttempt, Alignment, AlignmentForecast, AlignStrategy

__all__ = [
    "AgreementGain",
    "AlignAttempt",
    "AlignStrategy",
    "Alignment",
    "AlignmentForecast",
    "align",
    "align_async",
    "forecast_align",
]
