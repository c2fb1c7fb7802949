"""Search in the texts of a run: questions, answers and expected answers of its cases, and reasons of its verdicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic_core import from_json

from greval.records.record import Record
from greval.runs.store import Store

CASE_TEXTS = ("question", "answer", "expected_answer")


class FoundSamples(Record):
    """The ids of the samples that a search found, in the order of the run."""

    sample_ids: tuple[str, ...]


def search_texts(store: Store, query: str) -> FoundSamples:
    """Find the samples of which a case or a result has all words of a query in its texts, in any case of letters.

    The texts of a case are its question, answer and expected answer; those of a result are its reasons, and the
    messages of what failed.

    Example:
        >>> import tempfile
        >>> from greval.records.case import Case
        >>> with Store.create(tempfile.mkdtemp()) as store:
        ...     store.keep_cases([Case(id="q1", question="Who owns the ledger?"), Case(id="q2", question="When?")])
        ...     search_texts(store, "LEDGER who").sample_ids
        ('q1',)
    """
    words = query.casefold().split()
    escaped = [json.dumps(word, ensure_ascii=False)[1:-1] for word in words]
    found: dict[str, None] = {}

    def is_found(line: str, list_texts: Callable[[Mapping[str, Any]], Iterator[str | None]]) -> str | None:
        """Return the sample id of a line if its texts have all words, else None; parse only what may have them."""
        folded = line.casefold()
        if not all(word in folded for word in escaped):
            return None
        fields = from_json(line)
        text = "\n".join(text for text in list_texts(fields) if text).casefold()
        return str(fields.get("id") or fields.get("sample_id") or "") if all(word in text for word in words) else None

    with store.snapshot():
        for line in store.case_lines():
            sample = is_found(line, _list_case_texts)
            if sample is not None:
                found[sample] = None
        for sample_id, line in store.sample_lines():
            if sample_id not in found and is_found(line, _list_result_texts) is not None:
                found[sample_id] = None
    return FoundSamples(sample_ids=tuple(found))


def _list_case_texts(case: Mapping[str, Any]) -> Iterator[str | None]:
    return (case.get(name) for name in CASE_TEXTS)


def _list_result_texts(result: Mapping[str, Any]) -> Iterator[str | None]:
    outcome = result["outcome"]
    yield outcome.get("reason")
    yield from (one["reason"] for one in outcome.get("judgements", ()))
    failures = outcome.get("failures") or ([outcome["error"]] if "error" in outcome else [])
    yield from (failure["message"] for failure in failures)
