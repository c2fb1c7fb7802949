"""Cells, the means and differences that are estimated, and their figures: from the judge, from labels, from both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, inf, sqrt
from typing import TYPE_CHECKING, NamedTuple

from greval.records.case import sort_methods
from greval.records.scale import NumberRange
from greval.runs.score_columns import JudgedColumns
from greval.stats.interval import ClusterSums, Interval, IntervalMethod, Undefined, mean_interval, student_interval
from greval.stats.misclassification import CorrectedRate, JudgeRates, rogan_gladen
from greval.stats.prediction_powered import (
    EstimateTerm,
    MeanEstimate,
    compute_interval,
    estimate_from_labels,
    estimate_prediction_powered,
    estimate_with_control,
    linearise_scores,
)
from greval.stats.sampling import WeightedSample
from greval.trust.estimates.records import EstimateFigure

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats, Integers

REFUSED = (
    "refused: items were sampled for annotation with different probabilities, so the plain mean of their labels is "
    "that of the sample, not of the run"
)
QUARTER = 0.25
"""The relative variance of an interval of half the length."""


MIN_QUESTIONS = {"labels_only": (8, 30), "prediction_powered": (40, 60), "rogan_gladen": (40, 100)}
"""The minimum number of whole labelled questions for an interval of a mean, and of a difference.

With fewer the coverage of some 95 % intervals is below 93 % or above 97 % (benchmarks/estimate_coverage.py)."""


MIN_RULE_LABELS = 20
"""The number of labels from which on a rule is used beside the judge: it is a second parameter to fit."""


class EstimateCell(NamedTuple):
    """One mean, or the difference of two, and the number of its group (None for all questions)."""

    group: str
    method: str
    baseline: str | None
    number: int | None


@dataclass(frozen=True)
class CellItems:
    """The judged items of one method in one cell: their indices and their shares in the mean."""

    which: Integers
    shares: Floats

    def build_side(
        self, verdicts: Floats, places: Integers, sign: float, *, rule: Floats | None = None
    ) -> EstimateTerm:
        """Build this mean as an input of the estimate; `places` are the indices of the labelled items in `verdicts`.

        `sign` is -1 for the mean that is subtracted, else 1. `rule` has the number of a rule for each item.
        """
        import numpy as np

        all_shares = np.zeros(len(verdicts))
        all_shares[self.which] = self.shares
        judged, control = (
            0.0 if values is None else float(self.shares @ values[self.which] / self.shares.sum())
            for values in (verdicts, rule)
        )
        return EstimateTerm(all_shares[places], judged, sign, control)


def iterate_cells(judged: JudgedColumns, baseline: str | None, *, grouped: bool) -> Iterator[EstimateCell]:
    """Yield every mean that is estimated, and after those of each group the differences from the baseline."""
    methods = sort_methods(judged.methods, baseline)
    groups: list[tuple[str, int | None]] = [("", None), *(sorted(judged.groups.items()) if grouped else ())]
    for group, number in groups:
        for method in methods:
            yield EstimateCell(group, method, None, number)
        for method in methods:
            if baseline is not None and method != baseline:
                yield EstimateCell(group, method, baseline, number)


def select_items(judged: JudgedColumns, cell: EstimateCell) -> tuple[CellItems, ...]:
    """Return the items of a cell: those of its method, and for a difference those of its baseline.

    In a mean each item has the same weight. In a difference each question that both methods have has the same weight,
    which is divided among the items of the question.
    """
    import numpy as np

    question, method = judged.get_numbers("question"), judged.get_numbers("method")
    within = np.ones(len(question), dtype=bool) if cell.number is None else judged.get_numbers("group") == cell.number
    names = [cell.method, *([] if cell.baseline is None else [cell.baseline])]
    of = [np.flatnonzero(within & (method == judged.methods[name])) for name in names]
    if cell.baseline is None:
        return (CellItems(of[0], np.ones(len(of[0]))),)
    counts = [np.bincount(question[which], minlength=int(question.max()) + 1) for which in of]
    both = (counts[0] > 0) & (counts[1] > 0)
    shared_items = [which[both[question[which]]] for which in of]
    return tuple(
        CellItems(which, 1 / count[question[which]]) for which, count in zip(shared_items, counts, strict=True)
    )


def sum_by_question(judged: JudgedColumns, sides: Sequence[CellItems], verdicts: Floats) -> tuple[Floats, Integers]:
    """Return the judge's figures of a cell by question: sums and numbers of items, or paired differences."""
    import numpy as np

    question = judged.get_numbers("question")
    added, counted = np.zeros(int(question.max()) + 1), np.zeros(int(question.max()) + 1, dtype=np.int64)
    for sign, side in zip((1.0, -1.0), sides, strict=False):
        np.add.at(added, question[side.which], sign * side.shares * verdicts[side.which])
        np.add.at(counted, question[side.which], 1)
    has_items = counted > 0
    return added[has_items], counted[has_items] if len(sides) == 1 else np.ones(int(has_items.sum()), dtype=np.int64)


