"""Rows that a program passes: tables of pandas, polars and Arrow, mappings, records and documents, as plain values."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from math import isnan
from typing import Any

from pydantic import BaseModel

from greval.datasets.field_names import format_printable
from greval.datasets.field_values import format_scalar
from greval.datasets.json_files import LIST_UNIT, RawRow, build_row
from greval.datasets.row_faults import RowFault, explain_repeated_names
from greval.datasets.row_purpose import RowPurpose
from greval.errors import DataError
from greval.records.case import Case

BYTE_ORDER_MARK = "\ufeff"
"""What a file of UTF-8 may begin with; it is a part of the first name if the file was not opened as `utf-8-sig`."""
_MISSING_TYPES = frozenset({"NAType", "NaTType"})
"""The types of the missing values of pandas, neither of which equals itself."""
SHAPES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("page_content", "metadata"), ("id",)),
    (("source_nodes", "response"), ()),
    (("node", "score"), ()),
    (("response", "context_data"), ("context_text", "completion_time", "llm_calls", "prompt_tokens", "output_tokens")),
    (("response", "completion_time"), ("context_text", "llm_calls", "prompt_tokens", "output_tokens")),
    (("text", "metadata"), ("id_", "node_id", "doc_id", "ref_doc_id", "score")),
    (("content", "meta"), ("id", "score")),
    (("content", "metadata"), ("id", "score")),
    (("answer", "retriever_result"), ()),
    (("items", "metadata"), ()),
    (("payload", "score"), ("id",)),
    (("content", "type"), ()),
)
"""The attributes by which an object is known, and those that it may have besides."""


def is_table(value: object) -> bool:
    """Return whether a value is a table of pandas, polars or pyarrow, judged by its attributes."""
    has_columns = hasattr(value, "columns") or hasattr(value, "column_names")
    has_rows = any(hasattr(value, name) for name in ("iter_rows", "to_pylist", "itertuples"))
    return has_columns and has_rows and not isinstance(value, Mapping)


def read_record_rows(records: object, purpose: RowPurpose) -> Iterator[RawRow | Case | RowFault]:
    """Yield what a program passes as raw rows; cases and faulty rows stay as they are."""
    _refuse_repeated_names(records)
    for number, record in enumerate(_iterate_records(records), 1):
        yield record if isinstance(record, Case | RowFault) else _convert_row(record, number, purpose)


def _refuse_repeated_names(records: Any) -> None:  # noqa: ANN401 - as below
    """Raise `DataError` if a table has a name twice, as a row could hold one of its columns only."""
    if isinstance(records, csv.DictReader):
        names = records.fieldnames or ()
    else:
        # A frame of pandas may have a column of any name, such as `column_names`.
        has_arrays = hasattr(records, "to_pylist")
        names = (records.column_names if has_arrays else records.columns) if is_table(records) else ()
    if fault := explain_repeated_names(names):
        raise DataError(f"the table: {fault}")


def _iterate_records(records: Any) -> Iterable[object]:  # noqa: ANN401 - tables of packages that are not imported
    """Return the rows of a table as mappings, or the items of anything else."""
    rows: Iterable[object] = records
    if isinstance(records, csv.DictReader):
        # An empty cell is not recorded, as in a file.
        return ({name: cell or None for name, cell in row.items()} for row in records if any(row.values()))
    if not is_table(records):
        return rows
    if hasattr(records, "iter_rows"):  # polars
        rows = records.iter_rows(named=True)
    elif hasattr(records, "to_pylist"):  # pyarrow
        rows = records.to_pylist()
    else:
        records = _add_index(records)
        rows = (dict(zip(records.columns, row, strict=True)) for row in records.itertuples(index=False, name=None))
    return rows


def _add_index(frame: Any) -> Any:  # noqa: ANN401 - a frame of pandas, which is not imported
    """Return a frame of pandas in which an index that has a name is a column, once if it is one already."""
    repeated_names = [name for name in frame.index.names if name is not None and name in frame.columns]
    for name in repeated_names:
        if not frame.set_index(name).index.equals(frame.index.get_level_values(name)):
            raise DataError(f"{name} is a column of the table and its index, with other values; rename or drop one")
    frame = frame.reset_index(level=repeated_names, drop=True) if repeated_names else frame
    return frame.reset_index() if any(name is not None for name in frame.index.names) else frame


def _convert_row(record: object, number: int, purpose: RowPurpose) -> RawRow:
    # Where `csv.DictReader` puts the cells beyond the header, as of a comma that is not in quotes.
    if isinstance(record, dict) and isinstance(cells := record.get(None), list) and cells:
        fault = f"has a cell beyond the last column: {format_printable(str(cells[0]))}"
        return RawRow(number, faults={"": fault}, unit=LIST_UNIT)
    try:
        content = to_plain(record)
        if isinstance(content, dict):
            content = {name.removeprefix(BYTE_ORDER_MARK): value for name, value in content.items()}
        return build_row(content, number, LIST_UNIT, doubtful=True, purpose=purpose)
    except RecursionError:
        return RawRow(number, faults={"": "is nested too deeply"}, unit=LIST_UNIT)


def to_plain(value: Any) -> object:  # noqa: ANN401 - whatever a program hands over
    """Convert a record to JSON-like values: mappings, lists, texts and numbers; other values stay unchanged."""
    if isinstance(value, float):
        # Numpy's floats are instances of float. Tables have NaN for what is not recorded.
        return None if isnan(value) else float(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {name if isinstance(name, str) else str(name): to_plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(part) for part in value]
    if isinstance(value, set | frozenset):
        # The order of a set may differ between processes.
        return sorted((to_plain(part) for part in value), key=str)
    return _convert_object(value)


def _convert_object(value: Any) -> object:  # noqa: ANN401 - as above
    """Convert a document, a message, a reply, a table, a model, a dataclass or a numpy value to plain values."""
    if is_table(value):
        return [to_plain(row) for row in _iterate_records(value)]
    if isinstance(value, BaseModel):
        return to_plain({name: getattr(value, name) for name in type(value).model_fields})
    if is_dataclass(value) and not isinstance(value, type):
        return to_plain({field.name: getattr(value, field.name) for field in fields(value)})
    if hasattr(value, "tolist"):
        return to_plain(value.tolist())
    if (content := read_attributes(value)) is not None:
        return to_plain(content)
    return None if type(value).__name__ in _MISSING_TYPES else format_scalar(value)


def read_attributes(instance: Any) -> Mapping[str, object] | None:  # noqa: ANN401 - an object of any package
    """Return the content of a document, a node, a message or a reply; None for any other object."""
    if isinstance(instance, type):
        return None
    for needed, optional in SHAPES:
        values = {name: getattr(instance, name, None) for name in needed}
        if all(hasattr(instance, name) and not callable(value) for name, value in values.items()):
            more = {name: getattr(instance, name, None) for name in optional}
            return {**values, **{name: value for name, value in more.items() if not (value is None or callable(value))}}
    return None
