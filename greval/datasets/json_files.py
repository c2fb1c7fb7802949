"""JSON files: one case per line, or one list of cases."""

from __future__ import annotations

import sys
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING

from greval._util.wording import find_typo
from greval.datasets.field_names import format_printable, list_names
from greval.datasets.json_text import InvalidJsonError, RawRow, build_row, describe_type, parse_json
from greval.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

LIST_KEYS = ("cases", "data", "results")
LIST_UNIT = ", row "
BOM = b"\xef\xbb\xbf"


def read_json_lines(path: Path) -> Iterator[RawRow]:
    """Read a file with one case per line."""
    with path.open("rb") as stream:
        yield from _parse_lines(stream)


def read_json(path: Path) -> Iterator[RawRow]:
    """Read a file that holds one list of cases, or an object with such a list.

    Raises:
        DataError: If the file is not valid JSON or does not hold a list.
    """
    yield from _parse_list(path.read_bytes(), str(path))


def read_stdin() -> Iterator[RawRow]:
    """Read standard input: one JSON value as in a JSON file, or else one case per line.

    Raises:
        DataError: If the input begins as a list and is not valid JSON.
    """
    stream = sys.stdin.buffer
    head: list[bytes] = []
    for line in stream:
        head.append(line)
        if line.removeprefix(BOM).strip():
            break
    first = head[-1].removeprefix(BOM).strip() if head else b""
    if first.startswith(b"[") or _has_list(first):
        yield from _parse_list(b"".join(head) + stream.read(), "stdin")
    elif first.startswith(b"{") and _read_object(first) is None:  # an object over several lines, or a broken row
        content = b"".join(head) + stream.read()
        whole = _read_object(content.removeprefix(BOM)) is not None
        yield from _parse_list(content, "stdin") if whole else _parse_lines(BytesIO(content))
    else:
        yield from _parse_lines(chain(head, stream))


def _has_list(content: bytes) -> bool:
    """Return whether JSON text is an object that holds a list of cases and is not itself a case."""
    found = (_read_object(content) if any(f'"{key}"'.encode() in content for key in LIST_KEYS) else None) or {}
    return not found.keys() & {*list_names("question")} and any(True for _ in _iterate_lists(found))


def _read_object(content: bytes) -> dict[str, object] | None:
    """Return the object that a JSON text holds, or None if it is not valid JSON or not an object."""
    try:
        found, _ = parse_json(content.decode())
    except (UnicodeDecodeError, InvalidJsonError):
        return None
    return found if isinstance(found, dict) else None


def _iterate_lists(content: Mapping[str, object]) -> Iterator[list[object]]:
    """Yield the lists under the names of `LIST_KEYS`."""
    yield from (rows for key in LIST_KEYS if isinstance(rows := content.get(key), list))


def _parse_lines(lines: Iterable[bytes]) -> Iterator[RawRow]:
    """Parse one case per line; lines end with a newline only, because texts may hold other line separators."""
    for number, line in enumerate(lines, 1):
        content = line.removeprefix(BOM) if number == 1 else line
        if content.strip():
            yield _parse_line(content, number)


def _parse_line(content: bytes, number: int) -> RawRow:
    try:
        row, doubtful = parse_json(content.decode())
        return build_row(row, number, doubtful=doubtful)
    except UnicodeDecodeError as error:
        return RawRow(
            number, faults={"": describe_encoding_fault(content[error.start], f"at byte {error.start + 1} of the line")}
        )
    except InvalidJsonError as error:
        where = f" at column {error.column}" if error.column else ""
        return RawRow(number, faults={"": f"{error}{where}"})


def describe_encoding_fault(byte: int, where: str) -> str:
    """Return the message that a text is not UTF-8, with what to do."""
    return f"is not UTF-8 (0x{byte:02x} {where}); save the file as UTF-8"


def _parse_list(content: bytes, name: str) -> Iterator[RawRow]:
    whole, doubtful = _parse_whole(content, name)
    for number, row in enumerate(find_list(whole, name), 1):
        yield build_row(row, number, LIST_UNIT, doubtful=doubtful)


def _parse_whole(content: bytes, name: str) -> tuple[object, bool]:
    """Parse a whole JSON file, and return whether its values must be searched for faults."""
    content = content.removeprefix(BOM)
    try:
        return parse_json(content.decode()) if content.strip() else ([], False)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"{name}:{line}: {describe_encoding_fault(content[error.start], f'at byte {error.start + 1}')}"
        raise DataError(message) from error
    except InvalidJsonError as error:
        raise DataError(_describe_json_fault(error, name)) from error


def _describe_json_fault(error: InvalidJsonError, name: str) -> str:
    place = f"{name}:{error.line}:{error.column}" if error.line else name
    return (
        f"{place}: {error}; mend it, or write one case a line and name the file .jsonl: there a bad row stops no other"
    )


def find_list(content: object, name: str) -> list[object]:
    """Return the list of cases that a whole file holds.

    Raises:
        DataError: If it holds none.
    """
    if isinstance(content, list):
        return content
    if not isinstance(content, dict):
        message = f"{name}: must be a list of cases, got {describe_type(content)}"
        raise DataError(message)
    for rows in _iterate_lists(content):
        return rows
    near = next((f"; is it {format_printable(key)!r}?" for key in content if find_typo(key, LIST_KEYS)), "")
    message = (
        f"{name}: must be a list of cases, or an object with the list under {' or '.join(map(repr, LIST_KEYS))}{near}"
    )
    raise DataError(message)
