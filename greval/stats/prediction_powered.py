"""Prediction-powered inference: the judge's mean over all items, with its error corrected by a labelled sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from greval.stats.bootstrap import Floats
from greval.stats.interval import Interval, IntervalMethod, wilson_interval
from greval.stats.sampling import NEAR, EstimateSpread, WeightedSample

NEAR_ALL = 1e-9
"""If all but this share of the verdicts' variance is due to one unit, no power can be fitted without that unit."""


@dataclass(frozen=True)
class EstimateTerm:
    """One of the means that an estimate adds up: of a method, of a group, or of all items.

    Args:
        shares: The weight of each labelled item in this mean, 0 for items that are not part of it.
        judged: The judge's mean over all items of this mean.
        sign: 1, or -1 for the subtracted mean of a difference.
        control: The mean over all items of this mean of another number that is known of each.
    """

    shares: Floats
    judged: float
    sign: float = 1.0
    control: float = 0.0


class MeanEstimate(NamedTuple):
    """An estimate with its variance; `power` is the weight of the judge's values in it."""

    value: float
    spread: EstimateSpread
    power: float = 0.0


def weighted_mean(drawn: WeightedSample, sides: Sequence[EstimateTerm], values: Floats) -> float:
    """Compute the weighted mean of labelled items (Hájek's estimator), or the signed sum of several.

    Source:
        Hájek, in "Foundations of Statistical Inference", 1971.
    """
    return sum(side.sign * float((weights := drawn.weights * side.shares) @ values / weights.sum()) for side in sides)


def linearise_scores(drawn: WeightedSample, sides: Sequence[EstimateTerm], values: Floats) -> Floats:
    """Return the linearised value of each labelled item: its contribution to the error of `weighted_mean`."""
    scores = 0.0 * values
    for side in sides:
        weights = drawn.weights * side.shares
        scores += side.sign * side.shares * (values - weights @ values / weights.sum()) / weights.sum()
    return scores


def bound_unit_errors(drawn: WeightedSample, sides: Sequence[EstimateTerm], width: float) -> Floats:
    """Return a bound on the error of each unit's total if the value of one of its items can be off by `width`."""
    errors = 0.0 * drawn.weights
    for side in sides:
        errors += width * side.shares / (drawn.weights @ side.shares)
    return drawn.max_by_unit(errors)


def compute_jackknife_totals(drawn: WeightedSample, sides: Sequence[EstimateTerm], values: Floats) -> Floats:
    """Return the jackknife totals of `weighted_mean` by unit.

    The total of a unit is how much lower the mean is without the unit, minus the average of its stratum.

    The change is exact and divided by `WeightedSample.compute_stretch`, so that `WeightedSample.compute_spread` of the
    result is the variance of the delete-one-unit jackknife. For units of equal weight it equals that of the linearised
    values (`linearise_scores`). A unit of higher weight counts more, because the mean depends more on it.

    Source:
        Wolter, "Introduction to Variance Estimation", 2007, chapter 4; Rust and Rao, Statistical Methods in Medical
        Research 1996 (the stratified jackknife).
    """
    jackknifed, stratum = np.zeros(drawn.unit_count), drawn.stratum
    for side in sides:
        share = drawn.compute_unit_shares(side.shares)
        counting = share > 0
        count = np.maximum(np.bincount(stratum, counting, minlength=len(drawn.sizes)), 1)
        totals = drawn.sum_by_unit(linearise_scores(drawn, [side], values))
        middle, usual = (np.bincount(stratum, amounts)[stratum] / count[stratum] for amounts in (totals, share))
        remaining = 1 - drawn.compute_stretch(counting) * (share - usual)
        jackknifed += np.where(counting, middle + (totals - middle) / np.maximum(remaining, NEAR), 0.0)
    return jackknifed


def estimate_from_labels(
    drawn: WeightedSample, sides: Sequence[EstimateTerm], labels: Floats, *, width: float
) -> MeanEstimate:
    """Estimate a mean, or the difference of two, from the labels alone; each mean needs a labelled item.

    `width` is the maximum difference of two values.
    """
    totals = compute_jackknife_totals(drawn, sides, labels)
    spread = drawn.compute_spread(totals, bound_unit_errors(drawn, sides, width))
    return MeanEstimate(weighted_mean(drawn, sides, labels), spread)


def estimate_prediction_powered(
    drawn: WeightedSample,
    sides: Sequence[EstimateTerm],
    labels: Floats,
    verdicts: Floats,
    *,
    width: float,
    power: float | None = None,
) -> MeanEstimate:
    """Estimate a mean from the judge's values of all items and the labels of some.

    The estimate is the mean of the labels, plus `power` times the difference between the judge's mean over all items
    and that over the labelled ones. The power minimises the variance: 0 if the judge's values are uncorrelated with
    the labels, 1 if they are as good as labels. All items of the mean are judged, and the labelled ones are among
    them. This is therefore the regression estimator of survey statistics, with a finite-population correction for
    the labelled share. The power is fitted to the same labels that it is used on. The variance is therefore that of
    the jackknife, which fits it again without each unit, and one degree of freedom is subtracted.

    Args:
        drawn: The sample of labelled items.
        sides: The mean, or the two means of a difference.
        labels: The label of each labelled item by people.
        verdicts: The judge's value of the same item.
        width: The maximum difference of two values.
        power: The weight of the judge's values; None to fit it, 1 for the estimator of the first paper.

    Source:
        Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 2023; Angelopoulos, Duchi and Zrnic,
        "PPI++: efficient prediction-powered inference", 2023; Cochran (1977), chapter 7; MacKinnon and White,
        Journal of Econometrics 1985 (the jackknife of a fitted line, of which HC3 is the short form).
    """
    max_errors = bound_unit_errors(drawn, sides, width)
    fit = _fit_power(drawn, sides, labels, verdicts) if power is None else _FittedPower(power, power, fitted=0)
    off = sum(side.sign * side.judged for side in sides) - weighted_mean(drawn, sides, verdicts)
    # The power is fitted again without each unit, which changes the estimate too.
    changed = (fit.without - fit.power) * off / drawn.compute_stretch(max_errors > 0)
    of_labels, of_verdicts = (compute_jackknife_totals(drawn, sides, values) for values in (labels, verdicts))
    totals = of_labels - fit.without * of_verdicts - changed
    value = weighted_mean(drawn, sides, labels) + fit.power * off
    return MeanEstimate(value, drawn.compute_spread(totals, max_errors, fitted=fit.fitted), fit.power)


