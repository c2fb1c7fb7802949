"""The two result files of an evaluation, in the format of its published design.

A missing score is null, with the reason under its own key; it is never 0.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from greval._util.files import write_atomically
from greval.errors import StoreError
from greval.records.case import Case, Sample
from greval.records.result import Result, Scored, Skipped
from greval.runs.from_config import DEFAULT_GROUP_BY

JUDGED_METRICS = ("correctness", "faithfulness", "relevance", "completeness")
USAGE_METRICS = ("latency", "llm_calls", "prompt_tokens", "output_tokens")
DETAILED = "eval_results_detailed.json"
SUMMARY = "eval_results_summary.json"

FindResult = Callable[[Case, str], Result | None]
"""Returns the result of a case by a metric, or None if there is none yet."""
Json = dict[str, Any]


@dataclass(frozen=True)
class EvaluationScope:
    """The scope of an evaluation: its samples and methods, and the tag that groups the samples.

    `unread` describes the rows that are not questions.
    """

    samples: Sequence[Sample]
    methods: Sequence[str]
    group_by: str = DEFAULT_GROUP_BY
    unread: Sequence[str] = ()


def build_detailed(scope: EvaluationScope, cases: Mapping[tuple[str, str], Case], find: FindResult) -> Json:
    """Build the content of the detailed file: each question with the response, scores and usage of every method.

    `cases` has the responses so far by sample id and method. `find` returns the result of a case by a metric, or None.
    """
    unread = {"unread": [*scope.unread]} if scope.unread else {}
    return {
        "metadata": {
            "timestamp": datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds"),
            "total_questions": len(scope.samples),
            "methods": [*scope.methods],
            **unread,
        },
        "results": [_build_question(scope, sample, cases, find) for sample in scope.samples],
    }


def _build_question(
    scope: EvaluationScope, sample: Sample, cases: Mapping[tuple[str, str], Case], find: FindResult
) -> Json:
    given = {method: cases.get((sample.id, method)) for method in scope.methods}
    return {
        scope.group_by: sample.tags[scope.group_by],
        "question": sample.question,
        "ground_truth": sample.expected_answer,
        "methods": {method: _build_entry(case, find) for method, case in given.items() if case},
    }


def _build_entry(case: Case, find: FindResult) -> Json:
    """Build the entry of a method for a question; the reasons of null scores are given under their own keys."""
    results = {metric: find(case, metric) for metric in JUDGED_METRICS}
    scores = {metric: _find_score(result) for metric, result in results.items()}
    failures = {"response": {"kind": "method", "message": case.error}} if case.error is not None else {}
    failures |= {name: _describe_failure(result) for name, result in results.items() if result and result.failures}
    skipped = {name: why.reason for name, found in results.items() if found and (why := _find_skip(found))}
    pending = [name for name, result in results.items() if result is None]
    more = {"failures": failures, "skipped": skipped, "pending": pending}
    return {
        "response": case.answer,
        "scores": scores,
        "efficiency": {name: getattr(case.usage, name, None) for name in USAGE_METRICS},
        **{name: content for name, content in more.items() if content},
    }


def _find_score(result: Result | None) -> object:
    return result.judgements[0].value if result and result.judgements else None


def _describe_failure(result: Result) -> Json:
    failure = result.failures[0]
    return {"kind": failure.kind, "message": failure.message}


def _find_skip(result: Result) -> Skipped | None:
    return result.outcome if isinstance(result.outcome, Skipped) else None


def build_summary(scope: EvaluationScope, cases: Mapping[tuple[str, str], Case], find: FindResult) -> Json:
    """Build the content of the summary file: means by method and by group, usage, and the counts behind each mean.

    `cases` has the responses so far by sample id and method. `find` returns the result of a case by a metric, or None.
    """
    by_group: dict[str, list[Sample]] = defaultdict(list)
    for sample in scope.samples:
        by_group[sample.tags[scope.group_by]].append(sample)
    parts = {"": list(scope.samples), **by_group}
    told = {
        (part, method): _MethodSummary(samples, method, cases, find)
        for part, samples in parts.items()
        for method in scope.methods
    }
    key = "by_movie" if scope.group_by == DEFAULT_GROUP_BY else f"by_{scope.group_by}"

    def build_table(part: str, read: Callable[[_MethodSummary], Json]) -> Json:
        return {method: read(told[part, method]) for method in scope.methods}

    return {
        "by_method": build_table("", _MethodSummary.compute_means),
        key: {group: build_table(group, _MethodSummary.compute_means) for group in by_group},
        "efficiency": build_table("", _MethodSummary.compute_usage),
        "counts": {
            "by_method": build_table("", _MethodSummary.count_outcomes),
            key: {group: build_table(group, _MethodSummary.count_outcomes) for group in by_group},
            **({"unread": len(scope.unread)} if scope.unread else {}),
        },
    }


class _MethodSummary:
    """The responses and results of one method for a part of the questions."""

    def __init__(
        self, samples: Iterable[Sample], method: str, cases: Mapping[tuple[str, str], Case], find: FindResult
    ) -> None:
        self._cases = [cases.get((sample.id, method)) for sample in samples]
        there = [case for case in self._cases if case]
        self._usages = [case.usage for case in there if case.usage]
        self._results = {metric: [find(case, metric) for case in there] for metric in JUDGED_METRICS}

    def compute_means(self) -> Json:
        """Return the mean score of each metric over the scored cases, null if no case is scored."""
        return {metric: _compute_mean(_iterate_scores(results)) for metric, results in self._results.items()}

    def compute_usage(self) -> Json:
        """Return the mean of each usage figure over the responses that record it."""
        return {f"avg_{name}": _compute_mean(self._list_recorded(name)) for name in USAGE_METRICS}

    def count_outcomes(self) -> Json:
        """Count the answered questions, and the outcomes of each metric."""
        failed = sum(case is not None and case.error is not None for case in self._cases)
        there = sum(case is not None for case in self._cases)
        total = len(self._cases)
        told: Json = {"questions": total, "answered": there - failed, "failed": failed, "pending": total - there}
        for metric, results in self._results.items():
            scored = sum(isinstance(result.outcome, Scored) for result in results if result)
            skipped = sum(_find_skip(result) is not None for result in results if result)
            done = sum(result is not None for result in results)
            lost = done - scored - skipped
            told[metric] = {"scored": scored, "skipped": skipped, "failed": lost, "pending": total - done}
        return told | {name: {"recorded": len([*self._list_recorded(name)])} for name in USAGE_METRICS}

    def _list_recorded(self, name: str) -> list[float]:
        found = (getattr(usage, name) for usage in self._usages)
        return [figure for figure in found if figure is not None]


def _iterate_scores(results: Iterable[Result | None]) -> Iterator[float]:
    for result in results:
        if result and result.judgements and (number := result.judgements[0].number) is not None:
            yield number


def _compute_mean(numbers: Iterable[float]) -> float | None:
    found = [*numbers]
    return sum(found) / len(found) if found else None


def write_json(path: Path, content: Json) -> None:
    """Write a JSON file atomically, so that a reader finds either the old or the new content.

    Raises:
        StoreError: If it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
