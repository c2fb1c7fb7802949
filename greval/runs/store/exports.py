"""Results as tables: one row for each judgement, failure and skip, as Python rows, CSV and Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pydantic import Field, JsonValue
from pydantic_core import from_json

from greval._util.spreadsheet_cells import escape_formula
from greval.errors import MissingExtraError
from greval.records.consistency import find_contradictions
from greval.records.formula_metric import parse_stored_metrics
from greval.records.judgement_text import find_cited_items, is_share
from greval.records.metric import JudgedMetric
from greval.records.note import ShareNote
from greval.records.record import Record
from greval.records.result import TEXTS_FIELD, Result

if TYPE_CHECKING:
    import pandas as pd

BATCH_ROWS = 8192
CARRIAGE_RETURN = "\\r"
"""A carriage return as JSON escapes it."""
NUMBER_COLUMNS = ("number", "confidence", "latency")
COUNT_COLUMNS = ("repeat", "calls", "input_tokens", "output_tokens")
COLUMNS = (
    *("sample_id", "method", "metric", "repeat", "status", "item", "value", "number", "reason", "confidence"),
    *("failure", "message", "judge", "tier", "fingerprint"),
    *("calls", "input_tokens", "output_tokens", "latency", "tags"),
    *("findings", "cited_items", "contradictions", "notes"),
)
"""The columns of every run. Columns for notes follow them."""
NOTE_PREFIX = "notes."
"""The prefix of a column name, followed by the name of the note."""
SHARE_SUFFIXES = ("", ".count", ".of")
"""The suffixes of the columns of a share: the share, the number of matching entries, and that of all entries."""
TEXT_COLUMNS = ("question", "answer", "expected_answer", "item_text")
"""The columns of the texts of the case, which are present on request."""
_MARKS = frozenset(
    {"number", "failure", "judge", "tier", "fingerprint", "calls", "input_tokens", "output_tokens", "cited_items"}
    | {"findings", "contradictions", "outcome", "usage"}
)
"""Columns of results that no table of labels has, as far as greval writes it."""
VERDICT_COLUMNS = frozenset({"value", "reason", "outcome"})
"""The columns that show the judge's verdict."""
_RESULT_FIELDS = ("sample_id", "method", "metric", "repeat", "judge", "tier", "fingerprint", "latency")
_USAGE_FIELDS = ("calls", "input_tokens", "output_tokens")
_JUDGEMENT_FIELDS = ("item", "number", "reason", "confidence")


