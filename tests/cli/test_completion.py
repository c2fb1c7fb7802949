"""Completion in shells: what the scripts ask for, and what is offered."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from greval.cli import COMPLETION_VARIABLE
from greval.cli.app import COMMANDS
from greval.cli.completion import complete_metric
from greval.metrics.library import predefined

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_greval(greval_says, shell):
    """Each script sets the variable that greval answers to."""
    code, out, _ = greval_says("completion", shell)
    assert code == 0
    assert f"{COMPLETION_VARIABLE}=complete_{shell}" in out


@pytest.mark.parametrize(("line", "code"), [("greval eva", 0), ("greval evaluate cas", 1)])
def test_fish_asks_whether_files_may_follow(greval_says, monkeypatch, line, code):
    """Fish offers files itself where greval has nothing to offer, which it learns from the exit code."""
    monkeypatch.setenv(COMPLETION_VARIABLE, "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "is-args")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
    assert greval_says()[0] == code


def test_a_command_is_completed_without_importing_any():
    """The names of commands come from their table, so that TAB is quick."""
    code = "import sys; from greval.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    surroundings = {**os.environ, COMPLETION_VARIABLE: "complete_bash", "COMP_WORDS": "greval ", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=surroundings, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*COMMANDS]
    loaded = {name for name in done.stderr.split() if name.startswith("greval.cli.")}
    assert loaded == {f"greval.cli.{name}" for name in ("app", "completion", "help_layout")}


def test_metrics_and_their_files_are_offered(empty_folder):
    """Predefined metrics, files of metrics and folders are offered, but no name that a shell would interpret."""
    folder = empty_folder / "mine"
    folder.mkdir()
    for name in ("tone.yaml", "tone.py", "tone.txt", ".tone.yaml", "tone $(ls).yaml", "tone\\$(ls).yaml"):
        (folder / name).touch()
    assert {*complete_metric("")} == {*predefined(), "mine/"}
    assert [*complete_metric("mine/t")] == ["mine/tone.py", "mine/tone.yaml"]
    assert [*complete_metric("nosuch/t")] == []
