"""Rows that are not valid cases, and messages about them: each fault once, the first five, then a count; and limits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from greval._util.wording import format_count
from greval.datasets.field_names import format_printable
from greval.errors import DataError, word_message
from greval.records.record import Record

MAX_LISTED = 5
_PLACE = re.compile(r"(?P<place>.*?(?::|, row )\d+): (?P<message>.*)", re.DOTALL)


class RowFault(Record):
    """A row that is not a valid case.

    Args:
        place: The file and the line, or the file and the row number if it has no lines.
        message: All faults of the row, each with the name of the field.
        id: The row's id, or the one made from its position.
    """

    place: str
    message: str
    id: str | None = None

    def __str__(self) -> str:
        """Return the place and the message."""
        return word_message(f"{self.place}: {self.message}")


def describe_row_faults(rows: Iterable[str], count: int | None = None) -> list[str]:
    """Return lines about rows that are not valid cases; a fault that several rows share is one line.

    A row is its place, a colon and its fault. `count` is the total number of rows, if it is higher than that of `rows`.

    Example:
        >>> describe_row_faults(["a.csv:2: question: is missing", "a.csv:3: question: is missing"])
        ['a.csv:2: question: is missing (and so in 1 more row, the last at a.csv:3)']
    """
    all_rows = [*rows]
    places: dict[str, list[str]] = {}
    for row in all_rows:
        match = _PLACE.fullmatch(row)
        location, message = (match["place"], match["message"]) if match else ("", row)
        places.setdefault(message, []).append(location)
    lines = [_format_fault(message, at) for message, at in [*places.items()][:MAX_LISTED]]
    listed = sum(len(at) for at in [*places.values()][:MAX_LISTED])
    more = max(len(all_rows), count or 0) - listed
    return [*lines, f"and {format_count(more, 'more row')}"] if more else lines


def build_unreadable_error(rows: Iterable[str], count: int) -> DataError:
    """Build the error for input without a valid case, from rows as for `describe_row_faults` and their number."""
    which = "the only row is no case" if count == 1 else f"none of the {count:,} rows is a case"
    return DataError("\n".join([f"{which}:", *describe_row_faults(rows, count)]))


def _format_fault(message: str, places: list[str]) -> str:
    where = f"{places[0]}: {message}" if places[0] else message
    more = len(places) - 1
    if not more:
        return where
    return f"{where} (and so in {more:,} more {'row' if more == 1 else 'rows'}, the last at {places[-1]})"


MAX_ROW_BYTES = 32 * 2**20
"""The most bytes of a row: a line of JSON, a cell of CSV, or the values of a row of Parquet when they are unpacked."""
MAX_ROW_VALUES = 1_000_000
"""The most values of a row: a case whose hundred chunks have their embeddings has 150,000."""
MAX_ROW_FIELDS = 10_000
"""The most fields of a row, or columns of a table."""
MAX_UNPACKED_BYTES = 2**30
"""The most bytes of a workbook when it is unpacked, and of a row group of Parquet that is packed more than usual."""
USUAL_RATIO = 200
"""How many times smaller than its content packed data usually is at most."""
VALUE_BYTES = 50
"""The bytes that a small value takes in Python."""
HEADER_CHARACTERS = 2**16
"""How much of a table is read to find its delimiter."""
_STRING_PATTERN = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)'
"""A string, or an unclosed one up to the end of the text; linear time, without backtracking."""
_JSON_STRING = re.compile(_STRING_PATTERN, re.DOTALL)
_STRINGS_AT_ONCE = 10_000
_JSON_PART = re.compile(rb'(?:[^"]*+%b){1,%d}+|[^"]++' % (_STRING_PATTERN, _STRINGS_AT_ONCE), re.DOTALL)
"""A part of a text with a limited number of strings, or what comes after the last one."""
_MOST_OF_A_ROW = "the most of a row; leave out what is no field of a case"
_SEPARATORS = (b",", b"[", b"{")
"""What stands before each value: a comma before each but the first of a list or object."""


def iterate_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file; one that is too long for a row is cut, so that it still is too long."""
    while line := stream.readline(MAX_ROW_BYTES + 1):
        yield line
        while len(line) > MAX_ROW_BYTES and not line.endswith(b"\n"):
            line = stream.readline(MAX_ROW_BYTES + 1)


def explain_large_row(content: bytes) -> str | None:
    """Return why a line of JSON is too large to be parsed, or None."""
    if len(content) > MAX_ROW_BYTES:
        return explain_many_bytes()
    # Separators in strings are counted, too.
    is_doubtful = count_json_values(content) > MAX_ROW_VALUES
    if is_doubtful and count_json_values(remove_json_strings(content)) > MAX_ROW_VALUES:
        return f"holds more than {MAX_ROW_VALUES:,} values, {_MOST_OF_A_ROW}"
    return None


def explain_many_bytes() -> str:
    """Return why a row is too large."""
    return f"takes more than {MAX_ROW_BYTES // 2**20} MB, {_MOST_OF_A_ROW}"


def explain_many_fields(count: int) -> str | None:
    """Return why a row has too many fields, or None."""
    if count <= MAX_ROW_FIELDS:
        return None
    return f"has {count:,} fields, more than {MAX_ROW_FIELDS:,}, {_MOST_OF_A_ROW}"


def explain_repeated_names(names: Iterable[object]) -> str | None:
    """Return that a table has columns of one name, of which only one could be read, or None."""
    repeated = [name for name, times in Counter(map(str, names)).items() if times > 1]
    return f"{', '.join(map(format_printable, repeated))} is there twice; rename or drop one" if repeated else None


def refuse_large_content(location: str, unpacked: int, packed: int = 0) -> None:
    """Raise `DataError` if a file holds more than it may, and more than usual for its bytes when packed."""
    if unpacked > max(MAX_UNPACKED_BYTES, USUAL_RATIO * packed):
        most = f"{MAX_UNPACKED_BYTES // 2**20:,} MB"
        message = f"holds {unpacked // 2**20:,} MB when unpacked, more than {most}; split it, or save it as JSON lines"
        raise DataError(f"{location}: {message}")


def remove_json_strings(content: bytes) -> bytes:
    r"""Remove the strings from JSON.

    Example:
        >>> remove_json_strings(rb'{"a\"": [1, "b"], "c')
        b'{: [1, ], '
    """
    # Part by part, because to remove all strings at once takes 200 bytes of memory for each.
    return b"".join(_JSON_STRING.sub(b"", part[0]) for part in _JSON_PART.finditer(content))


def count_json_values(bare: bytes) -> int:
    """Return about how many values there are in JSON without its strings."""
    return sum(map(bare.count, _SEPARATORS))
