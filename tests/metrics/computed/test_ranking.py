"""Ranked retrieval: equal to the usual tools, and true to its definitions where these differ."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import Case
from greval.metrics.computed.formulas import ndcg
from greval.metrics.computed.ranking import FAMILIES
from greval.metrics.library import load_metric
from greval.records.result import Skipped

NAMES = [family.name for family in FAMILIES]
CUT = [f"{name}@{k}" for name in NAMES for k in (1, 3, 10)] + [*NAMES, "ndcg@3-exponential", "ndcg-exponential"]
DOCUMENTS = st.sampled_from([f"d{n}" for n in range(12)])


def case(retrieved, essential=(), helpful=(), **more):
    """Make a case of document names."""
    chunks = [{"id": f"c{n}", "doc_id": document, "text": ""} for n, document in enumerate(retrieved)]
    return Case(question="?", chunks=chunks, gold={"essential_docs": essential, "helpful_docs": helpful}, **more)


def value(name, *args, **more):
    (judgement,) = load_metric(name).compute(case(*args, **more))
    assert judgement.number == float(judgement.value)
    return judgement.number


def reason(name, judged_case):
    outcome = load_metric(name).compute(judged_case)
    return outcome.reason if isinstance(outcome, Skipped) else outcome[0].reason


@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 5), min_size=1),
)
def test_grades_are_gains(retrieved, grades):
    """With grades ndcg is trec_eval's, relevant is what is graded above 0, essential what is graded 2 or more."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    graded = Case(question="?", chunks=[{"id": document, "text": ""} for document in retrieved], gold=grades)
    scores = {document: -float(rank) for rank, document in enumerate(retrieved)}
    measured = {}
    if max(grades.values()) > 0:  # trec_eval reads memory that is not its own if no grade is above 0, or one is below
        judged = {document: max(grade, 0) for document, grade in grades.items()}
        theirs = pytrec_eval.RelevanceEvaluator({"q": judged}, {"ndcg", "ndcg_cut.3", "recall.3", "map"})
        measured = theirs.evaluate({"q": scores})["q"]
    for ours, name in {"ndcg": "ndcg", "ndcg@3": "ndcg_cut_3", "recall@3": "recall_3", "map": "map"}.items():
        given_ = load_metric(ours).compute(graded)
        if max(grades.values()) <= 0:
            assert given_ == Skipped(reason="gold has no essential and no helpful document")
        else:
            assert given_[0].number == pytest.approx(measured[name], abs=1e-12), ours
    essential = {document for document, grade in grades.items() if grade >= 2}
    given_ = load_metric("essential_recall").compute(graded)
    if not essential:
        assert given_ == Skipped(reason="gold.grades has no document of 2 or more")
    else:
        assert given_[0].number == len(essential & {*retrieved}) / len(essential)


def test_grades_in_a_reason():
    """Documents are told by their grades, the highest first; a listed document keeps the gain of its kind."""
    graded = Case(question="?", chunks=[{"id": "d2", "text": ""}], gold={"d1": 3, "d2": 1, "d3": 0})
    assert reason("recall@10", graded) == (
        "0 of 1 grade-3 document in the first 10; missed: d1. 1 of 1 grade-1 document in the first 10"
    )
    listed = {"essential_docs": ["d1", "d4"], "helpful_docs": ["d5"], "grades": {"d1": 3}}
    assert Case(question="?", gold=listed).gold.gains == {"d1": 3, "d4": 2, "d5": 1}


rankings = st.lists(DOCUMENTS, max_size=12, unique=True)
golds = st.lists(DOCUMENTS, min_size=1, max_size=6, unique=True)