class TableLayout(Record):
    """The columns of a run's table.

    A text note has a column `notes.NAME`, a list one with its entries as JSON. A share has three: `notes.NAME`, the
    share, `notes.NAME.count` and `notes.NAME.of`. Notes that no metric of the run defines are in `notes`, as JSON.
    `texts` adds the columns of the texts of the case. `status` and `value` leave only the rows that have them.
    """

    texts: bool = False
    status: str | None = None
    value: str | None = None
    metrics: dict[str, JudgedMetric] = Field(default_factory=dict)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The column names, in order."""
        return (*COLUMNS, *(TEXT_COLUMNS if self.texts else ()), *self._note_columns)

    @property
    def types(self) -> dict[str, type]:
        """The types of the columns; those that are not named hold text."""
        numbers, counts = dict.fromkeys(NUMBER_COLUMNS, float), dict.fromkeys(COUNT_COLUMNS, int)
        return {**numbers, **counts, **self._note_columns}

    @cached_property
    def _note_columns(self) -> dict[str, type]:
        """The columns of notes with their types; the type is text if two metrics disagree."""
        types: dict[str, type] = {}
        for metric in self.metrics.values():
            for name, note in metric.notes.items():
                share = isinstance(note, ShareNote)
                # A text note has only the first of the columns.
                kinds = zip(_name_note_columns(name), (float, int, int) if share else (str,), strict=False)
                for column, kind in kinds:
                    types[column] = kind if types.get(column, kind) is kind else str
        return types

    def flatten(self, result: Mapping[str, Any]) -> Iterator[dict[str, object]]:
        """Yield the rows of a result that was parsed from a JSON line, with texts if it has been given any."""
        texts = dict(result.get(TEXTS_FIELD) or {})
        items = texts.pop("items", {})
        for row in self._build_rows(result):
            if self.status in {None, row["status"]} and self.value in {None, row.get("value")}:
                yield {**row, **texts, "item_text": items.get(row["item"])} if texts else row

    def _build_rows(self, result: Mapping[str, Any]) -> Iterator[dict[str, object]]:
        shared = {name: result[name] for name in _RESULT_FIELDS}
        shared |= {name: result["usage"][name] for name in _USAGE_FIELDS}
        shared["tags"] = _format_json(result["tags"])
        outcome = result["outcome"]
        for judgement in outcome.get("judgements", ()):
            yield {**shared, **self._build_judgement_cells(result["metric"], judgement)}
        failures = outcome.get("failures") or ([outcome["error"]] if "error" in outcome else [])
        for failure in failures:
            cells = {"item": failure["item"], "failure": failure["kind"], "message": failure["message"]}
            yield {**shared, "status": "failed", **cells}
        for skipped in outcome.get("skipped_items", ()):
            yield {**shared, "item": skipped["item"], "status": "skipped", "message": skipped["reason"]}
        if outcome["status"] == "skipped":
            yield {**shared, "item": None, "status": "skipped", "message": outcome["reason"]}

    def _build_judgement_cells(self, metric: str, judgement: Mapping[str, Any]) -> dict[str, object]:
        notes, findings = judgement["notes"], judgement["findings"]
        cited = find_cited_items([judgement["reason"], *findings, notes], judgement["shown_ids"])
        cells = {
            **{name: judgement[name] for name in _JUDGEMENT_FIELDS},
            "status": "scored",
            "value": str(judgement["value"]),
            "findings": _format_json(findings) if findings else None,
            "cited_items": _format_json(cited) if cited else None,
        }
        if notes:
            cells |= self._build_note_cells(notes)
            if definition := self.metrics.get(metric):
                contradictions = find_contradictions(definition, judgement["value"], notes, judgement["votes"])
                cells["contradictions"] = "; ".join(contradictions.values()) or None
        return cells

    def _build_note_cells(self, notes: Mapping[str, JsonValue]) -> dict[str, object]:
        """Return the cells of notes. Notes without a column of their own share the column `notes`."""
        cells: dict[str, object] = {}
        undefined: dict[str, JsonValue] = {}
        for name, note in notes.items():
            if NOTE_PREFIX + name not in self._note_columns:
                undefined[name] = note
            elif isinstance(note, dict) and is_share(note):
                shares = zip(_name_note_columns(name), (note.get("share"), note.get("count"), note["of"]), strict=True)
                cells |= {column: self._format_cell(column, content) for column, content in shares}
            else:
                cells[NOTE_PREFIX + name] = self._format_cell(NOTE_PREFIX + name, note)
        return {**cells, "notes": _format_json(undefined)} if undefined else cells

    def _format_cell(self, column: str, content: JsonValue) -> object:
        """Return the content of a cell in the type of its column; lists as JSON."""
        plain = isinstance(content, str) or content is None
        return content if plain or self._note_columns.get(column) is not str else _format_json(content)


def read_layout(fact: JsonValue) -> TableLayout:
    """Build the table layout of a run from its stored metric definitions (metadata entry `metrics`)."""
    metrics = parse_stored_metrics(fact).items()
    return TableLayout(metrics={name: judged for name, metric in metrics if (judged := metric.judged)})


def _name_note_columns(name: str) -> tuple[str, ...]:
    """Return the columns of a share; a text note has the first one only."""
    return tuple(f"{NOTE_PREFIX}{name}{suffix}" for suffix in SHARE_SUFFIXES)


def _format_json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False)


def list_added_columns(names: Iterable[str]) -> list[str] | None:
    """List the columns that people added to a table or to JSON lines of results; None if the file is neither.

    A file is one of them if it has the id of a sample and a column that only results have.

    Example:
        >>> list_added_columns(["sample_id", "value", "tier", "human"])
        ['human']
        >>> list_added_columns(["sample_id", "value", "annotator"]) is None
        True
    """
    columns = [*names]
    if "sample_id" not in columns or _MARKS.isdisjoint(columns):
        return None
    written_columns = {*COLUMNS, *TEXT_COLUMNS, *Result.model_fields, TEXTS_FIELD}
    return [name for name in columns if name not in written_columns and not name.startswith(NOTE_PREFIX)]


def write_csv(lines: Iterable[str], file: IO[str], layout: TableLayout | None = None) -> None:
    """Write results, given as JSON lines, as CSV with a header, in the columns of a run.

    A text that a spreadsheet would read as a formula has an apostrophe before it.
    """
    plain = csv.writer(file, lineterminator="\n")
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    layout = layout or TableLayout()
    plain.writerow(layout.columns)
    for line in lines:
        # An unquoted carriage return in a cell would end the row.
        writer = quoted if CARRIAGE_RETURN in line else plain
        writer.writerows([*map(escape_formula, row)] for row in _iterate_rows([line], layout))


def write_parquet(lines: Iterable[str], path: Path, layout: TableLayout | None = None) -> None:
    """Write results, given as JSON lines, as a Parquet file, in the columns of a run."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("stats", "pyarrow") from error
    layout = layout or TableLayout()
    arrow_types, column_types = {int: pa.int64(), float: pa.float64(), str: pa.string()}, layout.types
    schema = pa.schema([(name, arrow_types[column_types.get(name, str)]) for name in layout.columns])
    rows = _iterate_rows(lines, layout)
    with parquet.ParquetWriter(path, schema) as writer:
        while batch := [*islice(rows, BATCH_ROWS)]:
            columns = zip(*batch, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def build_frame(lines: Iterable[str], layout: TableLayout) -> pd.DataFrame:
    """Return results, given as JSON lines, as a pandas DataFrame in the columns of a run."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("stats", "pandas") from error
    return pd.DataFrame([*_iterate_rows(lines, layout)], columns=[*layout.columns])


def _iterate_rows(lines: Iterable[str], layout: TableLayout) -> Iterator[list[object]]:
    for line in lines:
        for row in layout.flatten(from_json(line)):
            yield [row.get(name) for name in layout.columns]
