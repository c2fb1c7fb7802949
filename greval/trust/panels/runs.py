"""The runs of a panel: the items that all judges judged, and whether they were shown the same of each case."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from greval._util.joins import IdJoin, join_ids
from greval.errors import DataError
from greval.records.case import Tags
from greval.records.formula_metric import StoredMetric
from greval.records.metric_input import hash_json, select_metric_input
from greval.records.result import Result
from greval.records.scale import CategoricalScale, Scale, Value
from greval.runs.run_reader import LINE_COLUMNS, CaseFinder, CaseKey, ItemKey, read_case_places, read_metric
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.trust.agreement.records import TreatAs
from greval.trust.agreement.value_pairs import convert_items
from greval.trust.annotations.judged_items import iterate_verdicts
from greval.trust.annotations.matching import AnnotatedItem, format_item_key
from greval.trust.panels.records import CombineJudges, PanelRun

MIN_RUNS = 2
COMPUTED_JUDGE = ""
"""The judge of a computed row, such as one that repeats a verdict recorded elsewhere."""
PanelKeys = dict[ItemKey, tuple[ItemKey, Tags]]
"""The items that any run judged, each with its key and the tags of its case in the first run that has it."""


@dataclass
class JudgeRun:
    """The verdicts of one run by item, its judges and fingerprints, and the numbers of failures and skipped cases."""

    folder: Path
    metric: StoredMetric
    failed: int = 0
    skipped: int = 0
    judges: set[str] = field(default_factory=set)
    fingerprints: set[str] = field(default_factory=set)
    values: dict[ItemKey, Value] = field(default_factory=dict)


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
    """Read the runs of a panel and select the items that all judged, or raise `DataError` if no item was."""
    keys: PanelKeys = {}
    runs = read_runs(folders, metric, keys)
    first = next(iter(runs.values()))
    common = [
        AnnotatedItem(*key, tags, first.values[key], {name: run.values[key] for name, run in runs.items()})
        for key, tags in keys.values()
        if all(key in run.values for run in runs.values())
    ]
    differing, missing = find_differing_cases([*runs.values()], [item.key for item in common])
    comparable = [item for item in common if item.key[:2] not in differing]
    if not comparable:
        counts = ", ".join(f"{name} {len(run.values)} verdicts" for name, run in runs.items())
        text_fault = f"; {len(common)} of them judged another text than the rest" if common else ""
        hints = "".join(f"; {join.describe()}" for join in join_runs(runs) if join.met_nothing)
        raise DataError(f"{metric}: no item was judged by every judge of the panel: {counts}{text_fault}{hints}")
    scale, converted = convert_items(metric, first.metric.scale, comparable, treat_as)
    things = [item for item in converted if len(item.values) == len(runs)]
    if not things:
        raise DataError(f"{metric}: every verdict lies between two levels; compare them as numbers")
    return PanelItems(
        runs=runs,
        item_count=len(keys),
        things=things,
        scale=scale,
        scale_of_run=first.metric.scale,
        combine=_choose_combination(metric, scale, combine),
        differing=tuple(item.key for item in common if item.key[:2] in differing),
        unknown={
            name: sum(item.key[:2] in cases for item in things) for name, cases in zip(runs, missing, strict=True)
        },
        between=len(comparable) - len(things),
        joins=tuple(join_runs(runs)) if 2 * len(common) < len(keys) else (),
    )


def _choose_combination(metric: str, scale: Scale, combine: CombineJudges | None) -> CombineJudges:
    """Return how verdicts become one, or raise `DataError` if the requested way does not fit the scale."""
    is_categorical = isinstance(scale, CategoricalScale)
    combine = combine or ("majority" if is_categorical else "median")
    if is_categorical != (combine == "majority"):
        kind = "categories have no median or mean" if is_categorical else "numbers are combined by median or mean"
        raise DataError(f"{metric}: {kind}, not {combine}")
    return combine


def join_runs(runs: Mapping[str, JudgeRun]) -> Iterator[IdJoin]:
    """Yield the join of the items of each two runs; those of the run with fewer are looked up."""
    judged = {name: [*map(format_item_key, run.values)] for name, run in runs.items()}
    for names in combinations(judged, 2):
        few, many = sorted(names, key=lambda name: len(judged[name]))
        yield join_ids(judged[few], judged[many], (f"items of {few}", f"items of {many}"))


def read_runs(folders: Sequence[Path], metric: str, keys: PanelKeys) -> dict[str, JudgeRun]:
    """Read the runs of a panel, by the names of their judges, and add their items to `keys`."""
    if len({folder.resolve() for folder in folders}) < max(len(folders), MIN_RUNS):
        raise DataError("a panel needs two runs or more, each given once, and each by a judge of its own")
    runs = [_read_run(folder, metric, keys) for folder in folders]
    first, *later_runs = runs
    for run in later_runs:
        if run.metric.scale != first.metric.scale:
            raise DataError(
                f"{run.folder}: {metric} has another scale than in {first.folder}; judge all by one definition"
            )
    return dict(zip(_name_runs(runs), runs, strict=True))


def _read_run(folder: Path, metric: str, keys: PanelKeys) -> JudgeRun:
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
                key = case.sample_id, case.method, item
                # The runs share their keys, for the same reason.
                key, _ = keys.setdefault(key, (key, tags))
                run.values[key] = judgement["value"]
    # A computed row has no judge after which the run could be named.
    run.judges.discard(COMPUTED_JUDGE)
    return run


def count_run_verdicts(items: PanelItems) -> tuple[PanelRun, ...]:
    """Return the counts of verdicts and failures of each run, and of the items of other runs that are missing."""
    return tuple(
        PanelRun(
            name=name,
            folder=str(run.folder),
            judges=tuple(sorted(run.judges)),
            verdicts=len(run.values),
            failed=run.failed,
            skipped=run.skipped,
            missing=items.item_count - len(run.values),
        )
        for name, run in items.runs.items()
    )


def _name_runs(runs: Sequence[JudgeRun]) -> list[str]:
    """Name each run by its judge, or by its folder if it has none; if a name is not unique, the folder is added."""
    judges = [", ".join(sorted(run.judges)) or (run.folder.name if run.values else "no verdict") for run in runs]
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


def find_differing_cases(
    runs: Sequence[JudgeRun], items: Iterable[ItemKey]
) -> tuple[set[CaseKey], list[Collection[CaseKey]]]:
    """Find the cases of which the runs judged different texts, and for each run those that it does not store.

    What a run does not store is not compared. Only cases that differ between the runs, or of which a run stores several
    versions, are parsed.
    """
    first_keys: dict[CaseKey, int | None] = dict.fromkeys(item[:2] for item in items)
    missing: list[Collection[CaseKey]] = []
    unclear: set[CaseKey] = set()
    for run in runs:
        absent = {*first_keys}
        for case, key in _list_stored_cases(run.folder):
            if case not in first_keys:
                continue
            absent.discard(case)
            first_key = first_keys[case]
            if first_key is None:
                first_keys[case] = key
            elif first_key != key:
                unclear.add(case)
        missing.append(frozenset(absent))
    first, *later_runs = runs
    inputs = first.metric.describe().inputs
    if first.metric.claim_fields or any(run.metric.describe().inputs != inputs for run in later_runs):
        # Equal cases do not help if each run lists claims of its own, or shows other fields.
        unclear = {*first_keys}
    hashes: defaultdict[CaseKey, set[str]] = defaultdict(set)
    for run in runs if unclear else ():
        for case, shown_hash in _hash_shown(run, unclear):
            hashes[case].add(shown_hash)
    return {case for case, shown_hashes in hashes.items() if len(shown_hashes) > 1}, missing


def _list_stored_cases(folder: Path) -> Iterator[tuple[CaseKey, int]]:
    """Yield each stored version of a case with its key; equal cases have equal keys."""
    with Store.open(folder) as store, store.snapshot():
        for (_, sample_id, method), (key,) in zip(read_case_places(store), store.select_cases(("key",)), strict=True):
            yield (sample_id, method), key


def _hash_shown(run: JudgeRun, cases: Collection[CaseKey]) -> Iterator[tuple[CaseKey, str]]:
    """Yield the hash of what a run showed of some cases, in the version that was judged."""
    definition = run.metric.judged or run.metric.describe()
    with Store.open(run.folder) as store, store.snapshot():
        finder = CaseFinder(store, cases)
        for sample_id, method, line in store.select(LINE_COLUMNS, ResultFilter(metrics=(run.metric.name,))):
            if (sample_id, method) not in cases:
                continue
            case = finder.find_case(Result.model_validate_json(line))
            if case is not None:
                yield (sample_id, method), hash_json(select_metric_input(definition, case))
