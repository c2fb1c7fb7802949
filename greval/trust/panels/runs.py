"""The verdicts of several runs on one metric, joined by sample, method and item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from greval.errors import DataError
from greval.records.case import Case, Tags
from greval.records.metric_input import hash_json, select_metric_input
from greval.records.result import Judgement, Result
from greval.records.scale import CategoricalScale, Scale
from greval.records.stored_metric import StoredMetric
from greval.runs.run_reader import ItemKey, read_judged_cases, read_metric
from greval.runs.store import Store
from greval.trust.agreement.records import TreatAs
from greval.trust.agreement.value_pairs import convert_items
from greval.trust.annotations.matching import AnnotatedItem
from greval.trust.panels.records import CombineJudges, PanelRun

MIN_RUNS = 2
COMPUTED_JUDGE = ""
"""The judge of a computed row, such as one that repeats a verdict recorded elsewhere."""


@dataclass
class RunVerdicts:
    """The verdicts of one run, the numbers of failed and skipped ones, the judges, and hashes of what was shown."""

    folder: Path
    metric: StoredMetric
    verdicts: dict[ItemKey, tuple[Judgement, Tags]] = field(default_factory=dict)
    failed: int = 0
    skipped: int = 0
    judges: set[str] = field(default_factory=set)
    fingerprints: set[str] = field(default_factory=set)
    shown: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        """Add a row."""
        self.failed += len(result.failures)
        self.skipped += result.outcome.status == "skipped"
        if result.judgements:
            self.judges.update({result.judge} - {COMPUTED_JUDGE})
            self.fingerprints.add(result.fingerprint)
        for one in result.judgements:
            self.verdicts[result.sample_id, result.method, one.item] = one, result.tags


class PanelItems(NamedTuple):
    """The items that all runs judged, on the scale on which they are compared, and the scale of the metric.

    `differing` items are left out because the runs judged different texts, and `between` is the number of items left
    out because a verdict lies between two levels.
    """

    runs: Mapping[str, RunVerdicts]
    things: tuple[AnnotatedItem, ...]
    scale: Scale
    scale_of_run: Scale
    combine: CombineJudges
    differing: tuple[ItemKey, ...]
    between: int


def read_panel_items(
    folders: Sequence[Path], metric: str, *, combine: CombineJudges | None = None, treat_as: TreatAs | None = None
) -> PanelItems:
    """Read the runs of a panel and select the items that all judged.

    Raise `DataError` if there is no such item, or verdicts on this scale cannot be combined in the requested way, and
    `StoreError` if a folder is not a run.
    """
    runs = read_runs(folders, metric)
    scale_of_run = next(iter(runs.values())).metric.scale
    every, differing = find_common_items(runs)
    if not every:
        counts = ", ".join(f"{name} {len(run.verdicts)} verdicts" for name, run in runs.items())
        other = f"; {len(differing)} of them judged another text than the rest" if differing else ""
        raise DataError(f"{metric}: nothing was judged by all of the panel: {counts}{other}")
    scale, things = convert_items(metric, scale_of_run, every, treat_as)
    things = tuple(thing for thing in things if len(thing.values) == len(runs))
    if not things:
        raise DataError(f"{metric}: every verdict lies between two levels; compare them as numbers")
    is_categorical = isinstance(scale, CategoricalScale)
    combine = combine or ("majority" if is_categorical else "median")
    if is_categorical != (combine == "majority"):
        kind = "categories have no median or mean" if is_categorical else "numbers are combined by median or mean"
        raise DataError(f"{metric}: {kind}, not {combine}")
    return PanelItems(runs, things, scale, scale_of_run, combine, differing, len(every) - len(things))


def read_run(folder: Path, metric: str) -> RunVerdicts:
    """Read a run; raise `DataError` if it does not contain the metric, and `StoreError` if the folder is not a run."""
    with Store.open(folder) as store, store.snapshot():
        stored = read_metric(store, metric)
        found = RunVerdicts(folder, stored)
        for line in store.lines(metric):
            found.add(Result.model_validate_json(line))
        described = stored.describe()
        for case in _read_cases(store, stored, found.fingerprints):
            found.shown[case.id, case.method] = hash_json(select_metric_input(described, case))
    return found


def _read_cases(store: Store, metric: StoredMetric, prints: Collection[str]) -> Iterator[Case]:
    """Yield the cases as they were judged; for a computed metric, the latest version of each."""
    if metric.judged is None:
        return store.cases()
    return (one.whole for one in read_judged_cases(store, metric.judged, prints=prints))


def read_runs(folders: Sequence[Path], metric: str) -> dict[str, RunVerdicts]:
    """Read the runs of a panel, by the names of their judges.

    Raise `DataError` if there are fewer than two, one is given twice, or their scales differ, and `StoreError` if a
    folder is not a run.
    """
    if len({folder.resolve() for folder in folders}) < max(len(folders), MIN_RUNS):
        raise DataError("a panel needs two runs or more, each given once, and each by a judge of its own")
    runs = [read_run(folder, metric) for folder in folders]
    for run in runs[1:]:
        if run.metric.scale != runs[0].metric.scale:
            raise DataError(
                f"{run.folder}: {metric} has another scale than in {runs[0].folder}; judge all by one definition"
            )
    return dict(zip(_name_runs(runs), runs, strict=True))


def find_common_items(runs: Mapping[str, RunVerdicts]) -> tuple[tuple[AnnotatedItem, ...], tuple[ItemKey, ...]]:
    """Return the items that all judged, and the keys of those left out because they were shown differently."""
    first, *others = runs.values()
    things: list[AnnotatedItem] = []
    differing: list[ItemKey] = []
    for key, (judgement, tags) in first.verdicts.items():
        if not all(key in run.verdicts for run in others):
            continue
        if len({run.shown.get(key[:2]) for run in runs.values()} - {None}) > 1:
            differing.append(key)
            continue
        values = {name: run.verdicts[key][0].value for name, run in runs.items()}
        things.append(
            AnnotatedItem(sample_id=key[0], method=key[1], item=key[2], tags=tags, judgement=judgement, values=values)
        )
    return tuple(things), tuple(differing)


def count_run_verdicts(runs: Mapping[str, RunVerdicts]) -> tuple[PanelRun, ...]:
    """Return the counts of verdicts, failures and missing items of each run."""
    every = {key for run in runs.values() for key in run.verdicts}
    return tuple(
        PanelRun(
            name=name,
            folder=str(run.folder),
            judges=tuple(sorted(run.judges)),
            verdicts=len(run.verdicts),
            failed=run.failed,
            skipped=run.skipped,
            missing=len(every) - len(run.verdicts),
        )
        for name, run in runs.items()
    )


def _name_runs(runs: Sequence[RunVerdicts]) -> list[str]:
    """Name each run by its judge, or by its folder if its verdicts were computed or recorded elsewhere.

    If one judge has several runs, or a run has several judges, the folder is added.
    """
    judges = [", ".join(sorted(run.judges)) or (run.folder.name if run.verdicts else "no verdict") for run in runs]
    count = Counter(judges)
    short = [
        name if count[name] == 1 or name == run.folder.name else f"{name} ({run.folder.name})"
        for name, run in zip(judges, runs, strict=True)
    ]
    count = Counter(short)
    return [
        name if count[name] == 1 else f"{judge} ({run.folder})"
        for name, judge, run in zip(short, judges, runs, strict=True)
    ]
