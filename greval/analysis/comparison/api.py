"""Comparison of the methods of a run, or of a run with an earlier one, over all metrics and groups of questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from greval._util.arguments import known_options, run_folder
from greval.analysis.comparison.contrast import (
    Names,
    Rules,
    contrast,
    find_least,
    order_changed,
    read_differences,
    settled,
)
from greval.analysis.comparison.pairs import Pairs, figures
from greval.analysis.comparison.plan import Match, Plan, Wanted, planned
from greval.analysis.comparison.records import Comparison, Contrast, Family, Level
from greval.analysis.comparison.warnings import cautions
from greval.errors import DataError
from greval.stats.correction import Correction, correct_discrete, count_capable
from greval.stats.interval import LEVEL
from greval.stats.paired import RESAMPLES

if TYPE_CHECKING:
    from greval.runs.evaluation import Run

FINER = 200
"""The minimum number of draws for each test of the family, so that a corrected p can come well below the level."""
MOST_RESAMPLES = 199_999
TWO_RUNS = "compare('runs/new', against='runs/old')"


class Wishes(TypedDict, total=False):
    """The options of `compare`."""

    metrics: Sequence[str] | None
    methods: Sequence[str] | None
    correction: Correction
    cluster_by: str | None
    level: float


def compare(
    run: str | Path | Run,
    *,
    baseline: str | None = None,
    against: str | Path | Run | None = None,
    by: str | Sequence[str] = (),
    **wishes: Unpack[Wishes],
) -> Comparison:
    """Compare the methods of a run question by question.

    Args:
        run: The run, or its folder.
        baseline: The method that the others are compared with. By default all pairs of methods are compared.
        against: An earlier run: each method is compared with itself in that run.
        by: One or several tags; each combination of their values is compared in addition to all questions.
        **wishes: `metrics` and `methods`: compare only these. `correction`: "bonferroni" (default) or "holm".
            `cluster_by`: a tag, such as the document, whose questions are not independent. `level`: the confidence
            level of the intervals and of the whole family of tests, 0.95 by default.

    Returns:
        The comparison as data; `greval compare` prints it.

    Raises:
        DataError: If a method, metric or tag does not exist, there is nothing to compare, or several runs are given.
        StoreError: If a folder is not a run.

    Example:
        >>> import tempfile
        >>> from greval.runs.evaluation import evaluate
        >>> from greval.metrics.computed import COMPUTED
        >>> spent = {"walk": 3.0, "local": 1.0}
        >>> cases = [{"id": f"q{n}", "question": "?", "method": name, "usage": {"latency": spent[name] + n / 8}}
        ...          for n in range(8) for name in spent]
        >>> run = evaluate(cases, [COMPUTED["latency"]], out=tempfile.mkdtemp())
        >>> found = compare(run, baseline="local").contrasts[0]
        >>> found.n, found.difference, found.lost, found.verdict
        (8, 2.0, 8, 'worse')
    """
    known_options(wishes, Wishes, "compare")
    if baseline is not None and against is not None:
        raise DataError("give either a baseline or an earlier run to compare with, not both")
    level = wishes.get("level", LEVEL)
    if not 0 < level < 1:
        raise DataError(f"the level must lie between 0 and 1, got {level:g}; 0.95 is usual")
    wanted = Wanted(
        run=run_folder(run, TWO_RUNS),
        against=run_folder(against, TWO_RUNS) if against is not None else None,
        baseline=baseline,
        by=(by,) if isinstance(by, str) else tuple(by),
        cluster_by=wishes.get("cluster_by"),
        metrics=_chosen(wishes.get("metrics")),
        methods=_chosen(wishes.get("methods")),
    )
    return _compared(planned(wanted), wishes.get("correction", "bonferroni"), level)


def _chosen(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the names as a tuple, or None if no name is given."""
    return tuple(names) if names else None


