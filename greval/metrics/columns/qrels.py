"""Judged documents (qrels) of many questions as arrays: the reference that rankings are measured against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from greval.errors import DataError
from greval.metrics.columns.chunked_array import Ints, NumberColumn
from greval.metrics.columns.column_readers import convert_numbers, read_numbers
from greval.metrics.columns.grouping import GroupedDocuments, group_columns, group_lists, iterate_blocks
from greval.metrics.columns.id_join import BATCH_ROWS, DocumentRanges, find_repeats
from greval.records.case import ESSENTIAL, MAX_GRADE, Case

Grades = npt.NDArray[np.int16]


@dataclass(frozen=True)
class Qrels:
    """Judged documents by question.

    A document with a grade below 1 is judged, but not relevant.

    Args:
        grouped: The documents.
        grades: The grade of each document, in the order of the positions in `grouped`.
        relevant: The lowest grade that counts as relevant.
        essential: The lowest grade that counts as essential.

    Example:
        >>> qrels = Qrels.from_columns(["q1", "q1", "q2"], ["d1", "d7", "d2"], [1, 0, 1])
        >>> qrels.questions, len(qrels)
        (('q1', 'q2'), 3)
    """

    grouped: GroupedDocuments
    grades: Grades
    relevant: int = 1
    essential: int = 1

    def __len__(self) -> int:
        return len(self.grades)

    @classmethod
    def from_columns(
        cls, questions: object, documents: object, grades: object, *, relevant: int = 1, essential: int | None = None
    ) -> Qrels:
        """Read three columns of the same length: Arrow, pandas, polars, numpy or lists.

        Args:
            questions: The question of each row.
            documents: The document of each row.
            grades: The grade of each row, a whole number.
            relevant: The lowest grade that counts as relevant, 1 or more.
            essential: The lowest grade that counts as essential; `relevant` by default.

        Raises:
            DataError: If the columns differ in length or type, or if a document is graded twice with different grades.
            MissingExtraError: If a column is an Arrow column and pyarrow is not installed.
        """
        grouped, numbers = group_columns(questions, documents), read_numbers(grades, "grades")
        if len(numbers) != len(grouped):
            raise DataError(
                f"documents and grades must be equally long, got {len(grouped):,} and {len(numbers):,} rows"
            )
        return cls.from_grouped(grouped, numbers, relevant=relevant, essential=essential)

    @classmethod
    def from_grouped(
        cls, grouped: GroupedDocuments, numbers: NumberColumn, *, relevant: int = 1, essential: int | None = None
    ) -> Qrels:
        """Build judgements from grouped documents and the grade of each row; otherwise as `from_columns`."""
        grades = NumberColumn([_convert_grades(part) for part in numbers.parts]).read(
            grouped.select_rows(slice(0, len(grouped)))
        )
        return _build_qrels(grouped, grades, relevant, relevant if essential is None else essential)

    @classmethod
    def from_dicts(
        cls, qrels: Mapping[str, Mapping[str, int]], *, relevant: int = 1, essential: int | None = None
    ) -> Qrels:
        """Read grades by question and document.

        Args:
            qrels: The grades, `{question: {document: grade}}`.
            relevant: As in `from_columns`.
            essential: As in `from_columns`.

        Raises:
            DataError: If an id or a grade is invalid.
        """
        grouped = group_lists(qrels)
        values = convert_numbers(
            chain.from_iterable(judged.values() for judged in qrels.values()), len(grouped), "grade"
        )
        return _build_qrels(grouped, _convert_grades(values), relevant, relevant if essential is None else essential)

    @classmethod
    def from_cases(cls, cases: Iterable[Case]) -> Qrels:
        """Read the gold documents of cases; without grades, an essential one has grade 2 and a helpful one 1.

        Raises:
            DataError: If two cases have the same id and different gold, or if the essential documents of a case
                are not those graded 2 or more.
        """
        judged: dict[str, dict[str, int]] = {}
        for case in cases:
            gold = _read_gains(case)
            if judged.setdefault(case.id, gold) != gold:
                raise DataError(f"two cases with the id {case.id!r} have different gold; give each question its own id")
        return cls.from_dicts(judged, essential=ESSENTIAL)

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The questions, each once."""
        return tuple(self.grouped.names)

    @property
    def documents(self) -> Sequence[str]:
        """The ids of the documents."""
        return self.grouped.ids

    @cached_property
    def levels(self) -> Grades:
        """The distinct grades above 0, highest first."""
        given = np.zeros(2 * MAX_GRADE + 1, np.bool_)
        given[self.grades] = True  # grades below 0 are at the end
        return np.flatnonzero(given[1 : MAX_GRADE + 1])[::-1].astype(np.int16) + np.int16(1)

    def count_judged(self, lowest: int) -> Ints:
        """Count the documents of at least the grade `lowest` per question; the counts are cached."""
        if lowest not in self._judged_counts:
            filled = np.flatnonzero(self.grouped.lengths)
            counts = np.zeros(len(self.grouped.names), np.intp)
            if len(filled):
                marks = self.grades >= lowest
                counts[filled] = np.add.reduceat(marks, self.grouped.starts[filled], dtype=np.intp)
            self._judged_counts[lowest] = counts
        return self._judged_counts[lowest]

    @cached_property
    def _judged_counts(self) -> dict[int, Ints]:
        return {}


