"""Files of TREC: read as they are, faults told with file and line, and trec_eval's own figures reproduced."""

from __future__ import annotations

import csv
import gzip

import pytest

from greval.errors import DataError
from greval.ranking import measure_rankings, read_qrels, read_rankings, trec_eval

FORMS = [("qrels.test", 1, "expected_binary.csv"), ("qrels.rel_level", 2, "expected_graded_l2.csv")]
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


@pytest.mark.parametrize(("qrels", "relevant", "expected"), FORMS)
def test_every_value_of_trec_eval_is_reproduced(data_set, qrels, relevant, expected):
    """Each value that trec_eval 10 prints of its own test data comes out the same to 4 decimals."""
    folder = data_set("trec_eval_golden")
    judged = read_qrels(folder / qrels, relevant=relevant)
    run = read_rankings(folder / "results.test", ties="trec_eval")
    measured, own = trec_eval(judged, run), measure_rankings(judged, run, OURS.values())
    compared = 0
    with (folder / expected).open(encoding="utf-8", newline="") as stream:
        for name, question, value in list(csv.reader(stream))[1:]:
            if name == "runid" or name.startswith("relstring"):
                continue
            compared += 1
            values = measured.overall if question == "all" else measured.by_question[question]
            assert f"{values[name]:.4f}" == f"{float(value):.4f}", (name, question)
            if name in OURS:
                figure = own[OURS[name]]
                mine = figure.mean if question == "all" else figure.by_question()[question]
                assert f"{mine:.4f}" == value, (name, question)
    assert compared >= 380


@pytest.fixture
def files(tmp_path):
    """Give small files: tabs and blanks, a blank line, a byte order mark, ids of any script."""
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_bytes("\ufeffq1 0 d1 2\nq1\t0\td2   1\n\nq1 0 d3 -1\r\nq2 0 文書 1\n".encode())
    run.write_bytes(b"q1 Q0 d3 1 9.5 mine\nq1 Q0 d2 2 8 mine\nq1 Q0 d1 3 8 mine\nq3 Q0 d1 1 1e3 mine\n")
    return qrels, run


def test_any_white_space_and_scripts(files, tmp_path):
    """Blank lines, tabs and a byte order mark change nothing, nor does gzip; a grade below 0 is not relevant."""
    qrels = read_qrels(files[0])
    assert qrels.questions == ("q1", "q2")
    assert qrels.documents == ["d1", "d2", "d3", "文書"]
    assert qrels.grades.tolist() == [2, 1, -1, 1]
    packed = tmp_path / "qrels.gz"
    packed.write_bytes(gzip.compress(files[0].read_bytes()))
    assert read_qrels(packed).documents == qrels.documents
    measured = measure_rankings(qrels, read_rankings(files[1]), ["mrr"])
    assert measured["mrr"].by_question() == {"q1": 0.5, "q2": 0.0}
    assert (measured.missing, measured.unknown) == (("q2",), ("q3",))


@pytest.mark.parametrize(
    ("order", "ties", "first"),
    [
        (None, "given", ["d3", "d2", "d1"]),
        ("score", "trec_eval", ["d3", "d2", "d1"]),
        ("rank", "given", ["d1", "d2", "d3"]),
        ("file", "given", ["d2", "d1", "d3"]),
    ],
)
def test_what_ranks_documents(tmp_path, order, ties, first):
    """Documents are ranked by score, by rank or as in the file; tied ones as in the file, or as trec_eval has them."""
    run = tmp_path / "run.txt"
    lines = ["q1 Q0 d1 1 8 mine", "q1 Q0 d2 2 8 mine", "q1 Q0 d3 3 9.5 mine"]
    run.write_text("\n".join(lines if ties == "trec_eval" else [lines[1], lines[0], lines[2]]), encoding="utf-8")
    assert read_rankings(run, order=order, ties=ties).ranked.rows["document"].to_list() == first


def test_remarks_in_qrels_and_words_after_a_run_are_passed_over(tmp_path):
    """As trec_eval 10 reads them; too few columns are still a fault, and # in a run is a question like any other."""
    run, qrels = tmp_path / "run.txt", tmp_path / "qrels.txt"
    run.write_text("q1 Q0 d1 1 2.5 tag more words\nq1 Q0 d2 2 1.5 tag\n# Q0 d1 1 1.0 tag\n", encoding="utf-8")
    qrels.write_text("# a remark\nq1 0 d1 1\n  # another one of four\nq1 0 d2 0\n", encoding="utf-8")
    assert read_rankings(run).questions == ("q1", "#")
    assert read_qrels(qrels).documents == ["d1", "d2"]
    qrels.write_text("q1 0 d1 1 more\n", encoding="utf-8")
    with pytest.raises(DataError, match="must have 4 columns"):
        read_qrels(qrels)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"q1 0 d1 1\nq1 0 d2\n", ":2: must have 4 columns (question iteration document grade), got 3: 'q1 0 d2'"),
        (b"q1 0 d1 1\n\nq1 0 d2 x\n", ":3: the grade must be a whole number, got 'x'; mend the row or remove it"),
        (b"q1 0 d1 5000\n", "grade 5000: must be a whole number up to 1000"),
        (b"q1 0 d1 1\nq1 0 d\xff 1\n", ":2: is not UTF-8 (0xff in the line); save the file as UTF-8"),
        (b"q1 0 d1 1\nq2 0 d1 1\nq1 0 d1 2\n", "question 'q1': document 'd1' is graded 1 and 2; keep one"),
        (b"\n", ": holds no rows; a row has a question, a document and a grade"),
    ],
)
def test_faults_name_file_and_line(tmp_path, content, message):
    """A line that is no judgement is told with file, line and what should stand there."""
    path = tmp_path / "qrels.txt"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_qrels(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b"q1 0 d1 1\n" * 99, mtime=0)[:-9]])
def test_unreadable_files(tmp_path, content):
    """A file that is no gzip or ends early is told by its name."""
    path = tmp_path / "qrels.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"qrels\.gz: cannot be read"):
        read_qrels(path)
