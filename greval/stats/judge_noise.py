"""The noise of a judge: how far a mean moves if the same judge judges the same cases again."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, variance
from typing import NamedTuple

from greval.records.scale import NumberRange
from greval.stats.interval import find_student_quantile

ERROR_RATE = 0.05
"""The probability that noise alone moves a mean by more than its tolerance."""


class VerdictNoise(NamedTuple):
    """The variance of one verdict on the same item, its degrees of freedom, and the width of the scale."""

    variance: float
    degrees: int
    width: float


def estimate_noise(verdicts: Sequence[Sequence[float]], ends: NumberRange | None) -> VerdictNoise | None:
    """Estimate the noise from the repeated verdicts on each item, None if none was repeated or the scale has no ends.

    It is the mean of the variances of the items, as if one more verdict had flipped by the whole width of the scale:
    repeats without a flip do not rule one out (Laplace's rule of succession).
    """
    repeated = [numbers for numbers in verdicts if len(numbers) > 1]
    if not repeated or ends is None or ends.high is None:
        return None
    repeats = fmean(map(len, repeated))
    width = ends.high - ends.low
    mean = (sum(map(variance, repeated)) + width**2 / repeats) / len(repeated)
    return VerdictNoise(mean, sum(len(numbers) - 1 for numbers in repeated), width)


def compute_tolerance(noise: VerdictNoise, counts: Sequence[float], *, error_rate: float = ERROR_RATE) -> float:
    """Return by how much noise moves a mean, or the difference of two, in one direction with a probability.

    It is Student's quantile of the standard error, and half of what one flip moves: means of few flips go in steps.

    Args:
        noise: The noise of one verdict.
        counts: The number of verdicts that each mean is of; two for a difference.
        error_rate: The probability that noise alone moves it further.
    """
    error = sqrt(noise.variance * sum(1 / count for count in counts))
    return -find_student_quantile(noise.degrees, error_rate) * error + noise.width / (2 * min(counts))