@given(retrieved=rankings, essential=golds, helpful=st.lists(DOCUMENTS, max_size=6, unique=True))
def test_as_trec_eval(retrieved, essential, helpful):
    """Ranking measures are those of trec_eval, essential documents graded 2, helpful ones 1."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    grades = {**dict.fromkeys(helpful, 1), **dict.fromkeys(essential, 2)}
    scores = {document: -float(rank) for rank, document in enumerate(retrieved)}
    if not scores:
        return
    theirs = {
        "ndcg@3": "ndcg_cut_3",
        "ndcg@10": "ndcg_cut_10",
        "ndcg": "ndcg",
        "recall@3": "recall_3",
        "recall": "set_recall",
        "precision@3": "P_3",
        "precision": "set_P",
        "map": "map",
        "map@3": "map_cut_3",
        "hit_rate@3": "success_3",
    }
    measures = {"ndcg_cut", "ndcg", "recall", "set_recall", "P", "set_P", "map", "map_cut", "success"}
    measured = {}
    for measure in measures:
        cut = f"{measure}.3,10" if measure in {"ndcg_cut", "recall", "P", "map_cut", "success"} else measure
        measured |= pytrec_eval.RelevanceEvaluator({"q": grades}, {cut}).evaluate({"q": scores})["q"]
    for ours, name in theirs.items():
        assert value(ours, retrieved, essential, helpful) == pytest.approx(measured[name], abs=1e-12), ours
    only = pytrec_eval.RelevanceEvaluator({"q": dict.fromkeys(essential, 1)}, {"recip_rank", "recall.3"})
    measured = only.evaluate({"q": scores})["q"]
    assert value("mrr", retrieved, essential, helpful) == pytest.approx(measured["recip_rank"], abs=1e-12)
    assert value("essential_recall@3", retrieved, essential, helpful) == pytest.approx(measured["recall_3"], abs=1e-12)


@given(st.permutations(range(8)), st.lists(st.integers(0, 2), min_size=8, max_size=8), st.integers(1, 10))
def test_ndcg_as_scikit_learn(order, grades, k):
    """Where all that was due is retrieved, nDCG is scikit-learn's, with linear and exponential gain."""
    metrics = pytest.importorskip("sklearn.metrics")
    if not any(grades):
        return
    gains = [grades[position] for position in order]
    scores = [[-rank for rank in range(8)]]
    assert ndcg(gains, grades, k) == pytest.approx(metrics.ndcg_score([gains], scores, k=k), abs=1e-12)
    raised = [2**gain - 1 for gain in gains]
    assert ndcg(gains, grades, k, exponential=True) == pytest.approx(
        metrics.ndcg_score([raised], scores, k=k), abs=1e-12
    )


@given(st.lists(DOCUMENTS, max_size=15), golds, st.lists(DOCUMENTS, max_size=6))
def test_laws(retrieved, essential, helpful):
    """Each is of 0 to 1; what comes again counts once; what stands after k counts for nothing; best is 1."""
    once = [*dict.fromkeys(retrieved)]
    best = [*dict.fromkeys([*essential, *helpful])]
    for name in CUT:
        figure = value(name, retrieved, essential, helpful)
        assert 0 <= figure <= 1
        assert figure == value(name, once, essential, helpful)
        if "@3" in name:
            assert figure == value(name, [*once[:3], *reversed(once[3:])], essential, helpful)
        if "@" not in name:
            assert value(name, best, essential, helpful) == 1
    assert value("ndcg@3", best, essential, helpful) == 1


@given(rankings, golds)
def test_a_document_in_place_of_a_stranger_never_makes_it_worse(retrieved, essential):
    """Where a document that was due takes the place of one that was not, no measure falls."""
    for rank, document in enumerate(retrieved):
        missing = [expected_document for expected_document in essential if expected_document not in retrieved]
        if document not in essential and missing:
            better = [*retrieved[:rank], missing[0], *retrieved[rank + 1 :]]
            assert all(value(name, better, essential) >= value(name, retrieved, essential) for name in CUT)


def test_by_hand():
    """Figures of one small ranking, worked out by hand."""
    ranking = (["x", "h", "e1", "y", "e2"], ["e1", "e2", "e3"], ["h", "i"])
    ideal = 2 + 2 / math.log2(3) + 2 / math.log2(4) + 1 / math.log2(5) + 1 / math.log2(6)
    assert value("ndcg@10", *ranking) == pytest.approx((1 / math.log2(3) + 1 + 2 / math.log2(6)) / ideal)
    exponential = 3 + 3 / math.log2(3) + 1.5
    assert value("ndcg@3-exponential", *ranking) == pytest.approx((1 / math.log2(3) + 1.5) / exponential)
    expected = {
        "recall@3": 2 / 5,
        "essential_recall@3": 1 / 3,
        "essential_recall": 2 / 3,
        "precision@10": 3 / 10,
        "precision": 3 / 5,
        "hit_rate@1": 0,
        "hit_rate@2": 1,
        "perfect_recall@10": 0,
        "mrr": 1 / 3,
        "mrr@2": 0,
        "map": (1 / 2 + 2 / 3 + 3 / 5) / 5,
        "map@3": (1 / 2 + 2 / 3) / 5,
    }
    for name, figure in expected.items():
        assert value(name, *ranking) == pytest.approx(figure), name
    assert value("perfect_recall@5", ["e2", "x", "e1"], ["e1", "e2"]) == 1
    assert value("perfect_recall@2", ["e2", "x", "e1"], ["e1", "e2"]) == 0


