"""The options of `greval serve`: judges by name and limits, checked before the server starts."""

from __future__ import annotations

from inspect import signature
from typing import get_args

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from greval.cli.options import expand_groups
from greval.serve.commands.serve import DEFAULTS, LimitOptions, _parse_workspaces, serve
from greval.serve.settings import MEGABYTE, ServerLimits


def read_limits(*words):
    """Return the limits that a command receives from these words."""
    received = []

    @expand_groups
    def command(*, limits: LimitOptions) -> None:
        received.append(ServerLimits(**limits._asdict()))

    app = typer.Typer()
    app.command()(command)
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return received[0]


def test_each_limit_of_the_server_has_an_option():
    """The options are the fields of `ServerLimits`, and without options the limits are the defaults."""
    assert {*LimitOptions._fields} == {*ServerLimits.model_fields}
    assert read_limits() == DEFAULTS


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_sizes_are_in_megabytes_and_counts_as_they_are(size: int, count: int):
    """`--max-body` is in megabytes, `--max-batch` is a number of cases."""
    limits = read_limits(f"--max-body={size}", f"--max-batch={count}", f"--request-timeout={count}")
    assert (limits.body, limits.batch, limits.seconds) == (size * MEGABYTE, count, count)
    assert limits == DEFAULTS.model_copy(update={"body": size * MEGABYTE, "batch": count, "seconds": float(count)})


def test_each_option_of_the_server_has_a_variable():
    """Limits, address and files can be set by environment variables of the option's name."""
    for name, parameter in signature(serve).parameters.items():
        (option,) = [mark for mark in get_args(parameter.annotation)[1:] if hasattr(mark, "envvar")]
        flag = (option.param_decls or (option.default if isinstance(option.default, str) else f"--{name}",))[0]
        if option.envvar:
            assert option.envvar == f"GREVAL_{flag.removeprefix('--').replace('-', '_').upper()}"


def test_workspaces_in_argilla_are_parsed():
    """With keys each tenant has one; without keys there is one for all."""
    assert _parse_workspaces(["ana=team", "bob=my team"], keyed=True) == {"ana": "team", "bob": "my team"}
    assert _parse_workspaces(["team"], keyed=False) == {"": "team"}
    assert _parse_workspaces([], keyed=True) == {}


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--judge", "openai:m", "--judge", "openai:m"), "--judge openai:m: another judge has this name"),
        (("--judge", "a=openai:m", "--judge", "a=openai:n"), "write NAME=MODEL"),
        (("--judge", "a=mymodel"), "write PROVIDER:MODEL, such as openai:mymodel"),
        (("--max-body", "0"), "--max-body"),
        (("--argilla-workspace", "ana=team"), "--argilla-workspace ana=team: expected one WORKSPACE"),
        (("--argilla-workspace", "a", "--argilla-workspace", "b"), "--argilla-workspace b: expected one WORKSPACE"),
        (("--keys", "k", "--argilla-workspace", "team"), "--argilla-workspace team: expected TENANT=WORKSPACE"),
        (("--keys", "k", "--argilla-workspace", "ana="), "--argilla-workspace ana=: expected TENANT=WORKSPACE"),
        (("--port", "65536"), "--port"),
        (("--temperature", "9", "--judge", "openai:m"), "--temperature"),
    ],
)
def test_wrong_options_end_with_2_before_the_server_starts(greval_says, empty_folder, words, part):
    """A name given twice, a model without provider or a number out of range is an error of use."""
    code, out, err = greval_says("serve", *words)
    assert (code, out) == (2, "")
    assert part in err
    assert not [*empty_folder.iterdir()]
