"""Documents of questions in a frame of polars: a row for each, those of a question together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from greval.datasets.ranked_rows import DOCUMENT, QUESTION
from greval.datasets.row_frames import build_frame, read_column

if TYPE_CHECKING:
    import polars as pl

Ints = NDArray[np.signedinteger[Any]]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class QuestionDocuments:
    """Documents grouped by question.

    Args:
        questions: The questions, each once.
        rows: The columns `question`, the number of a question in `questions`, `document`, and for some a number. The
            numbers of the questions rise.
    """

    questions: pl.Series
    rows: pl.DataFrame

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, questions: pl.Series | None = None) -> QuestionDocuments:
        """Bring the rows of each question together; they keep their order."""
        import polars as pl

        # Files are sorted by question nearly always: a join of runs of equal ids instead of all rows.
        runs = frame[QUESTION].rle().struct.unnest()
        names = (runs["value"] if questions is None else questions).unique(maintain_order=True)
        numbered = names.to_frame("value").with_row_index("number")
        numbers = runs.join(numbered, on="value", how="left", maintain_order="left")["number"].to_numpy()
        rows = frame.with_columns(pl.Series(QUESTION, np.repeat(numbers, runs["len"].to_numpy())))
        # The rows of a question need not follow each other.
        is_grouped = bool(np.all(numbers[1:] > numbers[:-1]))
        return cls(names, rows if is_grouped else rows.sort(QUESTION, maintain_order=True))

    @classmethod
    def from_mapping(cls, documents: Mapping[str, Collection[str]], **numbers: object) -> QuestionDocuments:
        """Read the documents of each question, with a number of each document under its name."""
        questions = read_column([*documents], QUESTION)
        lengths = np.fromiter(map(len, documents.values()), np.intp, len(documents))
        flat = [*chain.from_iterable(documents.values())]
        names = questions.gather(np.repeat(np.arange(len(documents)), lengths))
        return cls.from_frame(build_frame({QUESTION: names, DOCUMENT: flat, **numbers}), questions)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The questions as texts."""
        return tuple(self.questions.to_list())

    @cached_property
    def numbers(self) -> Ints:
        """The number of the question of each row."""
        return self.rows[QUESTION].to_numpy().astype(np.int64)

    @cached_property
    def starts(self) -> Ints:
        """The first row of each question, and the number of all rows."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    @cached_property
    def lengths(self) -> Ints:
        """The number of documents of each question."""
        return np.bincount(self.numbers, minlength=len(self.questions))

    def select(self, rows: pl.DataFrame) -> QuestionDocuments:
        """Return the same questions with other rows."""
        return QuestionDocuments(self.questions, rows)

    def drop_repeats(self) -> QuestionDocuments:
        """Return each document of a question once, at its first row."""
        ids = self.rows.select(QUESTION, DOCUMENT)
        # Hashes tell sooner than whole rows that nothing is repeated; a collision only leads to the slow way.
        if ids.hash_rows().n_unique() == len(ids):
            return self
        return self.select(self.rows.unique([QUESTION, DOCUMENT], keep="first", maintain_order=True))

    def list_by_question(self, numbers: list[float]) -> dict[str, dict[str, float]]:
        """Return the documents of each question that has some, with a number of each row."""
        documents, starts = self.rows[DOCUMENT].to_list(), self.starts.tolist()
        return {
            question: dict(zip(documents[first:last], numbers[first:last], strict=True))
            for question, first, last in zip(self.names, starts[:-1], starts[1:], strict=True)
            if first < last
        }
