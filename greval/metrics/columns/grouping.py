"""Rows grouped by question: where each question's documents begin and end, and in which order they stand."""

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
    """Documents by question.

    Args:
        names: The questions, each once.
        starts: The documents of question `n` are those from `starts[n]` to `starts[n + 1]`.
        column: The column of documents, or the documents as strings where they were given so.
        order: The row of each place in that column; None where rows stand as they are read.
    """

    names: Sequence[str]
    starts: Ints
    column: Texts | Sequence[str]
    order: Ints | None = None

    def __len__(self) -> int:
        return len(self.column)

    @property
    def listed(self) -> Sequence[str] | None:
        """The documents as strings, where they were given so."""
        return None if isinstance(self.column, Texts) else self.column

    @cached_property
    def documents(self) -> Texts:
        """The column of documents."""
        return texts_of(self.column, "documents")

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each question stands."""
        return dict(zip(self.names, range(len(self.names)), strict=True))

    @cached_property
    def lengths(self) -> Ints:
        """How many documents each question has."""
        lengths: Ints = np.diff(self.starts)
        return lengths

    @cached_property
    def whole(self) -> bool:
        """Whether whole ids are hashed, or their ends alone: these usually tell ids apart."""
        return self.documents.alike_at_the_end()

    def rows(self, span: slice | Ints) -> slice | Ints:
        """Give the rows of some places."""
        return span if self.order is None else self.order[span]

    def rows_at(self, places: Ints) -> Ints:
        """Give the rows of some places, as numbers."""
        return places if self.order is None else self.order[places]


def blocks(lengths: Ints, size: int = BLOCK) -> Iterator[tuple[int, int]]:
    """Give ranges of questions, of about so many documents as the processor's cache holds.

    A table of a range, with as many columns as its longest question has documents, is not much larger.

    Args:
        lengths: How many documents each question has.
        size: How many documents are in a range, about.
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
    """Group two columns of the same length by question; within a question rows stay in their order.

    Raises:
        DataError: Where the columns are no ids, or are not equally long.
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
    """Bring together questions whose rows are scattered.

    Args:
        places: Where each question is to stand.
        which: The question of each run of rows.
        edges: Where the runs begin, and the end.
        documents: The column.
    """
    order, lengths = np.argsort(which, kind="stable"), np.diff(edges)
    counts = np.bincount(which, weights=lengths, minlength=len(places)).astype(np.intp)
    starts = np.concatenate([np.zeros(1, np.intp), np.cumsum(counts)])
    return Grouped(tuple(places), starts, documents, spans(edges[:-1][order], lengths[order]))


def group_lists(lists: Mapping[str, Collection[str]]) -> Grouped:
    """Group documents that are listed by question already.

    Raises:
        DataError: Where a document's id is neither a text nor a whole number.
    """
    starts = np.zeros(len(lists) + 1, np.intp)
    np.cumsum(np.fromiter(map(len, lists.values()), np.intp, len(lists)), out=starts[1:])
    flat = list(chain.from_iterable(lists.values()))
    texts = set(map(type, flat)) <= {str}
    return Grouped(tuple(lists), starts, flat if texts else texts_of(flat, "documents"))


def arranged(grouped: Grouped, numbers: Numbers, *, falling: bool, by_name: bool = False) -> Grouped:
    """Put the documents of each question in the order of a number; equal ones stay in their order.

    Args:
        grouped: The rows.
        numbers: A number for each row.
        falling: Whether the highest comes first.
        by_name: Put equal ones in falling order of their ids, as trec_eval does.
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
    """Give the places of keys in rising order for each of some ranges; equal ones stay in their order.

    The ranges are rows of a table, filled up with what stays behind them.
    """
    last = np.inf if keys.dtype.kind == "f" else np.iinfo(keys.dtype).max
    held = np.arange(int(lengths.max())) < lengths[:, None]
    table = np.full(held.shape, last, keys.dtype)
    table[held] = keys
    order = np.argsort(table, axis=1, kind="stable") + (np.cumsum(lengths) - lengths)[:, None]
    return order[held]


def _by_name(grouped: Grouped, moved: Ints, keys: tuple[Ints, npt.NDArray[Any]], start: int) -> Ints:
    """Put documents with equal keys in falling order of their ids; texts order as their UTF-8 bytes do."""
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
