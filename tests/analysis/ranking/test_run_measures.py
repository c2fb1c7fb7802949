"""Ranking measures over arrays: equal to the per-case ones and to trec_eval, whatever the columns are made of."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval._util.wording import UNMET
from greval.errors import DataError, DefinitionError
from greval.metrics.library import load_metric
from greval.ranking import Qrels, Rankings, measure_rankings
from greval.records.case import Case
from greval.records.result import Skipped

NAMES = (
    "ndcg",
    "ndcg@3",
    "ndcg@10-exponential",
    "recall",
    "recall@2",
    "essential_recall@3",
    "precision",
    "precision@4",
    "hit_rate@2",
    "perfect_recall@5",
    "mrr",
    "mrr@2",
    "map",
    "map@3",
)
OF_TREC_EVAL = {
    "ndcg": "ndcg",
    "ndcg_cut_3": "ndcg@3",
    "map": "map",
    "map_cut_3": "map@3",
    "recip_rank": "mrr",
    "recall_5": "recall@5",
    "P_5": "precision@5",
    "success_1": "hit_rate@1",
}
IDS = st.sampled_from(
    [f"d{n}" for n in range(8)] + ["d", "é", "文書", "a-much-longer-identifier/of/a/document", "d1\0"]
)
LISTS = st.lists(IDS, max_size=12)


@st.composite
def cases(draw):
    """Draw cases of one method, with gold of both kinds, or one, or none, or with grades."""
    grades = st.dictionaries(IDS, st.integers(-1, 5), min_size=1, max_size=8)
    lists = st.fixed_dictionaries({"essential_docs": st.none() | LISTS, "helpful_docs": st.none() | LISTS})
    drawn = draw(st.lists(st.tuples(LISTS, lists | grades), min_size=1, max_size=5))
    return [
        Case(
            id=f"q{n}",
            question="?",
            chunks=[{"id": f"c{at}", "text": "", "doc_id": name} for at, name in enumerate(found)],
            gold=gold,
        )
        for n, (found, gold) in enumerate(drawn)
    ]


def measure(qrels, rankings):
    """Measure a run by all measures, or return the message if its ids cannot meet the judgements."""
    try:
        return measure_rankings(qrels, rankings, NAMES)
    except DataError as error:
        return str(error)


@given(cases=cases())
def test_columns_are_equal_to_the_measures_of_each_case(cases):
    """Every measure of every case is the same to 1e-12 by columns, and skipped where it is skipped there.

    A case whose ids differ in form only is skipped, and in a whole run that meets otherwise it is a miss.
    """
    measured = measure(Qrels.from_cases(cases), Rankings.from_cases(cases))
    if isinstance(measured, str):
        outcomes = [load_metric("recall").compute(case) for case in cases]
        assert all(isinstance(outcome, Skipped) or outcome[0].number == 0 for outcome in outcomes)
        return
    for name in NAMES:
        values = measured[name].by_question()
        metric = load_metric(name)
        for case in cases:
            outcome = metric.compute(case)
            if isinstance(outcome, Skipped):
                assert case.id not in values or outcome.reason.startswith(UNMET)
            else:
                assert values[case.id] == pytest.approx(outcome[0].number, abs=1e-12)
        assert measured[name].measured_count + measured[name].skipped == len(cases)


def drawn_run(seed):
    """Draw grades and scores of a few questions; scores are tied often."""
    draw = random.Random(seed)
    grades, scores = {}, {}
    for n in range(draw.randint(1, 3)):
        judged = draw.sample(range(14), draw.randint(1, 10))
        found = draw.sample(range(14), draw.randint(1, 14))
        grades[f"q{n}"] = {f"d{document}": draw.randint(0, 3) for document in judged}
        scores[f"q{n}"] = {f"d{document}": draw.randint(0, 6) / 2 for document in found}
    return grades, scores


@given(seed=st.integers(0, 2**32))
def test_equal_to_trec_eval(seed):
    """On 1,000 random runs with ties each measure of each question is that of trec_eval, from dicts or columns."""
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="the oracle pytrec-eval-terrier is not installed")
    grades, scores = drawn_run(seed)
    asked = {"ndcg", "ndcg_cut.3", "map", "map_cut.3", "recip_rank", "recall.5", "P.5", "success.1"}
    expected = pytrec_eval.RelevanceEvaluator(grades, asked).evaluate(scores)
    qrels = Qrels.from_dicts(grades)
    rows = [(name, document, score) for name, found in scores.items() for document, score in found.items()]
    questions, documents, column = zip(*rows, strict=True)
    if seed % 2:
        rankings = Rankings.from_dicts(scores, ties="trec_eval")
    else:
        rankings = Rankings.from_columns(questions, documents, scores=column, ties="trec_eval")
    measured = measure_rankings(qrels, rankings, OF_TREC_EVAL.values())
    for theirs, ours in OF_TREC_EVAL.items():
        for name, value in measured[ours].by_question().items():
            assert value == pytest.approx(expected[name][theirs], abs=1e-12)


LONG = [f"https://example.org/{'part/' * n}document-{n % 7}" for n in range(9)]
ROWS = st.lists(
    st.tuples(st.sampled_from(["q1", "q2", "q10", "ξ"]), IDS | st.sampled_from(LONG), st.integers(0, 3)), max_size=40
)


def by_hand(rows):
    """Rank rows by score in plain Python: each document once, at its first place."""
    ranked = {}
    for question, document, _ in sorted(rows, key=lambda row: -row[2]):
        ranked.setdefault(question, {}).setdefault(document)
    return {question: list(documents) for question, documents in ranked.items()}


def as_columns(kind, rows):
    """Give three columns of a kind."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    if kind == "lists":
        return columns
    if kind == "numpy":
        return [np.array(columns[0], dtype=object), np.array(columns[1], dtype=object), np.array(columns[2])]
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    texts = {"views": pa.string_view(), "large": pa.large_string()}.get(kind, pa.string())
    arrays = [pa.array(column, kind_of) for column, kind_of in zip(columns, (texts, texts, pa.int64()), strict=True)]
    if kind == "dictionaries":
        return [arrays[0].dictionary_encode(), arrays[1].dictionary_encode(), arrays[2]]
    if kind == "chunks":
        return [pa.chunked_array([column[:3], column[3:4], column[4:]]) for column in arrays]
    if kind == "pandas":
        pandas = pytest.importorskip("pandas", reason="pandas is not installed")
        return [pandas.Series(column) for column in columns]
    return arrays


