"""How a run and its judgements meet: by questions, and by the documents of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from greval._util.joins import FEW_IDS_MET, MAX_COMPARED, IdJoin, JoinSide, build_join, join_ids
from greval.errors import DataError
from greval.metrics.columns.grouping import GroupedDocuments
from greval.metrics.columns.id_join import Hits
from greval.metrics.columns.qrels import Qrels
from greval.metrics.columns.rankings import DictRankings, Rankings

SAMPLED_QUESTIONS = 200
SAMPLED_DOCUMENTS = 20
"""The number of documents of a question that are compared if few were found: the first ones."""
QUESTIONS = ("judged questions", "ranked questions")
DOCUMENTS = ("judged documents", "ranked documents")
REMEDY = "write the ids alike in both files"


def check_run_join(qrels: Qrels, rankings: Rankings, hits: Hits) -> tuple[str, ...]:
    """Check how judgements and rankings met, and return remarks that stand before all figures.

    Args:
        qrels: The judged documents.
        rankings: The rankings.
        hits: The judged documents that were found in them.

    Raises:
        DataError: If no question met, or no document met because the ids differ in form or kind.

    Example:
        >>> qrels = Qrels.from_dicts({"q1": {"d1": 1}})
        >>> rankings = Rankings.from_dicts({"q1": {"D1": 0.9}})
        >>> check_run_join(qrels, rankings, rankings.find_hits(qrels))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        greval.errors.DataError: 0 of 1 judged documents met 0 of 1 ranked documents; 'd1' and 'D1' differ only in ...
    """
    questions = _join_questions(qrels, rankings, hits)
    if questions.met_nothing:
        raise DataError(f"{questions.describe()}; {REMEDY}")
    remarks = [questions.find_remark()]
    if not len(qrels) or len(hits.gold) * 2 >= len(qrels):
        return tuple(filter(None, remarks))
    documents = _join_sampled_documents(qrels, rankings)
    if documents.near is None or not documents.near.is_certain:  # most of what is not found is a miss
        documents = documents._replace(near=documents.near if not len(hits.gold) else None)
    if not len(hits.gold):
        if documents.cannot_meet:
            raise DataError(f"{documents.describe()}; {REMEDY}")
        remarks.append(documents.find_remark())
    elif documents.near:
        found = f"{len(np.unique(hits.gold)):,} of {len(qrels):,} judged documents are ranked"
        remarks.append(f"{FEW_IDS_MET}: {found}; {documents.near}; {REMEDY}")
    return tuple(filter(None, remarks))


def _join_questions(qrels: Qrels, rankings: Rankings, hits: Hits) -> IdJoin:
    """Join the judged questions with the ranked ones, from the counts of what met."""
    names, ranked = qrels.grouped.names, rankings.source.names
    absent = np.flatnonzero(hits.depths < 0)
    missing = tuple(names[place] for place in absent[:MAX_COMPARED].tolist())
    met = len(names) - len(absent)
    return build_join(
        JoinSide(QUESTIONS[0], len(names), met, missing),
        JoinSide(QUESTIONS[1], len(ranked), met, hits.unknown[:MAX_COMPARED]),
    )


def _join_sampled_documents(qrels: Qrels, rankings: Rankings) -> IdJoin:
    """Join the first documents of the first questions that have both."""
    ranked = {name: place for place, name in enumerate(islice(rankings.source.names, MAX_COMPARED))}
    places = [place for place, name in enumerate(qrels.grouped.names[:MAX_COMPARED]) if name in ranked]
    places = places[:SAMPLED_QUESTIONS]
    judged = _sample_documents(qrels.grouped, places)
    names = [qrels.grouped.names[place] for place in places]
    source = rankings.source
    if isinstance(source, DictRankings):
        found: Iterable[str] = (name for one in names for name in islice(source.scores[one], SAMPLED_DOCUMENTS))
    else:
        found = _sample_documents(source.grouped, [ranked[name] for name in names])
    return join_ids(judged, found, DOCUMENTS)


def _sample_documents(grouped: GroupedDocuments, places: Sequence[int]) -> Sequence[str]:
    """Return the first documents of some questions."""
    spans = [
        np.arange(grouped.starts[n], min(grouped.starts[n] + SAMPLED_DOCUMENTS, grouped.starts[n + 1])) for n in places
    ]
    rows = np.concatenate([np.empty(0, np.intp), *spans]).astype(np.intp)
    listed = grouped.document_list
    if listed is not None:
        return [listed[row] for row in grouped.select_row_numbers(rows).tolist()]
    return grouped.documents.read(grouped.select_row_numbers(rows))
