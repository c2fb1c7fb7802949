"""Ranking measures over arrays: equal to the per-case ones and to trec_eval, whatever the columns are made of."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greval.errors import DataError, DefinitionError
from greval.metrics.columns import Qrels, Rankings, measure_rankings
from greval.metrics.columns.column_readers import read_texts
from greval.metrics.columns.grouping import iterate_blocks
from greval.metrics.columns.text_column import BLOCK_ROWS, LazyNames
from greval.metrics.library import load_metric
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


@given(cases=cases())
@settings(max_examples=150, deadline=None)
def test_columns_are_equal_to_the_measures_of_each_case(cases):
    """Every measure of every case is the same to 1e-12 by columns, and skipped where it is skipped there."""
    measured = measure_rankings(Qrels.from_cases(cases), Rankings.from_cases(cases), NAMES)
    for name in NAMES:
        values = measured[name].by_question()
        metric = load_metric(name)
        for case in cases:
            outcome = metric.compute(case)
            if isinstance(outcome, Skipped):
                assert case.id not in values
            else:
                assert values[case.id] == pytest.approx(outcome[0].number, abs=1e-12)
        assert measured[name].measured_count + measured[name].skipped == len(cases)


def test_essential_documents_of_columns_are_graded_so():
    """Columns know essential documents by their grade alone: a case that says otherwise is refused."""
    gold = {"essential_docs": ["d1"], "grades": {"d1": 1, "d2": 3}}
    with pytest.raises(DataError, match="case 'q': essential_docs must be the documents graded 2 or more"):
        Qrels.from_cases([Case(id="q", question="?", gold=gold)])


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


@pytest.mark.long
@given(seed=st.integers(0, 2**32))
@settings(max_examples=1000, deadline=None)
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
@settings(max_examples=60, deadline=None)
def test_columns_of_any_kind_and_order(kind, rows, gold):
    """Rows in any order, repeated and scattered, in columns of any kind, are ranked as plain Python ranks them."""
    judged = {(question, document): grade for question, document, grade in gold}
    qrels = Qrels.from_columns(*as_columns(kind, [(*pair, grade) for pair, grade in judged.items()]))
    questions, documents, scores = as_columns(kind, rows)
    measured = measure_rankings(qrels, Rankings.from_columns(questions, documents, scores=scores), NAMES)
    expected = measure_rankings(qrels, Rankings.from_lists(by_hand(rows)), NAMES)
    for name in NAMES:
        assert measured[name].by_question() == expected[name].by_question()
    assert (measured.missing, set(measured.unknown)) == (expected.missing, set(expected.unknown))
    ranked = by_hand(rows)
    for question, value in measured["recall@2"].by_question().items():
        due = {document for (name, document), grade in judged.items() if name == question and grade}
        assert value == len(due & {*ranked.get(question, [])[:2]}) / len(due)


def test_more_rows_than_a_block():
    """Questions across the edges of blocks, one longer than a block, repeated documents: as in plain Python."""
    lists = {f"q{n}": [f"d{n + k * k % 31}" for k in range(40)] for n in range(900)}
    lists["long"] = [f"d{k}" for k in range(3 * BLOCK_ROWS)]
    gold = {name: {documents[n]: 1 + n % 2 for n in (0, 5, 10)} for name, documents in lists.items()}
    measured = measure_rankings(Qrels.from_dicts(gold), Rankings.from_lists(lists), ["map", "precision"])
    for name, documents in lists.items():
        once = list(dict.fromkeys(documents))
        ranks = sorted(once.index(document) + 1 for document in gold[name])
        value = sum(n / rank for n, rank in enumerate(ranks, 1)) / len(ranks)
        assert measured["map"].by_question()[name] == pytest.approx(value, abs=1e-12)
        assert measured["precision"].by_question()[name] == pytest.approx(len(ranks) / len(once), abs=1e-12)


def recalls_and_mrr(gold, lists):
    """Compute recall@5 and MRR in plain Python."""
    found = {}
    for name, judged in gold.items():
        ranks = [n for n, document in enumerate(dict.fromkeys(lists.get(name, [])), 1) if document in judged]
        found[name] = (sum(rank <= 5 for rank in ranks) / len(judged), 1 / min(ranks, default=math.inf))
    return found


@pytest.mark.parametrize("form", ["lists", "scattered", "dicts"])
@pytest.mark.parametrize("ids", ["doc{}", "https://example.org/{}", "文書{}é", "{}"])
def test_many_questions_of_uneven_length(form, ids):
    """Over many blocks: uneven rankings and judgements, repeated documents, ties, rows and questions in any order."""
    draw = random.Random(form + ids)
    lists = {f"q{n}": [ids.format(draw.randint(0, 120)) for _ in range(draw.randint(0, 90))] for n in range(1500)}
    lists["q7"] = [ids.format(draw.randint(0, 9000)) for _ in range(7000)]
    gold = {f"q{n}": {ids.format(draw.randint(0, 120)): 1 for _ in range(draw.randint(1, 9))} for n in range(100, 1600)}
    gold["q7"] = {ids.format(n): 1 for n in range(3000)}
    gold = dict(draw.sample([*gold.items()], len(gold)))
    if form == "lists":
        rankings = Rankings.from_lists(lists)
    elif form == "dicts":
        scores = {name: {document: draw.randint(0, 40) for document in found} for name, found in lists.items()}
        lists = {name: sorted(found, key=lambda document: -found[document]) for name, found in scores.items()}
        rankings = Rankings.from_dicts(scores)
    else:
        rows = [(name, document, -n // 2) for name, found in lists.items() for n, document in enumerate(found)]
        rows.sort(key=lambda row: (-row[2], draw.random()))
        lists = by_hand(rows)
        questions, documents, column = zip(*rows, strict=True)
        rankings = Rankings.from_columns(questions, documents, scores=column)
    measured = measure_rankings(Qrels.from_dicts(gold), rankings, ["recall@5", "mrr"])
    recalls, reciprocals = (measured[name].by_question() for name in ("recall@5", "mrr"))
    assert {name: (recalls[name], reciprocals[name]) for name in recalls} == recalls_and_mrr(gold, lists)


@given(lengths=st.lists(st.integers(0, 9) | st.integers(0, 300), max_size=40), size=st.integers(1, 100))
@settings(max_examples=100, deadline=None)
def test_blocks_hold_every_question_once_and_stay_small(lengths, size):
    """Ranges of questions follow one another, and their tables have at most twice the size asked for."""
    ranges = list(iterate_blocks(np.array(lengths, dtype=np.intp), size))
    assert [n for first, last in ranges for n in range(first, last)] == list(range(len(lengths)))
    assert all(last - first == 1 or (last - first) * max(lengths[first:last]) <= 2 * size for first, last in ranges)


def test_names_are_compared_by_what_they_hold():
    """Names of two columns are equal where their texts are, and equal to a tuple of the same texts."""
    one, other = (LazyNames(read_texts(texts, "names"), np.arange(2)) for texts in (["a", "bé", "c"], ["a", "bé"]))
    assert one == other
    assert one == ("a", "bé")
    assert other != ("a", "c")
    assert one != LazyNames(read_texts(["a", "c"], "names"), np.arange(2))
    assert [one.is_distinct, LazyNames(read_texts(["a", "a"], "names"), np.arange(2)).is_distinct] == [True, False]


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


def test_whole_numbers_are_ids():
    """7 in one column and "7" in the other are the same id."""
    qrels = Qrels.from_columns(np.array([1, 1]), [7, 8], [1, 0])
    assert measure_rankings(qrels, Rankings.from_columns(["1"], ["7"]), ["recall"])["recall"].mean == 1.0


def test_essential_and_relevant_grades():
    """The lowest relevant and essential grades can be told; gains stay those of the grades."""
    grades = {"q": {"a": 3, "b": 1}}
    rankings = Rankings.from_lists({"q": ["b", "a"]})
    figures = measure_rankings(
        Qrels.from_dicts(grades, essential=2), rankings, ["mrr", "recall@1", "essential_recall@1"]
    )
    assert [figure.mean for figure in figures.values()] == [0.5, 0.5, 0.0]
    figures = measure_rankings(Qrels.from_dicts(grades, relevant=2), rankings, ["recall@1", "ndcg"])
    assert figures["recall@1"].mean == 0.0
    assert figures["ndcg"].mean == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Qrels.from_columns(["q"], ["d", "e"], [1]), "equally long, got 1 and 2 rows"),
        (lambda: Qrels.from_columns(["q"], ["d"], [1, 2]), "equally long, got 1 and 2 rows"),
        (lambda: Qrels.from_columns(["q"], [None], [1]), "documents, row 1: an id must be a text or a whole number"),
        (lambda: Qrels.from_columns(["q"], [1.5], [1]), "got 1.5; fill it in or drop the row"),
        (lambda: Qrels.from_columns("q", ["d"], [1]), "questions: must be a column of ids, got str"),
        (lambda: Qrels.from_columns(["q"], ["\ud800"], [1]), "half of a character"),
        (lambda: Qrels.from_columns(["q"], ["d"], [1.5]), "grade 1.5: must be a whole number up to 1000"),
        (lambda: Qrels.from_columns(["q"], ["d"], ["x"]), "grades: must be a column of numbers"),
        (lambda: Qrels.from_columns(["q", "q"], ["d", "d"], [1, 2]), "document 'd' is graded 1 and 2; keep one"),
        (lambda: Qrels.from_dicts({"q": {"d": 1}}, relevant=0), "relevant must be 1 or more"),
        (lambda: Rankings.from_columns(["q"], ["d"], scores=[1], ranks=[1]), "scores or ranks, not both"),
        (lambda: Rankings.from_columns(["q"], ["d"], ranks=[1, 2]), "documents and ranks must be equally long"),
        (lambda: Rankings.from_columns(["q"], ["d"], scores=[float("nan")]), "scores, row 1: is no number"),
        (lambda: Rankings.from_cases([Case(id="q", question="?")] * 2), "two cases have the id 'q'"),
        (lambda: scored({"q": {"d": float("nan")}}), "a score is no number"),
        (lambda: scored({"q": {"d": "high"}}), "scores must be numbers"),
        (lambda: scored({7: {"d": 1.0}}), "ids must be texts, got 7"),
        (lambda: scored({"q": {7: 1.0}}), "ids must be texts, got 7"),
    ],
)
def test_wrong_data_is_told(make, told):
    """Each fault in the data says what is wrong and what to do."""
    with pytest.raises(DataError) as caught:
        make()
    assert told in str(caught.value)


def scored(scores):
    """Measure rankings of dictionaries."""
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


@given(places=st.lists(st.integers(0, 11), max_size=14))
@settings(max_examples=100, deadline=None)
def test_no_hash_decides(places):
    """Ids with one hash, judged or not and repeated between one another, are told apart by their bytes."""
    plain = {f"{n:08}": 1 for n in range(400)}
    alike = [f"{side}/the-same-end-{n}" for n in range(4) for side in "ABC"]
    gold = {"many": plain, "q": {alike[0]: 1, alike[1]: 2, alike[3]: 1}}
    qrels = Qrels.from_dicts(gold, essential=2)
    assert not qrels.grouped.needs_full_hashes  # so that the hash is of the last eight bytes
    ranked = [alike[n] for n in places]
    figures = measure_rankings(qrels, Rankings.from_lists({"q": ranked}), ["map", "mrr", "precision"])
    once = list(dict.fromkeys(ranked))
    ranks = sorted(once.index(name) + 1 for name in gold["q"] if name in once)
    assert figures["map"].by_question()["q"] == pytest.approx(sum(n / r for n, r in enumerate(ranks, 1)) / 3)
    assert figures["mrr"].by_question()["q"] == (1 / (once.index(alike[1]) + 1) if alike[1] in once else 0)
    assert figures["precision"].by_question()["q"] == (len(ranks) / len(once) if once else 0)


def test_ends_that_are_alike_are_not_relied_on():
    """Where judged ids end alike, whole ids are hashed."""
    qrels = Qrels.from_dicts({"q": {f"{n}/the-same-end": 1 for n in range(40)}})
    assert qrels.grouped.needs_full_hashes
    figure = measure_rankings(
        qrels, Rankings.from_lists({"q": [f"{n}/the-same-end" for n in range(80)]}), ["recall@20"]
    )
    assert figure["recall@20"].mean == 0.5


@given(texts=st.lists(st.text("ab\0é", max_size=26), min_size=1, max_size=9), whole=st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_hash_is_of_the_text_alone(texts, whole):
    """A text has the same hash whatever stands around it, and is read back as it was."""
    column = read_texts([*texts, "long enough to take several words"], "ids")
    hashes = column.compute_hashes(slice(0, len(texts)), whole=whole)
    alone = [read_texts([text], "ids").compute_hashes(slice(0, 1), whole=whole)[0] for text in texts]
    assert hashes.tolist() == alone
    assert column.compute_hashes(np.arange(len(texts)), whole=whole).tolist() == alone
    assert column.read(np.arange(len(texts))[::-1]) == texts[::-1]
