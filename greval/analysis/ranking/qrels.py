"""Judged documents (qrels) of many questions: the reference that rankings are measured against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from greval.analysis.ranking.question_documents import Ints, QuestionDocuments
from greval.datasets.ranked_rows import DOCUMENT, GRADE, QUESTION
from greval.datasets.row_frames import build_frame
from greval.errors import DataError
from greval.records.case import ESSENTIAL, MAX_GRADE, Case

if TYPE_CHECKING:
    import polars as pl

Grades = NDArray[np.int16]


@dataclass(frozen=True)
class Qrels:
    """Judged documents by question.

    A document with a grade below 1 is judged, but not relevant.

    Args:
        judged: The documents, each once, with their grades.
        relevant: The lowest grade that counts as relevant.
        essential: The lowest grade that counts as essential.

    Example:
        >>> qrels = Qrels.from_columns(["q1", "q1", "q2"], ["d1", "d7", "d2"], [1, 0, 1])
        >>> qrels.questions, len(qrels)
        (('q1', 'q2'), 3)
    """

    judged: QuestionDocuments
    relevant: int = 1
    essential: int = 1

    def __len__(self) -> int:
        return len(self.judged)

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
            MissingExtraError: If polars is not installed.
        """
        frame = build_frame({QUESTION: questions, DOCUMENT: documents, GRADE: grades})
        return cls.from_frame(frame, relevant=relevant, essential=essential)

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, *, relevant: int = 1, essential: int | None = None) -> Qrels:
        """Build judgements from a frame as `read_frame` returns it; otherwise as `from_columns`."""
        return _build_qrels(QuestionDocuments.from_frame(frame), relevant, essential)

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
            MissingExtraError: If polars is not installed.
        """
        grades = [*chain.from_iterable(judged.values() for judged in qrels.values())]
        return _build_qrels(QuestionDocuments.from_mapping(qrels, grade=grades), relevant, essential)

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

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions, each once."""
        return self.judged.names

    @property
    def documents(self) -> list[str]:
        """The ids of the documents."""
        return self.judged.rows[DOCUMENT].to_list()

    @cached_property
    def grades(self) -> Grades:
        """The grade of each document."""
        return self.judged.rows[GRADE].to_numpy().astype(np.int16)

    @cached_property
    def levels(self) -> Grades:
        """The distinct grades above 0, highest first."""
        return np.unique(self.grades[self.grades > 0])[::-1]

    def count_judged(self, lowest: int) -> Ints:
        """Count the documents of at least the grade `lowest` per question."""
        return np.bincount(self.judged.numbers[self.grades >= lowest], minlength=len(self.judged.questions))


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


def _build_qrels(judged: QuestionDocuments, relevant: int, essential: int | None) -> Qrels:
    """Build judgements whose grades are in range and do not contradict each other."""
    essential = relevant if essential is None else essential
    if not 1 <= relevant <= essential:
        raise DataError(f"relevant must be 1 or more and essential not less, got {relevant} and {essential}")
    too_large = judged.rows[GRADE].abs() > MAX_GRADE
    if too_large.any():
        grade = judged.rows[GRADE].filter(too_large)[0]
        raise DataError(f"grade {grade:g}: must be a whole number up to {MAX_GRADE}; round or scale the grades")
    distinct = judged.drop_repeats()
    # The join is needed only if a document is repeated.
    if len(distinct) < len(judged):
        _check_repeats(judged, distinct)
    return Qrels(distinct, relevant, essential)


def _check_repeats(judged: QuestionDocuments, distinct: QuestionDocuments) -> None:
    """Raise `DataError` if a document is graded twice with different grades."""
    import polars as pl

    repeated = judged.rows.join(distinct.rows, on=[QUESTION, DOCUMENT], suffix="_first", maintain_order="left")
    contradictions = repeated.filter(pl.col(GRADE) != pl.col(f"{GRADE}_first")).rows()
    if contradictions:
        number, document, grade, first = contradictions[0]
        raise DataError(
            f"question {judged.names[number]!r}: document {document!r} is graded {first:g} and {grade:g}; keep one"
        )