def test_a_document_of_both_lists_is_essential():
    """A document that the gold has twice counts once, with the greater gain."""
    assert value("ndcg", ["a"], ["a", "a"], ["a", "b"]) == value("ndcg", ["a"], ["a"], ["b"])
    assert value("recall", ["a"], ["a", "a"], ["a", "b"]) == 1 / 2


def test_a_chunk_without_a_document_is_one():
    """Where a chunk names no document, its own id stands for it."""
    unnamed = Case(question="?", chunks=[{"id": "c1", "text": ""}], gold={"essential_docs": ["c1"]})
    assert load_metric("recall").compute(unnamed)[0].value == 1


SKIPS = [
    ({"chunks": None}, "chunks is not recorded", NAMES),
    ({"gold": None}, "gold is not recorded", NAMES),
    (
        {"gold": {"helpful_docs": ["a"]}},
        "gold.essential_docs is not recorded",
        ["essential_recall", "perfect_recall", "mrr"],
    ),
    ({"gold": {"essential_docs": []}}, "gold.essential_docs is empty", ["essential_recall", "perfect_recall", "mrr"]),
    (
        {"gold": {}},
        "gold.essential_docs and gold.helpful_docs are not recorded",
        ["ndcg", "recall", "precision", "hit_rate", "map"],
    ),
    (
        {"gold": {"essential_docs": [], "helpful_docs": []}},
        "gold has no essential and no helpful document",
        ["ndcg", "recall", "precision", "hit_rate", "map"],
    ),
]


@pytest.mark.parametrize(("changes", "told", "names"), SKIPS)
def test_skipped(changes, told, names):
    """What is not defined is skipped with its reason, never 0."""
    row = {"question": "?", "chunks": ["text"], "gold": {"essential_docs": ["a"], "helpful_docs": ["b"]}, **changes}
    for name in names:
        assert load_metric(name).compute(Case.model_validate(row)) == Skipped(reason=told), name


@pytest.mark.parametrize("name", CUT)
def test_nothing_retrieved(name):
    """Where something was due and nothing came, it is 0."""
    assert value(name, [], ["a"]) == 0
    assert reason(name, case([], ["a"])) == "0 of 1 essential document as nothing was retrieved; missed: a"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ndcg@2", "1 of 2 essential documents in the first 2; missed: d. 1 of 1 helpful document in the first 2"),
        ("essential_recall@10", "2 of 2 essential documents in the first 10"),
        ("essential_recall", "2 of 2 essential documents retrieved"),
        ("perfect_recall@3", "1 of 2 essential documents in the first 3; missed: d"),
        ("mrr", "the first essential document is b, at rank 2"),
        ("mrr@1", "0 of 2 essential documents in the first 1; missed: b, d"),
    ],
)
def test_reasons(name, told):
    """The reason names what was found, where, and what was missed."""
    assert reason(name, case(["a", "b", "c", "d"], ["b", "d"], ["a"])) == told


def test_gold_may_name_chunks():
    """If the gold names none of the documents but ids of chunks, the chunks are ranked; made ids are no names."""
    chunks = [{"id": "k2", "doc_id": "a.md"}, {"id": "k1", "doc_id": "a.md", "text": ""}]
    of_chunks = Case(question="?", chunks=chunks, gold={"essential_docs": ["k1"]})
    assert load_metric("mrr").compute(of_chunks)[0].value == 0.5
    both = of_chunks.model_copy(update={"gold": Case(question="", gold={"essential_docs": ["k1", "a.md"]}).gold})
    assert load_metric("recall@2").compute(both)[0].value == 0.5
    of_made_ids = Case(question="?", chunks=[{"doc_id": "a.md"}], gold={"essential_docs": ["c1"]})
    assert load_metric("mrr").compute(of_made_ids)[0].value == 0
