"""Limits of what a file of cases may hold, checked before its content becomes Python objects.

A small file can stand for a large one: by compression, by the dictionaries of Parquet, by the brackets of JSON. The
limits are far above what a case needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from greval.errors import DataError

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
