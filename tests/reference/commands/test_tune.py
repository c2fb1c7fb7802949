"""`greval index tune`: what is tried, what is printed, and when the index is changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tuned_worlds import index_chains, write_questions

from greval.reference.index import read_index_file

pytestmark = pytest.mark.usefixtures("empty_folder")
GRID = ("--grid", "alpha=0.2,0.6", "--grid", "top_k=20", "--measure", "recall@3")


@pytest.fixture
def questions():
    """Index a world in which the settings of the index miss every expected document, and write its questions."""
    write_questions("questions.jsonl", index_chains("index", count=20, alpha=1.0, k=3))
    return "questions.jsonl"


def read_alpha():
    return read_index_file(Path("index")).search_settings.alpha


def test_a_sure_gain_is_written_and_then_used(greval_says, questions):
    """A dry run leaves the index as it is, the command without it writes, and both say so."""
    code, out, err = greval_says("index", "tune", "index", questions, *GRID, "--dry-run")
    assert (code, err, read_alpha()) == (0, "", 1.0)
    assert "not written, as asked: the gain is more than noise" in out
    code, out, _ = greval_says("index", "tune", "index", questions, *GRID)
    assert (code, read_alpha()) == (0, 0.2)
    assert "written to index: the gain is more than noise: its interval is above 0" in out
    assert "best on all questions: alpha=0.2, chosen by 5 of 5 folds" in out
    code, out, _ = greval_says("index", "tune", "index", questions, *GRID, "--format", "json")
    assert (code, json.loads(out)["accepted"], read_alpha()) == (0, False, 0.2)


def test_rows_that_are_no_questions_are_reported(greval_says, questions):
    """They are left out; the others are counted."""
    with Path(questions).open("a", encoding="utf-8") as file:
        file.write('{"id": "x"}\n{"id": "y", "question": "Why?"}\n')
    code, out, err = greval_says("index", "tune", "index", questions, *GRID, "--dry-run")
    assert code == 0
    assert err.startswith("not a question: questions.jsonl:21")
    assert "1 question left out: gold is not recorded" in out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("index", "--grid", "alpha"), "NAME=V,V"),
        (("none",), "holds no index"),
        (("index", "--search", "tog"), "tog"),
    ],
)
def test_wrong_words_end_with_2(greval_says, questions, words, part):
    """Values without a name, a folder without an index and a search that asks a model are errors of use."""
    code, out, err = greval_says("index", "tune", words[0], questions, *words[1:])
    assert (code, out) == (2, "")
    assert part in " ".join(err.split())
