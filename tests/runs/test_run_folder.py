"""The default run folder: one for each file of cases."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from greval.datasets.file_identity import CaseSource
from greval.runs import run_folder
from greval.runs.store.writer import StoreWriter

pytestmark = pytest.mark.usefixtures("empty_folder")
choose_folder = partial(run_folder.choose_folder, report=print)
FIRST = CaseSource(label="a/cases.jsonl", digest="1")
SECOND = CaseSource(label="b/cases.jsonl", digest="2")


def begin(folder, source):
    """Begin a run on a source of cases."""
    with StoreWriter.create(folder) as writer:
        writer.plans.begin(source, "", {})


def test_a_new_file_gets_a_folder_of_its_name(capsys):
    """The folder is named after the file, without its folder and ending, and nothing is said."""
    assert choose_folder("a/cases.jsonl", FIRST) == Path("runs/cases")
    assert capsys.readouterr().out == ""


def test_the_same_file_keeps_its_folder():
    """A folder with a run on this file is used again, also after an edit that changes its digest."""
    begin(Path("runs/cases"), FIRST)
    assert choose_folder("a/cases.jsonl", FIRST._replace(digest="other")) == Path("runs/cases")


def test_another_file_of_the_name_gets_the_next_number(capsys):
    """Each of several files of one name has a folder, and the command reports which."""
    begin(Path("runs/cases"), FIRST)
    assert choose_folder("b/cases.jsonl", SECOND) == Path("runs/cases-2")
    assert "runs/cases holds a run of other cases, so this one goes to runs/cases-2" in capsys.readouterr().out
    begin(Path("runs/cases-2"), SECOND)
    assert choose_folder("b/cases.jsonl", SECOND) == Path("runs/cases-2")
    assert choose_folder("a/cases.jsonl", FIRST) == Path("runs/cases")


def test_a_folder_of_other_files_is_not_used():
    """A file or a folder that holds no run is left alone; an empty folder is used."""
    Path("runs/cases").mkdir(parents=True)
    assert choose_folder("a/cases.jsonl", FIRST) == Path("runs/cases")
    Path("runs/cases/notes.txt").touch()
    assert choose_folder("a/cases.jsonl", FIRST) == Path("runs/cases-2")
    Path("runs/cases-2").touch()
    assert choose_folder("a/cases.jsonl", FIRST) == Path("runs/cases-3")


def test_standard_input_always_gets_a_new_folder(capsys):
    """Standard input cannot be recognised; the message names the option that resumes a run."""
    begin(Path("runs/stdin"), CaseSource())
    assert choose_folder("-", CaseSource()) == Path("runs/stdin-2")
    assert "-o runs/stdin goes on there" in capsys.readouterr().out
