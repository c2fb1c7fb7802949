"""Datasets of an evaluation: which columns become fields or tags, which are ignored, and which rows are refused."""

from __future__ import annotations

import json

import pytest
from framework_folder import ROWS

from greval.errors import DataError
from greval.runs.config.model import RunConfig
from greval.runs.config.plan import prepare_run


def questions(folder, rows, name="qa.jsonl"):
    """Write rows and plan a run that asks them."""
    text = "".join(f"{json.dumps(row)}\n" for row in rows) if name.endswith("l") else json.dumps(rows)
    (folder / name).write_text(text, encoding="utf-8")
    path = str(folder / name)
    return prepare_run(
        RunConfig(data=path, group_by="imdb_key", methods={"a": "m:f"}, metrics="latency", out=str(folder / "run"))
    )


def test_rows_become_samples(tmp_path):
    """`answer` is the ground truth, plain columns are tags, gold is read, and a list that is no field is left out."""
    row = {**ROWS[0], "gold": {"essential_docs": ["d1"]}, "hops": [1], "seen": True, "empty": None, "tags": {"k": "v"}}
    plan = questions(tmp_path, [row, {**row, "id": 7}])
    first, second = plan.samples
    assert (first.id, second.id) == ("row-1", "7")
    assert (first.expected_answer, first.gold.essential_docs) == ("Ada", ("d1",))
    assert first.tags == {"imdb_key": "tt1", "year": "1843", "seen": "true", "k": "v"}
    assert (plan.data.reading.ignored_columns, plan.unread) == (("hops",), ())


def test_answers_of_methods_are_not_taken_for_the_truth(tmp_path):
    """Where the ground truth has a column of its own, `answer` and other fields of responses are not used."""
    row = {
        "question": "Who?",
        "answer": "Bob",
        "ground_truth": "Ada",
        "imdb_key": "tt1",
        "contexts": ["x"],
        "method": "m",
    }
    (sample,) = questions(tmp_path, [row]).samples
    assert (sample.expected_answer, sample.tags) == ("Ada", {"imdb_key": "tt1"})


@pytest.mark.parametrize(
    ("name", "rows", "told"),
    [
        ("qa.jsonl", [{"imdb_key": "tt1"}], r"qa\.jsonl:1: question: is missing"),
        ("qa.json", [{"question": 3, "imdb_key": "tt1"}], r"qa\.json, row 1: question"),
        ("qa.json", [], "holds no cases"),
        ("qa.txt", [], "its ending '.txt' is not known"),
    ],
)
def test_a_dataset_without_a_question_is_an_error(tmp_path, name, rows, told):
    """Where no row can be read all of them are told, with their places."""
    with pytest.raises(DataError, match=told):
        questions(tmp_path, rows, name)


@pytest.mark.parametrize("row", [{"tags": {"imdb_key": "tt1"}}, {"tags.imdb_key": "tt1"}, {"imdb_key": "tt1"}])
def test_the_group_may_be_a_column_or_a_tag(tmp_path, row):
    """The group is found as a plain column, as a dotted one, and within `tags`."""
    (sample,) = questions(tmp_path, [{"question": "Who?", **row}]).samples
    assert sample.tags == {"imdb_key": "tt1"}
