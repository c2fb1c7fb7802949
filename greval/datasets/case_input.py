"""Cases as a run takes and stores them: out of rows that were read, selected by tags, as a sample, as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from greval.datasets.case_reader import RowFault
from greval.errors import DataError
from greval.records.case import Case, Sample

Row = TypeVar("Row", bound=Sample | RowFault)

MAX_LISTED_ROWS = 1_000
"""The maximum number of unreadable rows whose messages are kept. All unreadable rows are counted."""
MAX_LISTED_VALUES = 10


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


def get_sample_fields(sample: Sample) -> dict[str, Any]:
    """Return the fields of a sample; of a case only those that are also fields of a sample.

    Example:
        >>> fields = get_sample_fields(Case(id="q1", question="Who?", answer="Ada."))
        >>> Sample(**fields) == Sample(id="q1", question="Who?")
        True
    """
    return {name: getattr(sample, name) for name in Sample.model_fields}


def filter_by_tags(rows: Iterable[Row], filters: Mapping[str, Collection[str]]) -> Iterator[Row]:
    """Yield the samples that have one of the accepted values of each tag, and the rows that could not be read.

    Raises:
        DataError: At the end, if no sample matches. The message lists the existing values.

    Example:
        >>> rows = [Sample(question="Who?", tags={"level": "easy"}), Sample(question="Why?", tags={"level": "hard"})]
        >>> [row.question for row in filter_by_tags(rows, {"level": ["hard"]})]
        ['Why?']
    """
    values: dict[str, dict[str, None]] = {tag: {} for tag in filters}
    found = not filters
    for row in rows:
        if isinstance(row, RowFault):
            yield row
            continue
        for tag in filters.keys() & row.tags.keys():
            values[tag][row.tags[tag]] = None
        if all(row.tags.get(tag) in accepted for tag, accepted in filters.items()):
            found = True
            yield row
    if not found:
        known = "; ".join(
            f"{tag} is {', '.join([*present][:MAX_LISTED_VALUES]) or 'in no sample'}" for tag, present in values.items()
        )
        raise DataError(f"no sample has these tags together ({known})")
