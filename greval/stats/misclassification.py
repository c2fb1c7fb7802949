"""The Rogan-Gladen estimate: a rate from the judge's rate of yes, corrected for its sensitivity and specificity."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, sqrt
from typing import NamedTuple

import numpy as np

from greval.stats.bootstrap import Floats
from greval.stats.interval import Undefined
from greval.stats.prediction_powered import EstimateTerm, bound_unit_errors, compute_jackknife_totals, weighted_mean
from greval.stats.sampling import EstimateSpread, WeightedSample


class JudgeRates(NamedTuple):
    """The judge's rate of yes if people say yes (sensitivity), and of no if people say no (specificity)."""

    sensitivity: float
    specificity: float

    @property
    def gain(self) -> float:
        """Youden's J: 1 for a judge without error, 0 for chance."""
        return self.sensitivity + self.specificity - 1


class CorrectedRate(NamedTuple):
    """A rate corrected for the judge's errors; `low` and `high` are the ends of its interval.

    `bound` is True if the labels showed no error; the interval then is a bound on errors that were not observed.
    """

    value: float
    low: float
    high: float
    rates: tuple[JudgeRates, ...]
    bound: bool = False

    def widen(self, half: float) -> CorrectedRate:
        """Return the estimate with a wider interval, which adds an independent error with the given half-width.

        Source:
            Zou and Donner, "Construction of confidence limits about effect measures", Statistics in
            Medicine 2008 (MOVER).
        """
        low, high = hypot(self.value - self.low, half), hypot(self.high - self.value, half)
        return self._replace(low=self.value - low, high=self.value + high)


class _RateEstimate(NamedTuple):
    """One rate: its value, the judge's rates, and the jackknife totals of both rates by unit."""

    value: float
    rates: JudgeRates
    said_yes: Floats
    said_no: Floats


def rogan_gladen(
    drawn: WeightedSample, sides: Sequence[EstimateTerm], labels: Floats, verdicts: Floats, *, level: float
) -> CorrectedRate | Undefined:
    """Estimate a rate, or the difference of two, from the judge's rate of yes and its errors.

    (judged + specificity - 1) / (sensitivity + specificity - 1). Sensitivity and specificity are estimated from the
    labels, weighted by the sampling design, and separately for each method. The interval of a rate is
    Fieller's, that of a difference is from the linearised estimate, both with Student's quantile.

    Returns:
        The estimate, which may be outside 0 to 1; or the reason why it is undefined: labels of one class only, or
        a judge that may be no better than chance.

    Source:
        Rogan and Gladen, American Journal of Epidemiology 1978; Fieller, JRSS B 1954.
    """
    estimates = [_estimate_rate(drawn, side, labels, verdicts) for side in sides]
    if undefined := next((estimate for estimate in estimates if isinstance(estimate, Undefined)), None):
        return undefined
    rates = [estimate for estimate in estimates if not isinstance(estimate, Undefined)]
    ends = [_compute_fieller_limits(drawn, side, estimate, level) for side, estimate in zip(sides, rates, strict=True)]
    if None in ends:
        gains = ", ".join(f"{estimate.rates.gain:.2f}" for estimate in rates)
        why = f"the judge may be no better than chance: sensitivity + specificity - 1 is {gains}, not clearly above 0"
        return Undefined(n=len(labels), reason=why)
    value = sum(side.sign * estimate.value for side, estimate in zip(sides, rates, strict=True))
    spread = _linearise(drawn, sides, rates)
    if len(sides) == 1 and (first := ends[0]):
        return CorrectedRate(value, *first, rates=(rates[0].rates,), bound=spread.bound)
    half = spread.compute_half_width(level)
    return CorrectedRate(value, value - half, value + half, tuple(estimate.rates for estimate in rates), spread.bound)


def _estimate_rate(
    drawn: WeightedSample, side: EstimateTerm, labels: Floats, verdicts: Floats
) -> _RateEstimate | Undefined:
    """Estimate one rate with the terms of its error, or return why it is undefined."""
    yes, no = (EstimateTerm(side.shares * (labels == value), 0.0) for value in (1.0, 0.0))
    if not yes.shares.any() or not no.shares.any():
        reason = f"people gave only {int(yes.shares.any())}: how often the judge is wrong is half unknown"
        return Undefined(n=len(labels), reason=reason)
    rates = JudgeRates(weighted_mean(drawn, [yes], verdicts), 1 - weighted_mean(drawn, [no], verdicts))
    if rates.gain <= 0:
        reason = f"the judge is no better than chance: sensitivity + specificity - 1 is {rates.gain:.2f}"
        return Undefined(n=len(labels), reason=reason)
    value = (side.judged + rates.specificity - 1) / rates.gain
    said_yes, said_no = (compute_jackknife_totals(drawn, [term], verdicts) for term in (yes, no))
    return _RateEstimate(value, rates, said_yes, said_no)


def _linearise(
    drawn: WeightedSample, sides: Sequence[EstimateTerm], estimates: Sequence[_RateEstimate]
) -> EstimateSpread:
    """Compute the variance of the linearised estimate."""
    added, max_errors = np.zeros(drawn.unit_count), np.zeros(drawn.unit_count)
    for side, estimate in zip(sides, estimates, strict=True):
        error = (1 - estimate.value) * estimate.said_no + estimate.value * estimate.said_yes
        added -= side.sign * error / estimate.rates.gain
        max_errors = np.maximum(max_errors, bound_unit_errors(drawn, [side], 1 / estimate.rates.gain))
    return drawn.compute_spread(added, max_errors)


def _compute_fieller_limits(
    drawn: WeightedSample, side: EstimateTerm, estimate: _RateEstimate, level: float
) -> tuple[float, float] | None:
    """Compute Fieller's limits: the rates t at which judged - (1 - t) (1 - specificity) - t sensitivity may be 0.

    The variance of this expression is quadratic in t. Undefined (None) if the gain is not significantly above 0.
    """
    yes, no, t, gain = estimate.said_yes, estimate.said_no, estimate.value, estimate.rates.gain
    of_yes, of_no, both = (drawn.compute_covariance(*pair) for pair in ((yes, yes), (no, no), (yes, no)))
    spread = _linearise(drawn, [side], [estimate])
    observed = (1 - t) ** 2 * of_no + t**2 * of_yes + 2 * t * (1 - t) * both
    # The spread may be a bound on errors that were not observed: all terms get what they lack of it.
    unseen = max(0.0, spread.variance * gain**2 - observed)
    of_yes, of_no, both = of_yes + unseen, of_no + unseen, both + unseen
    square = spread.compute_half_width(level) ** 2 / spread.variance if spread.variance > 0 else 0.0
    start = gain * t
    a = gain**2 - square * (of_yes + of_no - 2 * both)
    b = start * gain - square * (of_no - both)
    root = b**2 - a * (start**2 - square * of_no)
    return ((b - sqrt(root)) / a, (b + sqrt(root)) / a) if a > 0 and root >= 0 else None
