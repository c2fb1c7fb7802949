"""TREC runs and qrels are read as rankings and grades, line by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import Skipped, evaluate, load_metric
from greval.datasets import read_cases
from greval.datasets.gold import read_gold, with_gold
from greval.errors import DataError
from greval.ranking import measure_rankings, read_qrels, read_rankings

RUN = "q1 Q0 d1 1 0.5 bm25\nq1 Q0 d2 2 0.9 bm25 more\n\nq2\tQ0\td3\t1\t1\tbm25\n"
QRELS = "# judged in May\nq1 0 d1 3\nq2 0 d3 1\nq1 0 d2 0\nq1 0 d4 -1\n"


def wrote(folder, name, text):
    """Write a file."""
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize("ending", ["run", "trec"])
def test_a_run(tmp_path, ending):
    """Documents are ranked by score, the name of the run is the method, and the lines of a question are one case."""
    one, two = read_cases(wrote(tmp_path, f"a.{ending}", RUN))
    assert (one.id, one.question, one.method) == ("q1", "q1", "bm25")
    assert [(chunk.doc_id, chunk.score, chunk.text) for chunk in one.chunks] == [("d2", 0.9, None), ("d1", 0.5, None)]
    assert [chunk.doc_id for chunk in two.chunks] == ["d3"]


def test_qrels(tmp_path):
    """The grades are those of the file; in a file of yes and no, the documents that count are essential."""
    graded = {case.id: case.gold for _, case in read_gold(wrote(tmp_path, "a.qrels", QRELS))}
    assert graded["q1"].grades == {"d1": 3, "d2": 0, "d4": -1}
    assert graded["q2"].grades == {"d3": 1}
    plain = [case.gold for _, case in read_gold(wrote(tmp_path, "b.qrels", QRELS.replace("d1 3", "d1 1")))]
    assert [gold.essential_docs for gold in plain] == [("d1",), ("d3",)]
    assert [gold.grades for gold in plain] == [None, None]


def test_qrels_of_beir(tmp_path):
    """The header of BEIR's qrels is not a line, and its three columns are question, document and grade."""
    text = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t1\n"
    ((_, row),) = read_gold(wrote(tmp_path, "test.qrels", text))
    assert (row.id, row.gold.grades) == ("q1", {"d1": 2, "d2": 1})
    with pytest.raises(DataError, match=r"test\.qrels:3: must have 3 columns \(question document grade\), got 2"):
        [*read_gold(wrote(tmp_path, "test.qrels", text.replace("d2\t1", "d2")))]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.run",
            "q1 Q0 d1 1 0.5 a\nq1 Q0 d2\n",
            "a.run:2: must have 6 columns (question Q0 document rank score name)",
        ),
        ("a.run", "q1 Q0 d1 1 high a\n", "a.run:1: the score must be a number, got 'high'"),
        ("a.run", "q1 d1\n", "a.run:1: must be a line of a run"),
        ("a.qrels", "q1 0 d1 1\nq1 0 d2 0.5\n", "a.qrels:2: the grade must be a whole number, got '0.5'"),
        ("a.qrels", "q1 0 d1 nan\n", "a.qrels:1: the grade must be a number"),
        ("a.run", "", "holds no cases"),
        ("a.txt", RUN, "a TREC run ends in .run, qrels in .qrels, a table in .csv or .tsv: rename it"),
    ],
)
def test_what_is_no_trec_file_is_refused(tmp_path, name, text, message):
    """A line that is none is an error with its place, as all figures would be of other rankings."""
    with pytest.raises(DataError) as caught:
        [*read_cases(wrote(tmp_path, name, text))]
    assert message in str(caught.value)


rankings = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9), min_size=1),
    min_size=1,
)


@given(rankings, rankings)
def test_cases_have_the_figures_of_arrays(tmp_path_factory, ranked, judged):
    """The same two files give the same nDCG of each question, read as cases or into arrays."""
    folder = tmp_path_factory.mktemp("trec")
    lines = (f"{q} Q0 {d} 1 {score} bm25" for q, scores in ranked.items() for d, score in scores.items())
    run = wrote(folder, "a.run", "\n".join(lines))
    rows = (f"{q} 0 {d} {grade}" for q, grades in judged.items() for d, grade in grades.items())
    qrels = wrote(folder, "a.qrels", "\n".join(rows))
    golds = {row.id: row.gold for _, row in read_gold(qrels)}
    cases = [case.model_copy(update={"gold": golds[case.id]}) for case in read_cases(run) if case.id in golds]
    if not cases:
        with pytest.raises(DataError, match=r"0 of \d judged questions met"):
            measure_rankings(read_qrels(qrels), read_rankings(run), ["ndcg@3"])
        return
    values = measure_rankings(read_qrels(qrels), read_rankings(run), ["ndcg@3"])["ndcg@3"].by_question()
    for case in cases:
        outcome = load_metric("ndcg@3").compute(case)
        assert isinstance(outcome, Skipped) is (case.id not in values)
        assert isinstance(outcome, Skipped) or outcome[0].number == pytest.approx(values[case.id])


def test_a_run_is_measured_with_its_qrels(tmp_path):
    """The cases of a run, joined with qrels, are judged like any others."""
    run, qrels = wrote(tmp_path, "a.run", RUN), wrote(tmp_path, "a.qrels", QRELS)
    gold = [case for _, case in read_gold(qrels)]
    found = evaluate(with_gold(read_cases(run), gold), [load_metric("recall@1")], out=tmp_path / "run")
    assert [one.number for result in found.results() for one in result.judgements] == [0.0, 1.0]