def estimate_with_control(
    drawn: WeightedSample,
    sides: Sequence[EstimateTerm],
    labels: Floats,
    verdicts: Floats,
    numbers: Floats,
    *,
    width: float,
) -> MeanEstimate:
    """Estimate a mean as `estimate_prediction_powered` does, with a second number (`numbers`) known of all items.

    Both powers are those of the regression of the labels on both: what the judge's values leave of the labels is
    estimated with what they leave of the control. One degree of freedom is subtracted for each power.

    Source:
        Cochran (1977), chapter 7; Lovell, "Seasonal adjustment of economic time series and multiple regression
        analysis", JASA 1963 (the theorem of Frisch and Waugh).
    """
    power, shared = (_fit_power(drawn, sides, values, verdicts).power for values in (labels, numbers))
    rest = [EstimateTerm(side.shares, side.control - shared * side.judged, side.sign) for side in sides]
    estimate = estimate_prediction_powered(
        drawn, rest, labels - power * verdicts, numbers - shared * verdicts, width=width
    )
    spread, units = estimate.spread, drawn.unit_count
    # the first power is not fitted again without each unit
    spread = spread._replace(variance=spread.variance * units / (units - 1), df=max(spread.df - 1, 1.0))
    return MeanEstimate(estimate.value + power * sum(side.sign * side.judged for side in sides), spread, estimate.power)


class _FittedPower(NamedTuple):
    """The power, its values fitted without each unit, and the number of fitted parameters."""

    power: float
    without: Floats | float
    fitted: int


def _fit_power(drawn: WeightedSample, sides: Sequence[EstimateTerm], labels: Floats, verdicts: Floats) -> _FittedPower:
    """Fit the power with the smallest variance, and fit it again without each unit."""
    of_labels, of_verdicts = (
        drawn.sum_by_unit(linearise_scores(drawn, sides, values)) for values in (labels, verdicts)
    )
    verdict_variance = drawn.compute_covariance(of_verdicts, of_verdicts)
    max_errors = bound_unit_errors(drawn, sides, float(np.ptp(verdicts)))
    # The variance of equal verdicts is 0 but for rounding.
    if not max_errors.any() or verdict_variance <= (NEAR * float(max_errors.max())) ** 2:
        return _FittedPower(0.0, 0.0, fitted=0)
    both = drawn.compute_covariance(of_labels, of_verdicts)
    labels_off, verdicts_off = drawn.centre_totals(of_labels), drawn.centre_totals(of_verdicts)
    size = drawn.sizes[drawn.stratum]
    each = size / (size - 1) * drawn.compute_stretch(max_errors > 0) * verdicts_off
    remaining = verdict_variance - each * verdicts_off
    is_fittable = remaining > NEAR_ALL * verdict_variance
    without = np.where(is_fittable, (both - each * labels_off) / np.where(is_fittable, remaining, 1), 0)
    return _FittedPower(both / verdict_variance, without, fitted=1)


def compute_interval(
    estimate: MeanEstimate, *, level: float, ends: tuple[float, float] | None, share: bool
) -> tuple[float, Interval, bool]:
    """Return an estimate with its interval, both within the scale, and whether any of them had to be clipped.

    The interval of a share is Wilson's, with the number of independent labels that would have this
    variance (Korn and Graubard); it never leaves 0 to 1. Others are Student's, clipped at the scale's ends. If no label
    showed an error, so that the variance is a bound on unobserved errors, the interval's method is "bounded".

    Args:
        estimate: The estimate.
        level: The confidence level.
        ends: The lowest and the highest possible value; None if unbounded.
        share: Whether it is a share of all items, and not a difference.

    Source:
        Korn and Graubard, "Confidence intervals for proportions with small expected number of positive
        counts estimated from survey data", Survey Methodology 1998.
    """
    from scipy.special import ndtri

    value, variance = estimate.value, estimate.spread.variance
    half = estimate.spread.compute_half_width(level)
    # The interval of a tiny level has no width.
    if share and 0 < value < 1 and variance > 0 and half > 0:
        labels = int(value * (1 - value) * (float(-ndtri(0.5 - level / 2)) / half) ** 2)
        wilson = wilson_interval(value, max(1, labels), level=level)
        return value, wilson.model_copy(update={"method": "bounded"}) if estimate.spread.bound else wilson, False
    low, high = ends or (-inf, inf)
    value = min(max(value, low), high)
    method: IntervalMethod = "bounded" if estimate.spread.bound else "t"
    interval = Interval(low=max(value - half, low), high=min(value + half, high), level=level, method=method)
    return value, interval, value != estimate.value or value - half < low or value + half > high
