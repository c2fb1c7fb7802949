"""Rankings of many questions: the documents that a method retrieved, best first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from greval.analysis.ranking.qrels import Qrels
from greval.analysis.ranking.question_documents import Floats, Ints, QuestionDocuments
from greval.datasets.ranked_rows import DOCUMENT, QUESTION, RANK, SCORE, TieOrder
from greval.datasets.row_frames import build_frame
from greval.errors import DataError
from greval.metrics.computed.ranking import count_unnamed, list_gold_documents
from greval.records.case import Case

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Hits:
    """The judged documents that occur in rankings, by question and rank, both ascending.

    `questions` are indices into the qrels, `ranks` count from 1 within a question, and `gold` are rows of the qrels.
    `depths` is the number of ranked documents of each question of the qrels, -1 without a ranking. `unknown` are the
    ranked questions that are not in the qrels.
    """

    questions: Ints
    ranks: Ints
    gold: Ints
    depths: Ints
    unknown: tuple[str, ...] = ()

    def limit(self, cut: int) -> Hits:
        """Return the hits among the first `cut` documents of each question."""
        within = self.ranks <= cut
        return replace(self, questions=self.questions[within], ranks=self.ranks[within], gold=self.gold[within])


@dataclass(frozen=True)
class Rankings:
    """Ranked documents by question. A document that is repeated in a ranking counts once, at its first position.

    Args:
        ranked: The documents of each question, each once, best first.

    Example:
        >>> rankings = Rankings.from_dicts({"q1": {"d3": 0.9, "d1": 0.7}})
        >>> rankings.questions
        ('q1',)
    """

    ranked: QuestionDocuments

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
            MissingExtraError: If polars is not installed.
        """
        if scores is not None and ranks is not None:
            raise DataError("rankings have scores or ranks, not both; leave one out")
        numbers = {name: column for name, column in ((SCORE, scores), (RANK, ranks)) if column is not None}
        return cls.from_frame(build_frame({QUESTION: questions, DOCUMENT: documents, **numbers}), ties=ties)

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, *, ties: TieOrder = "given") -> Rankings:
        """Build rankings from a frame as `read_frame` returns it, with scores, ranks, or rows in ranked order."""
        return _build_rankings(QuestionDocuments.from_frame(frame), ties)

    @classmethod
    def from_dicts(cls, rankings: Mapping[str, Mapping[str, float]], *, ties: TieOrder = "given") -> Rankings:
        """Read scores by question and document.

        Args:
            rankings: The scores, `{question: {document: score}}`; the higher, the better.
            ties: As in `from_columns`.

        Raises:
            DataError: If an id is neither a text nor a whole number, or a score is not a number.
            MissingExtraError: If polars is not installed.
        """
        scores = [*chain.from_iterable(documents.values() for documents in rankings.values())]
        return _build_rankings(QuestionDocuments.from_mapping(rankings, score=scores), ties)

    @classmethod
    def from_lists(cls, rankings: Mapping[str, Sequence[str]]) -> Rankings:
        """Read the documents of each question, best first.

        Raises:
            DataError: If an id is neither a text nor a whole number.
            MissingExtraError: If polars is not installed.
        """
        return _build_rankings(QuestionDocuments.from_mapping(rankings), "given")

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
            # A chunk without an id can meet no gold: recall would be 0 without a word.
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

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions, each once."""
        return self.ranked.names

    def find_hits(self, qrels: Qrels) -> Hits:
        """Find the judged documents in the rankings."""
        import polars as pl

        judged, ranked = qrels.judged, self.ranked
        numbered = judged.questions.to_frame("name").with_row_index("place")
        places = ranked.questions.to_frame("name").join(numbered, on="name", how="left", maintain_order="left")["place"]
        rows = ranked.rows.select(
            pl.col(QUESTION).alias("ranking"), places.gather(ranked.rows[QUESTION]).alias(QUESTION), DOCUMENT
        ).with_row_index("row")
        pairs = rows.join(judged.rows.select(QUESTION, DOCUMENT).with_row_index("gold"), on=[QUESTION, DOCUMENT]).sort(
            QUESTION, "row"
        )
        hits = {name: pairs[name].to_numpy().astype(np.int64) for name in (QUESTION, "ranking", "row", "gold")}
        depths = np.full(len(judged.questions), -1)
        is_judged = places.is_not_null()
        depths[places.drop_nulls().to_numpy()] = ranked.lengths[is_judged.to_numpy()]
        ranks = hits["row"] - ranked.starts[hits["ranking"]] + 1
        return Hits(hits[QUESTION], ranks, hits["gold"], depths, tuple(ranked.questions.filter(~is_judged).to_list()))


def _build_rankings(documents: QuestionDocuments, ties: TieOrder) -> Rankings:
    """Rank the documents of each question by their scores or ranks, or leave them in order without both."""
    number = next((name for name in (SCORE, RANK) if name in documents.rows.columns), None)
    if number is not None:
        keys = documents.rows[number].to_numpy()
        order = _sort_rows(documents, -keys if number == SCORE else keys, ties)
        documents = documents if order is None else documents.select(documents.rows[order])
    # After ranking, so that a repeated document counts at its best position.
    return Rankings(documents.drop_repeats())


def _sort_rows(documents: QuestionDocuments, keys: Floats, ties: TieOrder) -> Ints | None:
    """Return the rows of each question by rising key; None if they already are in this order."""
    numbers = documents.numbers
    is_same = numbers[1:] == numbers[:-1]
    # Most runs are sorted already, which is seen sooner than sorted again.
    order = None if (~is_same | (keys[1:] >= keys[:-1])).all() else np.lexsort((keys, numbers))
    if ties == "given":
        return order
    ranked = keys if order is None else keys[order]
    is_tied = is_same & (ranked[1:] == ranked[:-1])
    return _sort_ties(documents, order, is_tied) if is_tied.any() else order


def _sort_ties(documents: QuestionDocuments, order: Ints | None, is_tied: np.ndarray) -> Ints:
    """Return an order whose rows that are tied with the one before are sorted by falling id."""
    import polars as pl

    order = np.arange(len(documents)) if order is None else order
    places = np.flatnonzero(np.append(is_tied, False) | np.append(False, is_tied))
    groups = np.cumsum(~np.append(False, is_tied))[places]
    rows = pl.DataFrame({"group": groups, "row": order[places]})
    tied = rows.with_columns(documents.rows[DOCUMENT].gather(order[places]))
    # As trec_eval does. polars compares texts by their bytes in UTF-8, as C does.
    order[places] = tied.sort("group", DOCUMENT, descending=[False, True])["row"].to_numpy()
    return order
