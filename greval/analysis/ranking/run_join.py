"""How a run and its judgements meet: by questions, and by the documents of these."""

from __future__ import annotations

import numpy as np

from greval._util.joins import FEW_IDS_MET, MAX_COMPARED, IdJoin, JoinSide, build_join, join_ids
from greval.analysis.ranking.qrels import Qrels
from greval.analysis.ranking.question_documents import QuestionDocuments
from greval.analysis.ranking.rankings import Hits, Rankings
from greval.datasets.ranked_rows import DOCUMENT
from greval.errors import DataError

SAMPLED_QUESTIONS = 200
SAMPLED_DOCUMENTS = 20
"""The number of documents of a question that are compared if few were found: the first ones."""
QUESTIONS = ("judged questions", "ranked questions")
DOCUMENTS = ("judged documents", "ranked documents")
REMEDY = "write the ids alike in both files"


def check_run_join(qrels: Qrels, rankings: Rankings, hits: Hits) -> tuple[str, ...]:
    """Check how judgements and rankings met, and return remarks that stand before all figures."""
    questions = _join_questions(qrels, rankings, hits)
    if questions.met_nothing:
        raise DataError(f"{questions.describe()}; {REMEDY}")
    remarks = [questions.find_remark()]
    if not len(qrels) or len(hits.gold) * 2 >= len(qrels):
        return tuple(filter(None, remarks))
    documents = _join_sampled_documents(qrels, rankings, hits)
    # Most of what is not found is a miss.
    if documents.near is None or not documents.near.is_certain:
        documents = documents._replace(near=documents.near if not len(hits.gold) else None)
    if not len(hits.gold):
        if documents.cannot_meet:
            raise DataError(f"{documents.describe()}; {REMEDY}")
        remarks.append(documents.find_remark())
    elif documents.near:
        counts = f"{len(hits.gold):,} of {len(qrels):,} judged documents are ranked"
        remarks.append(f"{FEW_IDS_MET}: {counts}; {documents.near}; {REMEDY}")
    return tuple(filter(None, remarks))


def _join_questions(qrels: Qrels, rankings: Rankings, hits: Hits) -> IdJoin:
    """Join the judged questions with the ranked ones, from the counts of what met."""
    absent = np.flatnonzero(hits.depths < 0)
    missing = tuple(qrels.judged.questions.gather(absent[:MAX_COMPARED]).to_list())
    met = len(hits.depths) - len(absent)
    return build_join(
        JoinSide(QUESTIONS[0], len(hits.depths), met, missing),
        JoinSide(QUESTIONS[1], len(rankings.ranked.questions), met, hits.unknown[:MAX_COMPARED]),
    )


def _join_sampled_documents(qrels: Qrels, rankings: Rankings, hits: Hits) -> IdJoin:
    """Join the first documents of the first questions that have both."""
    names = qrels.judged.questions.gather(np.flatnonzero(hits.depths >= 0)[:SAMPLED_QUESTIONS]).to_list()
    return join_ids(_sample_documents(qrels.judged, names), _sample_documents(rankings.ranked, names), DOCUMENTS)


def _sample_documents(documents: QuestionDocuments, names: list[str]) -> list[str]:
    """Return the first documents of some questions."""
    places = documents.questions.is_in(names).arg_true().to_numpy()
    ends = np.minimum(documents.starts[places] + SAMPLED_DOCUMENTS, documents.starts[places + 1])
    rows = [row for first, last in zip(documents.starts[places], ends, strict=True) for row in range(first, last)]
    return documents.rows[DOCUMENT].gather(rows).to_list()
