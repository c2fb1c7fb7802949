"""Results as a table: one row for each judgement, failure and skip, with a column for each note of the metrics."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from pydantic import Field, JsonValue

from greval.records.consistency import find_contradictions
from greval.records.judgement_text import find_cited_items, is_share
from greval.records.metric import JudgedMetric, define
from greval.records.note import ShareNote
from greval.records.record import Record
from greval.records.result import Result

NUMBERS = ("number", "confidence", "latency")
COUNTS = ("repeat", "calls", "input_tokens", "output_tokens")
COLUMNS = (
    *("sample_id", "method", "metric", "repeat", "status", "item", "value", "number", "reason", "confidence"),
    *("failure", "message", "judge", "tier", "fingerprint"),
    *("calls", "input_tokens", "output_tokens", "latency", "tags"),
    *("findings", "cited_items", "contradictions", "notes"),
)
"""The columns of every run; those of notes come after them."""
NOTE = "notes."
"""Before the name of a note in the name of its column."""
COUNT, OF = ".count", ".of"
"""After the name of a share in the names of its further columns: how many entries match, and of how many."""
_OF_RESULT = ("sample_id", "method", "metric", "repeat", "judge", "tier", "fingerprint", "latency")
_OF_USAGE = ("calls", "input_tokens", "output_tokens")
_OF_JUDGEMENT = ("item", "number", "reason", "confidence")


class Layout(Record):
    """The columns of a run's table.

    A text note has a column `notes.NAME`, a list one with its entries as JSON. A share has three: `notes.NAME`, the
    share, `notes.NAME.count` and `notes.NAME.of`. A note that no metric of the run defines stands in `notes`, as JSON.
    """

    metrics: dict[str, JudgedMetric] = Field(default_factory=dict)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return (*COLUMNS, *self._notes)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The columns of real numbers."""
        return frozenset((*NUMBERS, *(name for name, kind in self._notes.items() if kind is float)))

    @cached_property
    def counts(self) -> frozenset[str]:
        """The columns of whole numbers."""
        return frozenset((*COUNTS, *(name for name, kind in self._notes.items() if kind is int)))

    @cached_property
    def _notes(self) -> dict[str, type]:
        """The columns of notes, each with the type of its content; of two metrics that differ in it, text."""
        found: dict[str, type] = {}
        for metric in self.metrics.values():
            for name, note in metric.notes.items():
                share = isinstance(note, ShareNote)
                cells = {NOTE + name: float, NOTE + name + COUNT: int, NOTE + name + OF: int} if share else {}
                for column, kind in (cells or {NOTE + name: str}).items():
                    found[column] = kind if found.get(column, kind) is kind else str
        return found

    def flatten(self, result: Mapping[str, Any]) -> Iterator[dict[str, object]]:
        """Return the rows of a result that was read from a line of JSON."""
        shared = {name: result[name] for name in _OF_RESULT}
        shared |= {name: result["usage"][name] for name in _OF_USAGE}
        shared["tags"] = _json(result["tags"])
        outcome = result["outcome"]
        for found in outcome.get("judgements", ()):
            yield {**shared, **self._judgement(result["metric"], found)}
        failures = outcome.get("failures") or ([outcome["error"]] if "error" in outcome else [])
        for failure in failures:
            told = {"item": failure["item"], "failure": failure["kind"], "message": failure["message"]}
            yield {**shared, "status": "failed", **told}
        if outcome["status"] == "skipped":
            yield {**shared, "status": "skipped", "message": outcome["reason"]}

    def _judgement(self, metric: str, found: Mapping[str, Any]) -> dict[str, object]:
        """Return the cells of a judgement; what a log of an older version lacks is empty."""
        notes, findings = found["notes"], found.get("findings") or []
        cited = find_cited_items([found["reason"], *findings, notes], found.get("shown_ids") or {})
        cells = {
            **{name: found[name] for name in _OF_JUDGEMENT},
            "status": "scored",
            "value": str(found["value"]),
            "findings": _json(findings) if findings else None,
            "cited_items": _json(cited) if cited else None,
        }
        if notes:
            cells |= self._note_cells(notes)
            cells["contradictions"] = "; ".join(self._contradictions(metric, found).values()) or None
        return cells

    def _contradictions(self, metric: str, found: Mapping[str, Any]) -> dict[str, str]:
        definition = self.metrics.get(metric)
        if definition is None:
            return {}
        return find_contradictions(definition, found["value"], found["notes"], found["votes"])

    def _note_cells(self, notes: Mapping[str, JsonValue]) -> dict[str, object]:
        """Return the cells of notes; those that have no column of their own go into one together."""
        cells: dict[str, object] = {}
        others: dict[str, JsonValue] = {}
        for name, note in notes.items():
            if NOTE + name not in self._notes:
                others[name] = note
            elif isinstance(note, dict) and is_share(note):
                told = {
                    NOTE + name: note.get("share"),
                    NOTE + name + COUNT: note.get("count"),
                    NOTE + name + OF: note["of"],
                }
                cells |= {column: self._fit(column, content) for column, content in told.items()}
            else:
                cells[NOTE + name] = self._fit(NOTE + name, note)
        return {**cells, "notes": _json(others)} if others else cells

    def _fit(self, column: str, content: JsonValue) -> object:
        """Return a cell's content as its column takes it; lists as JSON."""
        plain = isinstance(content, str) or content is None
        return content if plain or self._notes.get(column) is not str else _json(content)


def read_layout(fact: JsonValue) -> Layout:
    """Return the columns of a run from the definitions that it holds (its fact `metrics`)."""
    listed = [one for one in fact if isinstance(one, dict)] if isinstance(fact, list) else []
    return Layout(metrics={str(one["name"]): define(one) for one in listed if "steps" in one})


def flat(result: Result, layout: Layout | None = None) -> Iterator[dict[str, object]]:
    """Return one row for each judgement and failure of a result, or for its skip."""
    return (layout or Layout()).flatten(result.model_dump(mode="json"))


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False)
