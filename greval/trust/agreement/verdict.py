"""The verdict of an agreement: whether the judge can be relied on, and for what, by stated rules.

The intervals decide, never the figures alone. docs/agreement.md states the rules for users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import ceil, inf
from statistics import fmean

from greval.records.scale import CategoricalScale, MeasureScale, NumberRange, Scale, Value, find_number_range
from greval.stats.bootstrap import encode_names
from greval.stats.interval import Interval, Measured, MeasuredValue, Undefined, mean_interval, sum_by_cluster
from greval.trust.agreement.figures import find_referees
from greval.trust.agreement.records import (
    AgreementGroup,
    AgreementVerdict,
    Baseline,
    BaselineVerdict,
    JudgeUse,
    PeopleVerdict,
)
from greval.trust.agreement.value_pairs import ValuePair, read_category_numbers
from greval.trust.annotations.matching import AnnotatedItem

MARGIN = 0.05
"""How much less often the judge may agree with people than they with each other, to be as good as they are."""
NEAR = 0.1
"""The share of the scale's width within which two numbers are the same, and to which a mean should be exact."""
RELIABLE = 0.9
"""The share of items on which single verdicts must be people's value."""
Z = 1.96
"""The standard errors that cover 95 of 100 means."""
BASELINE_FIGURES = ("kappa", "accuracy", "mae", "spearman")
"""The figures by which a judge is compared with a baseline; the first that both have with an interval counts."""
HARSHEST_FIRST: tuple[BaselineVerdict, ...] = ("not better", "not shown", "better")
LOWER_IS_BETTER = frozenset({"mae"})
PERFECT = 1 - 1e-9
"""A correlation of 1, up to rounding, that is the same in all resamples of different items, and so has no interval."""
PAIR = 2
SHARE = NumberRange(0.0, 1.0)
DIFFERENCE = NumberRange(-1.0, 1.0)


def decide_verdict(
    group: AgreementGroup, pairs: Sequence[ValuePair], things: Sequence[AnnotatedItem], scale: Scale, *, level: float
) -> AgreementVerdict:
    """Decide what an agreement allows the judge to be used for."""
    width = _find_width(scale, things)
    if group.enriched:
        return AgreementVerdict(use="nothing yet", why="items were sampled with different probabilities")
    difference = _measure_difference(things, scale, width, level=level)
    questions = [pair.thing.sample_id for pair in pairs]
    hits, squares, errors = _list_errors(pairs, scale, width)
    figures = _complete_figures(group, errors, questions, width, level=level)
    baselines, best_floor = rank_baselines(figures, group.baselines)
    same = _measure_mean(hits, questions, SHARE, level=level)
    squared = _measure_mean(squares, questions, SHARE, level=level)
    bias = None if errors is None else _measure_mean(errors, questions, DIFFERENCE, level=level)
    use = decide_use([*baselines.values()], same)
    return AgreementVerdict(
        use=use,
        baselines=baselines,
        best_floor=best_floor,
        people=_decide_against_people(difference),
        difference=difference,
        same=same,
        mean_of=_count_items(squared) if use in {"single cases", "means"} else None,
        bias=bias,
    )


def _complete_figures(
    group: AgreementGroup, errors: Sequence[float] | None, questions: list[str], width: float, *, level: float
) -> Mapping[str, Measured]:
    """Return the judge's figures, with an interval of the absolute error even if all errors are equal."""
    figures = group.judge.figures
    if group.judge.kind == "categorical" or _get_interval(figures["mae"]) or errors is None:
        return figures
    mean_error = _measure_mean([abs(error) for error in errors], questions, SHARE, level=level)
    ends = mean_error.interval
    if ends is None:
        return figures
    interval = ends.model_copy(update={"low": ends.low * width, "high": ends.high * width})
    return {**figures, "mae": MeasuredValue(value=mean_error.value * width, n=mean_error.n, interval=interval)}


