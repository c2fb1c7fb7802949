"""The columns that may name the method of a row and its question are proposed, and never taken unasked."""

from __future__ import annotations

import itertools

import pytest

from greval import evaluate, load_metric
from greval.analysis.data_summary import summarise_data
from greval.datasets.case_records import read_records
from greval.datasets.row_conversion import MAX_VALUES
from greval.errors import DataWarning

QUESTIONS = ("Who?", "When?", "Why?")


def build_rows(name="system", values=("bm25", "graph"), **functions):
    """Return a row for each value and question; the other columns are functions of both."""
    return [
        {
            "question": QUESTIONS[n],
            name: value,
            "topic": "ab"[n % 2],
            **{key: make(n, value) for key, make in functions.items()},
        }
        for n, value in itertools.product(range(len(QUESTIONS)), values)
    ]


def propose(rows, **options):
    reading = read_records(rows, **options)
    list(reading)
    return dict(reading.proposed_columns)


@pytest.mark.parametrize("name", ["system", "Model", "version", "variant", "retriever", "my_thing"])
def test_a_column_with_a_value_for_each_answer_is_the_method(name):
    """Each question occurs once for each of its values, whatever the column is called; a topic is none."""
    assert propose(build_rows(name)) == {"method": name}
    assert propose(build_rows(name)[::-1]) == {"method": name}


def test_the_id_of_the_question_is_proposed_beside_it():
    """A column that is the same for a question and not for others is its id, also if another id was read."""
    assert propose(build_rows(q_id=lambda n, _: n)) == {"method": "system", "id": "q_id"}
    rows = build_rows(id=lambda n, value: f"{n}-{value}", example_id=lambda n, _: str(n))
    assert propose(rows) == {"method": "system", "id": "example_id"}
    assert propose(build_rows(id=lambda n, _: f"q{n}", q_id=lambda n, _: n)) == {"method": "system"}


def test_the_path_that_works_is_named():
    """A value inside `metadata` is named by its path, with which the methods are read."""
    rows = [{"question": row["question"], "metadata": {"system": row["system"], "topic": "a"}} for row in build_rows()]
    columns = propose(rows)
    assert columns == {"method": "metadata.system"}
    cases = [*read_records(rows, columns=columns)]
    assert {case.method for case in cases} == {"bm25", "graph"}
    assert {tuple(case.tags) for case in cases} == {("topic",)}


def test_a_tag_may_be_the_method():
    """So may a value inside `tags`, whose other values stay tags."""
    rows = [{"question": row["question"], "tags": {"system": row["system"], "topic": "a"}} for row in build_rows()]
    columns = propose(rows)
    assert columns == {"method": "tags.system"}
    cases = [*read_records(rows, columns=columns)]
    assert [(case.method, case.tags) for case in cases[:2]] == [("bm25", {"topic": "a"}), ("graph", {"topic": "a"})]


@pytest.mark.parametrize(
    "rows",
    [
        build_rows(values=("bm25",)),
        build_rows("seed", values=(1, 2)),
        build_rows("latency", values=(0.5, 0.25)),
        build_rows(values=tuple(f"s{n}" for n in range(MAX_VALUES + 1))),
        [{"question": f"{n}?", "system": "ab"[n % 2]} for n in range(6)],
        [*build_rows(), {"question": "Who?", "system": "graph"}],
        [{**row, "method": row["system"]} for row in build_rows()],
    ],
)
def test_other_columns_are_no_method(rows):
    """One value, a repeat, a number, too many values, other questions, a repeated pair, a method that is there."""
    assert propose(rows) == {}


def test_an_id_is_proposed_without_a_method():
    """A name that may be an id is proposed if it has a value for each question, and is no slip of a known name."""
    reading = read_records([{"question": question, "q_id": n} for n, question in enumerate(QUESTIONS)])
    list(reading)
    assert reading.proposed_columns == {"id": "q_id"}
    assert reading.ignored_columns == ()


def test_the_proposal_is_reported():
    """`data` and the notice ask with the options that name the columns."""
    told = "system has 2 values and each question occurs once per value: is it the method? --column method=system"
    reading = read_records(build_rows(q_id=lambda n, _: n), "rows")
    summary = summarise_data(reading)
    assert f"{told} --column id=q_id" in summary.remarks
    assert summary.proposed_columns == {"method": "system", "id": "q_id"}
    assert reading.notice().splitlines()[-1] == f"rows: {told} --column id=q_id"


def test_a_program_is_warned(tmp_path):
    """`evaluate` in Python warns with the columns that it takes."""
    with pytest.warns(DataWarning, match=r"is it the method\? columns=\{'method': 'system'\}"):
        evaluate(build_rows(), [load_metric("exact_match")], out=tmp_path / "run")
