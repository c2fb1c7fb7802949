"""Prediction-powered estimates: the judge's mean over all things, with its error taken off by a labelled sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from greval.stats.interval import Interval, IntervalMethod, wilson
from greval.stats.sampling import NEAR, Drawn, Spread

if TYPE_CHECKING:
    from greval.stats.sampling import Floats


NEAR_ALL = 1e-9
"""A unit that holds all but this share of the spread of the verdicts leaves none to fit a power to."""


@dataclass(frozen=True)
class Side:
    """One of the means that an estimate adds up: of a method, a group, or all.

    Args:
        shares: What each labelled thing counts in this mean, 0 where it is none of its things.
        judged: The mean of the judge's figures over all its things.
        sign: 1, or -1 for the mean that is taken off in a difference.
    """

    shares: Floats
    judged: float
    sign: float = 1.0


class Estimated(NamedTuple):
    """An estimate with its spread; `power` is how much of the judge's figures is in it."""

    value: float
    spread: Spread
    power: float = 0.0


def mean(drawn: Drawn, sides: Sequence[Side], values: Floats) -> float:
    """Give the weighted mean of labelled things (Hájek's estimator), the difference of two with two sides.

    Source:
        Hájek, in "Foundations of Statistical Inference", 1971.
    """
    return sum(side.sign * float((weights := drawn.weights * side.shares) @ values / weights.sum()) for side in sides)


def scores(drawn: Drawn, sides: Sequence[Side], values: Floats) -> Floats:
    """Give what each labelled thing adds to the error of such a mean (its linearised value)."""
    found = 0.0 * values
    for side in sides:
        weights = drawn.weights * side.shares
        found += side.sign * side.shares * (values - weights @ values / weights.sum()) / weights.sum()
    return found


def reach(drawn: Drawn, sides: Sequence[Side], width: float) -> Floats:
    """Give how far the total of each unit could be off where a value of one of its things can be off by `width`."""
    found = 0.0 * drawn.weights
    for side in sides:
        found += width * side.shares / (drawn.weights @ side.shares)
    return drawn.greatest(found)


def omitted(drawn: Drawn, sides: Sequence[Side], values: Floats) -> Floats:
    """Return by unit how much lower such a mean is if the unit is left out, less the stratum's mean.

    The change is exact and divided by `Drawn.stretch`, so that the `Drawn.spread` of the result is the variance of the
    delete-one-unit jackknife. Of units of equal weight it is that of the linearised values (`scores`); an unequal unit
    counts more, as the mean leans on it.

    Source:
        Wolter, "Introduction to Variance Estimation", 2007, chapter 4; Rust and Rao, Statistical Methods in Medical
        Research 1996 (the stratified jackknife).
    """
    import numpy as np

    found = np.zeros(drawn.units)
    for side in sides:
        share = drawn.share_of(side.shares)
        counting = share > 0
        count = np.maximum(np.bincount(drawn.stratum, counting, minlength=len(drawn.sizes)), 1)
        totals = drawn.totals(scores(drawn, [side], values))
        middle, usual = (
            np.bincount(drawn.stratum, one)[drawn.stratum] / count[drawn.stratum] for one in (totals, share)
        )
        kept = 1 - drawn.stretch(counting) * (share - usual)
        found += np.where(counting, middle + (totals - middle) / np.maximum(kept, NEAR), 0.0)
    return found


def labels_only(drawn: Drawn, sides: Sequence[Side], labels: Floats, *, width: float) -> Estimated:
    """Estimate a mean from the labels alone.

    Args:
        drawn: How the labelled things were drawn.
        sides: The mean, or the two of a difference; each needs a labelled thing.
        labels: What people said of each thing.
        width: How far apart two values can be at most.
    """
    spread = drawn.spread(omitted(drawn, sides, labels), reach(drawn, sides, width))
    return Estimated(mean(drawn, sides, labels), spread)