def decide_use(baselines: Sequence[BaselineVerdict], same: Measured) -> JudgeUse:
    """Decide on the use: nothing unless the judge is better than every known baseline."""
    verdicts = [verdict for verdict in baselines if verdict != "not known"]
    if "not better" in verdicts:
        return "nothing"
    if not verdicts or "not shown" in verdicts:
        return "nothing yet"
    ends = _get_interval(same)
    return "single cases" if ends and ends.low >= RELIABLE else "means"


def rank_baselines(
    judge: Mapping[str, Measured], baselines: Sequence[Baseline]
) -> tuple[dict[str, BaselineVerdict], str | None]:
    """Compare a judge with each baseline, and return the verdicts and the name of the best baseline.

    The best one decides. It is that with the worst verdict on the judge, and of several the one of which the judge is
    the least ahead, so that one more baseline never makes the verdict kinder.
    """
    verdicts = {baseline.name: _compare_with_baseline(judge, baseline) for baseline in baselines}
    leads = {
        baseline.name: baseline.lead.value if isinstance(baseline.lead, MeasuredValue) else inf
        for baseline in baselines
        if verdicts[baseline.name] != "not known"
    }
    best = min(leads, key=lambda name: (HARSHEST_FIRST.index(verdicts[name]), leads[name]), default=None)
    return verdicts, best


def _compare_with_baseline(judge: Mapping[str, Measured], baseline: Baseline) -> BaselineVerdict:
    """Compare the judge with a baseline by their intervals: apart, overlapping, or apart on the wrong side."""
    lead = baseline.lead
    # resampled together, both can be told apart although their own intervals overlap
    if lead and (ends := _get_interval(lead)) and ends.high < 0:
        return "not better"
    name = find_compared_figure(judge, baseline)
    if name is None:
        return "not known"
    judge_figure, baseline_figure = judge[name], baseline.figures[name]
    if isinstance(judge_figure, Undefined):
        return "not better" if isinstance(baseline_figure, MeasuredValue) else "not known"
    low, high = _get_ends(judge_figure)
    floor, ceiling = (0.0, 0.0) if isinstance(baseline_figure, Undefined) else _get_ends(baseline_figure)
    if name in LOWER_IS_BETTER:
        low, high, floor, ceiling = -high, -low, -ceiling, -floor
    # A correlation of 1 is the only figure that is shown to be better without an interval.
    if _get_interval(judge_figure) is None and judge_figure.value < PERFECT:
        return "not shown"
    if low > ceiling:
        # the baseline may be of fewer items, and be ahead on these
        return "not shown" if isinstance(lead, MeasuredValue) and lead.value <= 0 else "better"
    return "not better" if high < floor or high <= ceiling == floor else "not shown"


def find_compared_figure(judge: Mapping[str, Measured], baseline: Baseline) -> str | None:
    """Return the figure by which a judge is compared with a baseline: the first that both have with an interval."""
    names = [name for name in BASELINE_FIGURES if name in baseline.figures and name in judge]
    return next((name for name in names if _get_interval(judge[name])), next(iter(names), None))


def _get_interval(figure: Measured) -> Interval | None:
    """Return the interval of a figure: that over whole questions if there is one."""
    return None if isinstance(figure, Undefined) else figure.clustered or figure.interval


def _get_ends(figure: MeasuredValue) -> tuple[float, float]:
    ends = figure.clustered or figure.interval
    return (ends.low, ends.high) if ends else (figure.value, figure.value)


def _decide_against_people(difference: Measured) -> PeopleVerdict:
    """Decide whether the judge agrees with people as they do with each other."""
    ends = _get_interval(difference)
    if isinstance(difference, Undefined):
        return "not known"
    if ends is None:
        return "not shown"
    return "as good" if ends.low > -MARGIN else "worse" if ends.high < 0 else "not shown"


def _count_items(squared: Measured) -> int | None:
    """Return the number of items of which a mean is exact enough, by the upper end of the squared error."""
    ends = _get_interval(squared)
    if ends is None:
        return None
    return round_up(max(1, ceil((Z / NEAR) ** 2 * ends.high)))


