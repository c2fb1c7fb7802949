"""The two result files of an evaluation, in the format of its published design.

A missing score is null, with the reason under its own key; it is never 0.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from greval._util.files import write_atomically
from greval.errors import StoreError
from greval.judging.metric_runnable import MetricRunnable
from greval.judging.model.client import read_clock
from greval.metrics.library import add_dependencies
from greval.records.case import Case, Sample
from greval.records.metric import Metric, set_reason_depth
from greval.records.result import Result, Skipped
from greval.records.scale import Value
from greval.runs.config.model import DEFAULT_GROUP_BY
from greval.runs.config.plan import DETAILED, SCORES, SUMMARY, USAGE_METRICS, MetricSections, RunPlan
from greval.runs.judges import choose_judges
from greval.runs.runnable import compile_metrics
from greval.runs.store import Store, is_begun
from greval.runs.worker import list_read_metrics, plan_judgement

MIN_PAUSE_RATIO = 20
"""The minimum ratio of the pause between two writes to the duration of a write."""

Json = dict[str, Any]


@dataclass(frozen=True)
class JudgedResponse:
    """A response and its result by each metric of the result files, None if it is not judged yet."""

    case: Case
    results: Mapping[str, Result | None]


JudgedResponses = Mapping[tuple[str, str], JudgedResponse]
"""The responses so far, by sample id and method."""


def create_file_writer(plan: RunPlan) -> Callable[[], None]:
    """Create a function that writes the two result files from the current responses and results, one call at a time.

    Results of another judge, and results for an older response, are left out.
    """
    metrics = set_reason_depth(add_dependencies(plan.metrics), plan.config.reason_depth)
    clients = choose_judges(metrics, plan.judge, plan.judges).create_clients()
    runnables = [*compile_metrics(metrics, clients, repeats=plan.config.repeats).values()]

    def write() -> None:
        cases, folder = plan.read_responses(), plan.folder
        with Store.open(folder) if is_begun(folder) else nullcontext() as store:
            responses = {
                key: JudgedResponse(case, _find_results(store, case, runnables)) for key, case in cases.items()
            }
        write_json(folder / DETAILED, build_detailed(plan, responses))
        write_json(folder / SUMMARY, build_summary(plan, responses))

    return write


def _find_results(store: Store | None, case: Case, runnables: Sequence[MetricRunnable]) -> dict[str, Result | None]:
    """Return the current result of a case by each metric of the result files, or None; dependencies come first."""
    results: dict[str, Result] = {}
    for runnable in runnables:
        metric = runnable.metric
        read_names = list_read_metrics(metric, results)
        dependencies = {name: results[name] for name in read_names if name in results}
        if store is None or len(dependencies) < len(read_names):
            continue
        key = plan_judgement(case, runnable, dependencies).key
        if result := store.index.get(key, (case.id, case.method, metric.name)):
            results[metric.name] = result
    names = (runnable.metric.name for runnable in runnables)
    return {name: results.get(name) for name in names if name not in USAGE_METRICS}


def build_detailed(plan: RunPlan, responses: JudgedResponses) -> Json:
    """Build the content of the detailed file: each question with the response, scores and usage of every method."""
    return {
        "metadata": {
            # The published format has times without a zone.
            "timestamp": datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds"),
            "total_questions": len(plan.samples),
            "methods": [*plan.methods],
            **({"unread": [str(row) for row in plan.unread]} if plan.unread else {}),
        },
        "results": [
            {
                plan.group_by: sample.tags[plan.group_by],
                "question": sample.question,
                "ground_truth": sample.expected_answer,
                "methods": {
                    method: _build_entry(responses[sample.id, method], plan.sections)
                    for method in plan.methods
                    if (sample.id, method) in responses
                },
            }
            for sample in plan.samples
        ],
    }


def _build_entry(response: JudgedResponse, sections: MetricSections) -> Json:
    """Build the entry of a method for a question; the reasons of null scores are given under their own keys."""
    case = response.case
    results = {name: result for name, result in response.results.items() if result}
    failures = {"response": {"kind": "method", "message": case.error}} if case.error is not None else {}
    failures |= {
        name: {"kind": result.failures[0].kind, "message": result.failures[0].message}
        for name, result in results.items()
        if result.failures
    }
    skipped = {name: result.outcome.reason for name, result in results.items() if isinstance(result.outcome, Skipped)}
    more = {"failures": failures, "skipped": skipped, "pending": [n for n in response.results if n not in results]}
    values = {
        section: {metric.name: _get_value(response.results.get(metric.name)) for metric in metrics}
        for section, metrics in sections.items()
    }
    return {
        "response": case.answer,
        "scores": values.pop(SCORES, {}),
        "efficiency": {name: getattr(case.usage, name, None) for name in USAGE_METRICS},
        **values,
        **{name: content for name, content in more.items() if content},
    }


def _get_value(result: Result | None) -> Value | None:
    return result.judgements[0].value if result and len(result.judgements) == 1 else _get_score(result)


def _get_score(result: Result | None) -> float | None:
    judgements = result.judgements if result else ()
    return _compute_mean(judgement.number for judgement in judgements)


def build_summary(plan: RunPlan, responses: JudgedResponses) -> Json:
    """Build the content of the summary file: means by method and by group, usage, and the counts behind each mean."""

    def build_table(samples: Iterable[Sample], summarise: Callable[[list[JudgedResponse | None]], Json]) -> Json:
        return {
            method: summarise([responses.get((sample.id, method)) for sample in samples]) for method in plan.methods
        }

    count = partial(_count_outcomes, metrics=[*chain.from_iterable(plan.sections.values())])
    compute_means = partial(_compute_mean_scores, metrics=plan.sections.get(SCORES, ()))
    further_tables = {
        section: build_table(plan.samples, partial(_compute_mean_scores, metrics=metrics))
        for section, metrics in plan.sections.items()
        if section != SCORES
    }
    groups = plan.group_samples()
    # The published design groups its questions by movie.
    by_group = "by_movie" if plan.group_by == DEFAULT_GROUP_BY else f"by_{plan.group_by}"
    return {
        "by_method": build_table(plan.samples, compute_means),
        by_group: {group: build_table(samples, compute_means) for group, samples in groups.items()},
        "efficiency": build_table(plan.samples, _compute_mean_usage),
        **({"further_metrics": further_tables} if further_tables else {}),
        "counts": {
            "by_method": build_table(plan.samples, count),
            by_group: {group: build_table(samples, count) for group, samples in groups.items()},
            **({"unread": len(plan.unread)} if plan.unread else {}),
        },
    }


def _compute_mean_scores(responses: Sequence[JudgedResponse | None], metrics: Iterable[Metric]) -> Json:
    """Return the mean score of each metric over the scored responses, null if none is scored."""
    return {
        metric.name: _compute_mean(_get_score(response.results.get(metric.name)) for response in responses if response)
        for metric in metrics
    }


def _compute_mean_usage(responses: Sequence[JudgedResponse | None]) -> Json:
    return {f"avg_{name}": _compute_mean(_list_usage(responses, name)) for name in USAGE_METRICS}


def _count_outcomes(responses: Sequence[JudgedResponse | None], metrics: Iterable[Metric]) -> Json:
    """Count the answered questions, the outcomes of each metric, and the responses that record each usage figure."""
    present = [response for response in responses if response]
    failed = sum(response.case.error is not None for response in present)
    total = len(responses)
    counts: Json = {
        "questions": total,
        "answered": len(present) - failed,
        "failed": failed,
        "pending": total - len(present),
    }
    for metric in (definition.name for definition in metrics):
        statuses = Counter(result.outcome.status for judged in present if (result := judged.results.get(metric)))
        counts[metric] = {status: statuses[status] for status in ("scored", "skipped", "failed")}
        counts[metric]["pending"] = total - statuses.total()
    return counts | {name: {"recorded": len(_list_usage(responses, name))} for name in USAGE_METRICS}


def _list_usage(responses: Iterable[JudgedResponse | None], name: str) -> list[float]:
    figures = (getattr(response.case.usage, name, None) for response in responses if response)
    return [figure for figure in figures if figure is not None]


def _compute_mean(numbers: Iterable[float | None]) -> float | None:
    figures = [number for number in numbers if number is not None]
    return sum(figures) / len(figures) if figures else None


def write_json(path: Path, content: Json) -> None:
    """Write a JSON file atomically, so that a reader finds either the old or the new content."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Most readers of JSON refuse NaN.
        write_atomically(path, json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error


@asynccontextmanager
async def save_periodically(write: Callable[[], None], seconds: float | None) -> AsyncIterator[None]:
    """Call `write` periodically from a thread, one call at a time; never if `seconds` is None.

    A failed write is ignored. The caller writes once more at the end.
    """
    over = asyncio.Event()

    async def write_repeatedly(pause: float) -> None:
        while not over.is_set():
            # The pause ends early when the run is over.
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), pause)
                return
            start = read_clock()
            # A failed write, for example while the log is being created, is made up for by the next one.
            with suppress(StoreError):
                await asyncio.to_thread(write)
            pause = max(pause, MIN_PAUSE_RATIO * (read_clock() - start))

    task = None if seconds is None else asyncio.create_task(write_repeatedly(seconds))
    try:
        yield
    finally:
        over.set()
        if task:
            await task
