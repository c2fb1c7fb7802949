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
from greval.metrics.columns.chunked_array import Ints, NumberColumn, expand_ranges, keep_freed_memory
from greval.metrics.columns.column_readers import read_texts
from greval.metrics.columns.text_column import BLOCK_ROWS, LazyNames, TextColumn

_MAX_FILL = 2


@dataclass(frozen=True)
class GroupedDocuments:
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
    column: TextColumn | Sequence[str]
    order: Ints | None = None

    def __len__(self) -> int:
        return len(self.column)

    @property
    def document_list(self) -> Sequence[str] | None:
        """The documents as strings, or None if they were not passed as strings."""
        return None if isinstance(self.column, TextColumn) else self.column

    @cached_property
    def documents(self) -> TextColumn:
        """The column of documents."""
        return read_texts(self.column, "documents")

    @cached_property
    def ids(self) -> Sequence[str]:
        """The ids of the documents as strings."""
        listed = self.document_list
        return self.documents.read(self.select_row_numbers(np.arange(len(self)))) if listed is None else listed

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
    def needs_full_hashes(self) -> bool:
        """True if whole ids must be hashed because many share their last eight bytes."""
        return self.documents.has_common_ends()

    def select_rows(self, span: slice | Ints) -> slice | Ints:
        """Return the rows at some positions."""
        return span if self.order is None else self.order[span]

    def select_row_numbers(self, places: Ints) -> Ints:
        """Return the rows at some positions as an integer array."""
        return places if self.order is None else self.order[places]


def iterate_blocks(lengths: Ints, size: int = BLOCK_ROWS) -> Iterator[tuple[int, int]]:
    """Yield ranges of questions whose documents together fit into the processor's cache.

    A range also ends early if its questions differ so much in length that a padded table of it, with one row per
    question, would hold far more cells than documents.
    """
    keep_freed_memory()
    ends, first = np.cumsum(lengths), 0
    while first < len(lengths):
        last = int(np.searchsorted(ends, ends[first] - lengths[first] + size, side="right"))
        last = max(last, first + 1)
        while last - first > 1 and (last - first) * int(lengths[first:last].max()) > _MAX_FILL * size:
            last = (first + last) // 2
        yield first, last
        first = last


