"""Gain in agreement with people of a changed definition over the original on the same items, with its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from greval.records.scale import CategoricalScale, Scale, Value
from greval.stats.bootstrap import Statistic, build_sparse, compute_intervals
from greval.stats.confusion import compute_resampled_figures as compute_kappas
from greval.stats.correlation import compute_rank_figures
from greval.stats.paired import sign_flip_test
from greval.trust.agreement.value_pairs import index_categories
from greval.trust.alignment.records import AgreementGain, FigureName

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats


class VerdictPair(NamedTuple):
    """The value from people and from both definitions for one item, with the number of its question."""

    question: int
    people: Value
    before: Value
    after: Value


_GainColumns = tuple[Any, Statistic, "Floats"]
"""The contribution of each item to the sums, the statistic of the sums, and how much closer to people each came."""


def choose_figure(scale: Scale) -> FigureName:
    """Return the name of the agreement figure by which definitions on a scale are compared."""
    if not isinstance(scale, CategoricalScale):
        return "mae"
    return "kappa linear" if scale.ordered and len(scale.names) > 2 else "kappa"  # noqa: PLR2004 - the order of two has no effect


def compute_gain(pairs: Sequence[VerdictPair], scale: Scale, *, level: float | None = None) -> AgreementGain:
    """Compute the figure before and after, their difference, and its uncertainty.

    Intervals come from a cluster bootstrap over questions (expanded percentile), of which each resample computes both
    figures, so that the interval of the difference accounts for their correlation. `p` is the p-value of a sign-flip
    test on the difference in disagreement, which also holds if few items changed. Without a `level` there are neither.
    """
    gain = AgreementGain(
        figure=choose_figure(scale),
        things=len(pairs),
        questions=len({pair.question for pair in pairs}),
        changed=sum(pair.before != pair.after for pair in pairs),
    )
    if not pairs:
        return gain
    categories = scale if isinstance(scale, CategoricalScale) else None
    columns = _build_category_columns(pairs, categories) if categories else _build_number_columns(pairs)
    rows, statistic, _ = columns
    figures = statistic(rows.sum(axis=0).reshape(1, -1))
    gain = gain.model_copy(update={name: _replace_nan(float(value[0])) for name, value in figures.items()})
    if level is None:
        return gain
    ranks = None if categories else _correlate_ranks(pairs)
    return gain.model_copy(update={**_compute_intervals(columns, pairs, level), "ranks": ranks})


def explain_rejection(gain: AgreementGain, *, level: float) -> str | None:
    """Return why a gain is not accepted, or None if it is beyond noise.

    The interval of the gain must exclude 0, and the sign-flip test must agree. For numbers, the rank correlation must
    not fall either.
    """
    if gain.why_undefined:
        return gain.why_undefined
    if gain.interval and gain.interval.high < 0:
        return "the chosen definitions are significantly worse than the original metric"
    if gain.interval is None or gain.interval.low <= 0:
        return f"the {level:.0%} interval of the gain does not exclude 0"
    # The bootstrap alone is overconfident if few items changed.
    if gain.p is not None and gain.p > 1 - level:
        return f"too few items changed: the sign-flip test gives p = {gain.p:.3f}"
    # A constant value can have the smallest error and orders nothing.
    if gain.ranks and (gain.ranks[1] is None or gain.ranks[1] < (gain.ranks[0] or 0.0)):
        return "the error is smaller, but the judge orders items less as people do"
    return None


def _build_category_columns(pairs: Sequence[VerdictPair], scale: CategoricalScale) -> _GainColumns:
    """Build one confusion matrix for each of the two definitions."""
    import numpy as np

    index, name, n = index_categories(scale), choose_figure(scale), len(pairs)
    size = len(index)
    people, *sides = (np.array([index[value] for value in side]) for side in _split_pairs(pairs))
    # Both matrices lie in one row, one after the other, so that a resample counts them together.
    cells = np.concatenate([people * size + sides[0], size * size + people * size + sides[1]])
    rows = build_sparse((np.tile(np.arange(n), 2), cells), np.ones(2 * n), (n, 2 * size * size))

    def statistic(sums: Floats) -> dict[str, Floats]:
        tables = sums.reshape(-1, 2, size, size)
        first, second = (compute_kappas(tables[:, side], ordered=name != "kappa")[name] for side in (0, 1))
        return {"before": first, "after": second, "gain": second - first}

    original, changed = (np.abs(people - side).clip(max=1 if name == "kappa" else None) for side in sides)
    return rows, statistic, (original - changed).astype(float)


def _build_number_columns(pairs: Sequence[VerdictPair]) -> _GainColumns:
    """Build the sums of the absolute errors of both definitions."""
    import numpy as np

    n = len(pairs)
    people, *sides = (np.array([float(value) for value in side]) for side in _split_pairs(pairs))
    original, changed = (np.abs(side - people) for side in sides)
    columns = np.stack([np.ones(n), original, changed], axis=1)
    rows = build_sparse((np.repeat(np.arange(n), 3), np.tile(np.arange(3), n)), columns.ravel(), (n, 3))

    def statistic(sums: Floats) -> dict[str, Floats]:
        errors = sums[:, 1:] / sums[:, :1]
        return {"before": errors[:, 0], "after": errors[:, 1], "gain": errors[:, 0] - errors[:, 1]}

    return rows, statistic, original - changed


def _compute_intervals(columns: _GainColumns, pairs: Sequence[VerdictPair], level: float) -> dict[str, Any]:
    """Compute the intervals of the figures and of their difference, and the p-value of the sign-flip test."""
    import numpy as np

    questions = np.array([pair.question for pair in pairs], dtype=np.int64)
    rows, statistic, closer = columns
    ends = compute_intervals(rows, statistic, questions, level=level)
    _, clusters = np.unique(questions, return_inverse=True)
    return {
        "before_interval": ends.get("before"),
        "after_interval": ends.get("after"),
        "interval": ends.get("gain"),
        "p": sign_flip_test(np.bincount(clusters, weights=closer).astype(np.float64)),
    }


def _correlate_ranks(pairs: Sequence[VerdictPair]) -> tuple[float | None, float | None]:
    """Compute Spearman's rank correlation with people, before and after."""
    import numpy as np

    people, *sides = (np.array([float(value) for value in side]) for side in _split_pairs(pairs))
    original, changed = (_replace_nan(compute_rank_figures(people, side)["spearman"]) for side in sides)
    return original, changed


def _split_pairs(pairs: Sequence[VerdictPair]) -> tuple[list[Value], list[Value], list[Value]]:
    return [pair.people for pair in pairs], [pair.before for pair in pairs], [pair.after for pair in pairs]


def _replace_nan(value: float) -> float | None:
    return None if isnan(value) else value
