"""The runs of a panel, read as items that the judges of the runs annotated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, zip_longest
from itertools import repeat as repeat_value
from pathlib import Path
from typing import NamedTuple

from greval._util.joins import IdJoin, join_ids
from greval.errors import DataError
from greval.records.case import Tags
from greval.records.scale import CategoricalScale, Scale, Value
from greval.records.stored_metric import StoredMetric
from greval.runs.run_reader import ItemKey, read_metric
from greval.runs.store import Store
from greval.trust.agreement.records import TreatAs
from greval.trust.agreement.value_pairs import convert_items
from greval.trust.annotations.joining import format_item_key
from greval.trust.annotations.matching import AnnotatedItem
from greval.trust.annotations.verdicts import iterate_verdicts
from greval.trust.panels.records import CombineJudges, PanelRun
from greval.trust.panels.shown_inputs import find_differing_cases

MIN_RUNS = 2
COMPUTED_JUDGE = ""
"""The judge of a computed row, such as one that repeats a verdict recorded elsewhere."""


@dataclass
class JudgeRun:
    """The verdicts of one run, its judges and fingerprints, and the numbers of failures and skipped cases.

    `values` has the value of each item by the number of the item, None if it has no verdict, and `tags` the tags of its
    case.
    """

    folder: Path
    metric: StoredMetric
    failed: int = 0
    skipped: int = 0
    judges: set[str] = field(default_factory=set)
    fingerprints: set[str] = field(default_factory=set)
    values: list[Value | None] = field(default_factory=list)
    tags: list[Tags] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of verdicts."""
        return len(self.values) - self.values.count(None)

    def put(self, number: int, value: Value, tags: Tags) -> None:
        """Set the verdict on an item; a later one replaces it."""
        if number >= len(self.values):
            missing = number + 1 - len(self.values)
            self.values.extend(repeat_value(None, missing))
            self.tags.extend(repeat_value({}, missing))
        self.values[number], self.tags[number] = value, tags


class PanelItems(NamedTuple):
    """The items that all runs judged, on the scale on which they are compared, and the scale of the metric.

    The annotators of `things` are the judges, by the names of the runs. `item_count` is the number of items that any
    run judged. `differing` items are left out because the runs judged different texts, `unknown` is the number of items
    of each run of which it is not known what it judged, and `between` is the number of items left out because a verdict
    lies between two levels. `joins` are those of each two runs if less than half of all items were judged by all.
    """

    runs: Mapping[str, JudgeRun]
    item_count: int
    things: Sequence[AnnotatedItem]
    scale: Scale
    scale_of_run: Scale
    combine: CombineJudges
    differing: tuple[ItemKey, ...]
    unknown: Mapping[str, int]
    between: int
    joins: tuple[IdJoin, ...] = ()


def read_panel_items(
    folders: Sequence[Path], metric: str, *, combine: CombineJudges | None = None, treat_as: TreatAs | None = None
) -> PanelItems:
    """Read the runs of a panel and select the items that all judged.

    Raise `DataError` if there is no such item, or verdicts on this scale cannot be combined in the requested way, and
    `StoreError` if a folder is not a run.
    """
    numbers: dict[ItemKey, int] = {}
    runs = read_runs(folders, metric, numbers)
    first = next(iter(runs.values()))
    scale_of_run = first.metric.scale
    common = _list_common_items(runs, numbers)
    stored = [(run.folder, run.metric) for run in runs.values()]
    shown_cases = find_differing_cases(stored, [item.key for item in common])
    comparable = [item for item in common if item.key[:2] not in shown_cases.differing]
    keys = [*numbers]
    if not comparable:
        counts = ", ".join(f"{name} {run.count} verdicts" for name, run in runs.items())
        text_fault = f"; {len(common)} of them judged another text than the rest" if common else ""
        hints = "".join(f"; {join.describe()}" for join in join_runs(runs, keys) if join.met_nothing)
        raise DataError(f"{metric}: no item was judged by every judge of the panel: {counts}{text_fault}{hints}")
    scale, converted = convert_items(metric, scale_of_run, comparable, treat_as)
    things = [item for item in converted if len(item.values) == len(runs)]
    if not things:
        raise DataError(f"{metric}: every verdict lies between two levels; compare them as numbers")
    unknown = (sum(item.key[:2] in missing for item in things) for missing in shown_cases.missing)
    return PanelItems(
        runs=runs,
        item_count=len(numbers),
        things=things,
        scale=scale,
        scale_of_run=scale_of_run,
        combine=_choose_combination(metric, scale, combine),
        differing=tuple(item.key for item in common if item.key[:2] in shown_cases.differing),
        unknown=dict(zip(runs, unknown, strict=True)),
        between=len(comparable) - len(things),
        joins=tuple(join_runs(runs, keys)) if 2 * len(common) < len(keys) else (),
    )


