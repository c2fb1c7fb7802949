"""The input of a run: cases joined with gold of other files."""

from __future__ import annotations

import json

import pytest
from command_line import case, write

from greval.errors import DataError
from greval.runs.config.model import RunConfig
from greval.runs.config.run_input import open_input

pytestmark = pytest.mark.usefixtures("empty_folder")


GOLD = {"id": "q1", "essential_docs": ["d1"]}
WALK = {"id": "q1", "start_nodes": ["a"], "traversed_edges": [["a", "calls", "b"]], "final_nodes": ["b"]}


def open_rows(source="cases.jsonl", **parts):
    return [*open_input(RunConfig(data=source, **parts)).rows]


@pytest.fixture
def files(tmp_path):
    """Write cases, gold and a walk of one of them."""
    write("cases.jsonl", [case(1, answer="One."), case(2, method="walk")])
    return write(tmp_path / "gold.jsonl", [GOLD]), write(tmp_path / "walks.jsonl", [WALK])


def test_cases_are_joined_by_their_ids(files):
    """A case gets the gold and the walk of its id, and the others are as they were."""
    gold, walks = files
    plain, (joined, second_case) = open_rows(), open_rows(gold=[gold], traversals=[walks])
    assert joined.gold.essential_docs == ("d1",)
    assert joined.traversal.final_nodes == ("b",)
    assert joined.model_copy(update={"gold": None, "traversal": None}) == plain[0]
    assert second_case == plain[1]


def test_a_tag_that_some_case_has_is_enough(files):
    """A tag of one case and the name of the method are groups; an unknown tag is refused with the nearest."""
    assert files
    assert len(open_rows(by=["kind", "method"])) == 2
    with pytest.raises(DataError, match=r"by: no tag 'knid' is there; did you mean kind\?"):
        open_rows(by=["knid"])


def test_gold_of_no_case_is_an_error(files, tmp_path):
    """A file none of whose ids is that of a case would silently leave out what was meant."""
    other_gold = write(tmp_path / "other.jsonl", [GOLD | {"id": "q9"}])
    with pytest.raises(
        DataError, match=r"other\.jsonl: no case has the id of a row there \(rows 1, cases 2\), such as 'q1' and 'q9'"
    ):
        open_rows(gold=[files[0], other_gold])


def test_a_walk_given_as_gold_names_its_option(files):
    """A log of walks in the place of gold leads to --traversal, and gold in the place of a walk to its fields."""
    gold, walks = files
    with pytest.raises(DataError, match=r"has no gold; .*traversals"):
        open_rows(gold=[walks])
    with pytest.raises(DataError, match="has no traversal; expected the fields start_nodes"):
        open_rows(traversals=[gold])


def test_all_faulty_rows_of_gold_are_named(tmp_path, files):
    """Gold is read whole: each faulty row has a line in the message."""
    assert files
    faulty = write(tmp_path / "faulty.jsonl", [GOLD, {"id": "q2", "essential_docs": 3}, {"id": "q3", "level": "easy"}])
    with pytest.raises(DataError) as wrong:
        open_rows(gold=[faulty])
    assert [line.partition(": ")[0][-2:] for line in str(wrong.value).splitlines()] == [":2", ":3"]


def test_columns_count_for_each_file_that_has_them(tmp_path, greval_says):
    """A named column is read from the cases, from a gold file, or from both; one that no file has is an error."""
    rows = [{"qid": 7, "frage": "Who?", "titles": ["d1"]}]
    gold = tmp_path / "gold.csv"
    gold.write_text("qid;gold_titles;note\n7;\"['d1', 'd2']\";x\n8;d3;y\n", encoding="utf-8")
    write("cases.jsonl", rows)
    columns = {"id": "qid", "question": "frage", "gold.essential_docs": "gold_titles"}
    (joined,) = open_rows(columns=columns, gold=[gold])
    assert (joined.id, joined.question, joined.gold.essential_docs) == ("7", "Who?", ("d1", "d2"))
    with pytest.raises(DataError, match=r"cases.jsonl: 'gold_title', which is to be gold.essential_docs, is not there"):
        open_rows(columns={**columns, "gold.essential_docs": "gold_title"}, gold=[gold])
    code, out, _ = greval_says(
        "gold", "check", gold, "--column", "id=qid", "--column", "gold.essential_docs=gold_titles"
    )
    assert (code, out) == (0, f"{gold}: 2 samples, 0 faults, 0 remarks\n")


def test_the_columns_of_gold_are_a_part_of_the_source(files, greval_says):
    """A run with other columns of the same gold file has another source, so that it is not taken for the same cases."""
    gold, _ = files
    write(gold, [{"id": "q1", "a": ["d1"], "b": ["d2"]}])
    write("cases.jsonl", [case(1, chunks=[{"text": "t", "doc_id": "d1"}])])
    for column, mean in (("a", 1.0), ("b", 0.0)):
        outcome = greval_says(
            *("evaluate", "cases.jsonl", "-m", "recall@5", "-o", "run", "--gold", gold),
            *(
                "--column",
                f"gold.essential_docs={column}",
                "--fail-if",
                f"recall@5 < {mean}",
                "--fail-if",
                f"recall@5 > {mean}",
            ),
        )
        assert outcome[0] == 0, outcome


def test_few_cases_with_gold_are_remarked_first(tmp_path, monkeypatch, greval_says):
    """If less than half of the cases have gold, the first line of the report says so, and each later report too."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "cases.jsonl", [{"id": f"q{n}", "question": "?", "chunks": []} for n in range(5)])
    write(tmp_path / "gold.jsonl", [GOLD, GOLD | {"id": "Q2"}])
    remark = "FEW IDS MET: gold.jsonl: 1 of 5 cases met 1 of 2 rows of gold; 'q2' and 'Q2' differ only in case"
    words = ("evaluate", "cases.jsonl", "-m", "recall@2", "-o", "run", "--gold", "gold.jsonl")
    assert greval_says(*words)[1].startswith(remark)
    assert greval_says("report", "run")[1].startswith(remark)
    assert json.loads(greval_says("report", "run", "--format", "json")[1])["warnings"][0].startswith(remark)


def test_traversals_of_another_method_do_not_meet(tmp_path, files):
    """A log whose rows name methods is joined by these too; a method in another case is named."""
    log = [{"id": "q1", "method": "Walk", "start_nodes": ["a"], "traversed_edges": [], "final_nodes": ["a"]}]
    write(tmp_path / "cases.jsonl", [{"id": "q1", "question": "?", "method": "walk"}])
    with pytest.raises(DataError, match=r"'q1 \(walk\)' and 'q1 \(Walk\)' differ only in case"):
        open_rows(tmp_path / "cases.jsonl", traversals=[write(tmp_path / "log.jsonl", log)])