class QuestionRuns:
    """Runs of equal questions, added in parts; only their names and their first rows are kept."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._starts: list[Ints] = []
        self._size = 0

    def add(self, names: Sequence[str], starts: Ints, count: int) -> None:
        """Add the runs of the next `count` rows: their names, and their first rows among these."""
        goes_on = bool(self._names and names and self._names[-1] == names[0])
        self._names += names[goes_on:]
        self._starts.append(starts[goes_on:] + self._size)
        self._size += count

    def group(self, documents: TextColumn) -> GroupedDocuments:
        """Group the documents of all rows by question."""
        edges = np.concatenate([*self._starts, np.array([self._size], np.intp)])
        places = {name: n for n, name in enumerate(dict.fromkeys(self._names))}
        if len(places) == len(self._names):
            return GroupedDocuments(tuple(self._names), edges, documents)
        which = np.fromiter(map(places.__getitem__, self._names), np.intp, len(self._names))
        return _merge_runs(places, which, edges, documents)


def group_columns(questions: object, documents: object) -> GroupedDocuments:
    """Group two columns of ids by question, rows in order; raise `DataError` if they differ in length."""
    question_texts, found = read_texts(questions, "questions"), read_texts(documents, "documents")
    if len(question_texts) != len(found):
        raise DataError(
            f"questions and documents must be equally long, got {len(question_texts):,} and {len(found):,} rows"
        )
    edges = question_texts.find_runs()
    names = LazyNames(question_texts, edges[:-1])
    if names.is_distinct:
        return GroupedDocuments(names, edges, found)
    places = {name: n for n, name in enumerate(dict.fromkeys(names))}
    return _merge_runs(places, np.array([places[name] for name in names], dtype=np.intp), edges, found)


def _merge_runs(places: dict[str, int], which: Ints, edges: Ints, documents: TextColumn) -> GroupedDocuments:
    """Bring together the rows of questions whose rows are scattered over the column."""
    order, lengths = np.argsort(which, kind="stable"), np.diff(edges)
    counts = np.bincount(which, weights=lengths, minlength=len(places)).astype(np.intp)
    starts = np.concatenate([np.zeros(1, np.intp), np.cumsum(counts)])
    return GroupedDocuments(tuple(places), starts, documents, expand_ranges(edges[:-1][order], lengths[order]))


def group_lists(lists: Mapping[str, Collection[str]]) -> GroupedDocuments:
    """Group documents that are listed by question; raise `DataError` if an id is neither a text nor a whole number."""
    starts = np.zeros(len(lists) + 1, np.intp)
    np.cumsum(np.fromiter(map(len, lists.values()), np.intp, len(lists)), out=starts[1:])
    flat = list(chain.from_iterable(lists.values()))
    texts = set(map(type, flat)) <= {str}
    return GroupedDocuments(tuple(lists), starts, flat if texts else read_texts(flat, "documents"))


def sort_documents(
    grouped: GroupedDocuments, numbers: NumberColumn, *, descending: bool, ties_by_id: bool = False
) -> GroupedDocuments:
    """Sort each question's documents by a number, stably; `ties_by_id` sorts ties by falling id as trec_eval does."""
    order: Ints | None = None
    for first, last in iterate_blocks(grouped.lengths):
        span = slice(int(grouped.starts[first]), int(grouped.starts[last]))
        keys = numbers.read(grouped.select_rows(span))
        inner = grouped.starts[first + 1 : last] - span.start - 1
        earlier, later = (keys[1:], keys[:-1]) if descending else (keys[:-1], keys[1:])
        wrong = later <= earlier if ties_by_id else later < earlier
        wrong[inner[inner < len(wrong)]] = False
        if not wrong.any():
            continue
        keys = -keys.astype(np.float64) if descending else keys
        if order is None:
            order = np.arange(len(grouped)) if grouped.order is None else grouped.order.copy()
        lengths = grouped.lengths[first:last]
        is_sorted = ties_by_id and not (wrong & (later < earlier)).any()  # then only tied documents change places
        moved = np.arange(len(keys)) if is_sorted else _sort_ranges(keys, lengths)
        if ties_by_id:
            which = np.repeat(np.arange(last - first), lengths)
            moved = _sort_ties_by_id(grouped, moved, (which, keys[moved]), span.start)
        order[span] = order[span][moved]
    return grouped if order is None else GroupedDocuments(grouped.names, grouped.starts, grouped.column, order)


def _sort_ranges(keys: npt.NDArray[Any], lengths: Ints) -> Ints:
    """Return the positions that sort the keys of each range in rising order; the sort is stable.

    The ranges are the rows of one table, padded with a value that sorts last.
    """
    last = np.inf if keys.dtype.kind == "f" else np.iinfo(keys.dtype).max
    held = np.arange(int(lengths.max())) < lengths[:, None]
    table = np.full(held.shape, last, keys.dtype)
    table[held] = keys
    order = np.argsort(table, axis=1, kind="stable") + (np.cumsum(lengths) - lengths)[:, None]
    return order[held]


def _sort_ties_by_id(grouped: GroupedDocuments, moved: Ints, keys: tuple[Ints, npt.NDArray[Any]], start: int) -> Ints:
    """Sort documents with equal keys by falling id, in the order of their UTF-8 bytes."""
    which, numbers = keys
    tied = (which[1:] == which[:-1]) & (numbers[1:] == numbers[:-1])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], tied, [False]])))
    result = moved.copy()
    for first, last in edges.reshape(-1, 2).tolist():
        some = slice(first, last + 1)
        names = grouped.documents.read(grouped.select_row_numbers(moved[some] + start))
        ranked = sorted(range(len(names)), key=names.__getitem__, reverse=True)
        result[some] = moved[some][ranked]
    return result
