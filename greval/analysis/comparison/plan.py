"""The plan of a comparison: the metrics, the pairs of methods and the groups of questions of one or two runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from greval._util.arguments import build_unknown_name_error
from greval.analysis.comparison.pairs import QuestionPairs, build_figures, pair_sides
from greval.errors import DataError
from greval.records.formula_metric import StoredMetric
from greval.records.scale import ScaleDirection
from greval.runs.manifest import read_join_remarks
from greval.runs.run_reader import find_directions, read_metrics
from greval.runs.score_columns import SCORED, WITHOUT_NUMBER, ComparisonSide, ScoreColumns
from greval.runs.store import Store
from greval.stats.summary import NO_VALUE

SidePair = tuple[ComparisonSide, ComparisonSide]
NAMELESS = ("now", "before")
"""The names of both sides of two runs whose cases name no method."""


class ComparisonRequest(NamedTuple):
    """The request for a comparison; None selects everything."""

    run: Path
    against: Path | None = None
    baseline: str | None = None
    by: tuple[str, ...] = ()
    cluster_by: str | None = None
    metrics: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None


class PlannedContrast(NamedTuple):
    """One planned contrast: a metric, a group ("" for all questions), a method and what it is compared with."""

    metric: str
    group: str
    method: ComparisonSide
    baseline: ComparisonSide


class ComparisonPlan(NamedTuple):
    """All planned contrasts, over scores that were read once; a group's number is None for all questions.

    `join_remarks` are those of the runs about ids that did not meet.
    """

    wanted: ComparisonRequest
    scores: ScoreColumns
    scales: dict[str, ScaleDirection]
    metrics: tuple[str, ...]
    without_numbers: tuple[str, ...]
    matches: tuple[SidePair, ...]
    groups: tuple[tuple[str, int | None], ...]
    join_remarks: tuple[str, ...] = ()

    def iterate_pairs(self) -> Iterator[tuple[PlannedContrast, QuestionPairs]]:
        """Yield the pairs of each contrast, one at a time."""
        for metric in self.metrics:
            for method, baseline in self.matches:
                sides = build_figures(self.scores, metric, method), build_figures(self.scores, metric, baseline)
                for group, number in self.groups:
                    yield PlannedContrast(metric, group, method, baseline), pair_sides(self.scores, *sides, number)

    def list_methods(self) -> tuple[str, ...]:
        """List the names of the methods that are compared: without the baseline, if there is one."""
        with_each_other = self.wanted.baseline is None and self.wanted.against is None
        compared = {side for pair in self.matches for side in (pair if with_each_other else pair[:1])}
        return tuple(self.format_side(side) for side in self.scores.sides if side in compared)

    def format_side(self, side: ComparisonSide) -> str:
        """Format the name of a side."""
        if not self.wanted.against:
            return side.method or NO_VALUE
        # Of two runs whose cases name no method, "(none) against (none)" would not say which is which.
        method = side.method or NAMELESS[side.before]
        return f"{method} in {self.wanted.against}" if side.before else method

    def find_scale_direction(self, metric: str) -> ScaleDirection:
        """Return the direction of a metric; higher is better if it is not known."""
        return self.scales.get(metric, ScaleDirection(known=False))


def plan_comparison(request: ComparisonRequest) -> ComparisonPlan:
    """Read the runs and plan every contrast."""
    scores = ScoreColumns(request.by, request.cluster_by)
    folders = filter(None, (request.run, request.against))
    remarks: dict[str, None] = {}
    metrics_of_runs = [_read_run(scores, folder, remarks, before) for before, folder in enumerate(folders)]
    _check_tags(scores, request)
    scales = find_directions(*metrics_of_runs)
    metrics = _select_metrics(scores, request, scales)
    numbered = tuple(metric for metric in metrics if not _is_without_numbers(scores, metric))
    groups: list[tuple[str, int | None]] = [("", None)]
    if request.by:
        groups += sorted(scores.groups.items())
    return ComparisonPlan(
        wanted=request,
        scores=scores,
        scales=scales,
        metrics=numbered,
        without_numbers=tuple(metric for metric in metrics if metric not in numbered),
        matches=_match_methods(scores, request),
        groups=tuple(groups),
        join_remarks=tuple(remarks),
    )


def _read_run(scores: ScoreColumns, folder: Path, remarks: dict[str, None], before: int) -> dict[str, StoredMetric]:
    """Read a run into the scores, and its remarks about joins, and return its metrics."""
    with Store.open(folder) as store, store.snapshot():
        scores.add_run(store, before=before)
        remarks.update(dict.fromkeys(read_join_remarks(store)))
        return read_metrics(store)


def _check_tags(scores: ScoreColumns, request: ComparisonRequest) -> None:
    """Raise an error if no question has one of the tags."""
    for tag in (*request.by, *([request.cluster_by] if request.cluster_by else [])):
        # In other commands `--by method` is the usual grouping, so that it is tried here.
        if tag == "method":
            raise DataError("methods are what is compared: group by a tag of the questions instead of by method")
        if tag not in scores.tags:
            raise build_unknown_name_error("tag", tag, scores.tags, request.run)


def _select_metrics(scores: ScoreColumns, request: ComparisonRequest, scales: Iterable[str]) -> tuple[str, ...]:
    """Return the requested metrics, in the order of their definitions."""
    order = {name: index for index, name in enumerate(scales)}
    columns = sorted(scores.columns, key=lambda name: order.get(name, len(order)))
    for name in request.metrics or ():
        if name not in columns:
            raise build_unknown_name_error("metric", name, columns, request.run)
    return tuple(columns if request.metrics is None else dict.fromkeys(request.metrics))


def _is_without_numbers(scores: ScoreColumns, metric: str) -> bool:
    """Return whether a metric was judged but none of its values reads as a number."""
    states_by_side = [column.get_states(0) for column in scores.columns[metric].values()]
    # A metric of which every row failed has no number either, but is compared, so that the failures show.
    return any(WITHOUT_NUMBER in states for states in states_by_side) and not any(
        SCORED in states for states in states_by_side
    )


def _match_methods(scores: ScoreColumns, request: ComparisonRequest) -> tuple[SidePair, ...]:
    """Return each method with what it is compared with."""
    now = [side.method for side in scores.sides if not side.before]
    for name in (*(request.methods or ()), *([request.baseline] if request.baseline is not None else [])):
        if name not in now:
            raise build_unknown_name_error("method", name, now, request.run)
    chosen = now if request.methods is None else [name for name in now if name in request.methods]
    if request.against:
        return _match_earlier_run(chosen, scores, request)
    if request.baseline is not None:
        pairs = [
            (ComparisonSide(name), ComparisonSide(request.baseline)) for name in chosen if name != request.baseline
        ]
    else:
        pairs = [(ComparisonSide(later), ComparisonSide(first)) for first, later in combinations(chosen, 2)]
    # The column that names the methods may not have been read.
    if not pairs and now == [""]:
        raise DataError(
            f"{request.run}: nothing to compare: its cases name no method; judge them with --column method=NAME, the "
            "column that holds it, or with --method, or compare with an earlier run (--against)"
        )
    if not pairs:
        raise DataError(
            f"{request.run}: nothing to compare: its methods are {_format_methods(now)}; "
            "compare with an earlier run (--against), or judge the cases of another method into this one"
        )
    return tuple(pairs)


def _match_earlier_run(chosen: Sequence[str], scores: ScoreColumns, request: ComparisonRequest) -> tuple[SidePair, ...]:
    """Pair each method with itself in the earlier run."""
    earlier = [side.method for side in scores.sides if side.before]
    common = [name for name in chosen if name in earlier]
    if not common:
        now, then = _format_methods(chosen), _format_methods(earlier)
        raise DataError(f"no method is in both runs: {request.run} has {now}; {request.against} has {then}")
    return tuple((ComparisonSide(name), ComparisonSide(name, before=1)) for name in common)


def _format_methods(names: Sequence[str]) -> str:
    return ", ".join(name or NO_VALUE for name in names) or "none"
