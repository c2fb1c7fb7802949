"""Checks of gold: as a function, over files, and from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gold_cases import INDEX, only, told
from hypothesis import given
from hypothesis import strategies as st
from planted import planted

import greval
from greval import Case, Gold, Sample, read_cases
from greval.analysis.gold.api import check_gold
from greval.datasets.gold import join_gold, read_gold
from greval.datasets.row_faults import RowFault
from greval.errors import DataError


def test_good_gold_has_no_findings():
    """Gold that agrees with itself and with the index is left alone, whatever way names are written."""
    good = {
        "essential_docs": ["d1"],
        "helpful_docs": [],
        "expected_edges": [("ada", "WROTE", "notes")],
        "expected_nodes": ["Ada", "Notes"],
        "start_nodes": ["countess"],
        "aliases": {"Ada": ["Countess"]},
    }
    assert told(**good) == []
    assert told(INDEX, **good) == []


def test_a_question_without_gold():
    """A sample without gold is a fault, and one whose gold names nothing; the message says what is lacking."""
    nothing = check_gold([Sample(id="a", question="A?"), Sample(id="b", question="B?", expected_answer="x")])
    assert "no gold and no expected answer" in nothing[0].message
    assert "there is no gold; metrics of retrieval and walk" in nothing[1].message
    assert "names nothing" in only(told(essential_docs=[], helpful_docs=[]))


def test_one_sample_of_several_methods_is_checked_once():
    """Rows of several methods with one gold are one sample; what they disagree on is told with the first's place."""
    same = [Case(id="q1", method=m, question="?", gold={"essential_docs": [""]}) for m in "ab"]
    assert len(check_gold(same)) == 1
    other_case = Case(id="q1", method="c", question="!", gold={"essential_docs": ["d1"]})
    findings = check_gold([*same, other_case], places=["f:1", "f:2", "f:7"])
    assert [(finding.place, finding.level) for finding in findings] == [("f:1", "fault"), ("f:7", "fault")]
    assert findings[1].message.startswith("question, gold: not as at f:1 under this id")


def test_one_question_under_two_ids_is_a_remark():
    """The same question twice under two ids is a remark: it would count twice."""
    gold = {"essential_docs": ["d1"]}
    findings = check_gold([Sample(id=name, question=text, gold=gold) for name, text in (("a", "Who?"), ("b", "who? "))])
    assert [(finding.sample_id, finding.level) for finding in findings] == [("b", "remark")]
    assert "a asks the same" in findings[0].message


@given(st.integers(0, 10_000))
def test_planted_gold_is_good_where_nothing_was_lost(seed):
    """Gold that a generator drew from its own graph has no faults, and none against a whole index."""
    for fault in planted(each=1, seed=seed):
        findings = check_gold([fault.case], None if fault.stage == "index" else fault.inventory)
        assert [finding for finding in findings if finding.level == "fault"] == []


def test_the_shipped_cases_have_good_gold():
    """The gold of the cases that ship with greval has no faults; two questions say that no document answers them."""
    reading = read_cases(Path(greval.__file__).parent / "demo" / "cases.jsonl")
    findings = check_gold(case for case in reading if isinstance(case, Case))
    assert [(finding.sample_id, finding.level) for finding in findings] == [("q19", "remark"), ("q20", "remark")]


@pytest.fixture
def gold_file(tmp_path):
    """Write rows of gold as JSON lines, a blank line among them; give the path."""

    def write(*rows, name="gold.jsonl"):
        path = tmp_path / name
        path.write_text("\n\n".join(json.dumps(row) for row in rows), encoding="utf-8")
        return path

    return write


def test_gold_is_read_with_its_places(gold_file):
    """Rows need no question; gold may be nested, dotted or plain; each row has its line."""
    nested, dotted = {"id": "a", "gold": {"answers": ["x"]}}, {"id": "b", "gold.answers": ["y"]}
    path = gold_file(nested, dotted, {"id": 3, "answers": ["z"], "question": "Who?"}, {"id": "d", "answers": 4})
    rows = [*read_gold(path)]
    assert [place for place, _ in rows] == [f"{path}:{line}" for line in (1, 3, 5, 7)]
    assert [row.gold.answers for _, row in rows[:3]] == [("x",), ("y",), ("z",)]
    assert [row.question for _, row in rows[:3]] == ["", "", "Who?"]
    assert isinstance(rows[3][1], RowFault)
    assert "gold.answers: must be a list" in rows[3][1].message


GRADED = [
    ("cases.jsonl", '{"id": "q", "question": "Q?", "gold": {"grades": {"d1": 3, "d2": 1}}}'),
    ("cases.jsonl", '{"id": "q", "question": "Q?", "gold": {"d1": 3, "d2": 1.0}}'),
    ("cases.jsonl", '{"id": "q", "question": "Q?", "gold.grades": {"d1": "3", "d2": 1}}'),
    ("cases.csv", 'id,question,gold\nq,Q?,"{""d1"": 3, ""d2"": 1}"'),
    ("cases.csv", 'id,question,gold.grades\nq,Q?,"{""d1"": 3, ""d2"": 1}"'),
]