def _read_gains(case: Case) -> dict[str, int]:
    gains = (case.gold.gains if case.gold else None) or {}
    essential = {document for document, gain in gains.items() if gain >= ESSENTIAL}
    listed = case.gold.essential_docs if case.gold else None
    if listed is not None and {*listed} != essential:
        raise DataError(
            f"case {case.id!r}: essential_docs must be the documents graded {ESSENTIAL} or more if there are grades; "
            "mend one of the two, or use Qrels.from_dicts(..., essential=...)"
        )
    return gains


def _convert_grades(values: npt.NDArray[Any]) -> Grades:
    """Convert numbers to grades; raise `DataError` if one is not a whole number in range."""
    odd = values != np.floor(values) if values.dtype.kind == "f" else np.zeros(1, np.bool_)
    if (wrong := np.flatnonzero(odd | (values > MAX_GRADE) | (values < -MAX_GRADE))).size:
        raise DataError(
            f"grade {values[wrong[0]]:g}: must be a whole number up to {MAX_GRADE}; round or scale the grades"
        )
    return values.astype(np.int16)


def _build_qrels(grouped: GroupedDocuments, grades: npt.NDArray[Any], relevant: int, essential: int) -> Qrels:
    if not 1 <= relevant <= essential:
        raise DataError(f"relevant must be 1 or more and essential not less, got {relevant} and {essential}")
    return Qrels(*_drop_repeats(grouped, grades.astype(np.int16, copy=False)), relevant=relevant, essential=essential)


def _drop_repeats(grouped: GroupedDocuments, grades: Grades) -> tuple[GroupedDocuments, Grades]:
    """Drop repeated judgements; raise `DataError` if two of them contradict each other."""
    if grouped.document_list is not None:  # the keys of a dictionary are unique
        return grouped, grades
    again = _find_repeats(grouped)
    if not again.size:
        return grouped, grades
    owners = np.repeat(np.arange(len(grouped.names)), grouped.lengths)
    first: dict[tuple[int, str], int] = {}
    for pair, grade in zip(zip(owners.tolist(), grouped.ids, strict=True), grades.tolist(), strict=True):
        if first.setdefault(pair, grade) != grade:
            question, document = grouped.names[pair[0]], pair[1]
            raise DataError(
                f"question {question!r}: document {document!r} is graded {first[pair]} and {grade}; keep one"
            )
    kept = np.delete(np.arange(len(grouped)), again)
    starts = np.searchsorted(kept, grouped.starts)
    return GroupedDocuments(grouped.names, starts, grouped.documents, grouped.select_row_numbers(kept)), grades[kept]


def _find_repeats(grouped: GroupedDocuments) -> Ints:
    """Return the positions of documents that occur earlier in the same question."""
    found = [np.empty(0, np.intp)]
    for first, last in iterate_blocks(grouped.lengths, BATCH_ROWS):
        found.append(
            find_repeats(DocumentRanges.from_questions(grouped, slice(first, last), whole=grouped.needs_full_hashes))
        )
    return np.concatenate(found)
