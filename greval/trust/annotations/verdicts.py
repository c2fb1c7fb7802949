"""The verdicts of a run on one metric, as everything reads them that compares a judge with people or other judges."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic_core import from_json

from greval.records.case import Tags
from greval.runs.run_reader import LINE_COLUMNS, CaseKey
from greval.runs.store import Store
from greval.runs.store.filters import ResultFilter


class CaseVerdicts(NamedTuple):
    """The verdicts on one case: the judgement of each item as JSON, and the ids of the items that failed.

    The item of a case that was judged as a whole is None. `failures` counts the failures of the case and of its items.
    """

    sample_id: str
    method: str
    judgements: Mapping[str | None, Mapping[str, Any]]
    failed: Collection[str | None]
    failures: int
    is_skipped: bool
    tags: Tags
    judge: str
    fingerprint: str


def iterate_verdicts(store: Store, metric: str, cases: Collection[CaseKey] | None = None) -> Iterator[CaseVerdicts]:
    """Yield the verdicts of a metric on each case, in the order in which they were stored; `cases` limits them."""
    for sample_id, method, line in store.select(LINE_COLUMNS, ResultFilter(metrics=(metric,))):
        # Most rows have no annotation and need no parsing.
        if cases is not None and (sample_id, method) not in cases:
            continue
        # Parsed without validation, which it passed when it was written.
        row = from_json(line)
        outcome = row["outcome"]
        failures = outcome.get("failures", ())
        yield CaseVerdicts(
            sample_id=sample_id,
            method=method,
            judgements={judgement["item"]: judgement for judgement in outcome.get("judgements", ())},
            failed={failure["item"] for failure in failures},
            failures=len(failures) or int(outcome["status"] == "failed"),
            is_skipped=outcome["status"] == "skipped",
            tags=row["tags"],
            judge=row["judge"],
            fingerprint=row["fingerprint"],
        )