class ValueRange(NamedTuple):
    """The possible values: the scale's ends, the largest difference of two values, and whether all are 0 or 1."""

    ends: tuple[float, float] | None
    width: float
    binary: bool

    @property
    def number_range(self) -> NumberRange:
        """The range in the form that the interval of a mean needs."""
        low, high = self.ends or (-inf, None)
        return NumberRange(low, high, self.binary)


@dataclass(frozen=True)
class LabelledSample:
    """The labelled items of a metric: their sampling design, people's values, the judge's, and a rule's if known."""

    drawn: WeightedSample
    labels: Floats
    verdicts: Floats
    rule: Floats | None = None


class CellFigures(NamedTuple):
    """The figures of one cell that are based on labels."""

    labels_only: EstimateFigure
    prediction_powered: EstimateFigure
    power: float | None
    rogan_gladen: EstimateFigure
    rates: JudgeRates | None = None
    with_rule: EstimateFigure | None = None


def compute_figures(
    sample: LabelledSample,
    sides: list[EstimateTerm],
    reach: ValueRange,
    *,
    judged: int,
    level: float,
    judge_error: float = 0.0,
) -> CellFigures:
    """Estimate one mean, or the difference of two (`sides`), from labels, alone and with the judge.

    `sample` has the labelled items of all cells, `judged` is the number of judged items in this one. If too few whole
    questions were labelled for an interval, the figure has its value, and the reason for no interval. `judge_error` is
    the variance of the judge's mean over a new sample of questions, 0 if only the questions of the run count.
    """
    counts = [int((side.shares > 0).sum()) for side in sides]
    if min(counts) <= 1:
        unlabelled = "no label" if len(counts) == 1 else "one side has no label"
        none = EstimateFigure(reason="one label only" if min(counts) else unlabelled)
        return CellFigures(none, none, None, none)
    labelled = sample.drawn, sides, sample.labels
    form = _CellSettings(reach, level, len(sides) == 1, sum(counts), judged)
    new = _compute_question_variance(sample, sides, judge_error)
    both = estimate_prediction_powered(*labelled, sample.verdicts, width=reach.width)
    corrected: CorrectedRate | Undefined = Undefined(
        n=len(sample.labels), reason="it is of rates only: the values are not all 0 or 1"
    )
    if reach.binary:
        corrected = rogan_gladen(*labelled, sample.verdicts, level=level)
    drop_interval = partial(_drop_interval, count=_count_questions(sample.drawn, sides), mean=form.mean)
    with_rule: EstimateFigure | None = None
    if sample.rule is not None and min(counts) >= MIN_RULE_LABELS:
        estimate = estimate_with_control(*labelled, sample.verdicts, sample.rule, width=reach.width)
        with_rule = drop_interval("prediction_powered", _build_figure(estimate, form, new))
    return CellFigures(
        drop_interval("labels_only", _build_figure(estimate_from_labels(*labelled, width=reach.width), form, new)),
        drop_interval("prediction_powered", _build_figure(both, form, new)),
        both.power,
        drop_interval("rogan_gladen", _build_corrected_figure(corrected, form, new)),
        corrected.rates[0] if isinstance(corrected, CorrectedRate) and form.mean else None,
        with_rule,
    )


def _count_questions(drawn: WeightedSample, sides: Sequence[EstimateTerm]) -> int | None:
    """Return the number of whole questions that a figure is based on; for a difference, the smaller of two numbers."""
    if not drawn.clustered or not drawn.rest.any():
        return None
    return min(int((drawn.compute_unit_shares(side.shares) > 0).sum()) for side in sides)


def _drop_interval(name: str, figure: EstimateFigure, *, count: int | None, mean: bool) -> EstimateFigure:
    """Return the figure, without its interval and with the reason if too few whole questions were labelled."""
    needed = MIN_QUESTIONS[name][0 if mean else 1]
    if count is None or count >= needed or figure.interval is None:
        return figure
    reason = f"no interval from {count} whole questions: it needs {needed}; label more questions"
    return figure.model_copy(update={"interval": None, "labels_to_halve": None, "reason": reason})


class _CellSettings(NamedTuple):
    """The settings shared by all figures of a cell; `mean` is false for a difference."""

    reach: ValueRange
    level: float
    mean: bool
    labels: int
    judged: int

    @property
    def ends(self) -> tuple[float, float] | None:
        """The lowest and highest possible figure."""
        return _find_ends(self.reach, mean=self.mean)


