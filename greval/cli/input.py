"""What `greval evaluate` reads: cases with the gold and the walks of other files, checked before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from greval._util.arguments import hold_until, unknown
from greval.datasets import Reading, RowFault, read_cases
from greval.datasets.chunk_sources import fill_sources
from greval.datasets.gold import read_gold
from greval.datasets.gold_join import attach_gold, attach_traversal, complete_rows, unmatched
from greval.datasets.row_faults import describe_unread, none_readable
from greval.errors import DataError
from greval.records.case import Case, Gold, Traversal
from greval.stats.summary import METHOD

STDIN = "-"
Rows = Iterator[Case | RowFault]


class Input(NamedTuple):
    """What reads the cases, for its notice and their number, and the rows with what is joined to them."""

    reading: Reading
    rows: Rows


def open_input(  # noqa: PLR0913 - what the input of a run is made of
    source: str,
    *,
    method: str | None = None,
    gold: Sequence[Path] = (),
    traversals: Sequence[Path] = (),
    pattern: str | None = None,
    by: Sequence[str] = (),
    limit: int | None = None,
) -> Input:
    """Open the cases of a file or of standard input, with what is joined to them.

    Args:
        source: The file, or "-".
        method: The method of the rows that name none.
        gold: Files of gold, all of them joined by id.
        traversals: Files with the logs of walks, joined by id and, if they name one, by method.
        pattern: The rule that derives repositories and versions from document ids.
        by: Tags that some case must have.
        limit: How many rows are read at most.

    Raises:
        DataError: If a file cannot be read, one of its rows is no gold or log, or no case has the id of any of its rows
            or a tag: of standard input this is raised when its rows are read.
    """
    reading = read_cases(source, method=method)
    joined = {file: _read_joined(file, "gold") for file in gold}
    logs = {file: _read_joined(file, "traversal") for file in traversals}
    wishes = _Wishes(joined, logs, by)

    gold_of = complete_rows(row for found in joined.values() for row in found)
    walk_of = {(row.id, row.method): row.traversal for found in logs.values() for row in found}

    def rows() -> Rows:
        found = (attach_traversal(attach_gold(row, gold_of), walk_of) for row in islice(reading, limit))
        return found if pattern is None else fill_sources(found, pattern)

    if wishes.are_met:
        return Input(reading, rows())
    if source == STDIN:
        return Input(reading, hold_until(rows(), wishes.take, wishes.refuse))
    if not any(map(wishes.take, rows())):
        raise wishes.refuse()
    return Input(reading, rows())


class _Wishes:
    """What the cases are to have: an id of each joined file, and each tag that is grouped by."""

    def __init__(self, gold: dict[Path, list[Case]], traversals: dict[Path, list[Case]], by: Iterable[str]) -> None:
        self._files = [(file, "gold", {row.id for row in rows}) for file, rows in gold.items()]
        self._files += [(file, "traversals", {row.id for row in rows}) for file, rows in traversals.items()]
        self._by = [name for name in dict.fromkeys(by) if name != METHOD]
        self._tags: set[str] = set()
        self._faults: list[str] = []
        self._cases = 0

    @property
    def are_met(self) -> bool:
        return not self._files and self._tags.issuperset(self._by)

    def take(self, row: Case | RowFault) -> bool:
        """Take a row, and tell whether all wishes are met now."""
        if isinstance(row, RowFault):
            self._faults.append(f"{row.place}: {row.message}")
            return False
        self._cases += 1
        self._tags.update(row.tags)
        self._files = [one for one in self._files if row.id not in one[2]]
        return self.are_met

    def refuse(self) -> DataError:
        """Return the error about the first wish that is not met."""
        if not self._cases:
            return none_readable(self._faults, len(self._faults))
        for file, what, ids in self._files:
            return unmatched(what, ids, str(file))
        missing = next(name for name in self._by if name not in self._tags)
        return unknown("tag", missing, {METHOD, *self._tags}, "--by")


def _read_joined(file: Path, what: str) -> list[Case]:
    """Read a file of gold or of logs.

    Raises:
        DataError: If a row of it is none: figures without it would be of other questions.
    """
    found = [*read_gold(file)]
    if faults := [fault for place, row in found if (fault := _fault(place, row, what))]:
        raise DataError("\n".join(describe_unread(faults)))
    return [row for _, row in found if isinstance(row, Case)]


def _fault(place: str, row: Case | RowFault, what: str) -> str | None:
    """Say why a row is no gold or no log, None if it is one."""
    if isinstance(row, RowFault):
        return f"{row.place}: {row.message}"
    if what == "traversal":
        fields = ", ".join(Traversal.model_fields)
        return None if row.traversal else f"{place}: holds no walk; its fields are {fields}"
    if row.gold is not None or row.expected_answer is not None:
        return None
    hint = "; the log of a walk is joined by --traversal" if row.traversal else ""
    return f"{place}: names no gold; fields of it are {', '.join(Gold.model_fields)}{hint}"