def prediction_powered(
    drawn: Drawn, sides: Sequence[Side], labels: Floats, verdicts: Floats, *, width: float, power: float | None = None
) -> Estimated:
    """Estimate a mean from the judge's figures of all things and the labels of some.

    The mean of the labels, plus `power` times what the judge's mean over all things differs from that
    over the labelled ones. The power is the one that makes the variance smallest: 0 where the judge
    tells nothing of the labels, 1 where it is as good as they are. As all things that the mean is of
    are judged, and the labelled are among them, this is the regression estimator of survey statistics,
    and the share that was labelled comes off the variance. The power is fitted to the labels that it is
    used on: the variance is therefore that of the jackknife, which fits it again without each unit, and
    one degree of freedom is taken off.

    Args:
        drawn: How the labelled things were drawn.
        sides: The mean, or the two of a difference.
        labels: What people said of each labelled thing.
        verdicts: The judge's figures of the same.
        width: How far apart two values can be at most.
        power: None to choose it; 1 is the estimate of the first paper.

    Source:
        Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 2023; Angelopoulos, Duchi and Zrnic,
        "PPI++: efficient prediction-powered inference", 2023; Cochran (1977), chapter 7; MacKinnon and White,
        Journal of Econometrics 1985 (the jackknife of a fitted line, of which HC3 is the short form).

    Example:
        >>> import numpy as np
        >>> from greval.stats.sampling import drawn
        >>> labels, verdicts = np.array([1.0, 1.0, 0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0, 0.0, 1.0])
        >>> found = prediction_powered(drawn(np.ones(5), whole=50), [Side(np.ones(5), 0.5)], labels, verdicts, width=1)
        >>> round(found.value, 3), round(found.power, 3)
        (0.667, 0.667)
    """
    far = reach(drawn, sides, width)
    fit = _fitted(drawn, sides, labels, verdicts) if power is None else _Power(power, power, fitted=0)
    off = sum(side.sign * side.judged for side in sides) - mean(drawn, sides, verdicts)
    changed = (fit.without - fit.power) * off / drawn.stretch(far > 0)
    totals = omitted(drawn, sides, labels) - fit.without * omitted(drawn, sides, verdicts) - changed
    value = mean(drawn, sides, labels) + fit.power * off
    return Estimated(value, drawn.spread(totals, far, fitted=fit.fitted), fit.power)


class _Power(NamedTuple):
    """The power, what it is without each unit, and how many numbers were fitted for it."""

    power: float
    without: Floats | float
    fitted: int


def _fitted(drawn: Drawn, sides: Sequence[Side], labels: Floats, verdicts: Floats) -> _Power:
    """Fit the power with the smallest variance, and fit it again without each unit."""
    import numpy as np

    of_labels, of_verdicts = (drawn.totals(scores(drawn, sides, one)) for one in (labels, verdicts))
    own = drawn.covariance(of_verdicts, of_verdicts)
    far = reach(drawn, sides, float(np.ptp(verdicts)))
    if own <= (NEAR * float(far.max())) ** 2:
        return _Power(0.0, 0.0, fitted=0)
    both = drawn.covariance(of_labels, of_verdicts)
    labels_off, verdicts_off = drawn.centred(of_labels), drawn.centred(of_verdicts)
    size = drawn.sizes[drawn.stratum]
    each = size / (size - 1) * drawn.stretch(far > 0) * verdicts_off
    left = own - each * verdicts_off
    without = np.where(left > NEAR_ALL * own, (both - each * labels_off) / np.where(left > NEAR_ALL * own, left, 1), 0)
    return _Power(both / own, without, fitted=1)


def covering(
    found: Estimated, *, level: float, ends: tuple[float, float] | None, share: bool
) -> tuple[float, Interval, bool]:
    """Give an estimate with its interval, both on the scale, and whether anything had to be cut off for it.

    Of a share the interval is Wilson's, with the number of independent labels that would have this
    variance (Korn and Graubard); it never leaves 0 to 1. Others are Student's, cut at the scale's ends. If no label
    showed a fault, and the variance is what could have stayed unseen, the interval's method is "bounded".

    Args:
        found: The estimate.
        level: The probability that the interval holds the truth.
        ends: The lowest and the highest value that can occur; None where there is no end.
        share: Whether it is a share of all things, not a difference.

    Source:
        Korn and Graubard, "Confidence intervals for proportions with small expected number of positive
        counts estimated from survey data", Survey Methodology 1998.

    Example:
        >>> covering(Estimated(1.02, Spread(0.0001, 50.0)), level=0.95, ends=(0.0, 1.0), share=True)[1].high
        1.0
    """
    from scipy.special import ndtri

    value, variance = found.value, found.spread.variance
    half = found.spread.half(level)
    if share and 0 < value < 1 and variance > 0:
        labels = int(value * (1 - value) * (float(ndtri(0.5 + level / 2)) / half) ** 2)
        held = wilson(value, max(1, labels), level=level)
        return value, held.model_copy(update={"method": "bounded"}) if found.spread.bound else held, False
    low, high = ends or (-inf, inf)
    value = min(max(value, low), high)
    method: IntervalMethod = "bounded" if found.spread.bound else "t"
    interval = Interval(low=max(value - half, low), high=min(value + half, high), level=level, method=method)
    return value, interval, value != found.value or value - half < low or value + half > high