@pytest.mark.parametrize(("name", "text"), GRADED)
def test_grades_are_read(tmp_path, name, text):
    """Documents with their grades stand in a field of gold, or are the gold."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    (case,) = read_cases(tmp_path / name)
    assert case.gold == Gold(grades={"d1": 3, "d2": 1})
    assert Case.model_validate_json(case.model_dump_json()) == case


@pytest.mark.parametrize("grades", [{"d1": "high"}, {"d1": 1.5}, {"d1": 1001}, {"d1": None}])
def test_wrong_grades_are_refused(tmp_path, grades):
    """A grade is a whole number."""
    row = {"id": "q", "question": "Q?", "gold": {"grades": grades}}
    (tmp_path / "cases.jsonl").write_text(json.dumps(row), encoding="utf-8")
    (fault,) = read_cases(tmp_path / "cases.jsonl")
    assert "gold.grades.d1" in fault.message


IDS = ("q11", "q12", "q13", "q14")


def test_a_column_nearly_named_like_gold_is_told(gold_file, greval_says):
    """A slip in the name of a field of gold is told once, with the field; tags and other columns are left alone."""
    row = {"essential_doc": ["d1"], "expected_edge": [["a", "b", "c"]], "level": 3, "answer": "x", "tags.anwers": "y"}
    same = ({"id": name, "expected_answer": "x", **row} for name in IDS[:3])
    path = gold_file(*same, {"id": IDS[3], "start_node": ["a"]})
    rows = [*read_gold(path)]
    assert [(place, row.message) for place, row in rows if isinstance(row, RowFault)] == [
        (
            f"{path}:{line}",
            f"{name}: is no field of gold, and its values are not read; did you mean {name}s?",
        )
        for line, name in ((1, "essential_doc"), (1, "expected_edge"), (7, "start_node"))
    ]
    assert tuple(row.id for _, row in rows if isinstance(row, Case)) == IDS
    code, out, _ = greval_says("gold", "check", path)
    assert code == 2
    assert out.startswith(f"{path}:1: q11: essential_doc: is no field of gold, and its values are not read; did you ")
    table = path.with_suffix(".csv")
    table.write_text("id,question,gold.essential_doc\nq1,Who?,d1\n", encoding="utf-8")
    assert "essential_doc" in greval_says("gold", "check", table)[1]


def test_other_files_of_gold(tmp_path):
    """A list of JSON has rows in place of lines; a file that is not there is told at once."""
    path = tmp_path / "gold.json"
    path.write_text('[{"id": "a", "answers": ["x"]}]', encoding="utf-8")
    assert [place for place, _ in read_gold(path)] == [f"{path}, row 1"]
    with pytest.raises(DataError, match="no such file"):
        next(read_gold(tmp_path / "gold.jsonl"))


def test_gold_is_joined_by_id():
    """A row's gold, expected answer and tags are taken over; the case's own tags and other rows stay."""
    cases = [
        Case(id="a", question="A?", answer="1", gold={"answers": ["old"]}, tags={"kind": "own"}),
        Case(id="b", question="B?"),
        RowFault(place="f:3", message="bad"),
    ]
    rows = [
        Sample(id="a", question="", gold={"answers": ["new"]}, expected_answer="new", tags={"kind": "x", "area": "y"})
    ]
    first, second, third = join_gold(cases, rows)
    assert (first.gold.answers, first.expected_answer, first.answer) == (("new",), "new", "1")
    assert first.tags == {"kind": "own", "area": "y"}
    assert (second, third) == (cases[1], cases[2])
    kept = next(join_gold(cases, [Sample(id="a", question="", expected_answer="new")]))
    assert kept.gold.answers == ("old",)


def test_rows_of_gold_that_differ_are_refused():
    """Two rows with one id must say the same."""
    rows = [Sample(id="a", question="", gold={"answers": [answer]}) for answer in "xxy"]
    (case,) = join_gold([Case(id="a", question="?")], rows[:2])
    assert case.gold.answers == ("x",)
    with pytest.raises(DataError, match="gold of a: two rows differ"):
        join_gold([], rows)


def test_the_command_checks_against_an_index(gold_file, greval_says):
    """With --index, what the gold names must be in the index; remarks alone are no faults."""
    index = gold_file({"document": "d1"}, name="index.jsonl")
    path = gold_file({"id": "q1", "essential_docs": ["d2", "d2"]})
    code, out, _ = greval_says("gold", "check", path)
    assert code == 0
    assert ": remark: gold.essential_docs: d2 more than once" in out
    code, out, _ = greval_says("gold", "check", path, "--index", index)
    lines = out.splitlines()
    assert code == 2
    remark = "NO ID MET: 0 of 1 documents of the gold met 0 of 1 documents of the index, such as 'd2' and 'd1'"
    assert lines[0] == f"gold and index: remark: {remark}"
    assert any("d2 not in the index; index it, or mend the id" in line for line in lines)
