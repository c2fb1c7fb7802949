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

from greval._util.whole_file import write_whole
from greval.errors import StoreError
from greval.records.case import Case, Sample
from greval.records.result import Result, Scored, Skipped
from greval.runs.from_config import PUBLISHED

JUDGED = ("correctness", "faithfulness", "relevance", "completeness")
EFFORT = ("latency", "llm_calls", "prompt_tokens", "output_tokens")
DETAILED = "eval_results_detailed.json"
SUMMARY = "eval_results_summary.json"

Find = Callable[[Case, str], Result | None]
"""Returns the result of a case by a metric, or None if there is none yet."""
Json = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """The scope of an evaluation: its samples and methods, and the tag that groups the samples.

    `unread` describes the rows that are not questions.
    """

    samples: Sequence[Sample]
    methods: Sequence[str]
    group_by: str = PUBLISHED
    unread: Sequence[str] = ()


def detailed(asked: Asked, cases: Mapping[tuple[str, str], Case], find: Find) -> Json:
    """Build the content of the detailed file: each question with the response, scores and usage of every method.

    `cases` has the responses so far by sample id and method. `find` returns the result of a case by a metric, or None.
    """
    unread = {"unread": [*asked.unread]} if asked.unread else {}
    return {
        "metadata": {
            "timestamp": datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds"),
            "total_questions": len(asked.samples),
            "methods": [*asked.methods],
            **unread,
        },
        "results": [_question(asked, sample, cases, find) for sample in asked.samples],
    }


def _question(asked: Asked, sample: Sample, cases: Mapping[tuple[str, str], Case], find: Find) -> Json:
    given = {method: cases.get((sample.id, method)) for method in asked.methods}
    return {
        asked.group_by: sample.tags[asked.group_by],
        "question": sample.question,
        "ground_truth": sample.expected_answer,
        "methods": {method: _entry(case, find) for method, case in given.items() if case},
    }


def _entry(case: Case, find: Find) -> Json:
    """Build the entry of a method for a question; the reasons of null scores are given under their own keys."""
    results = {metric: find(case, metric) for metric in JUDGED}
    scores = {metric: _score(result) for metric, result in results.items()}
    failures = {"response": {"kind": "method", "message": case.error}} if case.error is not None else {}
    failures |= {name: _failure(result) for name, result in results.items() if result and result.failures}
    skipped = {name: why.reason for name, found in results.items() if found and (why := _skip(found))}
    pending = [name for name, result in results.items() if result is None]
    more = {"failures": failures, "skipped": skipped, "pending": pending}
    return {
        "response": case.answer,
        "scores": scores,
        "efficiency": {name: getattr(case.usage, name, None) for name in EFFORT},
        **{name: content for name, content in more.items() if content},
    }


def _score(result: Result | None) -> object:
    return result.judgements[0].value if result and result.judgements else None


def _failure(result: Result) -> Json:
    failure = result.failures[0]
    return {"kind": failure.kind, "message": failure.message}


def _skip(result: Result) -> Skipped | None:
    return result.outcome if isinstance(result.outcome, Skipped) else None


def summary(asked: Asked, cases: Mapping[tuple[str, str], Case], find: Find) -> Json:
    """Build the content of the summary file: means by method and by group, usage, and the counts behind each mean.

    `cases` has the responses so far by sample id and method. `find` returns the result of a case by a metric, or None.
    """
    by_group: dict[str, list[Sample]] = defaultdict(list)
    for sample in asked.samples:
        by_group[sample.tags[asked.group_by]].append(sample)
    parts = {"": list(asked.samples), **by_group}
    told = {
        (part, method): _Part(samples, method, cases, find)
        for part, samples in parts.items()
        for method in asked.methods
    }
    key = "by_movie" if asked.group_by == PUBLISHED else f"by_{asked.group_by}"

    def table(part: str, read: Callable[[_Part], Json]) -> Json:
        return {method: read(told[part, method]) for method in asked.methods}

    return {
        "by_method": table("", _Part.means),
        key: {group: table(group, _Part.means) for group in by_group},
        "efficiency": table("", _Part.effort),
        "counts": {
            "by_method": table("", _Part.counts),
            key: {group: table(group, _Part.counts) for group in by_group},
            **({"unread": len(asked.unread)} if asked.unread else {}),
        },
    }


class _Part:
    """The responses and results of one method for a part of the questions."""

    def __init__(
        self, samples: Iterable[Sample], method: str, cases: Mapping[tuple[str, str], Case], find: Find
    ) -> None:
        self._cases = [cases.get((sample.id, method)) for sample in samples]
        there = [case for case in self._cases if case]
        self._usages = [case.usage for case in there if case.usage]
        self._results = {metric: [find(case, metric) for case in there] for metric in JUDGED}

    def means(self) -> Json:
        """Return the mean score of each metric over the scored cases, null if no case is scored."""
        return {metric: _mean(_numbers(results)) for metric, results in self._results.items()}

    def effort(self) -> Json:
        """Return the mean of each usage figure over the responses that record it."""
        return {f"avg_{name}": _mean(self._spent(name)) for name in EFFORT}

    def counts(self) -> Json:
        """Count the answered questions, and the outcomes of each metric."""
        failed = sum(case is not None and case.error is not None for case in self._cases)
        there = sum(case is not None for case in self._cases)
        total = len(self._cases)
        told: Json = {"questions": total, "answered": there - failed, "failed": failed, "pending": total - there}
        for metric, results in self._results.items():
            scored = sum(isinstance(result.outcome, Scored) for result in results if result)
            skipped = sum(_skip(result) is not None for result in results if result)
            done = sum(result is not None for result in results)
            lost = done - scored - skipped
            told[metric] = {"scored": scored, "skipped": skipped, "failed": lost, "pending": total - done}
        return told | {name: {"recorded": len([*self._spent(name)])} for name in EFFORT}

    def _spent(self, name: str) -> list[float]:
        found = (getattr(usage, name) for usage in self._usages)
        return [figure for figure in found if figure is not None]


def _numbers(results: Iterable[Result | None]) -> Iterator[float]:
    for result in results:
        if result and result.judgements and (number := result.judgements[0].number) is not None:
            yield number


def _mean(numbers: Iterable[float]) -> float | None:
    found = [*numbers]
    return sum(found) / len(found) if found else None


def write_json(path: Path, content: Json) -> None:
    """Write a JSON file atomically, so that a reader finds either the old or the new content.

    Raises:
        StoreError: If it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
