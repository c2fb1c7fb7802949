"""What each run of a panel showed its judge of each case, as hashes: equal texts have equal hashes."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic_core import from_json

from greval._util.row_index import hash_key
from greval.metrics.dependencies import list_dependency_names
from greval.records.case import Case
from greval.records.metric import Metric
from greval.records.metric_input import (
    format_canonical_json,
    format_content,
    hash_place,
    hash_text,
    hash_text_as_number,
    select_metric_input,
    select_stored_texts,
)
from greval.records.stored_metric import StoredMetric
from greval.runs.run_reader import CaseKey, read_judged_cases, read_lines
from greval.runs.store import Store
from greval.runs.store.result_index import NO_CONTENT

if TYPE_CHECKING:
    from greval.stats.bootstrap import Flags, Integers

UNKNOWN = 0
"""The hash of what was shown if it is not known."""
NO_RESULT = 0
"""The key of a case without a result."""


class JudgedKeys:
    """The keys and the fingerprint of the last result of each case of a run, by the number of the case."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        """The numbers of the fingerprints with their judges, as JSON."""
        self._keys, self._contents, self._versions = array("q"), array("q"), array("q")

    def add(self, case: int, key: int, content: int, version: int) -> None:
        """Add a result with the numbers of its case, key, content key (or `NO_CONTENT`) and version."""
        if case >= len(self._keys):
            more = bytes(8 * (case + 1 - len(self._keys)))
            for column in (self._keys, self._contents, self._versions):
                column.frombytes(more)
        self._keys[case], self._contents[case], self._versions[case] = key, content, version

    @property
    def fingerprints(self) -> list[str]:
        """The fingerprints of the versions by their numbers."""
        return [json.loads(version)[0] for version in self.versions]

    def holds(self, number: int, case: _ParsedCase, metric: str, fingerprints: Sequence[str]) -> bool:
        """Return whether the result of a case is of this version of it."""
        key = self._keys[number] if number < len(self._keys) else NO_RESULT
        if key == NO_RESULT:
            return False
        made = format_content(metric, fingerprints[self._versions[number]], case.judged)
        content = self._contents[number]
        if content != NO_CONTENT:  # the key is made of it, so there is no need to make it
            return hash_text_as_number(made) == content
        return hash_key(hash_place(*case.place, hash_text(made))) == key


class _ParsedCase(NamedTuple):
    """A parsed case: its id and method, the hash of what was shown of it, and the text that is hashed into keys."""

    place: CaseKey
    shown: int
    judged: str


class RunInputs(NamedTuple):
    """What is needed to find what a run showed of its cases, and `known`, the hashes that are found already.

    `keys` and `rows` are the keys and the row numbers of the stored cases.
    """

    folder: Path
    metric: StoredMetric
    judged: JudgedKeys
    keys: Integers
    rows: Integers
    known: Mapping[CaseKey, int]


class _CaseVersions(NamedTuple):
    """Versions of cases: the number of each one's case and the hash of what is shown of it.

    `judged` has a row for each run, which is true for the versions that have its verdicts.
    """

    cases: Integers
    shown: Integers
    judged: Flags


def read_inputs(store: Store, metric: StoredMetric, judged: JudgedKeys) -> RunInputs:
    """Read what is needed of a run, which is open for reading, to find what it showed of its cases."""
    import numpy as np

    pairs, known = np.empty((0, 2), np.int64), dict[CaseKey, int]()
    if metric.judged and list_dependency_names(metric.judged):  # what was shown depends on other verdicts
        described, prints = metric.describe(), {*judged.fingerprints}
        for one in read_judged_cases(store, metric.judged, prints=prints):
            known[one.whole.id, one.whole.method] = _hash_case(described, one.whole)
    else:
        pairs = np.fromiter(chain.from_iterable(store.select_cases(("key", "rowid"))), np.int64).reshape(-1, 2)
        _, first = np.unique(pairs[:, 0], return_index=True)
        pairs = pairs[np.sort(first)]
    return RunInputs(store.folder, metric, judged, pairs[:, 0], pairs[:, 1], known)


def hash_inputs(runs: Sequence[RunInputs], cases: Mapping[CaseKey, int]) -> list[Integers]:
    """Return for each run the hash of what was shown of each case, in the version that was judged, else `UNKNOWN`.

    For a computed metric it is the latest version of each case. A case that several runs store is parsed once.

    Args:
        runs: The runs.
        cases: The numbers of the cases.
    """
    import numpy as np

    found = [np.full(len(cases), UNKNOWN, np.int64) for _ in runs]
    for run, column in zip(runs, found, strict=True):
        for case, shown in run.known.items():
            if case in cases:
                column[cases[case]] = shown
    for places in _group_by_metric(runs):
        same = [runs[place] for place in places]
        keys = np.concatenate([run.keys for run in same])
        _, first, version = np.unique(keys, return_index=True, return_inverse=True)
        spans = [slice(*ends) for ends in pairwise(np.cumsum([0, *(len(run.keys) for run in same)]).tolist())]
        parsed = _parse_versions(same, spans, first, cases)
        for place, span, judged in zip(places, spans, parsed.judged, strict=True):
            used = version[span][judged[version[span]]]
            order = -1 if runs[place].metric.judged else 1  # the last one that is assigned counts
            found[place][parsed.cases[used[::order]]] = parsed.shown[used[::order]]
    return found


def _group_by_metric(runs: Sequence[RunInputs]) -> list[list[int]]:
    """Return the places of the runs whose metrics have equal definitions."""
    groups: list[list[int]] = []
    for place, run in enumerate(runs):
        same = next((group for group in groups if runs[group[0]].metric == run.metric), None)
        if same is None:
            groups.append([place])
        else:
            same.append(place)
    return groups


def _parse_versions(
    runs: Sequence[RunInputs], spans: Sequence[slice], first: Integers, cases: Mapping[CaseKey, int]
) -> _CaseVersions:
    """Parse each distinct version of a case, in the first run that stores it.

    Args:
        runs: The runs, which have one metric.
        spans: The part of each run in the list of the stored cases of all runs.
        first: The place of each version in this list.
        cases: The numbers of the cases.
    """
    import numpy as np

    stored, described = runs[0].metric, runs[0].metric.describe()
    metric = stored.judged or described
    differs = stored.is_preference or described.inputs != metric.inputs
    fingerprints = [run.judged.fingerprints for run in runs]
    found = _CaseVersions(
        np.zeros(len(first), np.int64), np.zeros(len(first), np.int64), np.zeros((len(runs), len(first)), bool)
    )
    for run, span in zip(runs, spans, strict=True):
        own = np.flatnonzero((first >= span.start) & (first < span.stop))
        own = own[np.argsort(first[own])]
        with Store.open(run.folder) as store, store.snapshot():
            lines = read_lines(store, run.rows[first[own] - span.start], "cases")
            for version, line in zip(own.tolist(), lines, strict=True):
                case = _parse_case(line, metric, described, differs=differs)
                number = cases.get(case.place)
                if number is None:
                    continue
                found.cases[version], found.shown[version] = number, case.shown
                for row, other in enumerate(runs):
                    if stored.judged is None or other.judged.holds(number, case, metric.name, fingerprints[row]):
                        found.judged[row, version] = True
    return found


def _parse_case(line: str, metric: Metric, described: Metric, *, differs: bool) -> _ParsedCase:
    """Parse a case given as JSON.

    Args:
        line: The case.
        metric: The metric by which it was judged.
        described: The fields that the metric shares with computed ones.
        differs: Whether `described` reads other fields.
    """
    stored = from_json(line, cache_strings="keys")
    found = None if differs else select_stored_texts(metric, stored)
    if found is not None:
        text = format_canonical_json(found)
        return _ParsedCase((stored.get("id", ""), stored.get("method", "")), hash_text_as_number(text), text)
    case = Case.model_validate_json(line)
    text = format_canonical_json(select_metric_input(metric, case))
    return _ParsedCase(
        (case.id, case.method), _hash_case(described, case) if differs else hash_text_as_number(text), text
    )


def _hash_case(described: Metric, case: Case) -> int:
    return hash_text_as_number(format_canonical_json(select_metric_input(described, case)))