def round_up(count: int) -> int:
    """Round a number of items up, so that it claims no more than it knows.

    Example:
        >>> round_up(7), round_up(61), round_up(123)
        (10, 70, 150)
    """
    step = 10 if count < 100 else 50  # noqa: PLR2004 - tens below a hundred
    return ceil(count / step) * step


def _measure_difference(things: Sequence[AnnotatedItem], scale: Scale, width: float, *, level: float) -> Measured:
    """Measure how much more the judge agrees with people than people do with each other, on the same items."""
    # Referees make people agree less on the items on which others disagree.
    referees = {*find_referees(things)}
    valued = [(thing, [value for who, value in thing.values.items() if who not in referees]) for thing in things]
    shared = [(thing, values) for thing, values in valued if len(values) >= PAIR]
    if not shared:
        return Undefined(n=0, reason="no item was labelled by two annotators")
    differences = []
    for thing, values in shared:
        judge_similarity = fmean(_compare_values(thing.judge, value, scale, width) for value in values)
        people_similarity = fmean(
            _compare_values(first, second, scale, width) for first, second in combinations(values, PAIR)
        )
        differences.append(judge_similarity - people_similarity)
    return _measure_mean(differences, [thing.sample_id for thing, _ in shared], DIFFERENCE, level=level)


def _compare_values(first: Value, second: Value, scale: Scale, width: float) -> float:
    """Return how similar two values are, 1 if they are equal; by their distance if the scale has an order."""
    if not isinstance(scale, CategoricalScale):
        return max(0.0, 1 - abs(float(first) - float(second)) / width)
    if not scale.ordered:
        return float(first == second)
    names = scale.names
    return 1 - abs(names.index(str(first)) - names.index(str(second))) / (len(names) - 1)


def _list_errors(
    pairs: Sequence[ValuePair], scale: Scale, width: float
) -> tuple[list[float], list[float], list[float] | None]:
    """List for each pair whether the judge gives people's value, the squared error, and the signed error.

    Errors are shares of the scale's width. The signed ones are missing if the categories have no order of numbers.
    """
    numbers = _read_numbers(pairs, scale)
    if isinstance(scale, CategoricalScale):
        same = [float(pair.people == pair.judge) for pair in pairs]
    else:
        # The small term keeps differences of exactly a tenth inside, which rounding may move out.
        same = [float(abs(judge - people) <= NEAR * width + 1e-12) for people, judge in numbers or ()]
    if numbers is None:
        return same, [1 - hit for hit in same], None
    signed = [max(-1.0, min(1.0, (judge - people) / width)) for people, judge in numbers]
    return same, [error * error for error in signed], signed


def _read_numbers(pairs: Sequence[ValuePair], scale: Scale) -> list[tuple[float, float]] | None:
    """Return the values as numbers; None for categories without any."""
    if not isinstance(scale, CategoricalScale):
        return [(float(pair.people), float(pair.judge)) for pair in pairs]
    scores = read_category_numbers(scale)
    if not scores:
        return None
    return [(scores[str(pair.people)], scores[str(pair.judge)]) for pair in pairs]


def _find_width(scale: Scale, things: Iterable[AnnotatedItem]) -> float:
    """Return the width of the scale; without an upper end, that of the values."""
    numbers = find_number_range(scale)
    if numbers is not None and numbers.high is not None:
        return numbers.high - numbers.low
    if not isinstance(scale, MeasureScale):
        return 1.0
    values = [float(value) for thing in things for value in (*thing.values.values(), thing.judge)]
    # If all values are equal, any width gives the same shares.
    return (max(values) - min(values)) or 1.0


def _measure_mean(
    values: Sequence[float], questions: list[str], numbers: NumberRange, *, level: float
) -> MeasuredValue:
    """Measure a mean over items, with an interval over whole questions."""
    import numpy as np

    clusters = sum_by_cluster(np.array(values), encode_names(questions))
    interval = mean_interval(clusters.sums, clusters.sizes, numbers, level=level)
    return MeasuredValue(value=clusters.mean, n=len(values), interval=interval)
