"""Cases as a run takes and stores them: a case out of a row that was read, and a case as JSON."""

from __future__ import annotations

from greval.datasets.case_reader import RowFault
from greval.errors import DataError
from greval.records.case import Case

MAX_LISTED_ROWS = 1_000
"""The maximum number of unreadable rows whose messages are kept. All unreadable rows are counted."""


def read_case(given: Case | RowFault) -> Case:
    """Return the case of a row.

    Raises:
        DataError: If the row could not be read as a case.
    """
    if isinstance(given, RowFault):
        raise DataError(f"{given.place}: {given.message}")
    return given


def dump_case(case: Case) -> str:
    """Return a case as JSON, as the log stores it.

    Raises:
        DataError: If one of its texts is not valid Unicode, which no log can store.
    """
    try:
        return case.model_dump_json(exclude_defaults=True)
    except ValueError as error:
        raise DataError("holds half a surrogate pair; texts must be valid Unicode") from error
