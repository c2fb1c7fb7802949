"""Whether the judges of a panel were shown the same of each case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from greval.records.metric_input import hash_json, select_metric_input
from greval.records.result import Result
from greval.records.stored_metric import StoredMetric
from greval.runs.run_reader import LINE_COLUMNS, CaseFinder, CaseKey, ItemKey, read_case_places
from greval.runs.store import Store
from greval.runs.store.filters import ResultFilter

StoredRun = tuple[Path, StoredMetric]
"""The folder of a run, and the definition of the panel's metric in it."""


class ShownCases(NamedTuple):
    """The cases of which the runs judged different texts, and for each run those that it does not store."""

    differing: Collection[CaseKey]
    missing: Sequence[Collection[CaseKey]]


def find_differing_cases(runs: Sequence[StoredRun], items: Iterable[ItemKey]) -> ShownCases:
    """Find the cases of which the runs judged different texts; what a run does not store is not compared.

    Only cases that differ between the runs, or of which a run stores several versions, are parsed.
    """
    first_keys: dict[CaseKey, int | None] = dict.fromkeys(item[:2] for item in items)
    missing: list[Collection[CaseKey]] = []
    unclear: set[CaseKey] = set()
    for folder, _ in runs:
        absent = {*first_keys}
        for case, key in _list_stored_cases(folder):
            if case not in first_keys:
                continue
            absent.discard(case)
            first_key = first_keys[case]
            if first_key is None:
                first_keys[case] = key
            elif first_key != key:
                unclear.add(case)
        missing.append(frozenset(absent))
    first, *later_metrics = (metric for _, metric in runs)
    if first.claim_fields or any(_list_inputs(metric) != _list_inputs(first) for metric in later_metrics):
        # Equal cases do not help if each run lists claims of its own, or shows other fields.
        unclear = {*first_keys}
    hashes: defaultdict[CaseKey, set[str]] = defaultdict(set)
    for folder, metric in runs if unclear else ():
        for case, shown_hash in _hash_shown(folder, metric, unclear):
            hashes[case].add(shown_hash)
    return ShownCases({case for case, shown_hashes in hashes.items() if len(shown_hashes) > 1}, missing)


def _list_stored_cases(folder: Path) -> Iterator[tuple[CaseKey, int]]:
    """Yield each stored version of a case with its key; equal cases have equal keys."""
    with Store.open(folder) as store, store.snapshot():
        for (_, sample_id, method), (key,) in zip(read_case_places(store), store.select_cases(("key",)), strict=True):
            yield (sample_id, method), key


def _list_inputs(metric: StoredMetric) -> Sequence[str]:
    return metric.describe().inputs


def _hash_shown(folder: Path, metric: StoredMetric, cases: Collection[CaseKey]) -> Iterator[tuple[CaseKey, str]]:
    """Yield the hash of what a run showed of some cases, in the version that was judged."""
    definition = metric.judged or metric.describe()
    with Store.open(folder) as store, store.snapshot():
        finder = CaseFinder(store, cases)
        for sample_id, method, line in store.select(LINE_COLUMNS, ResultFilter(metrics=(metric.name,))):
            if (sample_id, method) not in cases:
                continue
            case = finder.find_case(Result.model_validate_json(line))
            if case is not None:
                yield (sample_id, method), hash_json(select_metric_input(definition, case))
