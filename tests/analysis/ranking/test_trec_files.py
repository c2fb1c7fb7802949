"""Files of TREC: read as they are, faults told with file and line, and trec_eval's own figures reproduced."""

from __future__ import annotations

import csv
import gzip

import pytest

from greval import Gold, load_metric
from greval.errors import DataError
from greval.metrics.columns import measure_rankings
from greval.metrics.columns.trec_files import read_trec, read_trec_qrels, read_trec_run
from greval.metrics.columns.trec_measures import format_relevance_strings, trec_eval

FORMS = [("qrels.test", 1, 10, "expected_binary.csv"), ("qrels.rel_level", 2, 20, "expected_graded_l2.csv")]
OURS = {
    "map": "map",
    "map_cut_10": "map@10",
    "recip_rank": "mrr",
    "ndcg": "ndcg",
    "ndcg_cut_10": "ndcg@10",
    "P_5": "precision@5",
    "recall_100": "recall@100",
    "success_10": "hit_rate@10",
    "set_P": "precision",
    "set_recall": "recall",
}


@pytest.mark.parametrize(("qrels", "relevant", "length", "expected"), FORMS)
def test_every_value_of_trec_eval_is_reproduced(data_set, qrels, relevant, length, expected):
    """Each value that trec_eval prints comes out the same to 4 decimals: 387 for its own test data."""
    folder = data_set("trec_eval_golden")
    judged = read_trec_qrels(folder / qrels, relevant=relevant)
    run = read_trec_run(folder / "results.test", ties="trec_eval")
    found, strings = trec_eval(judged, run), format_relevance_strings(judged, run, length)
    own = measure_rankings(judged, run, OURS.values())
    compared = 0
    with (folder / expected).open(encoding="utf-8", newline="") as stream:
        for name, question, value in list(csv.reader(stream))[1:]:
            compared += 1
            if name.startswith("relstring"):
                assert strings[question] == value.strip("'")
            elif name == "runid":
                assert next(read_trec(folder / qrels, folder / "results.test")).method == value
            else:
                values = found.overall if question == "all" else found.by_question[question]
                assert f"{values[name]:.4f}" == f"{float(value):.4f}", (name, question)
            if name in OURS:
                figure = own[OURS[name]]
                mine = figure.mean if question == "all" else figure.by_question()[question]
                assert f"{mine:.4f}" == value, (name, question)
    assert compared >= 387


@pytest.fixture
def files(tmp_path):
    """Give small files: tabs and blanks, a blank line, a byte order mark, ids of any script."""
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_bytes("\ufeffq1 0 d1 2\nq1\t0\td2   1\n\nq1 0 d3 -1\r\nq2 0 文書 1\n".encode())
    run.write_bytes(b"q1 Q0 d3 1 9.5 mine\nq1 Q0 d2 2 8 mine\nq1 Q0 d1 3 8 mine\nq3 Q0 d1 1 1e3 mine\n")
    return qrels, run


def test_any_white_space_and_scripts(files, tmp_path):
    """Blank lines, tabs and a byte order mark change nothing, nor does gzip; a grade below 0 is not relevant."""
    qrels = read_trec_qrels(files[0])
    assert qrels.questions == ("q1", "q2")
    assert qrels.documents == ["d1", "d2", "d3", "文書"]
    assert qrels.grades.tolist() == [2, 1, -1, 1]
    packed = tmp_path / "qrels.gz"
    packed.write_bytes(gzip.compress(files[0].read_bytes()))
    assert read_trec_qrels(packed).documents == qrels.documents
    measured = measure_rankings(qrels, read_trec_run(files[1]), ["mrr"])
    assert measured["mrr"].by_question() == {"q1": 0.5, "q2": 0.0}
    assert (measured.missing, measured.unknown) == (("q2",), ("q3",))


@pytest.mark.parametrize(
    ("order", "ties", "first"),
    [("score", "given", ["d3", "d2", "d1"]), ("score", "trec_eval", ["d3", "d2", "d1"]), ("rank", "given", ["d1"])],
)
def test_what_ranks_documents(tmp_path, order, ties, first):
    """Documents are ranked by score or by rank; tied ones as in the file, or as trec_eval has them."""
    run = tmp_path / "run.txt"
    lines = ["q1 Q0 d1 1 8 mine", "q1 Q0 d2 2 8 mine", "q1 Q0 d3 3 9.5 mine"]
    run.write_text("\n".join(lines if ties == "trec_eval" else [lines[1], lines[0], lines[2]]), encoding="utf-8")
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n", encoding="utf-8")
    (case,) = read_trec(tmp_path / "qrels.txt", run, order=order, ties=ties)
    assert [chunk.doc_id for chunk in case.chunks][: len(first)] == first