@pytest.mark.parametrize("kind", ["lists", "numpy", "arrow", "large", "views", "dictionaries", "chunks", "pandas"])
@given(rows=ROWS, gold=ROWS)
def test_columns_of_any_kind_and_order(kind, rows, gold):
    """Rows in any order, repeated and scattered, in columns of any kind, are ranked as plain Python ranks them."""
    judged = {(question, document): grade for question, document, grade in gold}
    qrels = Qrels.from_columns(*as_columns(kind, [(*pair, grade) for pair, grade in judged.items()]))
    questions, documents, scores = as_columns(kind, rows)
    measured = measure(qrels, Rankings.from_columns(questions, documents, scores=scores))
    expected = measure(qrels, Rankings.from_lists(by_hand(rows)))
    if isinstance(expected, str):
        assert isinstance(measured, str)
        return
    for name in NAMES:
        assert measured[name].by_question() == expected[name].by_question()
    assert (measured.missing, set(measured.unknown)) == (expected.missing, set(expected.unknown))
    ranked = by_hand(rows)
    for question, value in measured["recall@2"].by_question().items():
        due = {document for (name, document), grade in judged.items() if name == question and grade}
        assert value == len(due & {*ranked.get(question, [])[:2]}) / len(due)


def test_what_is_not_there_is_told():
    """Questions without relevant documents are skipped, unanswered ones count as 0 or are dropped; all are counted."""
    qrels = Qrels.from_dicts({"a": {"d1": 1}, "b": {"d1": 1}, "c": {"d1": 0}, "d": {}})
    rankings = Rankings.from_dicts({"a": {"d1": 1.0}, "c": {"d1": 1.0}, "e": {"d1": 1.0}})
    figure = measure_rankings(qrels, rankings, ["mrr"])["mrr"]
    assert (figure.asked, figure.measured_count, figure.skipped, figure.missing) == (5, 2, 3, 1)
    assert (figure.mean, figure.by_question()) == (0.5, {"a": 1.0, "b": 0.0})
    assert str(figure).endswith("3 skipped, 1 missing from the run, counted as 0)")
    dropped = measure_rankings(qrels, rankings, ["mrr"], missing="drop")["mrr"]
    assert (dropped.measured_count, dropped.missing, dropped.mean) == (1, 1, 1.0)
    assert str(dropped).endswith("1 missing from the run, left out)")


