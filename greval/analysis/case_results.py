"""The cases of a run, each with all of its results."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from greval.records.case import Case
from greval.records.result import Result
from greval.runs.run_reader import CaseFinder, CaseKey, read_lines
from greval.runs.store import Store


class CaseResults(NamedTuple):
    """A case with its results, in the order of writing; `case` is None if the run does not store it.

    The case has the claims that the run listed of it.
    """

    sample_id: str
    method: str
    case: Case | None
    results: tuple[Result, ...]


def index_results(store: Store) -> dict[CaseKey, list[int]]:
    """Return the row numbers of the results of each case, by sample id and method, in the order of the run."""
    rows: dict[CaseKey, list[int]] = {}
    for number, sample_id, method in store.select(("rowid", "sample_id", "method")):
        rows.setdefault((sample_id, method), []).append(number)
    return rows


def read_case_results(store: Store, keys: Collection[CaseKey] | None = None) -> Iterator[CaseResults]:
    """Yield cases with their results, one at a time in memory: those of these keys, or all of the run in its order.

    A case without a result is left out.
    """
    rows = index_results(store)
    finder = CaseFinder(store)
    for key in rows if keys is None else keys:
        if numbers := rows.get(key):
            results = tuple(Result.model_validate_json(line) for line in read_lines(store, numbers))
            case = finder.find_case(results[0])
            yield CaseResults(*key, case and finder.add_claims(case), results)
