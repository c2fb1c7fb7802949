"""The history of the metrics of many runs: their figures by run, and at which runs they changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from greval._util.arguments import build_unknown_name_error
from greval.analysis.history.records import (
    HistoryChange,
    HistoryMark,
    HistoryPoint,
    HistoryRun,
    MetricHistory,
    RunHistory,
)
from greval.errors import DataError
from greval.records.formula_metric import StoredMetric
from greval.records.scale import ScaleDirection, find_number_range
from greval.runs.manifest import read_origin
from greval.runs.run_reader import find_directions, read_metrics
from greval.runs.score_columns import SCORED, ScoreColumn, ScoreColumns
from greval.runs.store import FILE, Store
from greval.stats.change_points import (
    ALPHA,
    MIN_SHARED,
    ChangePoint,
    Floats,
    contrast_levels,
    find_change_points,
)
from greval.stats.interval import LEVEL, check_level, mean_interval

DEFAULT_FOLDER = Path("runs")


def build_history(
    folders: Iterable[str | Path] = (DEFAULT_FOLDER,),
    *,
    metrics: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    last: int | None = None,
    level: float = LEVEL,
) -> RunHistory:
    """Build the history of the metrics of several runs, oldest first.

    Args:
        folders: Run folders, and folders of run folders.
        metrics: Only these metrics.
        methods: Only these methods.
        last: Only the newest runs, this many.
        level: The confidence level of the intervals.

    Raises:
        DataError: If there are fewer than two runs, or no run has one of the metrics or methods.
        StoreError: If a run cannot be read.
    """
    check_level(level)
    found = sorted(map(_read_run, list_run_folders(folders)), key=lambda run: (run.began, run.folder))
    runs = found[-last:] if last else found
    if len(runs) < 2:  # noqa: PLR2004 - a history
        where = ", ".join(map(str, folders)) or "history"
        raise DataError(f"{where}: expected two runs or more, found {len(runs)}; name run folders, or a folder of them")
    scores, stored = ScoreColumns(), list[Mapping[str, StoredMetric]]()
    for number, run in enumerate(runs):
        with Store.open(Path(run.folder)) as store, store.snapshot():
            scores.add_run(store, before=number)
            stored.append(read_metrics(store))
    names = _select_names("metric", metrics, scores.columns)
    chosen = _select_names("method", methods, [side.method for side in scores.sides])
    directions = find_directions(*reversed(stored))
    definitions = {name: metric for run_metrics in stored for name, metric in run_metrics.items()}
    builder = _HistoryBuilder(scores, level)
    return RunHistory(
        runs=tuple(runs),
        metrics=tuple(
            history
            for name in names
            for method in chosen
            if (history := builder.build(name, method, directions.get(name), definitions.get(name)))
        ),
        alpha=ALPHA,
        level=level,
        warnings=tuple(_find_warnings(runs)),
    )


def list_run_folders(folders: Iterable[str | Path]) -> list[Path]:
    """List the run folders among folders and inside of them, each once; raise `DataError` for one that has none."""
    found: dict[Path, None] = {}
    for folder in map(Path, folders):
        inside = [folder] if (folder / FILE).is_file() else [path.parent for path in sorted(folder.glob(f"*/{FILE}"))]
        if not inside:
            raise DataError(f"{folder}: expected a run folder, or a folder of run folders, found none; name one")
        found.update(dict.fromkeys(inside))
    return [*found]


def _read_run(folder: Path) -> HistoryRun:
    with Store.open(folder) as store:
        began, commit = read_origin(store)
    return HistoryRun(folder=str(folder), label=folder.name or str(folder.resolve().name), began=began, commit=commit)


def _select_names(kind: str, wanted: Sequence[str] | None, existing: Iterable[str]) -> list[str]:
    """Return the names that are chosen, all if none are."""
    names = [*dict.fromkeys(existing)]
    for name in wanted or ():
        if name not in names:
            raise build_unknown_name_error(kind, name, names, "history")
    return [name for name in names if wanted is None or name in wanted]


def _find_warnings(runs: Sequence[HistoryRun]) -> Iterator[str]:
    """Yield a warning about each label that several runs have."""
    labels = [run.label for run in runs]
    for label in dict.fromkeys(label for label in labels if labels.count(label) > 1):
        yield f"{label}: {labels.count(label)} runs have this label; name their folders apart"


class _HistoryBuilder:
    """Builds the history of each metric and method from the scores of all runs."""

    def __init__(self, scores: ScoreColumns, level: float) -> None:
        self._scores = scores
        self._level = level

    def build(
        self, metric: str, method: str, direction: ScaleDirection | None, definition: StoredMetric | None
    ) -> MetricHistory | None:
        """Return the history of a metric of one method, None if no run has a figure of it."""
        columns = {
            side.before: column
            for side, column in self._scores.columns[metric].items()
            if side.method == method and SCORED in column.get_states(len(self._scores))
        }
        if not columns:
            return None
        runs = sorted(columns)
        figures = np.array([self._read_figures(columns[run]) for run in runs])
        marks = [*_find_marks([columns[run] for run in runs], figures)]
        better = direction.better if direction else "higher"
        breaks = [position for position, changed in enumerate(marks) if changed]
        changes = find_change_points(figures, breaks=breaks, better=better)
        starts = _find_starts(
            len(runs), breaks, [change for change in changes if _get_verdict(change, better) == "better"]
        )
        points = [
            self._build_point(runs[position], figures, position, starts[position], definition)
            for position in range(len(runs))
        ]
        return MetricHistory(
            metric=metric,
            method=method,
            better=better,
            points=tuple(
                point.model_copy(update={"marks": changed}) for point, changed in zip(points, marks, strict=True)
            ),
            changes=tuple(self._build_change(change, runs, better) for change in changes),
        )

    def _read_figures(self, column: ScoreColumn) -> Floats:
        """Return the figure of each question of all runs, NaN if it has none in this one."""
        questions = len(self._scores)
        return np.where(column.get_states(questions) == SCORED, column.get_values(questions), np.nan)

    def _build_point(
        self, run: int, figures: Floats, position: int, start: int, definition: StoredMetric | None
    ) -> HistoryPoint:
        own = figures[position][np.isfinite(figures[position])]
        numbers = find_number_range(definition.scale) if definition else None
        interval = (
            mean_interval(own, np.ones(len(own), dtype=np.int64), numbers, level=self._level) if numbers else None
        )
        point = HistoryPoint(run=run, n=len(own), mean=float(own.mean()), interval=interval)
        contrast = (
            contrast_levels(figures[start:position], figures[position : position + 1]) if position > start else None
        )
        if contrast is None:
            return point
        return point.model_copy(
            update={
                "earlier_mean": contrast.before_mean,
                "own_mean": contrast.after_mean,
                "difference": contrast.difference,
                "difference_interval": contrast.compute_interval(self._level),
                "shared": contrast.n,
                "paired": contrast.paired,
            }
        )

    def _build_change(self, change: ChangePoint, runs: Sequence[int], better: str) -> HistoryChange:
        contrast = change.contrast
        return HistoryChange(
            run=runs[change.first],
            found=runs[change.found],
            verdict=_get_verdict(change, better),
            before=contrast.before_mean,
            after=contrast.after_mean,
            difference=contrast.difference,
            interval=contrast.compute_interval(self._level),
            n=contrast.n,
            paired=contrast.paired,
        )


def _get_verdict(change: ChangePoint, better: str) -> Literal["better", "worse"]:
    return "better" if (change.contrast.difference > 0) == (better == "higher") else "worse"


def _find_marks(columns: Sequence[ScoreColumn], figures: Floats) -> Iterator[tuple[HistoryMark, ...]]:
    """Yield what changed before each run: the definition, the judge, or the questions that were asked.

    The questions count only if runs usually share them: those of a sample of traffic are others in each run.
    """
    has_figure = np.isfinite(figures)
    shared = [
        float((later & earlier).sum() / max(1, min(later.sum(), earlier.sum())))
        for earlier, later in pairwise(has_figure)
    ]
    is_steady = bool(shared) and float(np.median(shared)) >= MIN_SHARED
    yield ()
    for number, (earlier, later) in enumerate(pairwise(columns)):
        versions = [[*zip(*(json.loads(mark) for mark in column.marks), strict=True)] for column in (earlier, later)]
        changed: list[HistoryMark] = []
        if all(versions):
            changed += [
                name for name, old, new in zip(("definition", "judge"), *versions, strict=True) if {*old} != {*new}
            ]
        if is_steady and shared[number] < MIN_SHARED:
            changed.append("data")
        yield tuple(changed)


def _find_starts(length: int, breaks: Sequence[int], gains: Sequence[ChangePoint]) -> list[int]:
    """Return for each run the first of the runs before it that it is compared with.

    A change for the better raises the bar; one for the worse does not lower it.
    """
    starts, start = list[int](), 0
    for position in range(length):
        if position in breaks:
            start = position
        starts.append(start)
        # What was found after this run is what the next one is compared with.
        start = next((gain.first for gain in gains if gain.found == position), start)
    return starts