def _compared(plan: Plan, how: Correction, level: float) -> Comparison:
    """Compute every comparison, then correct all of their tests as one family."""
    tests = sum(bool(pairs.both.any()) for _, pairs in plan.pairs())
    resamples = min(MOST_RESAMPLES, max(RESAMPLES, FINER * tests - 1))
    least = [_least(pairs, resamples) for _, pairs in plan.pairs() if pairs.both.any()]
    family = _family(plan, least, how, level)
    rules = Rules(level, family.alpha / family.counted, resamples)
    found: list[Contrast] = []
    unlike: list[bool] = []
    for match, pairs in plan.pairs():
        found.append(_contrast(plan, match, pairs, rules))
        unlike.append(pairs.unlike)
    contrasts = _corrected(plan, found, family)
    wanted = plan.wanted
    return Comparison(
        folder=str(wanted.run),
        against=str(wanted.against) if wanted.against else None,
        baseline=wanted.baseline,
        methods=tuple(dict.fromkeys(plan.name(method) for method, _ in plan.matches)),
        by=wanted.by,
        cluster_by=wanted.cluster_by,
        level=level,
        family=family,
        contrasts=contrasts,
        levels=tuple(_levels(plan)),
        without_numbers=plan.without_numbers,
        warnings=tuple(cautions(plan, contrasts, unlike)),
    )


def _contrast(plan: Plan, match: Match, pairs: Pairs, rules: Rules) -> Contrast:
    """Compute one comparison, with the ids of the questions won and lost."""
    names = Names(match.metric, match.group, plan.name(match.method), plan.name(match.baseline))
    scale = plan.scale(match.metric)
    won, lost = order_changed(pairs, scale.better, plan.scores.questions)
    return contrast(pairs, names, scale, rules).model_copy(
        update={
            "judged_alike": _judged_alike(plan, match),
            "computed": scale.computed,
            "won_questions": won,
            "lost_questions": lost,
        }
    )


def _least(pairs: Pairs, resamples: int) -> float:
    """Return the smallest p that the test of these pairs could give."""
    found = read_differences(pairs)
    return find_least(found.clusters, found.higher + found.lower, resamples, kind=found.kind)


def _family(plan: Plan, least: Sequence[float], how: Correction, level: float) -> Family:
    """Count the tests that are corrected together: all that are printed, including those over all questions."""
    kinds = [
        (len(plan.matches), "method" if plan.wanted.baseline is not None or plan.wanted.against else "pair of methods"),
        (len(plan.metrics), "metric"),
        (len(plan.groups), "group"),
    ]
    tests, alpha = len(least), round(1 - level, 12)
    told = f"{_count(tests, 'test')}: {' x '.join(_count(*kind) for kind in kinds)}"
    if len(plan.groups) > 1:
        told += " (all questions and each group by itself)"
    if rest := kinds[0][0] * kinds[1][0] * kinds[2][0] - tests:
        told += f", {rest} of them without a pair"
    return Family(tests=tests, counted=count_capable(least, alpha), told=told, correction=how, alpha=alpha)


def _count(number: int, what: str) -> str:
    """Format a number with its noun.

    Example:
        >>> _format_count(6, "pair of methods"), _format_count(1, "metric")
        ('6 pairs of methods', '1 metric')
    """
    if number == 1:
        return f"1 {what}"
    first, *rest = what.split(" ")
    return " ".join([str(number), f"{first}s", *rest])


def _corrected(plan: Plan, found: Sequence[Contrast], family: Family) -> tuple[Contrast, ...]:
    """Return the comparisons with corrected p values and verdicts."""
    tests = [one.test for one in found if one.test]
    least = [test.least for test in tests]
    ps = iter(correct_discrete([test.p for test in tests], least, family.correction, alpha=family.alpha))
    return tuple(
        settled(one, next(ps), family.alpha, facts=_are_facts(plan, one)) if one.test else one for one in found
    )


def _are_facts(plan: Plan, one: Contrast) -> bool:
    """Return whether the figures of a run against an earlier one have no noise.

    Measures without an upper end, such as latency, vary between runs even if nothing has changed.
    """
    against = plan.wanted.against is not None
    return against and one.computed and one.judged_alike and plan.scale(one.metric).ends is not None


def _judged_alike(plan: Plan, match: Match) -> bool:
    """Return whether all rows of both sides were judged by one definition and one judge."""
    columns = plan.scores.columns[match.metric]
    marks = [columns[side].marks for side in (match.method, match.baseline) if side in columns]
    return len(set().union(*marks)) <= 1


def _levels(plan: Plan) -> Iterator[Level]:
    """Compute the mean of each method over all its questions of each group."""
    compared = {side for pair in plan.matches for side in pair}
    sides = [side for side in plan.scores.sides if side in compared]
    for metric in plan.metrics:
        for side in sides:
            found = figures(plan.scores, metric, side)
            for group, number in plan.groups:
                which = found.had if number is None else found.had & (plan.scores.group_of() == number)
                n = int(which.sum())
                mean = float(found.values[which].mean()) if n else None
                yield Level(metric=metric, group=group, method=plan.name(side), n=n, mean=mean)
