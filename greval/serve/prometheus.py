"""Counters of the server in Prometheus format; several processes share them through files.

A run in another process sends counts of its new results, which the server adds.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter as TallyCounter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from greval.records.record import Record
from greval.records.result import Failed, FailureKind, Result, Scored, Usage

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that names the folder of the shared files; the Prometheus client reads it when it is imported."""
DURATION_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


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
            failures=TallyCounter(kind for result in group for kind in _list_failure_kinds(result)),
            usage=sum((result.usage for result in group), Usage()),
            latencies=tuple(result.latency for result in group if result.usage.calls),
        )
        for (judge, status), group in groups.items()
    )


def _list_failure_kinds(result: Result) -> list[FailureKind]:
    outcome = result.outcome
    kinds = [failure.kind for failure in outcome.failures] if isinstance(outcome, Scored | Failed) else []
    return [outcome.error.kind, *kinds] if isinstance(outcome, Failed) else kinds


class ServerCounters:
    """Counters of requests, calls, tokens and failures by kind, and histograms of durations."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._requests = Counter("greval_requests", "Requests.", ["method", "route", "status"], registry=registry)
        self._request_seconds = self._create_histogram("greval_request_seconds", "Time of requests.", "method", "route")
        self._judged = Counter("greval_judgements", "Results by their status.", ["judge", "status"], registry=registry)
        self._judge_seconds = self._create_histogram("greval_judgement_seconds", "Time of a judged result.", "judge")
        self._failed = Counter(
            "greval_failures", "Failures by kind, also of single items.", ["kind"], registry=registry
        )
        self._calls = Counter("greval_judge_calls", "Calls of the judge.", ["judge"], registry=registry)
        self._tokens = Counter("greval_judge_tokens", "Tokens of the judge.", ["judge", "of"], registry=registry)
        self._calls_in_flight = self._create_gauge("greval_judge_calls_in_flight", "Calls of the judge in flight.")
        self._waiting = self._create_gauge("greval_judge_calls_waiting", "Calls that wait for their turn.")
        self._open = self._create_gauge("greval_requests_in_flight", "Requests that are served.")

    def _create_histogram(self, name: str, text: str, *labels: str) -> Histogram:
        return Histogram(name, text, labels, registry=self.registry, buckets=DURATION_BUCKETS)

    def _create_gauge(self, name: str, text: str) -> Gauge:
        # Summed over live processes, because what a dead one had in flight is over.
        return Gauge(name, text, registry=self.registry, multiprocess_mode="livesum")

    def count_result(self, result: Result) -> None:
        """Count a new result."""
        self.add_counts(count_results([result]))

    def add_counts(self, counts: Iterable[ResultCounts]) -> None:
        """Add counts of new results."""
        for group in counts:
            self._judged.labels(group.judge, group.status).inc(group.results)
            for kind, failed in group.failures.items():
                self._failed.labels(kind).inc(failed)
            for seconds in group.latencies:
                self._judge_seconds.labels(group.judge).observe(seconds)
            self.count_usage(group.judge, group.usage)

    def count_usage(self, judge: str, usage: Usage) -> None:
        """Count the calls and tokens of results, or of what has no result, such as the draft of a metric."""
        if usage.calls:
            self._calls.labels(judge).inc(usage.calls)
        for kind in ("input", "output", "cached"):
            if tokens := getattr(usage, f"{kind}_tokens"):
                self._tokens.labels(judge, kind).inc(tokens)

    def set_calls_in_flight(self, in_flight: int, waiting: int) -> None:
        """Set the number of judge calls in flight and of those that wait."""
        self._calls_in_flight.set(in_flight)
        self._waiting.set(waiting)

    def start_request(self) -> None:
        """Count a request that starts."""
        self._open.inc()

    def end_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that ended, by the template of its path."""
        self._open.dec()
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(method, route).observe(seconds)

    def export_text(self) -> bytes:
        """Return all counters in the text format of Prometheus, those of all processes of the server."""
        if FOLDER_VARIABLE not in os.environ:
            return generate_latest(self.registry)
        of_all = CollectorRegistry()
        MultiProcessCollector(of_all)  # type: ignore[no-untyped-call] # it registers itself
        return generate_latest(of_all)


@contextmanager
def share_counters() -> Iterator[None]:
    """Let the processes started in this context share their counters, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="greval-figures-") as folder:
        os.environ[FOLDER_VARIABLE] = folder
        try:
            yield
        finally:
            del os.environ[FOLDER_VARIABLE]


def remove_ended_processes(has_ended: Callable[[int], bool]) -> None:
    """Remove the in-flight counts of processes that have ended, as `has_ended` says of a process id."""
    if folder := os.environ.get(FOLDER_VARIABLE):
        for file in Path(folder).glob("gauge_live*_*.db"):
            number = file.stem.rpartition("_")[2]
            if number.isdigit() and has_ended(int(number)):
                mark_process_dead(number)  # type: ignore[no-untyped-call] # it takes texts too


def has_process_ended(number: int) -> bool:
    """Return whether there is no process with this id."""
    try:
        # Signal 0 only checks whether the process exists.
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
