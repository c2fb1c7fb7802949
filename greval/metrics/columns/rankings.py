"""Rankings of many questions: the documents that a method retrieved, best first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Literal

import numpy as np

from greval.errors import DataError
from greval.metrics.columns.chunked_array import Ints
from greval.metrics.columns.column_readers import read_numbers
from greval.metrics.columns.grouping import GroupedDocuments, group_columns, group_lists, sort_documents
from greval.metrics.columns.id_join import Hits, find_judged, match_judged
from greval.metrics.columns.qrels import Qrels
from greval.metrics.computed.ranking import count_unnamed, list_gold_documents
from greval.records.case import Case

TieOrder = Literal["given", "trec_eval"]


@dataclass(frozen=True)
class ColumnRankings:
    """Rankings stored as columns."""

    grouped: GroupedDocuments

    @property
    def names(self) -> Sequence[str]:
        """The questions that have a ranking."""
        return self.grouped.names

    def find_hits(self, judged: GroupedDocuments, qrels_places: Ints) -> Hits:
        """Find the judged documents, a block of questions at a time."""
        return match_judged(self.grouped, judged, qrels_places)


@dataclass(frozen=True)
class DictRankings:
    """Rankings stored as dictionaries of scores."""

    scores: Mapping[str, Mapping[str, float]]
    ties: TieOrder

    @property
    def names(self) -> Sequence[str]:
        """The questions that have a ranking."""
        return tuple(self.scores)

    def find_hits(self, judged: GroupedDocuments, qrels_places: Ints) -> Hits:
        """Look up the judged documents.

        Raises:
            DataError: If an id is not a text, or a score is not a number.
        """
        if not all(issubclass(kind, str) for kind in set(map(type, self._iterate_sample_ids()))):
            wrong = next(name for name in self._iterate_sample_ids() if not isinstance(name, str))
            raise DataError(f"ids must be texts, got {wrong!r}; give texts here and in the qrels")
        return find_judged(tuple(self.scores.values()), judged, qrels_places, ties_by_id=self.ties == "trec_eval")

    def _iterate_sample_ids(self) -> Iterator[object]:
        """Yield the questions and one document of each, which suffices to check the type of the ids."""
        return chain(self.scores, map(next, map(iter, self.scores.values()), repeat("")))


@dataclass(frozen=True)
class Rankings:
    """Ranked documents by question. A document that is repeated in a ranking counts once, at its first position.

    Example:
        >>> rankings = Rankings.from_dicts({"q1": {"d3": 0.9, "d1": 0.7}})
        >>> rankings.questions
        ('q1',)
    """

    source: ColumnRankings | DictRankings

    @classmethod
    def from_columns(
        cls,
        questions: object,
        documents: object,
        *,
        scores: object = None,
        ranks: object = None,
        ties: TieOrder = "given",
    ) -> Rankings:
        """Read columns of the same length: Arrow, pandas, polars, numpy or lists.

        Columns that are sorted by question and rank are read fastest; any other order works too.

        Args:
            questions: The question of each row.
            documents: The document of each row.
            scores: The score of each row, higher is better. Without scores and ranks the rows are in ranked order.
            ranks: The rank of each row, lower is better.
            ties: The order of rows with the same score: "given" keeps it, "trec_eval" sorts them by falling id.

        Raises:
            DataError: If columns differ in length or type, or if both scores and ranks are given.
            MissingExtraError: If a column is an Arrow column and pyarrow is not installed.
        """
        if scores is not None and ranks is not None:
            raise DataError("rankings have scores or ranks, not both; leave one out")
        grouped = group_columns(questions, documents)
        if scores is None and ranks is None:
            return cls(ColumnRankings(grouped))
        what, column = ("scores", scores) if ranks is None else ("ranks", ranks)
        numbers = read_numbers(column, what)
        if len(numbers) != len(grouped):
            raise DataError(
                f"documents and {what} must be equally long, got {len(grouped):,} and {len(numbers):,} rows"
            )
        return cls(
            ColumnRankings(sort_documents(grouped, numbers, descending=ranks is None, ties_by_id=ties == "trec_eval"))
        )

    @classmethod
    def from_dicts(cls, rankings: Mapping[str, Mapping[str, float]], *, ties: TieOrder = "given") -> Rankings:
        """Read scores by question and document; the mappings are not copied.

        Args:
            rankings: The scores, `{question: {document: score}}`; the higher, the better.
            ties: As in `from_columns`.
        """
        return cls(DictRankings(rankings, ties))

    @classmethod
    def from_lists(cls, rankings: Mapping[str, Sequence[str]]) -> Rankings:
        """Read the documents of each question, best first.

        Raises:
            DataError: If an id of a document is neither a text nor a whole number.
        """
        return cls(ColumnRankings(group_lists(rankings)))

    @classmethod
    def from_cases(cls, cases: Iterable[Case]) -> Rankings:
        """Read the documents of the chunks of one method's cases, in order.

        The document of a chunk is its `doc_id`, or its own id if it has none. A case without
        recorded chunks has no ranking.

        Raises:
            DataError: If two cases have the same id, or a chunk has none.
        """
        lists: dict[str, tuple[str, ...] | None] = {}
        for case in cases:
            if case.id in lists:
                raise DataError(f"two cases have the id {case.id!r}; give the cases of one method at a time")
            if case.chunks and case.gold and count_unnamed(case.chunks, list_gold_documents(case.gold)):
                raise DataError(
                    f"case {case.id!r}: a chunk has no id; give each its doc_id, as the gold names documents"
                )
            lists[case.id] = (
                None
                if case.chunks is None
                else tuple(chunk.id if chunk.doc_id is None else chunk.doc_id for chunk in case.chunks)
            )
        return cls.from_lists({name: documents for name, documents in lists.items() if documents is not None})

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The questions, each once."""
        return tuple(self.source.names)

    def find_hits(self, qrels: Qrels) -> Hits:
        """Find the judged documents in the rankings."""
        names, judged = self.source.names, qrels.grouped.names
        if names == judged:
            of = np.arange(len(names), dtype=np.int32)
        else:
            of = np.fromiter(map(qrels.grouped.places.get, names, repeat(-1)), np.int32, len(names))
        hits = self.source.find_hits(qrels.grouped, of)
        questions = of[hits.questions]
        order = slice(None) if bool(np.all(questions[1:] >= questions[:-1])) else np.argsort(questions, kind="stable")
        depths = np.full(len(judged), -1, dtype=np.intp)
        depths[of[of >= 0]] = hits.depths[of >= 0]
        unknown = tuple(names[n] for n in np.flatnonzero(of < 0).tolist())
        return Hits(questions[order], hits.ranks[order], hits.gold[order], depths, unknown)
