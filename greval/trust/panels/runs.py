"""The verdicts of several runs on one metric, joined by sample, method and item."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from itertools import repeat as repeat_value
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic_core import from_json

from greval._util.joins import IdJoin, join_ids
from greval.errors import DataError
from greval.records.case import Tags
from greval.records.result import read_outline
from greval.records.scale import CategoricalScale, Scale, Value
from greval.records.stored_metric import StoredMetric
from greval.runs.run_reader import CaseKey, ItemKey, read_metric
from greval.runs.store import Store
from greval.runs.store.filters import ResultFilter
from greval.runs.store.reader import METRIC_VERSION
from greval.runs.store.result_index import NO_CONTENT
from greval.trust.agreement.records import TreatAs
from greval.trust.agreement.value_pairs import convert_scale, convert_value
from greval.trust.annotations.joining import format_item_key
from greval.trust.panels.records import CombineJudges, PanelRun
from greval.trust.panels.shown_inputs import UNKNOWN, JudgedKeys, RunInputs, hash_inputs, read_inputs

if TYPE_CHECKING:
    from greval.stats.bootstrap import Integers

MIN_RUNS = 2
MISSING = -1
"""The number of a verdict that is missing, or of an item that does not occur."""
JUDGED_COLUMNS = (
    *("sample_id", "method", "repeat", "key", f"ifnull(content, {NO_CONTENT})", "tags", "outline", METRIC_VERSION),
    "CASE WHEN json_extract(row, '$.outcome.judgements[0].item') IS NOT NULL THEN row END",
)
"""What is read of a result; the last column is the result if its judgements are of single items, else NULL."""
COMPUTED_JUDGE = ""
"""The judge of a computed row, such as one that repeats a verdict recorded elsewhere."""


class PanelNumbers:
    """The numbers of cases, items, tags and values in all runs of a panel, each in the order of first occurrence."""

    def __init__(self) -> None:
        self.cases: dict[CaseKey, int] = {}
        self.case_of_item = array("q")
        self.tags: dict[str, int] = {}
        self._whole = array("q")
        """The number of the item that is the answer of each case."""
        self._parts: dict[tuple[int, str], int] = {}
        self._values: dict[tuple[type, Value], int] = {}

    @property
    def values(self) -> list[Value]:
        """The distinct values by their numbers; 1 and 1.0 are different values."""
        return [value for _, value in self._values]

    def number_case(self, case: CaseKey) -> int:
        """Return the number of a case, which may be new."""
        found = self.cases.setdefault(case, len(self._whole))
        if found == len(self._whole):
            self._whole.append(MISSING)
        return found

    def number_item(self, case: int, item: str | None) -> int:
        """Return the number of an item of a case, which may be new; an answer has no item id."""
        found = self._whole[case] if item is None else self._parts.get((case, item), MISSING)
        if found == MISSING:
            found = len(self.case_of_item)
            self.case_of_item.append(case)
            if item is None:
                self._whole[case] = found
            else:
                self._parts[case, item] = found
        return found

    def list_items(self) -> list[ItemKey]:
        """List the keys of all items by their numbers."""
        cases, parts = [*self.cases], {number: item for (_, item), number in self._parts.items()}
        return [(*cases[case], parts.get(number)) for number, case in enumerate(self.case_of_item)]

    def number_tags(self, tags: str) -> int:
        """Return the number of tags given as JSON, which may be new."""
        return self.tags.setdefault(tags, len(self.tags))

    def number_value(self, value: Value) -> int:
        """Return the number of a value, which may be new."""
        return self._values.setdefault((type(value), value), len(self._values))


@dataclass
class RunVerdicts:
    """The verdicts of one run, the numbers of failed and skipped ones, and the judges.

    `verdicts` are the numbers of the values of the items, `MISSING` if an item has no verdict, and `tags` those of
    their tags, see `PanelNumbers`.
    """

    folder: Path
    metric: StoredMetric
    failed: int
    skipped: int
    judges: frozenset[str]
    fingerprints: frozenset[str]
    verdicts: Integers
    tags: Integers

    @property
    def count(self) -> int:
        """The number of verdicts."""
        return int((self.verdicts != MISSING).sum())


class _RunReader:
    """Reads the rows of a run into columns, with an entry for each judgement in the order of the rows."""

    def __init__(self, numbers: PanelNumbers, scale: Scale) -> None:
        self.failed = self.skipped = 0
        self.judged = JudgedKeys()
        self.versions: set[str] = set()
        """The fingerprint and the judge of each verdict, as JSON."""
        self.items, self.values, self.tags = array("q"), array("q"), array("q")
        self._numbers = numbers
        self._scale = scale
        self._numbers_of_values: dict[str, int] = {}

    def read_rows(self, rows: Iterable[tuple[str, str, int, int, int, str, str, str, str | None]]) -> None:
        """Read results, each as the values of `JUDGED_COLUMNS`."""
        versions = self.judged.versions
        for sample_id, method, repeat, key, content, tags, outline, version, line in rows:
            found = read_outline(outline)
            case = self._numbers.number_case((sample_id, method))
            if not repeat:
                self.judged.add(case, key, content, versions.setdefault(version, len(versions)))
            self.skipped += found.status == "skipped"
            self.failed += len(found.kinds)
            if found.status == "scored":
                self.versions.add(version)
                self._add_judgements(case, tags, found.values, line)

    def _add_judgements(self, case: int, tags: str, values: Sequence[str], line: str | None) -> None:
        """Add the judgements of a case; `line` is the result if they are of single items."""
        items = [one["item"] for one in from_json(line)["outcome"]["judgements"]] if line else repeat_value(None)
        number = self._numbers.number_tags(tags)
        for item, value in zip(items, values, strict=False):
            self.items.append(self._numbers.number_item(case, item))
            self.values.append(self._number_value(value))
            self.tags.append(number)

    def _number_value(self, text: str) -> int:
        """Return the number of a value given as text."""
        found = self._numbers_of_values.get(text)
        if found is None:
            found = self._numbers_of_values[text] = self._numbers.number_value(_read_value(text, self._scale))
        return found


def _read_value(text: str, scale: Scale) -> Value:
    """Return a value of a scale given as text in an outline.

    Example:
        >>> from greval.records.scale import MeasureScale
        >>> [_read_value(text, MeasureScale()) for text in ("1", "1.0")]
        [1, 1.0]
    """
    if isinstance(scale, CategoricalScale):
        return text
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            pass
    return text  # of an earlier definition with another scale


def _spread(places: array[int], numbers: array[int]) -> Integers:
    """Return a column with each number at its place; the last one counts, and the other places are missing."""
    import numpy as np

    column = np.full(max(places, default=-1) + 1, MISSING, dtype=np.int64)
    column[np.asarray(places)] = np.asarray(numbers)
    return column


class PanelItems(NamedTuple):
    """The items that all runs judged, on the scale on which they are compared, and the scale of the metric.

    `item_count` is the number of items that any of them judged. `keys` and `tags` are those of each item, and
    `verdicts` has a row for each item with the place in `values` of each run's verdict. `differing` items are left out
    because the runs judged different texts, `unknown` is the number of items of each run of which it is not known what
    it judged, and `between` is the number of items left out because a verdict lies between two levels. `joins` are
    those of each two runs if less than half of all items were judged by all.
    """

    runs: Mapping[str, RunVerdicts]
    item_count: int
    keys: Sequence[ItemKey]
    tags: Sequence[Tags]
    verdicts: Integers
    values: Sequence[Value]
    scale: Scale
    scale_of_run: Scale
    combine: CombineJudges
    differing: tuple[ItemKey, ...]
    unknown: Mapping[str, int]
    between: int
    joins: tuple[IdJoin, ...] = ()


class CommonItems(NamedTuple):
    """The numbers of the items that all judged, and of those that are left out because other texts were judged.

    `verdicts` has the number of each run's value in the row of each item, and `shown` the hash of what it was shown.
    """

    items: Integers
    verdicts: Integers
    differing: Integers
    shown: Integers


def read_panel_items(
    folders: Sequence[Path], metric: str, *, combine: CombineJudges | None = None, treat_as: TreatAs | None = None
) -> PanelItems:
    """Read the runs of a panel and select the items that all judged.

    Raise `DataError` if there is no such item, or verdicts on this scale cannot be combined in the requested way, and
    `StoreError` if a folder is not a run.
    """
    import numpy as np

    numbers = PanelNumbers()
    runs, shown = _read_verdicts(folders, metric, numbers)
    every = find_common_items([run.verdicts for run in runs.values()], shown, numbers.case_of_item)
    first = next(iter(runs.values()))
    scale_of_run = first.metric.scale
    if not len(every.items):
        counts = ", ".join(f"{name} {run.count} verdicts" for name, run in runs.items())
        other = f"; {len(every.differing)} of them judged another text than the rest" if len(every.differing) else ""
        near = "".join(f"; {join.describe()}" for join in join_runs(runs, numbers.list_items()) if join.met_nothing)
        raise DataError(f"{metric}: nothing was judged by all of the panel: {counts}{other}{near}")
    scale = convert_scale(metric, scale_of_run, treat_as)
    values = [convert_value(value, scale_of_run, scale) for value in numbers.values]
    is_between = np.array([value is None for value in values])
    used = np.flatnonzero(~is_between[every.verdicts].any(axis=1))
    if not len(used):
        raise DataError(f"{metric}: every verdict lies between two levels; compare them as numbers")
    is_categorical = isinstance(scale, CategoricalScale)
    combine = combine or ("majority" if is_categorical else "median")
    if is_categorical != (combine == "majority"):
        kind = "categories have no median or mean" if is_categorical else "numbers are combined by median or mean"
        raise DataError(f"{metric}: {kind}, not {combine}")
    keys, tags = numbers.list_items(), [json.loads(text) for text in numbers.tags]
    unknown = (every.shown[used] == UNKNOWN).sum(axis=0).tolist()
    return PanelItems(
        runs=runs,
        item_count=len(keys),
        keys=[keys[item] for item in every.items[used].tolist()],
        tags=[tags[number] for number in first.tags[every.items[used]].tolist()],
        verdicts=every.verdicts[used],
        values=["" if value is None else value for value in values],
        scale=scale,
        scale_of_run=scale_of_run,
        combine=combine,
        differing=tuple(keys[item] for item in every.differing.tolist()),
        unknown=dict(zip(runs, unknown, strict=True)),
        between=len(every.items) - len(used),
        joins=tuple(join_runs(runs, keys)) if 2 * len(every.items) < len(keys) else (),
    )


def join_runs(runs: Mapping[str, RunVerdicts], keys: Sequence[ItemKey]) -> Iterator[IdJoin]:
    """Yield the join of the items of each two runs; those of the run with fewer are looked up."""
    import numpy as np

    judged = {
        name: [format_item_key(keys[item]) for item in np.flatnonzero(run.verdicts != MISSING).tolist()]
        for name, run in runs.items()
    }
    for names in combinations(judged, 2):
        few, many = sorted(names, key=lambda name: len(judged[name]))
        yield join_ids(judged[few], judged[many], (f"items of {few}", f"items of {many}"))


def _read_verdicts(
    folders: Sequence[Path], metric: str, numbers: PanelNumbers
) -> tuple[dict[str, RunVerdicts], list[Integers]]:
    """Read the verdicts of the runs of a panel, by the names of their judges, and the hashes of what each showed."""
    read = read_runs(folders, metric, numbers)
    shown = hash_inputs([run.inputs for run in read.values()], numbers.cases)
    return {name: run.verdicts for name, run in read.items()}, shown


class ReadRun(NamedTuple):
    """A run as it was read: its verdicts, and what is needed to find what it showed."""

    verdicts: RunVerdicts
    inputs: RunInputs


def read_run(folder: Path, metric: str, numbers: PanelNumbers) -> ReadRun:
    """Read a run; raise `DataError` if it does not contain the metric, and `StoreError` if the folder is not a run."""
    with Store.open(folder) as store, store.snapshot():
        stored = read_metric(store, metric)
        reader = _RunReader(numbers, stored.scale)
        reader.read_rows(store.select(JUDGED_COLUMNS, ResultFilter(metrics=(metric,))))
        inputs = read_inputs(store, stored, reader.judged)
    versions = [json.loads(version) for version in reader.versions]
    verdicts = RunVerdicts(
        folder,
        stored,
        failed=reader.failed,
        skipped=reader.skipped,
        judges=frozenset(judge for _, judge in versions) - {COMPUTED_JUDGE},
        fingerprints=frozenset(fingerprint for fingerprint, _ in versions),
        verdicts=_spread(reader.items, reader.values),
        tags=_spread(reader.items, reader.tags),
    )
    return ReadRun(verdicts, inputs)


def read_runs(folders: Sequence[Path], metric: str, numbers: PanelNumbers) -> dict[str, ReadRun]:
    """Read the runs of a panel, by the names of their judges.

    Raise `DataError` if there are fewer than two, one is given twice, or their scales differ, and `StoreError` if a
    folder is not a run.
    """
    if len({folder.resolve() for folder in folders}) < max(len(folders), MIN_RUNS):
        raise DataError("a panel needs two runs or more, each given once, and each by a judge of its own")
    runs = [read_run(folder, metric, numbers) for folder in folders]
    first, *others = (run.verdicts for run in runs)
    for run in others:
        if run.metric.scale != first.metric.scale:
            raise DataError(
                f"{run.folder}: {metric} has another scale than in {first.folder}; judge all by one definition"
            )
    return dict(zip(_name_runs([run.verdicts for run in runs]), runs, strict=True))


def find_common_items(verdicts: Sequence[Integers], shown: Sequence[Integers], case_of_item: array[int]) -> CommonItems:
    """Find the items that all judged, and those of them that were not shown alike.

    Args:
        verdicts: The numbers of the verdicts of each run.
        shown: The hashes of what each run showed of the cases.
        case_of_item: The number of each item's case.
    """
    import numpy as np

    table = _align_columns(verdicts, len(case_of_item))
    common = np.flatnonzero((table != MISSING).all(axis=1))
    hashes = np.stack(shown, axis=1)[np.asarray(case_of_item)[common]]
    one = hashes.max(axis=1, where=hashes != UNKNOWN, initial=np.iinfo(np.int64).min)
    differs = ((hashes != UNKNOWN) & (hashes != one[:, None])).any(axis=1)
    return CommonItems(common[~differs], table[common[~differs]], common[differs], hashes[~differs])


def _align_columns(columns: Sequence[Integers], length: int) -> Integers:
    """Return columns of different lengths side by side; what they lack at their end is missing."""
    import numpy as np

    table = np.full((length, len(columns)), MISSING, dtype=np.int64)
    for place, column in enumerate(columns):
        table[: len(column), place] = column
    return table


def count_run_verdicts(runs: Mapping[str, RunVerdicts], count: int) -> tuple[PanelRun, ...]:
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


def _name_runs(runs: Sequence[RunVerdicts]) -> list[str]:
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
