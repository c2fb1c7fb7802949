"""Results as table rows: one row for each judgement, failure and skip, with columns for the notes of the metrics."""

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
"""The columns of every run. Columns for notes follow them."""
NOTE = "notes."
"""The prefix of a column name, followed by the name of the note."""
COUNT, OF = ".count", ".of"
"""The suffixes of the two further columns of a share: the number of matching entries, and of all entries."""
_OF_RESULT = ("sample_id", "method", "metric", "repeat", "judge", "tier", "fingerprint", "latency")
_OF_USAGE = ("calls", "input_tokens", "output_tokens")
_OF_JUDGEMENT = ("item", "number", "reason", "confidence")


class Layout(Record):
    """The columns of a run's table.

    A text note has a column `notes.NAME`, a list one with its entries as JSON. A share has three: `notes.NAME`, the
    share, `notes.NAME.count` and `notes.NAME.of`. Notes that no metric of the run defines are in `notes`, as JSON.
    """

    metrics: dict[str, JudgedMetric] = Field(default_factory=dict)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The column names, in order."""
        return (*COLUMNS, *self._notes)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The names of the columns with real numbers."""
        return frozenset((*NUMBERS, *(name for name, kind in self._notes.items() if kind is float)))

    @cached_property
    def counts(self) -> frozenset[str]:
        """The names of the columns with integers."""
        return frozenset((*COUNTS, *(name for name, kind in self._notes.items() if kind is int)))

    @cached_property
    def _notes(self) -> dict[str, type]:
        """The columns of notes with their types; the type is text if two metrics disagree."""
        found: dict[str, type] = {}
        for metric in self.metrics.values():
            for name, note in metric.notes.items():
                share = isinstance(note, ShareNote)
                cells = {NOTE + name: float, NOTE + name + COUNT: int, NOTE + name + OF: int} if share else {}
                for column, kind in (cells or {NOTE + name: str}).items():
                    found[column] = kind if found.get(column, kind) is kind else str
        return found

    def flatten(self, result: Mapping[str, Any]) -> Iterator[dict[str, object]]:
        """Yield the rows of a result that was parsed from a JSON line."""
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
        """Return the cells of a judgement. Fields that are missing in the log of an older version are empty."""
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
        """Return the cells of notes. Notes without a column of their own share the column `notes`."""
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
        """Return the content of a cell in the type of its column; lists as JSON."""
        plain = isinstance(content, str) or content is None
        return content if plain or self._notes.get(column) is not str else _json(content)


def read_layout(fact: JsonValue) -> Layout:
    """Build the table layout of a run from its stored metric definitions (metadata entry `metrics`)."""
    listed = [one for one in fact if isinstance(one, dict)] if isinstance(fact, list) else []
    return Layout(metrics={str(one["name"]): define(one) for one in listed if "steps" in one})


def flat(result: Result, layout: Layout | None = None) -> Iterator[dict[str, object]]:
    """Yield one row for each judgement and failure of a result, or for its skip."""
    return (layout or Layout()).flatten(result.model_dump(mode="json"))


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False)