def test_no_nan_leaves():
    """Where nothing can be measured there is no value: no mean, and no NaN."""
    figure = measure_rankings(Qrels.from_dicts({}), Rankings.from_dicts({}), ["ndcg"])["ndcg"]
    assert (figure.mean, len(figure.values), str(figure)[:13]) == (None, 0, "ndcg no value")
    grades = {"a": {"d1": -3}, "b": {}}
    for found in measure_rankings(
        Qrels.from_dicts(grades), Rankings.from_dicts({"a": {}, "b": {"x": 1.0}}), NAMES
    ).values():
        assert not np.isnan(found.values).any()
        assert found.measured_count == 0


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Qrels.from_columns(["q"], ["d", "e"], [1]), "equally long, got 1 and 2 rows"),
        (lambda: Qrels.from_columns(["q"], ["d"], [1, 2]), "equally long, got 1 and 2 rows"),
        (
            lambda: Qrels.from_columns(["q"], [None], [1]),
            "documents, row 1: the document must be a text or a whole number",
        ),
        (lambda: Qrels.from_columns(["q"], [True], [1]), "got True; mend the row or remove it"),
        (lambda: Qrels.from_columns("q", ["d"], [1]), "questions: must be a column, got str; give a list or an array"),
        (lambda: Qrels.from_columns(["q"], ["\ud800"], [1]), "half of a character"),
        (lambda: Qrels.from_columns(["q"], ["d"], [1.5]), "grades, row 1: the grade must be a whole number, got 1.5"),
        (lambda: Qrels.from_columns(["q"], ["d"], [-1001]), "grade -1001: must be a whole number up to 1000"),
        (lambda: Qrels.from_columns(["q"], ["d"], ["x"]), "grades, row 1: the grade must be a whole number, got 'x'"),
        (lambda: Qrels.from_columns(["q", "q"], ["d", "d"], [1, 2]), "document 'd' is graded 1 and 2; keep one"),
        (lambda: Qrels.from_dicts({"q": {"d": 1}}, relevant=0), "relevant must be 1 or more"),
        (lambda: Rankings.from_columns(["q"], ["d"], scores=[1], ranks=[1]), "scores or ranks, not both"),
        (lambda: Rankings.from_columns(["q"], ["d"], ranks=[1, 2]), "questions and ranks must be equally long"),
        (
            lambda: Rankings.from_columns(["q"], ["d"], scores=[float("nan")]),
            "scores, row 1: the score must be a number, got nan",
        ),
        (lambda: Rankings.from_cases([Case(id="q", question="?")] * 2), "two cases have the id 'q'"),
        (lambda: scored({"q": {"d": float("nan")}}), "scores, row 1: the score must be a number, got nan"),
        (lambda: scored({"q": {"d": "high"}}), "scores, row 1: the score must be a number, got 'high'"),
        (lambda: scored({None: {"d": 1.0}}), "questions, row 1: the question must be a text or a whole number"),
        (
            lambda: scored({"q": {True: 1.0}}),
            "documents, row 1: the document must be a text or a whole number, got True",
        ),
    ],
)
def test_wrong_data_is_told(make, told):
    """Each fault in the data says what is wrong and what to do."""
    with pytest.raises(DataError) as caught:
        make()
    assert told in str(caught.value)


def scored(scores):
    return measure_rankings(Qrels.from_dicts({"q": {"d": 1}}), Rankings.from_dicts(scores), ["mrr"])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ndgc@10", "is it ndcg@10?"),
        ("ndcg@0", "is it ndcg@10?"),
        ("recall@ten", "is it recall@10?"),
        ("mrr-exponential", "is it mrr?"),
        ("speed", "(measures: ndcg, recall,"),
    ],
)
def test_unknown_measures_are_told(name, told):
    """A measure that is not there is told with the nearest one that is."""
    with pytest.raises(DefinitionError) as caught:
        measure_rankings(Qrels.from_dicts({}), Rankings.from_dicts({}), [name])
    assert told in str(caught.value)
