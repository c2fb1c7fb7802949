"""JSON files: one case per line, or one list of cases; faulty values are reported by field.

The parser is for untrusted input: values that Python's parser lets through or fails on become faults of the row.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain
from math import isinf
from pathlib import Path

from greval._util.wording import find_typo
from greval.datasets.field_names import find_field, find_known_name, format_printable
from greval.datasets.row_faults import explain_large_row, explain_many_fields, iterate_lines
from greval.datasets.row_purpose import CASE_ROWS, RowPurpose
from greval.errors import DataError

MAX_DIGITS = 19
"""The number of digits of a 64-bit integer; longer ones fit neither a table nor a float."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
LIST_UNIT = ", row "
BOM = b"\xef\xbb\xbf"


class InvalidJsonError(ValueError):
    """A text is not valid JSON; `line` and `column` give the place, or are 0 if it is unknown."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True)
class RawRow:
    """A row as read from a file.

    A fault is at a name or at the path of the value, at "" if the whole row is faulty. The first row has a note of how
    the file was read.
    """

    number: int
    values: Mapping[str, object] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    unit: str = ":"
    note: str = ""

    @property
    def valid_values(self) -> Mapping[str, object]:
        """The values, with None in place of faulty ones."""
        return {name: None if name in self.faults else value for name, value in self.values.items()}


@dataclass(frozen=True)
class RefusedLiteral:
    """A placeholder for a literal that no case can hold, until the name of its field is known."""

    why: str


def parse_json(text: str) -> tuple[object, bool]:
    """Parse JSON; literals that no case can hold become placeholders. Report whether `find_faults` may find something.

    An `InvalidJsonError` is raised if the text is not valid JSON or is nested too deeply.
    """
    marks: list[RefusedLiteral] = []

    def refuse(why: str) -> RefusedLiteral:
        marks.append(RefusedLiteral(why))
        return marks[-1]

    try:
        content = _build_decoder(refuse).decode(text)
    except json.JSONDecodeError as error:
        raise InvalidJsonError(f"is no JSON: {error.msg}", error.lineno, error.colno) from error
    except RecursionError:
        raise InvalidJsonError("is nested too deeply") from None
    # Decoded bytes hold a lone surrogate only as an escape. Searching every value of every row for one would take
    # longer than everything else.
    return content, bool(marks) or "\\ud" in text or "\\uD" in text


def build_row(
    content: object, number: int, unit: str = ":", *, doubtful: bool, purpose: RowPurpose = CASE_ROWS
) -> RawRow:
    """Build a row from a JSON value, which must be an object, with its faults."""
    if not isinstance(content, dict):
        hint = "; a file that is one JSON list is named .json" if isinstance(content, list) and unit == ":" else ""
        return RawRow(
            number,
            faults={"": f"must be an object with {purpose.content}, got {describe_type(content)}{hint}"},
            unit=unit,
        )
    if fault := explain_many_fields(len(content)):
        return RawRow(number, faults={"": fault}, unit=unit)
    return RawRow(number, content, find_faults(content) if doubtful else {}, unit)


def find_faults(values: Mapping[str, object]) -> dict[str, str]:
    """Return why values are rejected, by path: infinity, huge integers and lone surrogates."""
    return dict(fault for name, value in values.items() for fault in _iterate_faults(name, value))


def describe_type(value: object) -> str:
    """Return the type of a value in JSON's terms."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    kinds = ((str, "a text"), (int | float, "a number"), (Mapping, "an object"), (list | tuple, "a list"))
    return next((words for types, words in kinds if isinstance(value, types)), type(value).__name__)


def _iterate_faults(name: str, content: object) -> Iterator[tuple[str, str]]:
    """Yield the rejected values with their paths."""
    # Not recursive, because values may be nested up to Python's recursion limit.
    stack: list[tuple[str, object]] = [(name, name), (name, content)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str):
            if not value.isascii() and _LONE_SURROGATE.search(value):
                yield path, "holds half of a character (a lone surrogate), which is no text"
        elif isinstance(value, list | tuple):
            stack.extend((f"{path}[{n}]", item) for n, item in enumerate(value))
        elif isinstance(value, dict):
            stack.extend((f"{path}.{key}", part) for key, inner in value.items() for part in (key, inner))
        elif isinstance(value, RefusedLiteral):
            yield path, value.why


