"""The default run folder: one for each file of cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from greval import Store
from greval.datasets.file_identity import CaseSource
from greval.runs.run_folder import choose_folder

pytestmark = pytest.mark.usefixtures("empty_folder")
FIRST = CaseSource(label="a/cases.jsonl", digest="1")
SECOND = CaseSource(label="b/cases.jsonl", digest="2")


def begin(folder, source):
    """Begin a run on a source of cases."""
    with Store.create(folder) as store:
        store.plans.begin(source, "", {})


@pytest.fixture
def notes():
    """Return the list of what is reported."""
    return []


@pytest.fixture
def choose(notes):
    """Choose the folder of a file of cases."""
    return lambda cases, origin: choose_folder(cases, origin, notes.append)


def test_a_new_file_gets_a_folder_of_its_name(choose, notes):
    """The folder is named after the file, without its folder and ending, and nothing is said."""
    assert choose("a/cases.jsonl", FIRST) == Path("runs/cases")
    assert not notes


def test_the_same_file_keeps_its_folder(choose):
    """A folder with a run on this file is used again, also after an edit that changes its digest."""
    begin(Path("runs/cases"), FIRST)
    assert choose("a/cases.jsonl", FIRST._replace(digest="other")) == Path("runs/cases")


def test_another_file_of_the_name_gets_the_next_number(choose, notes):
    """Each of several files of one name has a folder, and the command reports which."""
    begin(Path("runs/cases"), FIRST)
    assert choose("b/cases.jsonl", SECOND) == Path("runs/cases-2")
    assert "runs/cases holds a run of other cases, so this one goes to runs/cases-2" in notes[0]
    begin(Path("runs/cases-2"), SECOND)
    assert choose("b/cases.jsonl", SECOND) == Path("runs/cases-2")
    assert choose("a/cases.jsonl", FIRST) == Path("runs/cases")


def test_a_folder_of_other_files_is_not_used(choose):
    """A file or a folder that holds no run is left alone; an empty folder is used."""
    Path("runs/cases").mkdir(parents=True)
    assert choose("a/cases.jsonl", FIRST) == Path("runs/cases")
    Path("runs/cases/notes.txt").touch()
    assert choose("a/cases.jsonl", FIRST) == Path("runs/cases-2")
    Path("runs/cases-2").touch()
    assert choose("a/cases.jsonl", FIRST) == Path("runs/cases-3")


def test_standard_input_always_gets_a_new_folder(choose, notes):
    """Standard input cannot be recognised; the message names the option that resumes a run."""
    begin(Path("runs/stdin"), CaseSource())
    assert choose("-", CaseSource()) == Path("runs/stdin-2")
    assert "-o runs/stdin goes on there" in notes[0]
