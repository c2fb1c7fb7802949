"""The table of commands: each is there, is described as in its own help, and is imported only when it runs."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer
from typer.main import get_command

import greval
from greval.cli.app import COMMAND_GROUPS, COMMANDS, FUNCTIONS, PLACES, app
from greval.cli.help_layout import FIRST_OPTIONS, GROUPS, MAX_UNGROUPED

LOCATIONS = {name: PLACES.get(name, f"greval.cli.{name}") for name in COMMANDS}
PRESENT = [name for name, location in LOCATIONS.items() if find_spec(".".join(location.split(".")[:2]))]
"""The commands without those of an app that this copy of greval lacks."""
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


@pytest.mark.parametrize("name", PRESENT)
def test_a_summary_begins_the_help_of_its_command(name):
    """The summary in the list is the first sentence of the command's help, word for word."""
    command = get_command(app).commands[name]
    assert command.name == name
    assert " ".join(command.help.split()).startswith(COMMANDS[name])


def test_each_command_is_in_one_group(greval_says, monkeypatch):
    """At 80 columns each command has one line with its whole summary, below the title of its group."""
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = greval_says("--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    sections = {block.partition(":\n")[0]: block for block in out.split("\n\n")}
    for title, group in COMMAND_GROUPS.items():
        lines = sections[title].splitlines()[1:]
        assert [line.split(maxsplit=1) for line in lines] == [[*pair] for pair in group.items()]
    assert sum(map(len, COMMAND_GROUPS.values())) == len(COMMANDS)


def test_each_module_of_a_command_is_in_the_table():
    """A module that defines a command, by its name or as `app`, is reached by the table, so that none is forgotten."""
    commands = walk_commands(get_command(app))
    reached = {*LOCATIONS.values(), *(inspect.unwrap(command.callback).__module__ for _, command in commands)}
    for folder in ("cli", "reference/commands", "serve/commands"):
        for file in (Path(greval.__file__).parent / folder).glob("[!_]*.py"):
            location = f"greval.{folder.replace('/', '.')}.{file.stem}"
            module = import_module(location)
            defined = (getattr(module, name, None) for name in ("app", file.stem))
            is_command = any(isinstance(one, typer.Typer) or inspect.isfunction(one) for one in defined)
            assert not is_command or location in reached or location == "greval.cli.app", location
    assert {*PLACES, *FUNCTIONS} <= {*COMMANDS}


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


def test_without_words_the_help_is_shown(greval_says):
    """`greval` alone shows its commands and ends with 2, --version and --help end with 0."""
    code, _, err = greval_says()
    assert code == 2
    assert [name for name in COMMANDS if name not in err] == []
    assert greval_says("--version")[:2] == (0, f"greval {greval.__version__}\n")
    assert greval_says("evaluate", "--help")[0] == 0


@pytest.mark.parametrize(
    "words", [("-h",), ("help",), ("evaluate", "-h"), ("metrics", "-h"), ("help", "metrics", "draft")]
)
def test_ways_to_ask_for_help(greval_says, words):
    """-h and `greval help COMMAND` print what --help prints."""
    names = [word for word in words if word not in {"-h", "help"}]
    assert greval_says(*words) == greval_says(*names, "--help")


def walk_commands(command, names=()):
    """Yield the commands that are present and not groups, with their names."""
    for name in getattr(command, "commands", ()):
        if names or name in PRESENT:
            yield from walk_commands(command.commands[name], (*names, name))
    if not hasattr(command, "commands"):
        yield names, command


@pytest.mark.parametrize(
    ("names", "command"), [pytest.param(*found, id=" ".join(found[0])) for found in walk_commands(get_command(app))]
)
def test_the_help_of_a_command(greval_says, monkeypatch, names, command):
    """Help fits 80 columns, names values in capitals, and lists many options by groups after those needed first."""
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = greval_says(*names, "--help")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert re.findall(r"<(?:int|float|str|path|list).*?>|\{\w+\}", out) == []
    options = [param for param in command.params if param.param_type_name == "option" and not param.hidden]
    sections = {block.partition(":\n")[0]: block for block in out.split("\n\n")}
    is_long = len(options) > MAX_UNGROUPED
    for option in options:
        title = option.rich_help_panel if is_long and option.name not in FIRST_OPTIONS else "Options"
        assert min(option.opts, key=len) in sections[title]


@pytest.mark.parametrize("width", [80, 140])
def test_the_help_is_as_wide_as_the_terminal(greval_says, monkeypatch, width):
    """Lines of the help use the width of the terminal and are no longer."""
    monkeypatch.setenv("COLUMNS", str(width))
    lines = greval_says("evaluate", "--help")[1].splitlines()
    assert width - 20 < max(map(len, lines)) <= width


def test_the_options_of_evaluate_begin_with_those_that_most_runs_need(greval_says):
    """The longest list begins with a dozen options; the others are in groups, in the order of a run."""
    out = greval_says("evaluate", "--help")[1]
    assert re.findall(r"^(\w[\w ]+):$", out, re.MULTILINE) == ["Arguments", "Options", *GROUPS[1:]]
    assert len(re.findall(r"^  -", out[out.index("Options:") : out.index("Cases and metrics:")], re.MULTILINE)) == 13