def _list_common_items(runs: Mapping[str, JudgeRun], numbers: Mapping[ItemKey, int]) -> list[AnnotatedItem]:
    """List the items that all runs judged, with the tags that the first run has of them."""
    first = next(iter(runs.values()))
    rows = zip_longest(*(run.values for run in runs.values()))
    items: list[AnnotatedItem] = []
    # An item that the first run lacks is not common, so the shortest sequence ends the loop.
    for key, tags, row in zip(numbers, first.tags, rows, strict=False):
        values = [value for value in row if value is not None]
        if len(values) == len(runs):
            items.append(AnnotatedItem(*key, tags, values[0], dict(zip(runs, values, strict=True))))
    return items


def _choose_combination(metric: str, scale: Scale, combine: CombineJudges | None) -> CombineJudges:
    """Return how verdicts become one, or raise `DataError` if the requested way does not fit the scale."""
    is_categorical = isinstance(scale, CategoricalScale)
    combine = combine or ("majority" if is_categorical else "median")
    if is_categorical != (combine == "majority"):
        kind = "categories have no median or mean" if is_categorical else "numbers are combined by median or mean"
        raise DataError(f"{metric}: {kind}, not {combine}")
    return combine


def join_runs(runs: Mapping[str, JudgeRun], keys: Sequence[ItemKey]) -> Iterator[IdJoin]:
    """Yield the join of the items of each two runs; those of the run with fewer are looked up."""
    judged = {
        name: [format_item_key(key) for key, value in zip(keys, run.values, strict=False) if value is not None]
        for name, run in runs.items()
    }
    for names in combinations(judged, 2):
        few, many = sorted(names, key=lambda name: len(judged[name]))
        yield join_ids(judged[few], judged[many], (f"items of {few}", f"items of {many}"))


def read_runs(folders: Sequence[Path], metric: str, numbers: dict[ItemKey, int]) -> dict[str, JudgeRun]:
    """Read the runs of a panel, by the names of their judges, and number their items in the order of first occurrence.

    Raise `DataError` if there are fewer than two, one is given twice, or their scales differ, and `StoreError` if a
    folder is not a run.
    """
    if len({folder.resolve() for folder in folders}) < max(len(folders), MIN_RUNS):
        raise DataError("a panel needs two runs or more, each given once, and each by a judge of its own")
    runs = [_read_run(folder, metric, numbers) for folder in folders]
    first, *later_runs = runs
    for run in later_runs:
        if run.metric.scale != first.metric.scale:
            raise DataError(
                f"{run.folder}: {metric} has another scale than in {first.folder}; judge all by one definition"
            )
    return dict(zip(_name_runs(runs), runs, strict=True))


def _read_run(folder: Path, metric: str, numbers: dict[ItemKey, int]) -> JudgeRun:
    """Read the verdicts of a run, or raise `DataError` if it does not contain the metric."""
    with Store.open(folder) as store, store.snapshot():
        run = JudgeRun(folder, read_metric(store, metric))
        # Most cases have tags in common, and a mapping for each case would take much memory.
        shared_tags: dict[tuple[tuple[str, str], ...], Tags] = {}
        for case in iterate_verdicts(store, metric):
            run.failed += case.failures
            run.skipped += case.is_skipped
            if not case.judgements:
                continue
            run.judges.add(case.judge)
            run.fingerprints.add(case.fingerprint)
            tags = shared_tags.setdefault(tuple(case.tags.items()), case.tags)
            for item, judgement in case.judgements.items():
                number = numbers.setdefault((case.sample_id, case.method, item), len(numbers))
                run.put(number, judgement["value"], tags)
    # A computed row has no judge after which the run could be named.
    run.judges.discard(COMPUTED_JUDGE)
    return run


def count_run_verdicts(runs: Mapping[str, JudgeRun], count: int) -> tuple[PanelRun, ...]:
    """Return the counts of verdicts and failures of each run, and of those of `count` items that are missing."""
    return tuple(
        PanelRun(
            name=name,
            folder=str(run.folder),
            judges=tuple(sorted(run.judges)),
            verdicts=run.count,
            failed=run.failed,
            skipped=run.skipped,
            missing=count - run.count,
        )
        for name, run in runs.items()
    )


def _name_runs(runs: Sequence[JudgeRun]) -> list[str]:
    """Name each run by its judge, or by its folder if its verdicts were computed or recorded elsewhere.

    If one judge has several runs, or a run has several judges, the folder is added.
    """
    judges = [", ".join(sorted(run.judges)) or (run.folder.name if run.count else "no verdict") for run in runs]
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
