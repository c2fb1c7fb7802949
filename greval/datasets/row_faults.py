"""Rows that are not valid cases, and messages about them: each fault once, the first five, then a count."""

from __future__ import annotations

import re
from collections.abc import Iterable

from greval._util.wording import format_count
from greval.errors import DataError
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
