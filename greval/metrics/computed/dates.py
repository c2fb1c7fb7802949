"""A parser of dates in text in many formats: 2 September 2024, September 2, 2024, 2024-09-02, 2024年9月2日.

The names of months are English. 03/04/2024 is ambiguous and stays as it is written.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LEAP_YEAR = 2024
"""A leap year, used to validate dates without a year."""


class PartialDate(NamedTuple):
    """A date of which some parts may be unknown."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def __str__(self) -> str:
        """Format the date as ISO 8601."""
        month = "" if self.month is None else f"-{self.month:02}"
        day = "" if self.day is None else f"-{self.day:02}"
        return f"{'-' if self.year is None else f'{self.year:04}'}{month}{day}"

    def covers(self, other: PartialDate) -> bool:
        """Return whether another date equals this one or is a more precise one within it."""
        return all(mine in {None, its} for mine, its in zip(self, other, strict=True))


class FoundDate(NamedTuple):
    """A date with its position in a text; `date` is None if it is ambiguous."""

    start: int
    end: int
    date: PartialDate | None


_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_NOT_A_VERB = r"(?!(?-i:may|march)\b)"
"""Excludes `may` and `march` in lower case, which are not months unless they are part of a full date."""
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_OF = r"\s+(?:of\s+)?"


def _parse_date(year: str, month: str, day: str) -> PartialDate | None:
    """Parse the parts of a date, the month as name or number."""
    named = month[:3].casefold()
    number = (MONTHS.index(named) + 1 if named in MONTHS else int(month)) if month else None
    return _build_valid_date(int(year) if year else None, number, int(day) if day else None)


def _build_valid_date(year: int | None, month: int | None, day: int | None) -> PartialDate | None:
    """Return the date if it exists in the calendar, else None."""
    if year == 0 or (month is not None and not 1 <= month <= len(MONTHS)):
        return None
    if day is not None and not 1 <= day <= monthrange(year or LEAP_YEAR, month or 1)[1]:
        return None
    return PartialDate(year, month, day)


def _parse_numeric_date(first: str, second: str, year: str) -> PartialDate | None:
    """Parse 25/12/2024 or 12/25/2024; None if both readings are valid and differ."""
    readings = {date for date in (_parse_date(year, second, first), _parse_date(year, first, second)) if date}
    return readings.pop() if len(readings) == 1 else None


_PATTERNS: tuple[tuple[str, Callable[..., PartialDate | None]], ...] = (
    (rf"\b{_DAY}{_OF}{_MONTH},?\s+(\d{{4}})\b", lambda day, month, year: _parse_date(year, month, day)),
    (rf"\b{_MONTH}\s+{_DAY},?\s+(\d{{4}})\b", lambda month, day, year: _parse_date(year, month, day)),
    (r"(?<!\d)(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日", _parse_date),
    (r"(?<![\d.])(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)", _parse_date),
    (r"(?<![\d.])(\d{4})/(\d{1,2})/(\d{1,2})(?![\d/])", _parse_date),
    (r"(?<![\d.])(\d{4})\.(\d{1,2})\.(\d{1,2})(?!\.?\d)", _parse_date),
    (r"(?<![\d./-])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])", _parse_numeric_date),
    (r"(?<![\d./-])(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\.?\d)", _parse_numeric_date),
    (r"(?<![\d./-])(\d{1,2})-(\d{1,2})-(\d{4})(?![\d-])", _parse_numeric_date),
    (rf"\b{_NOT_A_VERB}{_MONTH},?\s+(\d{{4}})\b", lambda month, year: _parse_date(year, month, "")),
    (rf"\b{_DAY}{_OF}{_NOT_A_VERB}{_MONTH}", lambda day, month: _parse_date("", month, day)),
    (rf"\b{_NOT_A_VERB}{_MONTH}\s+{_DAY}\b", lambda month, day: _parse_date("", month, day)),
)


@cache
def _compile_patterns() -> list[tuple[re.Pattern[str], Callable[..., PartialDate | None]]]:
    """Compile the patterns on first use, because most runs read no dates."""
    return [(re.compile(pattern, re.IGNORECASE), reading) for pattern, reading in _PATTERNS]


def find_dates(text: str) -> Iterator[FoundDate]:
    """Find the dates of a text in order; a part of a longer date is not found again.

    Example:
        >>> [str(found.date) for found in find_dates("From September 2, 2024 to 3/4/2025, each May 5")]
        ['2024-09-02', 'None', '--05-05']
    """
    taken: list[FoundDate] = []
    for pattern, reading in _compile_patterns():
        for match in pattern.finditer(text):
            date = reading(*match.groups())
            start, end = match.span()
            free = all(end <= found.start or found.end <= start for found in taken)
            if free and (date or reading is _parse_numeric_date):
                taken.append(FoundDate(start, end, date))
    yield from sorted(taken)
