"""The tree of errors: as drawn, caught by its base classes, and sent between processes."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from greval import errors

CLASSES = dict(inspect.getmembers(errors, inspect.isclass))
MADE = {
    "DefinitionError": errors.DefinitionError("a: one", "b: two"),
    "OutcomeError": errors.OutcomeError("it failed", "timeout"),
    "MalformedVerdictError": errors.MalformedVerdictError("malformed", "no JSON"),
    "ArgillaError": errors.ArgillaError("no dataset", 404),
    "ArgillaArgumentError": errors.ArgillaArgumentError("dataset", "no 'a'", "missing", known=["b"]),
    "MissingExtraError": errors.MissingExtraError("ray", "ray"),
}


def read_tree():
    """Read the tree of the module's docstring: each class and the one above it."""
    above: list[str] = []
    tree: dict[str, str] = {}
    for line in errors.__doc__.splitlines():
        if found := re.match(r"([│ ]*)[├└]── (\w+)", line):
            depth = len(found[1]) // 4
            above = [*above[:depth], found[2]]
            tree[found[2]] = above[depth - 1] if depth else "GrevalError"
    return tree


def test_the_tree_is_drawn_as_it_is():
    """The docstring names each error below its base class."""
    real = {name: kind.__base__.__name__ for name, kind in CLASSES.items() if issubclass(kind, errors.GrevalError)}
    assert read_tree() == {name: base for name, base in real.items() if name != "GrevalError"}


def test_all_errors_are_public():
    """A caller can catch each of them by a public name of `greval.errors`."""
    assert {*CLASSES} == {*errors.__all__}


@pytest.mark.parametrize("name", [name for name in CLASSES if name != "DataWarning"])
def test_an_error_survives_another_process(name):
    """Pickled and read back, as workers do, an error has its kind, message and fields."""
    made = MADE.get(name) or CLASSES[name]("what is wrong")
    back = pickle.loads(pickle.dumps(made))  # noqa: S301 - our own bytes
    assert type(back) is type(made)
    assert str(back) == str(made)
    assert vars(back) == vars(made)


def test_messages_say_what_to_do():
    """All faults of a definition are lines of one message; a missing package has its command."""
    assert str(MADE["DefinitionError"]) == "a: one\nb: two"
    assert MADE["DefinitionError"].faults == ("a: one", "b: two")
    assert str(MADE["MissingExtraError"]) == "ray is not installed: pip install 'greval[ray]'"


def test_errors_name_arguments_in_python_and_options_in_the_command_line():
    """One message serves both: a caller of the SDK is told arguments, and who types a command its options."""
    message = "name it with --column 'id=case id', or --max-calls; choose with -o; greval report RUN --all; --x"
    error = errors.DataError(message)
    told = "name it with columns={'id': 'case id'}, or max_calls; choose with out=...; greval report RUN --all; --x"
    assert str(error) == told
    with errors.name_options():
        assert str(error) == message
    assert str(error) == told
