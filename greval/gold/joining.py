"""Joining cases with gold that is kept in a file of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from greval.case import Sample
from greval.errors import DataError

T = TypeVar("T")
FIELDS = ("gold", "expected_answer")
"""What a row of gold gives to a case."""


def with_gold(cases: Iterable[T], gold: Iterable[Sample]) -> Iterator[T]:
    """Give cases with the gold of the same id.

    Args:
        cases: Cases or samples; anything else, such as a faulty row, is passed on as it is.
        gold: Rows with `id` and `gold`; `expected_answer` and tags are taken over too where a row has them.

    Returns:
        Each case: the row's gold and expected answer take the place of its own, its own tags stay. A
        case whose id no row has stays as it is.

    Raises:
        DataError: Where two rows of gold have one id and differ.

    Example:
        >>> from greval.case import Case
        >>> rows = [Sample(id="q1", question="", gold={"essential_docs": ["d1"]})]
        >>> [case.gold.essential_docs for case in with_gold([Case(id="q1", question="Who?")], rows)]
        [('d1',)]
    """
    by_id: dict[str, Sample] = {}
    for row in gold:
        if _given(by_id.setdefault(row.id, row)) != _given(row):
            raise DataError(f"gold of {row.id}: two rows differ; keep one of them (greval gold check FILE names both)")
    return (_joined(case, by_id) for case in cases)


def _given(row: Sample) -> dict[str, object]:
    return {name: getattr(row, name) for name in FIELDS}


def _joined(case: T, gold: dict[str, Sample]) -> T:
    row = gold.get(case.id) if isinstance(case, Sample) else None
    if not isinstance(case, Sample) or row is None:
        return case
    taken = {name: value for name, value in _given(row).items() if value is not None}
    return case.model_copy(update={**taken, "tags": {**row.tags, **case.tags}})
