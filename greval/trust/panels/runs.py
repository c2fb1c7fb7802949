"""The verdicts of several runs on one metric, joined by sample, method and item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from greval.errors import DataError
from greval.records.case import Case, Tags
from greval.records.fingerprint import digest
from greval.records.metric import Metric, define
from greval.records.metric_input import seen
from greval.records.result import Judgement, Result
from greval.records.scale import Scale
from greval.runs.store import Store
from greval.trust.agreement.api import scale_of
from greval.trust.annotations.judged_items import definitions, judged_cases
from greval.trust.annotations.matching import Key, Thing
from greval.trust.panels.records import Bench

FEWEST = 2
COMPUTED = ""
"""The judge of a computed row, such as one that repeats a verdict recorded elsewhere."""


@dataclass
class Held:
    """The verdicts of one run, the numbers of failed and skipped ones, the judges, and hashes of what was shown."""

    folder: Path
    definition: Mapping[str, object]
    scale: Scale
    verdicts: dict[Key, tuple[Judgement, Tags]] = field(default_factory=dict)
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
            self.judges.update({result.judge} - {COMPUTED})
            self.fingerprints.add(result.fingerprint)
        for one in result.judgements:
            self.verdicts[result.sample_id, result.method, one.item] = one, result.tags


def held(folder: Path, metric: str) -> Held:
    """Read a run.

    Raises:
        DataError: If it does not contain the metric.
        StoreError: If the folder is not a run.
    """
    with Store.open(folder) as store, store.snapshot():
        scale = scale_of(store, metric)
        definition = definitions(store)[metric]
        found = Held(folder, definition, scale)
        for line in store.lines(metric):
            found.add(Result.model_validate_json(line))
        what = Metric.model_validate({name: definition[name] for name in Metric.model_fields if name in definition})
        for case in _cases(store, definition, found.fingerprints):
            found.shown[case.id, case.method] = digest(seen(what, case))
    return found


def _cases(store: Store, definition: Mapping[str, object], prints: Collection[str]) -> Iterator[Case]:
    """Yield the cases as they were judged; for a computed metric, the latest version of each."""
    if "steps" not in definition:
        yield from store.cases()
        return
    for one in judged_cases(store, define(definition), prints=prints):
        yield one.whole


def read(folders: Sequence[Path], metric: str) -> dict[str, Held]:
    """Read the runs of a panel, by the names of their judges.

    Raises:
        DataError: If there are fewer than two, one is given twice, or their scales differ.
        StoreError: If a folder is not a run.
    """
    if len({folder.resolve() for folder in folders}) < max(len(folders), FEWEST):
        raise DataError("a panel needs two runs or more, each given once, and each by a judge of its own")
    runs = [held(folder, metric) for folder in folders]
    for run in runs[1:]:
        if run.scale != runs[0].scale:
            raise DataError(
                f"{run.folder}: {metric} has another scale than in {runs[0].folder}; judge all by one definition"
            )
    return dict(zip(_names(runs), runs, strict=True))


def common(runs: Mapping[str, Held]) -> tuple[tuple[Thing, ...], tuple[Key, ...]]:
    """Return the items that all judged, and the keys of those left out because they were shown differently."""
    first, *others = runs.values()
    things: list[Thing] = []
    differing: list[Key] = []
    for key, (judgement, tags) in first.verdicts.items():
        if not all(key in run.verdicts for run in others):
            continue
        if len({run.shown.get(key[:2]) for run in runs.values()}) > 1:
            differing.append(key)
            continue
        values = {name: run.verdicts[key][0].value for name, run in runs.items()}
        things.append(
            Thing(sample_id=key[0], method=key[1], item=key[2], tags=tags, judgement=judgement, values=values)
        )
    return tuple(things), tuple(differing)


def benches(runs: Mapping[str, Held]) -> tuple[Bench, ...]:
    """Return the counts of verdicts, failures and missing items of each run."""
    every = {key for run in runs.values() for key in run.verdicts}
    return tuple(
        Bench(
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


def _names(runs: Sequence[Held]) -> list[str]:
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