def _build_decoder(refuse: Callable[[str], RefusedLiteral]) -> json.JSONDecoder:
    """Build a decoder that rejects literals that Python accepts but JSON, or a case, does not."""

    def refuse_constant(literal: str) -> object:
        if literal == "NaN":
            # Python writes it for what tables lack.
            return None
        return refuse(f"{literal} is no JSON value; write null for what is not recorded")

    def parse_integer(literal: str) -> object:
        digits = len(literal.lstrip("-"))
        return int(literal) if digits <= MAX_DIGITS else refuse(f"an integer of {digits} digits is too large")

    def parse_number(literal: str) -> object:
        read = float(literal)
        return refuse(f"{literal[:20]} is too large a number") if isinf(read) else read

    return json.JSONDecoder(parse_constant=refuse_constant, parse_int=parse_integer, parse_float=parse_number)


def read_json_lines(path: Path, purpose: RowPurpose) -> Iterator[RawRow]:
    """Read a file with one row per line."""
    with path.open("rb") as stream:
        # Lines of bytes end with a newline only: texts may hold other line separators.
        yield from _parse_lines(iterate_lines(stream), purpose)


def read_json(path: Path, purpose: RowPurpose) -> Iterator[RawRow]:
    """Read a file that holds a list of rows, or an object with such a list; raise `DataError` if it holds neither."""
    yield from _parse_list(path.read_bytes(), str(path), purpose)


def read_stdin(purpose: RowPurpose = CASE_ROWS) -> Iterator[RawRow]:
    """Read standard input: one JSON value or a row per line; raise `DataError` for a list that is invalid."""
    stream = sys.stdin.buffer
    lines = iterate_lines(stream)
    head: list[bytes] = []
    for line in lines:
        # Blank lines are kept, too, so that rows have the numbers of their lines.
        head.append(line)
        if line.removeprefix(BOM).strip():
            break
    first = head[-1].removeprefix(BOM).strip() if head else b""
    if first.startswith(b"[") or _has_list(first, purpose):
        yield from _parse_list(b"".join(head) + stream.read(), "stdin", purpose)
    elif first.startswith(b"{") and _read_object(first) is None:
        # An object over several lines, or a broken row.
        content = b"".join(head) + stream.read()
        is_object = _read_object(content.removeprefix(BOM)) is not None
        yield from _parse_list(content, "stdin", purpose) if is_object else _parse_lines(BytesIO(content), purpose)
    else:
        yield from _parse_lines(chain(head, lines), purpose)


def _has_list(content: bytes, purpose: RowPurpose) -> bool:
    """Return whether JSON text is an object that holds a list of rows and is not itself a row."""
    has_key = any(f'"{key}"'.encode() in content for key in purpose.list_keys)
    record = (_read_object(content) if has_key else None) or {}
    return not record.keys() & {*purpose.main_names} and any(True for _ in _iterate_lists(record, purpose))


def _read_object(content: bytes) -> dict[str, object] | None:
    """Return the object that a JSON text holds, or None if it is not valid JSON or not an object."""
    try:
        value, _ = parse_json(content.decode())
    except (UnicodeDecodeError, InvalidJsonError):
        return None
    return value if isinstance(value, dict) else None


def _iterate_lists(content: Mapping[str, object], purpose: RowPurpose) -> Iterator[list[object]]:
    """Yield the lists under the names that lists of rows have; promptfoo has `results` in `results`."""
    for key in purpose.list_keys:
        rows = content.get(key)
        inner = rows.get(key) if isinstance(rows, dict) else rows
        if isinstance(inner, list):
            yield inner


def _parse_lines(lines: Iterable[bytes], purpose: RowPurpose) -> Iterator[RawRow]:
    """Parse one row per line."""
    for number, line in enumerate(lines, 1):
        content = line.removeprefix(BOM) if number == 1 else line
        if content.strip():
            yield from _parse_line(content, number, purpose)


def _parse_line(content: bytes, number: int, purpose: RowPurpose) -> Iterator[RawRow]:
    """Yield the row of a line, or the rows that its object holds."""
    fault = explain_large_row(content)
    try:
        value, doubtful = (None, False) if fault else parse_json(content.decode())
    except UnicodeDecodeError as error:
        fault = describe_encoding_fault(content[error.start], f"at byte {error.start + 1} of the line")
    except InvalidJsonError as error:
        fault = f"{error} at column {error.column}" if error.column else str(error)
    if fault:
        yield RawRow(number, faults={"": fault})
        return
    rows = purpose.expand(value) if isinstance(value, dict) else None
    for row in [value] if rows is None else rows:
        yield build_row(row, number, doubtful=doubtful, purpose=purpose)


