"""What each run of a panel showed its judge of each case, as hashes: equal texts have equal hashes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from greval._util.row_index import format_key, hash_key
from greval.metrics.dependencies import list_dependency_names
from greval.records.case import Case
from greval.records.metric import Metric
from greval.records.metric_input import (
    format_canonical_json,
    hash_json,
    hash_metric_input,
    hash_place,
    hash_text,
    select_metric_input,
)
from greval.records.stored_metric import StoredMetric
from greval.runs.run_reader import CaseKey, read_judged_cases
from greval.runs.store import Store

MAX_KEPT_CHARACTERS = 32_000_000
"""The size of the cases that are kept parsed for the next run; runs of a panel usually have equal cases."""


class JudgementKey(NamedTuple):
    """The fingerprint of a result, and the numbers of its key and of its content key, None if it has none."""

    fingerprint: str
    key: int
    content: int | None


class _ParsedCase(NamedTuple):
    """A parsed case: its id and method, the hash of what was shown of it, and the text that is hashed into keys."""

    place: CaseKey
    shown: int
    judged: str


class ShownInputs:
    """Hashes what was shown of the cases of several runs."""

    def __init__(self) -> None:
        self._metric: StoredMetric | None = None
        self._kept: dict[str, _ParsedCase] = {}
        self._room = MAX_KEPT_CHARACTERS

    def read_hashes(
        self, store: Store, metric: StoredMetric, judged: dict[CaseKey, JudgementKey]
    ) -> Iterator[tuple[CaseKey, int]]:
        """Yield each case with the hash of what was shown, in the version that was judged.

        For a computed metric it is the latest version of each case, which comes last.

        Args:
            store: The run, opened for reading.
            metric: The metric as the run stores it.
            judged: The key of the verdict of each case. Cases whose version is found are removed from it.
        """
        if metric.judged and list_dependency_names(metric.judged):  # what was shown depends on other verdicts
            described, prints = metric.describe(), {one.fingerprint for one in judged.values()}
            for one in read_judged_cases(store, metric.judged, prints=prints):
                yield (one.whole.id, one.whole.method), _hash_case(described, one.whole)
            return
        if metric != self._metric:
            self._metric, self._kept, self._room = metric, {}, MAX_KEPT_CHARACTERS
        described = metric.describe()
        for line in store.case_lines():
            case = self._read_input(line, metric, described)
            if metric.judged is None:
                yield case.place, case.shown
            elif _is_judged(case, metric.name, judged.get(case.place)):
                del judged[case.place]
                yield case.place, case.shown

    def _read_input(self, line: str, metric: StoredMetric, described: Metric) -> _ParsedCase:
        """Return a case given as JSON, which is parsed once for all runs as long as there is room."""
        found = self._kept.get(line)
        if found is None:
            case = Case.model_validate_json(line)
            text = format_canonical_json(select_metric_input(metric.judged or described, case))
            differs = metric.is_preference or described.inputs != (metric.judged or described).inputs
            shown = _hash_case(described, case) if differs else hash_key(hash_text(text))
            found = _ParsedCase((case.id, case.method), shown, text)
            if self._room > 0:
                self._kept[line] = found
                self._room -= len(line) + len(text)
        return found


def _is_judged(case: _ParsedCase, metric: str, wanted: JudgementKey | None) -> bool:
    """Return whether a verdict is of this version of its case."""
    if wanted is None:
        return False
    content = hash_metric_input(metric, wanted.fingerprint, case.judged)
    if wanted.content is not None:  # the key is made of it, so there is no need to make it
        return format_key(wanted.content) == content
    return hash_key(hash_place(*case.place, content)) == wanted.key


def _hash_case(described: Metric, case: Case) -> int:
    return hash_key(hash_json(select_metric_input(described, case)))
