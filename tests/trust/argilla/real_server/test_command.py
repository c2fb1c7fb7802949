"""`greval argilla`: what it prints, and that the lines of the documentation run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from judged_runs import TONE, judged, rows
from people import Owner
from typer.testing import CliRunner

import greval
from greval.cli.argilla import app as argilla
from greval.errors import ArgillaError

PAGE = Path(greval.__file__).parents[1] / "docs" / "argilla.md"
app = typer.Typer()
app.add_typer(argilla, name="argilla")


def said(*words):
    """Run a command and give what it printed."""
    done = CliRunner().invoke(app, ["argilla", *map(str, words)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_what_the_commands_print(owner, tmp_path):
    """A push tells what was drawn, added and there; a pull counts each person's answers by status."""
    run = judged(tmp_path / "run", TONE, 9)
    words = ["push", run, "-m", "tone", "--dataset", "d", "--workspace", owner.workspace, "--sample", "random:4"]
    first = said(*words)
    assert f"d in workspace {owner.workspace}: items judged by tone, 4 of 9 drawn (random:4)" in first
    assert "4 records added, 0 existed" in first
    assert f"people answer at {owner.url}/dataset/" in first
    assert "0 records added, 4 existed" in said(*words)

    person = owner.person()
    submitted, edited, draft, _ = owner.records("d")
    owner.answer(person, submitted, "submitted", "Plain")
    owner.answer(person, edited, "submitted", "Rude")
    owner.answer(person, draft, "draft")
    owner.ask("PATCH", f"/records/{edited['id']}", {"fields": {"question": "?", "answer": "!"}})
    pulling = ["pull", run, "--dataset", "d", "--workspace", owner.workspace]
    told = said(*pulling)
    assert f"{run / 'annotations.jsonl'}: 2 submitted answers on 2 of 4 records" in told
    assert f"  {person['username']}: 2 submitted, 1 draft, 0 discarded, 1 pending" in told
    assert "1 record edited in Argilla" in told
    owner.ask("DELETE", f"/users/{person['id']}")
    assert f"3 answers of {person['username']} no longer there" in said(*pulling)


@pytest.mark.nightly
def test_suggestions_and_changes_are_told(owner, tmp_path):
    """A push with verdicts filled in warns of them; one of changed texts says so, and so does the pull."""
    run = judged(tmp_path / "run", TONE, 3)
    words = ["push", run, "-m", "tone", "--dataset", "d", "--workspace", owner.workspace, "--with-suggestions"]
    assert "not a fair measure of the judge" in said(*words)
    person = owner.person()
    owner.answer(person, owner.records("d")[0], "submitted", "Plain")
    judged(run, TONE, 3, word="was")
    assert "3 of them changed since they were pushed" in said(*words)
    told = said("pull", run, "--dataset", "d", "--workspace", owner.workspace)
    assert "1 answer on texts that have changed in the run since" in told


def test_the_documentation_runs(argilla_server, owner, tmp_path, monkeypatch):
    """Every line and block of the page runs, on a run that was judged by the metric that it names."""
    monkeypatch.chdir(tmp_path)
    judged(Path("runs/first"), TONE, 12)
    text = PAGE.read_text(encoding="utf-8")
    lines = [line[2:] for line in re.findall(r"^\$ .*$", text, re.MULTILINE) if line.startswith("$ greval argilla")]
    block, *_ = re.findall(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)  # the others need the SDK
    assert len(lines) == 2
    with pytest.raises(ArgillaError, match="workspace: no 'team' at"):
        said(*shlex.split(lines[0])[2:])
    with Owner(argilla_server["url"], argilla_server["api_key"], "team") as team:
        for line in lines:
            said(*shlex.split(line)[2:])
        exec(compile(block, "docs/argilla.md", "exec"), {})  # noqa: S102 - our own page
        assert len(team.records("tone-1")) == len(team.records("tone-2")) == 12
        assert rows(Path("runs/first/annotations.jsonl")) == []
