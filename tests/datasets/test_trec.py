"""TREC runs and qrels, and tables that hold the same, are read as rankings and grades."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import Skipped, load_metric
from greval.datasets.case_reader import read_cases
from greval.datasets.case_records import read_records
from greval.datasets.gold import read_gold
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
    first, second = read_cases(wrote(tmp_path, f"a.{ending}", RUN))
    assert (first.id, first.question, first.method) == ("q1", "q1", "bm25")
    assert [(chunk.doc_id, chunk.score, chunk.text) for chunk in first.chunks] == [("d2", 0.9, None), ("d1", 0.5, None)]
    assert [chunk.doc_id for chunk in second.chunks] == ["d3"]


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
        ("a.qrels", "q1 0 d1 nan\n", "a.qrels:1: the grade must be a whole number, got 'nan'"),
        ("a.qrels", "q1 0 d1 1\nq1 0 d1 2\n", "a.qrels: question 'q1': document 'd1' is graded 1 and 2; keep one"),
        ("a.csv", "qid,docid,score\nq1,d1,high\n", "a.csv:2: the score must be a number, got 'high'"),
        ("a.csv", "qid,docid,score\nq1,,1\n", "a.csv:2: the document must be a text or a whole number, it is missing"),
        (
            "a.csv",
            "qid,docid,score\nq1,d1\nq1,d2,1\n",
            "a.csv:2: has 2 cells where the header has 3; mend the row or remove it",
        ),
        ("a.run", "", "holds no cases"),
        ("a.txt", RUN, "a TREC run ends in .run, qrels in .qrels, a table in .csv or .tsv: rename it"),
    ],
)
def test_what_is_no_trec_file_is_refused(tmp_path, name, text, message):
    """A line that is none is an error with its place, as all figures would be of other rankings."""
    with pytest.raises(DataError) as caught:
        [*read_cases(wrote(tmp_path, name, text))]
    assert message in str(caught.value)


def write_rows(folder, name, rows):
    """Write rows in the format of the ending of a name; without one, return them as a program holds them."""
    path, frame = folder / name, pl.DataFrame(rows)
    if path.suffix in {".csv", ".tsv"}:
        frame.write_csv(path, separator="," if path.suffix == ".csv" else "\t")
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix:
        lines = [*map(json.dumps, rows)]
        path.write_text(f"[{','.join(lines)}]" if path.suffix == ".json" else "\n".join(lines), encoding="utf-8")
    else:
        return frame if name == "frame" else rows
    return path


RUN_ROWS = [
    {"Query-ID": "q1", "docno": "d1", "score": 0.5, "run": "bm25"},
    {"Query-ID": "q1", "docno": "d2", "score": 0.9, "run": "bm25"},
    {"Query-ID": "q2", "docno": "d3", "score": 1.0, "run": "bm25"},
]
QRELS_ROWS = [
    {"query-id": "q1", "corpus-id": "d1", "score": 3},
    {"query-id": "q2", "corpus-id": "d3", "score": 1},
    {"query-id": "q1", "corpus-id": "d2", "score": 0},
    {"query-id": "q1", "corpus-id": "d4", "score": -1},
]

RENAMED_ROWS = [{"qid": row["query-id"], "docid": row["corpus-id"], "grade": row["score"]} for row in QRELS_ROWS]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.jsonl", "a.json", "frame", "rows"])
def test_a_table_of_documents_has_the_cases_of_a_run(tmp_path, name):
    """A row for each document of a question, in any form, is the ranking of a run, by scores or by ranks."""
    ranked = [{"qid": row["Query-ID"], "docno": row["docno"], "rank": n} for n, row in enumerate(RUN_ROWS)]
    expected = [*read_cases(wrote(tmp_path, "a.run", RUN))]
    read = read_records if name in {"frame", "rows"} else read_cases
    assert [*read(write_rows(tmp_path, name, RUN_ROWS))] == expected
    first, _ = read(write_rows(tmp_path, name, ranked))
    assert [(chunk.doc_id, chunk.score) for chunk in first.chunks] == [("d1", None), ("d2", None)]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl", "frame", "rows"])
def test_a_table_of_several_runs_has_the_cases_of_each(tmp_path, name):
    """Rows of two runs are two rankings of a question, however they are sorted within it."""
    rows = [
        {"qid": question, "docid": document, "score": score, "run": run}
        for question in ("q1", "q2")
        for document, score in (("d1", 0.9), ("d2", 0.5))
        for run in ("bm25", "dense")
    ]
    read = read_records if name in {"frame", "rows"} else read_cases
    cases = [*read(write_rows(tmp_path, name, rows))]
    assert [(case.id, case.method) for case in cases] == [
        *(("q1", "bm25"), ("q1", "dense"), ("q2", "bm25"), ("q2", "dense")),
    ]
    assert all([chunk.doc_id for chunk in case.chunks] == ["d1", "d2"] for case in cases)


def test_rows_of_a_question_apart_from_each_other_are_refused(tmp_path):
    """A ranking is never cut into parts of which the first counts."""
    text = "qid,docid,score\nq1,d1,0.9\nq2,d1,0.9\nq1,d2,0.8\n"
    with pytest.raises(DataError, match=r"a\.csv:4: the rows of question 'q1' must follow each other"):
        [*read_cases(wrote(tmp_path, "a.csv", text))]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.jsonl", "a.json"])
def test_a_table_of_grades_is_gold(tmp_path, name):
    """The judgements of BEIR as a table are the gold that they are as lines of TREC, also where cases are read."""
    expected = {row.id: row.gold for _, row in read_gold(wrote(tmp_path, "a.qrels", QRELS))}
    path = write_rows(tmp_path, name, QRELS_ROWS)
    assert {row.id: row.gold for _, row in read_gold(path)} == expected
    path = write_rows(tmp_path, name, RENAMED_ROWS)
    assert {row.id: row.gold for row in read_cases(path)} == expected


def test_a_table_with_other_columns_is_one_of_cases(tmp_path):
    """A column beside those of a run makes a table one of cases, whose columns are read as before."""
    path = wrote(tmp_path, "a.csv", "query_id,doc_id,score,answer,question\nq1,d1,1,Ada,Who?\n")
    (case,) = read_cases(path)
    assert (case.id, case.question, case.answer, case.chunks) == ("q1", "Who?", "Ada", None)


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
