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