def _compute_question_variance(sample: LabelledSample, sides: list[EstimateTerm], judge_error: float) -> float:
    """Return the variance of the true figure over a new sample of questions.

    It is the judge's variance, scaled by the ratio of the variance of the labels to that of the verdicts.
    """
    if not judge_error:
        return 0.0
    weights = sample.drawn.weights
    labelled, judged = (
        float(weights @ linearise_scores(sample.drawn, sides, values) ** 2)
        for values in (sample.labels, sample.verdicts)
    )
    return judge_error * labelled / judged if judged else judge_error


def count_labels_to_halve(labels: int, judged: int, *, fixed: float = 0.0) -> int | None:
    """Return the number of labels that would halve an interval, from the current numbers of labels and judged items.

    The square of an interval's length is proportional to 1 / labels - 1 / judged. `fixed` is the share of the variance
    that labels do not reduce; if it is 1/4 or more, the result is None.
    """
    if fixed >= QUARTER:
        return None
    now = 1 / labels - 1 / judged
    # Rounded first, so that an error in the last digit does not ask for one more label.
    return ceil(round(1 / ((QUARTER - fixed) / (1 - fixed) * now + 1 / judged), 6))


def compute_judge_figure(
    sums: Floats, sizes: Integers, reach: ValueRange, *, level: float, mean: bool
) -> EstimateFigure:
    """Compute the judge's own mean or difference as if it were correct, with an interval over new samples of questions.

    `sums` has the sum of the judge's figures of each question, or their difference; `sizes` has the number of items of
    each question, 1 for a difference.
    """
    if not len(sums):
        return EstimateFigure(reason="no judged item" if mean else "no question that both have")
    if mean:
        interval = mean_interval(sums, sizes, reach.number_range, level=level)
        return EstimateFigure(value=ClusterSums(sums, sizes).mean, interval=interval)
    value = float(sums.sum() / sizes.sum())
    # Without a spread there is no interval of Student's t.
    if len(sums) == 1 or (sums / sizes).min() == (sums / sizes).max():
        return EstimateFigure(value=value)
    figure = EstimateFigure(value=value, interval=student_interval(ClusterSums(sums, sizes), level=level))
    return _clip_to_scale(figure, _find_ends(reach, mean=False))


def _find_ends(reach: ValueRange, *, mean: bool) -> tuple[float, float] | None:
    """Return the lowest and highest possible mean, or difference of two means."""
    ends = reach.ends
    return ends if ends is None or mean else (ends[0] - ends[1], ends[1] - ends[0])


def _clip_to_scale(figure: EstimateFigure, ends: tuple[float, float] | None) -> EstimateFigure:
    """Clip the value and the interval to the scale, and set `cut` if that changes them."""
    if ends is None or figure.value is None or figure.interval is None:
        return figure
    unclipped = (figure.value, figure.interval.low, figure.interval.high)
    value, low, high = (min(max(end, ends[0]), ends[1]) for end in unclipped)
    interval = figure.interval.model_copy(update={"low": low, "high": high})
    return figure.model_copy(update={"value": value, "interval": interval, "cut": (value, low, high) != unclipped})


def _build_figure(estimate: MeanEstimate, form: _CellSettings, new: float) -> EstimateFigure:
    """Build a figure from an estimate; `new` is the variance added by new questions."""
    if form.reach.width == 0:
        why = "all values are alike and the scale has no end: the spread is unknown"
        return EstimateFigure(value=estimate.value, reason=why)
    wider = estimate._replace(spread=estimate.spread.add_variance(new))
    share = form.mean and form.reach.binary
    value, interval, cut = compute_interval(wider, level=form.level, ends=form.ends, share=share)
    halve = count_labels_to_halve(form.labels, form.judged, fixed=new / wider.spread.variance if new else 0.0)
    return EstimateFigure(value=value, interval=interval, labels_to_halve=halve, cut=cut)


def _build_corrected_figure(rate: CorrectedRate | Undefined, form: _CellSettings, new: float) -> EstimateFigure:
    """Build a figure from a corrected rate, clipped to the scale; `new` is the variance added by new questions."""
    from scipy.special import ndtri

    if isinstance(rate, Undefined):
        return EstimateFigure(reason=rate.reason)
    unwidened = rate.high - rate.low
    rate = rate.widen(float(ndtri(0.5 + form.level / 2)) * sqrt(new))
    width = rate.high - rate.low
    # At a level next to 0 the interval is a point.
    fixed = 1 - (unwidened / width) ** 2 if new and width else 0.0
    method: IntervalMethod = "bounded" if rate.bound else "t"
    interval = Interval(low=rate.low, high=rate.high, level=form.level, method=method)
    halve = count_labels_to_halve(form.labels, form.judged, fixed=fixed)
    return _clip_to_scale(EstimateFigure(value=rate.value, interval=interval, labels_to_halve=halve), form.ends)