def describe_encoding_fault(byte: int, where: str) -> str:
    """Return the message that a text is not UTF-8, with what to do."""
    return f"is not UTF-8 (0x{byte:02x} {where}); save the file as UTF-8"


def _parse_list(content: bytes, name: str, purpose: RowPurpose) -> Iterator[RawRow]:
    document, doubtful = _parse_whole(content, name, purpose)
    for number, row in enumerate(find_list(document, name, purpose), 1):
        yield build_row(row, number, LIST_UNIT, doubtful=doubtful, purpose=purpose)


def _parse_whole(content: bytes, name: str, purpose: RowPurpose) -> tuple[object, bool]:
    """Parse a whole JSON file, and return whether its values must be searched for faults."""
    content = content.removeprefix(BOM)
    try:
        return parse_json(content.decode()) if content.strip() else ([], False)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}:{line}: {describe_encoding_fault(content[error.start], f'at byte {error.start + 1}')}"
        ) from error
    except InvalidJsonError as error:
        location = f"{name}:{error.line}:{error.column}" if error.line else name
        raise DataError(
            f"{location}: {error}; mend it, or write one {purpose.noun} a line and name the file .jsonl: there a bad "
            "row stops no other"
        ) from error


def find_list(content: object, name: str, purpose: RowPurpose = CASE_ROWS) -> list[object]:
    """Return the rows that a whole file holds, which may be a single row; raise `DataError` if it holds none."""
    if isinstance(content, list):
        return content
    if not isinstance(content, dict):
        raise DataError(f"{name}: must be a list of {purpose.noun}s, got {describe_type(content)}")
    if (table := list_table_rows(content, purpose)) is not None:
        return table
    if (rows := purpose.expand(content)) is not None:
        return rows
    for rows in _iterate_lists(content, purpose):
        return rows
    if not content.keys().isdisjoint(purpose.main_names):
        return [content]
    wrong_type = next(
        (f"; {key!r} holds {describe_type(content[key])}" for key in purpose.list_keys if key in content), ""
    )
    hint = wrong_type or next(
        (f"; is it {format_printable(key)!r}?" for key in content if find_typo(key, purpose.list_keys)), ""
    )
    raise DataError(
        f"{name}: must be a list of {purpose.noun}s, or an object with the list under "
        f"{' or '.join(map(repr, purpose.list_keys))}{hint}"
    )


def list_table_rows(content: Mapping[str, object], purpose: RowPurpose) -> list[object] | None:
    """Return the rows of a table that is held by column or by row, or with `columns` and `data` apart; None if none is.

    `DataFrame.to_json` writes all three forms. A column is an object of cells, or a list as in `Dataset.to_dict`; the
    name of a row is its id.

    Example:
        >>> list_table_rows({"question": ["Who?", "When?"], "answer": ["Ada", "1843"]}, CASE_ROWS)
        [{'question': 'Who?', 'answer': 'Ada'}, {'question': 'When?', 'answer': '1843'}]
    """
    columns, data = content.get("columns"), content.get("data")
    if isinstance(columns, list) and isinstance(data, list) and all(isinstance(name, str) for name in columns):
        return [
            dict(zip(columns, row, strict=True)) if isinstance(row, list) and len(row) == len(columns) else row
            for row in data
        ]
    main = next((content[name] for name in purpose.main_names if name in content), None)
    if isinstance(main, dict):
        same = (column for column in content.values() if isinstance(column, dict) and column.keys() == main.keys())
        cells = [[*column.values()] for column in same]
    # A single case has a text, or the messages of a conversation.
    elif isinstance(main, list) and main and isinstance(main[0], str) and not purpose.has_listed_values:
        cells = [column for column in content.values() if isinstance(column, list) and len(column) == len(main)]
    else:
        return None if main else _list_named_rows(content, purpose)
    if len(cells) < len(content):
        return None
    return [dict(zip(content, row, strict=True)) for row in zip(*cells, strict=True)]


def _list_named_rows(content: Mapping[str, object], purpose: RowPurpose) -> list[object] | None:
    """Return the rows of an object that holds each under its id; None if it may be a row or holds other objects."""
    rows = [row for row in content.values() if isinstance(row, dict)]
    has_field = any(name in purpose.list_keys or find_known_name(name) for name in content)
    if not rows or len(rows) < len(content) or has_field:
        return None
    names = {name for row in rows for name in row}
    if not any(name in purpose.main_names or find_known_name(name) for name in names):
        return None
    if any(find_field(name) == "id" for name in names):
        return [*rows]
    return [{"id": name, **row} for name, row in zip(content, rows, strict=True)]
