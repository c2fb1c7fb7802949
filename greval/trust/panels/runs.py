"""The verdicts of several runs on one metric, joined by sample, method and item."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from greval.errors import DataError
from greval.records.case import Tags
from greval.records.scale import CategoricalScale, Scale, Value
from greval.records.stored_metric import StoredMetric
from greval.runs.run_reader import CaseKey, ItemKey, read_metric
from greval.runs.store import Store
from greval.trust.agreement.records import TreatAs
from greval.trust.agreement.value_pairs import convert_scale, convert_value
from greval.trust.panels.records import CombineJudges, PanelRun
from greval.trust.panels.shown_inputs import JudgementKey, ShownInputs

if TYPE_CHECKING:
    from greval.stats.bootstrap import Integers

MIN_RUNS = 2
MISSING, UNKNOWN = -1, 0
"""The number of a verdict that is missing, and the hash of what was shown if it is not known."""
COMPUTED_JUDGE = ""
"""The judge of a computed row, such as one that repeats a verdict recorded elsewhere."""


class PanelNumbers:
    """The numbers of items, tags and values in all runs of a panel, each in the order of first occurrence."""

    def __init__(self) -> None:
        self.items: dict[ItemKey, int] = {}
        self.cases: dict[CaseKey, int] = {}
        self.case_of_item = array("q")
        self.tags: dict[str, int] = {}
        self._values: dict[tuple[type, Value], int] = {}

    @property
    def values(self) -> list[Value]:
        """The distinct values by their numbers; 1 and 1.0 are different values."""
        return [value for _, value in self._values]

    def number_item(self, key: ItemKey) -> int:
        """Return the number of an item, which may be new."""
        found = self.items.get(key)
        if found is None:
            found = self.items[key] = len(self.items)
            self.case_of_item.append(self.cases.setdefault(key[:2], len(self.cases)))
        return found

    def number_tags(self, tags: str) -> int:
        """Return the number of tags given as JSON, which may be new."""
        return self.tags.setdefault(tags, len(self.tags))

    def number_value(self, value: Value) -> int:
        """Return the number of a value, which may be new."""
        return self._values.setdefault((type(value), value), len(self._values))


@dataclass
class RunVerdicts:
    """The verdicts of one run, the numbers of failed and skipped ones, the judges, and hashes of what was shown.

    `verdicts` are the numbers of the values of the items, `MISSING` if an item has no verdict, and `tags` those of
    their tags, see `PanelNumbers`. `shown` are the hashes of what was shown of the cases, `UNKNOWN` if it is not known.
    """

    folder: Path
    metric: StoredMetric
    failed: int
    skipped: int
    judges: frozenset[str]
    fingerprints: frozenset[str]
    verdicts: Integers
    tags: Integers
    shown: Integers

    @property
    def count(self) -> int:
        """The number of verdicts."""
        return int((self.verdicts != MISSING).sum())


class _RunReader:
    """Reads the rows of a run into columns, with an entry for each judgement or case in the order of the rows."""

    def __init__(self, numbers: PanelNumbers) -> None:
        self.failed = self.skipped = 0
        self.keys: dict[CaseKey, JudgementKey] = {}
        self.versions: set[tuple[str, str]] = set()
        """The judge and the fingerprint of each verdict."""
        self.items, self.values, self.tags = array("q"), array("q"), array("q")
        self._numbers = numbers
        self._names: dict[str, str] = {}

    def read_rows(self, rows: Iterable[tuple[int, int | None, str, str]]) -> None:
        """Read results, each with the numbers of its keys, its tags and itself as JSON."""
        for key, content, tags, line in rows:
            row = from_json(line)  # it was validated when it was written
            outcome, case = row["outcome"], (row["sample_id"], row["method"])
            if not row["repeat"]:
                fingerprint = self._names.setdefault(row["fingerprint"], row["fingerprint"])  # one text for all rows
                self.keys[case] = JudgementKey(fingerprint, key, content)
            if outcome["status"] == "skipped":
                self.skipped += 1
                continue
            self.failed += len(outcome["failures"]) or outcome["status"] == "failed"
            if outcome["status"] == "scored":
                self.versions.add((row["judge"], row["fingerprint"]))
                self._add_judgements(case, tags, outcome["judgements"])

    def _add_judgements(self, case: CaseKey, tags: str, judgements: Sequence[Mapping[str, Any]]) -> None:
        """Add the judgements of a case."""
        numbers = self._numbers
        number = numbers.number_tags(tags)
        for one in judgements:
            self.items.append(numbers.number_item((*case, one["item"])))
            self.values.append(numbers.number_value(one["value"]))
            self.tags.append(number)


def _spread(places: array[int], numbers: array[int], missing: int) -> Integers:
    """Return a column with each number at its place; the last one counts, and the other places are missing."""
    import numpy as np

    column = np.full(max(places, default=-1) + 1, missing, dtype=np.int64)
    column[np.asarray(places)] = np.asarray(numbers)
    return column


class PanelItems(NamedTuple):
    """The items that all runs judged, on the scale on which they are compared, and the scale of the metric.

    `keys` and `tags` are those of each item, and `verdicts` has a row for each item with the place in `values` of each
    run's verdict. `differing` items are left out because the runs judged different texts, `unknown` is the number of
    items of each run of which it is not known what it judged, and `between` is the number of items left out because a
    verdict lies between two levels.
    """

    runs: Mapping[str, RunVerdicts]
    numbers: PanelNumbers
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
    runs = read_runs(folders, metric, numbers)
    first = next(iter(runs.values()))
    scale_of_run = first.metric.scale
    every = find_common_items(runs, numbers)
    if not len(every.items):
        counts = ", ".join(f"{name} {run.count} verdicts" for name, run in runs.items())
        other = f"; {len(every.differing)} of them judged another text than the rest" if len(every.differing) else ""
        raise DataError(f"{metric}: nothing was judged by all of the panel: {counts}{other}")
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
    keys, tags = [*numbers.items], [json.loads(text) for text in numbers.tags]
    unknown = (every.shown[used] == UNKNOWN).sum(axis=0).tolist()
    return PanelItems(
        runs=runs,
        numbers=numbers,
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
    )


def read_run(folder: Path, metric: str, numbers: PanelNumbers, inputs: ShownInputs) -> RunVerdicts:
    """Read a run; raise `DataError` if it does not contain the metric, and `StoreError` if the folder is not a run."""
    reader = _RunReader(numbers)
    with Store.open(folder) as store, store.snapshot():
        stored = read_metric(store, metric)
        reader.read_rows(store.keyed_lines(metric))
        cases, shown = array("q"), array("q")
        for case, hashed in inputs.read_hashes(store, stored, reader.keys):
            if (number := numbers.cases.get(case)) is not None:
                cases.append(number)
                shown.append(hashed)
    return RunVerdicts(
        folder,
        stored,
        failed=reader.failed,
        skipped=reader.skipped,
        judges=frozenset(judge for judge, _ in reader.versions) - {COMPUTED_JUDGE},
        fingerprints=frozenset(fingerprint for _, fingerprint in reader.versions),
        verdicts=_spread(reader.items, reader.values, MISSING),
        tags=_spread(reader.items, reader.tags, MISSING),
        shown=_spread(cases, shown, UNKNOWN),
    )


def read_runs(folders: Sequence[Path], metric: str, numbers: PanelNumbers) -> dict[str, RunVerdicts]:
    """Read the runs of a panel, by the names of their judges.

    Raise `DataError` if there are fewer than two, one is given twice, or their scales differ, and `StoreError` if a
    folder is not a run.
    """
    if len({folder.resolve() for folder in folders}) < max(len(folders), MIN_RUNS):
        raise DataError("a panel needs two runs or more, each given once, and each by a judge of its own")
    inputs = ShownInputs()
    runs = [read_run(folder, metric, numbers, inputs) for folder in folders]
    for run in runs[1:]:
        if run.metric.scale != runs[0].metric.scale:
            raise DataError(
                f"{run.folder}: {metric} has another scale than in {runs[0].folder}; judge all by one definition"
            )
    return dict(zip(_name_runs(runs), runs, strict=True))


def find_common_items(runs: Mapping[str, RunVerdicts], numbers: PanelNumbers) -> CommonItems:
    """Find the items that all judged, and those of them that were not shown alike."""
    import numpy as np

    verdicts = _align_columns([run.verdicts for run in runs.values()], len(numbers.items), MISSING)
    common = np.flatnonzero((verdicts != MISSING).all(axis=1))
    shown = _align_columns([run.shown for run in runs.values()], len(numbers.cases), UNKNOWN)
    shown = shown[np.asarray(numbers.case_of_item)[common]]
    one = shown.max(axis=1, where=shown != UNKNOWN, initial=np.iinfo(np.int64).min)
    differs = ((shown != UNKNOWN) & (shown != one[:, None])).any(axis=1)
    return CommonItems(common[~differs], verdicts[common[~differs]], common[differs], shown[~differs])


def _align_columns(columns: Sequence[Integers], length: int, missing: int) -> Integers:
    """Return columns of different lengths side by side; what they lack at their end is missing."""
    import numpy as np

    table = np.full((length, len(columns)), missing, dtype=np.int64)
    for place, column in enumerate(columns):
        table[: len(column), place] = column
    return table


def count_run_verdicts(runs: Mapping[str, RunVerdicts], numbers: PanelNumbers) -> tuple[PanelRun, ...]:
    """Return the counts of verdicts, failures and missing items of each run."""
    return tuple(
        PanelRun(
            name=name,
            folder=str(run.folder),
            judges=tuple(sorted(run.judges)),
            verdicts=run.count,
            failed=run.failed,
            skipped=run.skipped,
            missing=len(numbers.items) - run.count,
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
