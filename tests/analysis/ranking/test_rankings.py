"""Rankings of columns, dictionaries, lists and cases hold the same hits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DataError
from greval.ranking import Qrels, Rankings
from greval.records.case import Case

LISTS = st.dictionaries(
    st.sampled_from("pqrs"), st.lists(st.sampled_from(["a", "b", "é", "long-identifier"]), unique=True), max_size=4
)
GRADES = st.dictionaries(st.sampled_from(["a", "é", "long-identifier"]), st.integers(0, 3))
JUDGED = st.dictionaries(st.sampled_from("pqrs"), GRADES, min_size=1)


def hits_of(rankings, qrels):
    """Return the question, rank and document of each hit, with the depth of each question."""
    hits = rankings.find_hits(qrels)
    names = [qrels.questions[n] for n in hits.questions.tolist()]
    rows = zip(names, hits.ranks.tolist(), [qrels.documents[row] for row in hits.gold.tolist()], strict=True)
    return sorted(rows), hits.depths.tolist(), sorted(hits.unknown)


@given(lists=LISTS, judged=JUDGED)
def test_all_forms_give_the_hits_of_plain_python(lists, judged):
    """Each judged document that was retrieved is a hit at its rank; unranked questions have the depth -1."""
    qrels = Qrels.from_dicts(judged)
    rows = [(name, found, -n) for name, documents in lists.items() for n, found in enumerate(documents)]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    expected = sorted(
        (name, rank, document)
        for name, documents in lists.items()
        for rank, document in enumerate(documents, 1)
        if document in judged.get(name, {})
    )
    cases = [
        Case(id=name, question="?", chunks=[{"id": f"c{n}", "text": "", "doc_id": d} for n, d in enumerate(found)])
        for name, found in lists.items()
    ]
    scores = {name: {document: -n for n, document in enumerate(found)} for name, found in lists.items()}
    depths = [len(lists[name]) if name in lists else -1 for name in judged]
    unknown = sorted(lists.keys() - judged.keys())
    for rankings in (Rankings.from_lists(lists), Rankings.from_dicts(scores), Rankings.from_cases(cases)):
        assert hits_of(rankings, qrels) == (expected, depths, unknown)
        assert rankings.questions == tuple(lists)
    by_column = hits_of(Rankings.from_columns(columns[0], columns[1], scores=columns[2]), qrels)
    assert by_column[0] == expected


def test_two_cases_of_one_question():
    """Cases of two methods cannot be one ranking."""
    with pytest.raises(DataError, match="give the cases of one method at a time"):
        Rankings.from_cases([Case(id="q", question="?", chunks=[])] * 2)
    assert Rankings.from_cases([Case(id="q", question="?")]).questions == ()
