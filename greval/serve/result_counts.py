"""Counts of new results, which the server adds to its counters; a run in another process sends them in batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from greval.records.record import Record
from greval.records.result import Failed, FailureKind, Result, Scored, Usage


class ResultCounts(Record):
    """Counts of results of one judge with one status; `latencies` are those of results that the judge was asked for."""

    judge: str
    status: Literal["scored", "skipped", "failed"]
    results: int
    failures: dict[FailureKind, int]
    usage: Usage
    latencies: tuple[float, ...]


def count_results(results: Iterable[Result]) -> tuple[ResultCounts, ...]:
    """Count results by judge and status; failures of single items count too."""
    groups: dict[tuple[str, Literal["scored", "skipped", "failed"]], list[Result]] = {}
    for result in results:
        groups.setdefault((result.judge, result.outcome.status), []).append(result)
    return tuple(
        ResultCounts(
            judge=judge,
            status=status,
            results=len(group),
            failures=Counter(kind for result in group for kind in _list_failure_kinds(result)),
            usage=sum((result.usage for result in group), Usage()),
            latencies=tuple(result.latency for result in group if result.usage.calls),
        )
        for (judge, status), group in groups.items()
    )


def _list_failure_kinds(result: Result) -> list[FailureKind]:
    outcome = result.outcome
    kinds = [failure.kind for failure in outcome.failures] if isinstance(outcome, Scored | Failed) else []
    return [outcome.error.kind, *kinds] if isinstance(outcome, Failed) else kinds
