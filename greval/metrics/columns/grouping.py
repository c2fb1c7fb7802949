"""Rows grouped by question: the range of each question's documents, and their order within it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from greval.errors import DataError
from greval.metrics.columns.chunked_array import Ints, Numbers, spans
from greval.metrics.columns.column_readers import texts_of
from greval.metrics.columns.lazy_names import Names
from greval.metrics.columns.text_chunks import BLOCK
from greval.metrics.columns.text_column import Texts

_FILLED = 2


@dataclass(frozen=True)
class Grouped:
    """Documents grouped by question.

    Args:
        names: The questions, each once.
        starts: The offsets of the groups, shape (questions + 1,): question `n` has the documents from `starts[n]`
            to `starts[n + 1]`.
        column: The column of documents, or the documents as strings if they were passed as strings.
        order: The row of each position in that column; None if rows are already grouped.
    """

    names: Sequence[str]
    starts: Ints
    column: Texts | Sequence[str]
    order: Ints | None = None

    def __len__(self) -> int:
        return len(self.column)

    @property
    def listed(self) -> Sequence[str] | None:
        """The documents as strings, or None if they were not passed as strings."""
        return None if isinstance(self.column, Texts) else self.column

    @cached_property
    def documents(self) -> Texts:
        """The column of documents."""
        return texts_of(self.column, "documents")

    @cached_property
    def places(self) -> dict[str, int]:
        """The index of each question by its name."""
        return dict(zip(self.names, range(len(self.names)), strict=True))

    @cached_property
    def lengths(self) -> Ints:
        """The number of documents of each question."""
        lengths: Ints = np.diff(self.starts)
        return lengths

    @cached_property
    def whole(self) -> bool:
        """True if whole ids must be hashed because many share their last eight bytes."""
        return self.documents.alike_at_the_end()

    def rows(self, span: slice | Ints) -> slice | Ints:
        """Return the rows at some positions."""
        return span if self.order is None else self.order[span]

    def rows_at(self, places: Ints) -> Ints:
        """Return the rows at some positions as an integer array."""
        return places if self.order is None else self.order[places]


def blocks(lengths: Ints, size: int = BLOCK) -> Iterator[tuple[int, int]]:
    """Yield ranges of questions whose documents together fit into the processor's cache.

    A range also ends early if its questions differ so much in length that a padded table of it, with one row per
    question, would hold far more cells than documents.

    Args:
        lengths: The number of documents of each question.
        size: The approximate number of documents of a range.
    """
    ends, first = np.cumsum(lengths), 0
    while first < len(lengths):
        last = int(np.searchsorted(ends, ends[first] - lengths[first] + size, side="right"))
        last = max(last, first + 1)
        while last - first > 1 and (last - first) * int(lengths[first:last].max()) > _FILLED * size:
            last = (first + last) // 2
        yield first, last
        first = last


def group(questions: object, documents: object) -> Grouped:
    """Group two columns of the same length by question; the rows of a question keep their order.

    Raises:
        DataError: If the columns do not hold ids, or differ in length.
    """
    asked, found = texts_of(questions, "questions"), texts_of(documents, "documents")
    if len(asked) != len(found):
        message = f"questions and documents must be equally long, got {len(asked):,} and {len(found):,} rows"
        raise DataError(message)
    edges = asked.runs()
    names = Names(asked, edges[:-1])
    if names.distinct:
        return Grouped(names, edges, found)
    places = {name: n for n, name in enumerate(dict.fromkeys(names))}
    return _regrouped(places, np.array([places[name] for name in names], dtype=np.intp), edges, found)


def _regrouped(places: dict[str, int], which: Ints, edges: Ints, documents: Texts) -> Grouped:
    """Bring together the rows of questions whose rows are scattered over the column.

    Args:
        places: The index of each question in the result.
        which: The question of each run of rows.
        edges: The starts of the runs, and the end of the column.
        documents: The column.
    """
    order, lengths = np.argsort(which, kind="stable"), np.diff(edges)
    counts = np.bincount(which, weights=lengths, minlength=len(places)).astype(np.intp)
    starts = np.concatenate([np.zeros(1, np.intp), np.cumsum(counts)])
    return Grouped(tuple(places), starts, documents, spans(edges[:-1][order], lengths[order]))


def group_lists(lists: Mapping[str, Collection[str]]) -> Grouped:
    """Group documents that are already listed by question.

    Raises:
        DataError: If an id of a document is neither a text nor a whole number.
    """
    starts = np.zeros(len(lists) + 1, np.intp)
    np.cumsum(np.fromiter(map(len, lists.values()), np.intp, len(lists)), out=starts[1:])
    flat = list(chain.from_iterable(lists.values()))
    texts = set(map(type, flat)) <= {str}
    return Grouped(tuple(lists), starts, flat if texts else texts_of(flat, "documents"))


def arranged(grouped: Grouped, numbers: Numbers, *, falling: bool, by_name: bool = False) -> Grouped:
    """Sort the documents of each question by a number; the sort is stable.

    Args:
        grouped: The rows.
        numbers: The number of each row.
        falling: Whether the highest number comes first.
        by_name: Whether ties are sorted by falling id, as trec_eval does.
    """
    order: Ints | None = None
    for first, last in blocks(grouped.lengths):
        span = slice(int(grouped.starts[first]), int(grouped.starts[last]))
        keys = numbers.read(grouped.rows(span))
        inner = grouped.starts[first + 1 : last] - span.start - 1
        earlier, later = (keys[1:], keys[:-1]) if falling else (keys[:-1], keys[1:])
        wrong = later <= earlier if by_name else later < earlier
        wrong[inner[inner < len(wrong)]] = False
        if not wrong.any():
            continue
        keys = -keys.astype(np.float64) if falling else keys
        if order is None:
            order = np.arange(len(grouped)) if grouped.order is None else grouped.order.copy()
        lengths = grouped.lengths[first:last]
        moved = _sorted(keys, lengths)
        if by_name:
            which = np.repeat(np.arange(last - first), lengths)
            moved = _by_name(grouped, moved, (which, keys[moved]), span.start)
        order[span] = order[span][moved]
    return grouped if order is None else Grouped(grouped.names, grouped.starts, grouped.column, order)


def _sorted(keys: npt.NDArray[Any], lengths: Ints) -> Ints:
    """Return the positions that sort the keys of each range in rising order; the sort is stable.

    The ranges are the rows of one table, padded with a value that sorts last.
    """
    last = np.inf if keys.dtype.kind == "f" else np.iinfo(keys.dtype).max
    held = np.arange(int(lengths.max())) < lengths[:, None]
    table = np.full(held.shape, last, keys.dtype)
    table[held] = keys
    order = np.argsort(table, axis=1, kind="stable") + (np.cumsum(lengths) - lengths)[:, None]
    return order[held]


def _by_name(grouped: Grouped, moved: Ints, keys: tuple[Ints, npt.NDArray[Any]], start: int) -> Ints:
    """Sort documents with equal keys by falling id, in the order of their UTF-8 bytes."""
    which, numbers = keys
    tied = (which[1:] == which[:-1]) & (numbers[1:] == numbers[:-1])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], tied, [False]])))
    result = moved.copy()
    for first, last in edges.reshape(-1, 2).tolist():
        some = slice(first, last + 1)
        names = grouped.documents.read(grouped.rows_at(moved[some] + start))
        ranked = sorted(range(len(names)), key=names.__getitem__, reverse=True)
        result[some] = moved[some][ranked]
    return result
