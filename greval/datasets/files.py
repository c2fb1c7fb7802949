"""Files of JSON: one case a line, or one list."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING

from greval.datasets.names import nearest, shown
from greval.datasets.texts import NoJsonError, Raw, kind, loads, row_of
from greval.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LIST_KEYS = ("cases", "data")
LIST_UNIT = ", row "
BOM = b"\xef\xbb\xbf"


def read_json_lines(path: Path) -> Iterator[Raw]:
    """Read a file of one case a line."""
    with path.open("rb") as stream:
        yield from _lines(stream)


def read_json(path: Path) -> Iterator[Raw]:
    """Read a file that is one list of cases, or an object that holds one.

    Raises:
        DataError: Where the file is no JSON or holds no list.
    """
    yield from _listed(path.read_bytes(), str(path))


def read_stdin() -> Iterator[Raw]:
    """Read standard input: a JSON list where it begins with [, else one case a line.

    Raises:
        DataError: Where it is a list and no JSON.
    """
    stream = sys.stdin.buffer
    head: list[bytes] = []
    for line in stream:
        head.append(line)
        if line.removeprefix(BOM).strip():
            break
    if head and head[-1].removeprefix(BOM).lstrip().startswith(b"["):
        yield from _listed(b"".join(head) + stream.read(), "stdin")
    else:
        yield from _lines(chain(head, stream))


def _lines(lines: Iterable[bytes]) -> Iterator[Raw]:
    """Read one case a line; lines end with a newline only, as texts may hold other separators."""
    for number, line in enumerate(lines, 1):
        content = line.removeprefix(BOM) if number == 1 else line
        if content.strip():
            yield _line(content, number)


def _line(content: bytes, number: int) -> Raw:
    try:
        row, doubtful = loads(content.decode())
        return row_of(row, number, doubtful=doubtful)
    except UnicodeDecodeError as error:
        return Raw(number, faults={"": not_utf8(content[error.start], f"at byte {error.start + 1} of the line")})
    except NoJsonError as error:
        where = f" at column {error.column}" if error.column else ""
        return Raw(number, faults={"": f"{error}{where}"})


def not_utf8(byte: int, where: str) -> str:
    """Say that a text is not UTF-8, and what to do."""
    return f"is not UTF-8 (0x{byte:02x} {where}); save the file as UTF-8"


def _listed(content: bytes, name: str) -> Iterator[Raw]:
    whole, doubtful = _whole(content, name)
    for number, row in enumerate(_list_in(whole, name), 1):
        yield row_of(row, number, LIST_UNIT, doubtful=doubtful)


def _whole(content: bytes, name: str) -> tuple[object, bool]:
    """Read a whole file of JSON, and say whether faults may be in it."""
    content = content.removeprefix(BOM)
    try:
        return loads(content.decode()) if content.strip() else ([], False)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"{name}:{line}: {not_utf8(content[error.start], f'at byte {error.start + 1}')}"
        raise DataError(message) from error
    except NoJsonError as error:
        raise DataError(_no_json(error, name)) from error


def _no_json(error: NoJsonError, name: str) -> str:
    place = f"{name}:{error.line}:{error.column}" if error.line else name
    return (
        f"{place}: {error}; mend it, or write one case a line and name the file .jsonl: there a bad row stops no other"
    )


def _list_in(content: object, name: str) -> list[object]:
    """Give the list of cases that a whole file holds."""
    if isinstance(content, list):
        return content
    if not isinstance(content, dict):
        message = f"{name}: must be a list of cases, got {kind(content)}"
        raise DataError(message)
    for key in LIST_KEYS:
        if isinstance(content.get(key), list):
            rows: list[object] = content[key]
            return rows
    near = next((f"; is it {shown(key)!r}?" for key in content if nearest(key, LIST_KEYS)), "")
    message = f"{name}: must be a list of cases, or an object with the list under 'cases' or 'data'{near}"
    raise DataError(message)
