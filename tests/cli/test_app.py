"""The table of commands: each is there, is described as in its own help, and is imported only when it runs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.main import get_command

import greval
from greval.cli.app import COMMANDS, app

HEAVY = ("greval.serve", "greval.cli.options", "greval.records", "pydantic", "numpy", "langchain_core", "scipy")
LOADED = """
import sys
sys.argv = ["greval", *{words}]
from greval.cli import main
try:
    main()
finally:
    print("loaded:", *(name for name in {names} if name in sys.modules), file=sys.stderr)
"""


def loaded(*words):
    """Return the code of a command and which of the heavy packages it imported."""
    code = LOADED.format(words=words, names=HEAVY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.rpartition("loaded:")[2].split()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_summary_begins_the_help_of_its_command(name):
    """The summary in the list is the first sentence of the command's help, word for word."""
    command = get_command(app).commands[name]
    assert command.name == name
    assert " ".join(command.help.split()).startswith(COMMANDS[name])


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_no_command_is_imported_for_the_list(words):
    """The list of commands and the version need none of the packages that commands need."""
    assert loaded(*words) == (0, [])


def test_a_command_imports_what_it_needs():
    """A command imports its own module and what it needs, but not the server."""
    code, names = loaded("metrics", "list")
    assert code == 0
    assert "pydantic" in names
    assert "greval.serve" not in names


def test_a_misspelt_command_suggests_the_nearest(greval_says):
    """An unknown command is an error of use."""
    code, _, err = greval_says("evaluat")
    assert code == 2
    assert "evaluate" in err


def test_without_words_the_help_is_shown(greval_says):
    """`greval` alone shows its commands and ends with 2, --version and --help end with 0."""
    code, _, err = greval_says()
    assert code == 2
    assert [name for name in COMMANDS if name not in err] == []
    assert greval_says("--version")[:2] == (0, f"greval {greval.__version__}\n")
    assert greval_says("evaluate", "--help")[0] == 0


@pytest.mark.parametrize("width", [80, 140])
def test_the_help_is_as_wide_as_the_terminal(greval_says, monkeypatch, width):
    """Lines of the help use the width of the terminal and are no longer."""
    monkeypatch.setenv("COLUMNS", str(width))
    lines = greval_says("evaluate", "--help")[1].splitlines()
    assert width - 20 < max(map(len, lines)) <= width
