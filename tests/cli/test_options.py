"""Groups of options: each field becomes an option of the command, which receives the group."""

from __future__ import annotations

import io
import sys
from inspect import signature
from typing import Annotated, NamedTuple

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from greval import Judge
from greval.cli import options
from greval.cli.judge_options import CapOptions, JudgeOptions, parse_temperature
from greval.cli.options import Only, create_console, expand_groups, parse_tag_filters, print_table
from greval.judging.model.prices import Prices


class Size(NamedTuple):
    """A group of two options."""

    wide: Annotated[int, typer.Option(help="the width")] = 3
    high: Annotated[int, typer.Option(help="the height", min=0)] = 4


def run(command, *words):
    """Run a function as the only command of an app."""
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, words)


class TestExpandGroups:
    """`expand_groups` replaces a group by its options, in place."""

    @given(st.integers(), st.none() | st.integers(0))
    def test_the_command_receives_the_group(self, wide: int, high: int | None):
        """Options that are given reach the group; those that are not have their defaults."""
        received = []

        @expand_groups
        def command(name: str, *, size: Size, loud: bool = False) -> None:
            received.append((name, size, loud))

        words = ["box", f"--wide={wide}", "--loud", *([] if high is None else [f"--high={high}"])]
        assert run(command, *words).exit_code == 0
        assert received == [("box", Size(wide, 4 if high is None else high), True)]

    def test_the_options_keep_the_place_of_the_group(self):
        """The help lists the options of a group where the group is in the signature."""

        @expand_groups
        def command(first: int, *, size: Size, last: int = 1) -> None:
            """Do nothing."""

        assert [*signature(command).parameters] == ["first", "wide", "high", "last"]
        help_text = run(command, "--help").output
        assert help_text.index("the width") < help_text.index("the height") < help_text.index("--last")

    def test_only_some_options_of_a_group(self):
        """With `Only` the others are no options, and have their defaults."""
        received = []

        @expand_groups
        def command(*, size: Annotated[Size, Only(["high"])]) -> None:
            received.append(size)

        assert run(command, "--high", "9").exit_code == 0
        assert received == [Size(3, 9)]
        assert run(command, "--wide", "9").exit_code == 2

    def test_a_field_that_a_group_lacks_is_a_fault_of_the_command(self):
        """A misspelt name in `Only` fails when the command is defined, not when it runs."""
        with pytest.raises(KeyError, match="weight"):

            @expand_groups
            def command(*, size: Annotated[Size, Only(["weight"])]) -> None:
                """Do nothing."""

    def test_checks_of_an_option_hold_in_a_group(self):
        """An option of a group is checked as any other, and named in the message."""

        @expand_groups
        def command(*, size: Size) -> None:
            """Do nothing."""

        done = run(command, "--high", "-1")
        assert done.exit_code == 2
        assert "--high" in done.output


class TestJudgeOptions:
    """`JudgeOptions` are the settings of `Judge` with the same defaults."""

    def test_the_defaults_are_those_of_a_judge(self):
        """Without options the judge is the one that the SDK builds from its name."""
        assert JudgeOptions().create_judge("openai:m") == Judge("openai:m")

    def test_each_option_is_a_setting(self):
        """Each option but the depth of reasons and the options of the model is a field of `Judge` of the same name."""
        assert {*JudgeOptions._fields} - {"reason_depth", "judge_options"} <= {*Judge.model_fields}

    def test_options_of_the_model_reach_the_judge(self):
        """`--judge-option NAME=JSON` is passed to the model; words are texts, and headers have the model's name."""
        pairs = ["reasoning_effort=low", "streaming=true", 'extra_body={"top_k": 1}', 'headers={"X-Team": "a"}']
        assert JudgeOptions(judge_options=pairs).create_judge("openai:m").options == {
            "reasoning_effort": "low",
            "streaming": True,
            "extra_body": {"top_k": 1},
            "default_headers": {"X-Team": "a"},
        }

    @pytest.mark.parametrize(("text", "value"), [("none", None), ("None", None), ("0.5", 0.5), (0.0, 0.0)])
    def test_a_temperature_can_be_left_to_the_model(self, text, value):
        """`--temperature none` is a judge that is asked without a temperature."""
        assert JudgeOptions(temperature=parse_temperature(text)).create_judge("openai:m").temperature == value


def test_the_price_table_is_that_of_the_file(tmp_path):
    """`--prices` names a table; without it the shipped one is used."""
    file = tmp_path / "prices.yaml"
    file.write_text("as_of: 2026-01-01\nsource: mine\nmodels:\n  openai:m: {input: 1, output: 2}\n", encoding="utf-8")
    assert CapOptions(prices=file).read_prices().source == "mine"
    assert CapOptions().read_prices() == Prices.load()


def test_a_table_has_all_texts_as_they_are(capsys, monkeypatch):
    """Square brackets are text, not markup, and each row is a line below the columns."""
    monkeypatch.setenv("COLUMNS", "80")
    print_table(("name", "note"), [("a", "[bold]b[/bold]"), ("c", "d")])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [["name", "note"], ["a", "[bold]b[/bold]"], ["c", "d"]]


def test_a_file_gets_wide_lines(monkeypatch):
    """Without a terminal and without COLUMNS, lines are wide enough for long names."""
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.delenv("COLUMNS", raising=False)
    assert create_console().width == options.FILE_WIDTH
    monkeypatch.setenv("COLUMNS", "90")
    assert create_console().width == 90


def test_values_of_one_tag_are_alternatives():
    """A value may contain an equals sign, and blanks around the tag and the value do not count."""
    assert parse_tag_filters(["a=1", "a=2", "b = x=y "]) == {"a": {"1", "2"}, "b": {"x=y"}}