def test_cases_of_trec_files(files):
    """Judgements become gold by grade, results chunks; without results there are none, without gold none."""
    first, second, third = read_trec(*files, essential=2, questions={"q1": "Who?"})
    assert (first.question, first.method) == ("Who?", "mine")
    assert (first.gold.essential_docs, first.gold.helpful_docs) == (("d1",), ("d2",))
    assert [(chunk.doc_id, chunk.score) for chunk in first.chunks] == [("d3", 9.5), ("d2", 8.0), ("d1", 8.0)]
    assert (second.chunks, second.gold.helpful_docs) == ((), ("文書",))
    assert (third.id, third.question, third.gold) == ("q3", "q3", None)


def test_grades_of_judgements_are_gains(tmp_path):
    """Grades that differ are kept, and ndcg of a case is that of the columns; one grade alone needs no gains."""
    (tmp_path / "qrels.txt").write_text("q1 0 d1 3\nq1 0 d2 1\nq1 0 d3 0\nq2 0 d1 3\nq2 0 d2 3\n", encoding="utf-8")
    (tmp_path / "run.txt").write_text("q1 Q0 d2 1 9 mine\nq1 Q0 d1 2 8 mine\nq2 Q0 d2 1 9 mine\n", encoding="utf-8")
    first, second = read_trec(tmp_path / "qrels.txt", tmp_path / "run.txt", essential=2)
    assert (first.gold.grades, first.gold.essential_docs) == ({"d1": 3, "d2": 1}, ("d1",))
    assert second.gold == Gold(essential_docs=("d1", "d2"), helpful_docs=())
    ranked = measure_rankings(
        read_trec_qrels(tmp_path / "qrels.txt"), read_trec_run(tmp_path / "run.txt"), ["ndcg@10"]
    )["ndcg@10"]
    for case in (first, second):
        (judgement,) = load_metric("ndcg@10").compute(case)
        assert judgement.number == pytest.approx(ranked.by_question()[case.id], abs=1e-12)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"q1 0 d1 1\nq1 0 d2\n", ":2: must have 4 columns (question iteration document grade), got 3: 'q1 0 d2'"),
        (b"q1 0 d1 1\n\nq1 0 d2 x\n", ":3: the grade must be a whole number, got 'x'"),
        (b"q1 0 d1 1.5\n", ":1: the grade must be a whole number, got '1.5'"),
        (b"q1 0 d1 inf\n", "grade inf: must be a whole number up to 1000"),
        (b"q1 0 d1 1\nq1 0 d\xff 1\n", ":2: is not UTF-8; save the file as UTF-8"),
        (b"q1 0 d1 1\nq2 0 d1 1\nq1 0 d1 2\n", "question 'q1': document 'd1' is graded 1 and 2; keep one"),
    ],
)
def test_faults_name_file_and_line(tmp_path, content, told):
    """A line that is no judgement is told with file, line and what should stand there."""
    path = tmp_path / "qrels.txt"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_trec_qrels(path)
    assert str(caught.value).startswith(str(path))
    assert told in str(caught.value)


@pytest.mark.parametrize("content", [None, b"no gzip", gzip.compress(b"q1 0 d1 1\n" * 99, mtime=0)[:-9]])
def test_unreadable_files(tmp_path, content):
    """A file that is not there, is no gzip or ends early is told by its name."""
    path = tmp_path / "qrels.gz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"qrels\.gz: cannot be read"):
        read_trec_qrels(path)


def test_scores_are_numbers(tmp_path):
    """A score that is no number is told with its line."""
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 d1 1 2.5 mine\nq1 Q0 d2 2 nan mine\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"run\.txt:2: the score must be a number, got 'nan'"):
        read_trec_run(path)


def test_an_empty_file_holds_nothing(tmp_path):
    """Empty files are no fault: nothing was asked and nothing answered."""
    path = tmp_path / "empty.txt"
    path.write_bytes(b"\n")
    measured = measure_rankings(read_trec_qrels(path), read_trec_run(path), ["ndcg@10", "map", "mrr", "precision"])
    assert [figure.mean for figure in measured.values()] == [None] * 4
    assert list(read_trec(path, path)) == []
