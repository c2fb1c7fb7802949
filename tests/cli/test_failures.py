"""Hints on the failures of a run: one line for each kind."""

from __future__ import annotations

import pytest

from greval import Failed, Judgement, Result, Scored
from greval.cli.report_output import print_failure_hints
from greval.records import Failure
from greval.runs.store.writer import StoreWriter


def row(number, *failures, scored=False):
    """Return a result that failed, or a scored one with items that failed."""
    judgements = (Judgement(value=1, number=1.0, reason="Fine."),)
    outcome = Scored(judgements=judgements, failures=failures) if scored else Failed(error=failures[0])
    return Result(
        sample_id=f"q{number}", metric="tone", fingerprint="f", judge="openai:m", tier="schema", outcome=outcome
    )


@pytest.fixture
def folder(tmp_path):
    """Write a run with three failed results, and one with a failed item."""
    failures = [
        Failure(kind="timeout", message="first \x1b[31mtimeout"),
        Failure(kind="timeout", message="second timeout"),
        Failure(kind="authentication", message="wrong key"),
    ]
    with StoreWriter.create(tmp_path / "run") as writer:
        for number, failure in enumerate(failures):
            writer.append(f"k{number}", row(number, failure))
        item = Failure(kind="missing_item", message="no verdict", item="c1")
        writer.append("k9", row(9, item, scored=True))
    return tmp_path / "run"


def test_each_kind_has_one_line_with_its_first_message(folder, capsys):
    """Kinds come in alphabetical order, with what to do; items of scored results count too."""
    print_failure_hints(folder, ["timeout", "missing_item", "timeout", "authentication"], "openai:m")
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["authentication", "missing_item", "timeout"]
    assert "wrong key; " in lines[0]
    assert "OPENAI_API_KEY" in lines[0]
    assert "no verdict" in lines[1]
    assert "first" in lines[2]
    assert "second" not in lines[2]


def test_what_was_printed_before_is_not_repeated(folder, capsys):
    """A hint that the stop reason already holds is left out."""
    print_failure_hints(folder, ["authentication"], "openai:m")
    hints = capsys.readouterr().err
    print_failure_hints(folder, ["authentication"], "openai:m", hints)
    assert capsys.readouterr().err == ""


def test_kinds_that_are_unknown_have_no_hint(folder, capsys):
    """A kind of a later version is passed over."""
    print_failure_hints(folder, ["of the future"], "openai:m")
    assert capsys.readouterr().err == ""
