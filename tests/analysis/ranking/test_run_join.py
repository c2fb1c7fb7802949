"""How a run and its judgements meet: an error if nothing can, and a remark if little did."""

from __future__ import annotations

import pytest

from greval.errors import DataError
from greval.ranking import Qrels, Rankings, measure_rankings, measure_runs
from greval.records.case import Case


def measure(judged, ranked, **options):
    """Measure a run given as lists, and return its result."""
    qrels = Qrels.from_dicts({name: dict.fromkeys(documents, 1) for name, documents in judged.items()})
    return measure_rankings(qrels, Rankings.from_lists(ranked), ["recall@10"], **options)


@pytest.mark.parametrize(
    ("judged", "ranked", "told"),
    [
        ({"1.0": ["d1"]}, {"1": ["d1"]}, r"0 of 1 judged questions met 0 of 1 ranked questions; '1\.0' and '1' differ"),
        ({"q1": ["1.0"]}, {"q1": ["1"]}, r"0 of 1 judged documents met .*'1\.0' and '1' differ only in a trailing \.0"),
        ({"q1": ["d1"]}, {"q1": ["d1.txt"]}, "'d1' and 'd1.txt' differ only in a file ending"),
        ({"q1": ["d1"]}, {"q1": ["https://example.org/1"]}, "which are ids of two kinds"),
        ({"q1": ["d1"]}, {"t9": ["d1"]}, "such as 'q1' and 't9'; write the ids alike in both files"),
    ],
)
def test_nothing_that_can_meet_is_an_error(judged, ranked, told):
    """If no question is judged, or no document can be, there is no figure but an error with an id of each side."""
    with pytest.raises(DataError, match=told):
        measure(judged, ranked)


def test_misses_of_one_kind_are_zeros_below_a_remark():
    """A run that finds no judged document is measured if its ids are of one kind, and the remark comes first."""
    found = measure({"q1": ["d1"], "q2": ["d2"]}, {"q1": ["d7"], "q2": ["d8"]})
    assert found["recall@10"].mean == 0
    assert found.remarks == ("NO ID MET: 0 of 2 judged documents met 0 of 2 ranked documents, such as 'd1' and 'd7'",)
    assert str(found).startswith("NO ID MET: ")


def test_little_that_met_is_remarked():
    """Few judged questions, or few documents beside others that nearly meet, are named; a plain miss is not."""
    judged = {f"q{n}": [f"d{n}"] for n in range(4)}
    few = measure(judged, {"q0": ["d0"], "q7": ["d1"]})
    assert few.remarks[0].startswith("FEW IDS MET: 1 of 4 judged questions met 1 of 2 ranked questions, such as 'q1'")
    near = measure(judged, {"q0": ["d0"], **{f"q{n}": [f"D{n}"] for n in range(1, 4)}})
    assert near.remarks[0].startswith("FEW IDS MET: 1 of 4 judged documents are ranked; 'd1' and 'D1' differ only in")
    assert measure(judged, {"q0": ["d0"], **{f"q{n}": ["d9"] for n in range(1, 4)}}).remarks == ()


def test_rankings_of_chunks_without_ids_are_refused():
    """Chunks that are texts have no place in a ranking of documents."""
    case = Case(id="q1", question="?", chunks=["A text."], gold={"essential_docs": ["d1"]})
    with pytest.raises(DataError, match="case 'q1': a chunk has no id; give each its doc_id"):
        Rankings.from_cases([case])


def test_a_report_counts_questions_without_a_relevant_document(tmp_path):
    """The warnings of a report begin with ids that did not meet, and count the questions of which none is relevant."""
    (tmp_path / "j.qrels").write_text("q1 0 d1 1\nq2 0 d3 0\nq3 0 d4 1\n", encoding="utf-8")
    (tmp_path / "a.run").write_text("q1 Q0 d9 1 1 x\nq2 Q0 d8 1 1 x\nq3 Q0 d7 1 1 x\n", encoding="utf-8")
    (tmp_path / "b.run").write_text("q1 Q0 d1.pdf 1 1 x\nq2 Q0 d3.pdf 1 1 x\n", encoding="utf-8")
    report = measure_runs(tmp_path / "j.qrels", [tmp_path / "a.run", tmp_path / "b.run"], ["ndcg@10"])
    assert report.warnings[0].startswith("NO ID MET: a: 0 of 3 judged documents met 0 of 3 ranked documents")
    assert "1 judged question without a relevant document, left out: q2" in report.warnings
    (unread,) = report.unread
    assert unread.message.startswith(f"{tmp_path / 'b.run'}: 0 of ")
    by_trec_eval = measure_runs(tmp_path / "j.qrels", [tmp_path / "a.run"], ["map"], conventions="trec_eval")
    assert "1 judged question without a relevant document, counted as 0: q2" in by_trec_eval.warnings
