"""The exception hierarchy: the errors that a caller can catch, each with what the user has to fix.

GrevalError
├── DefinitionError          a metric file or definition is invalid: fix the file
├── DataError                a row or a data file is invalid: the message names file and line
├── OutcomeError             a result has no single value: it failed, was skipped, or has several
├── StoreError               a run folder cannot be used: locked, disk full, damaged, or not a run
├── JudgeError               the judging model cannot be used as requested
│   ├── JudgeUnavailableError    it cannot be reached or started
│   ├── MalformedVerdictError    its answer cannot be parsed as a verdict
│   └── StoppedError             a run makes no further calls: budget, dead endpoint, or stop request
├── ArgillaError             an Argilla server, workspace or dataset cannot be used as requested
│   └── ArgillaArgumentError     an argument names what is missing or taken there, or is invalid
├── MethodError              a method under test cannot be loaded or run
└── MissingExtraError        an optional package is not installed

DataWarning                  a UserWarning: invalid rows or ignored names in the input

Within a run, none of these is raised for a single case: there a failure is a row
(`greval.records.result.Failed`).
"""

from __future__ import annotations

import contextvars
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "ArgillaArgumentError",
    "ArgillaError",
    "DataError",
    "DataWarning",
    "DefinitionError",
    "GrevalError",
    "JudgeError",
    "JudgeUnavailableError",
    "MalformedVerdictError",
    "MethodError",
    "MissingExtraError",
    "OutcomeError",
    "StoppedError",
    "StoreError",
]


_names_options = contextvars.ContextVar("names_options", default=False)
"""True in the command line: messages name its options as they are written, and not arguments of Python."""
ARGUMENTS = {
    "all": "all_rows=True",
    "ask": "methods",
    "column": "columns",
    "fail-if": "condition",
    "label-column": "label_columns",
    "library FOLDER": "load_metric(NAME, FOLDER)",
    "m": "metrics",
    "no-resume": "resume=False",
    "no-store-calls": "store_calls=False",
    "o": "out",
    "base-url": "base_url",
    "drawn-by": "drawn_by",
    "max-calls": "max_calls",
    "max-cost": "max_cost",
    "traversal": "traversals",
    **{name: name for name in ("against", "baseline", "by", "checks", "facts", "judge", "method", "metric", "out")},
    "prices": "prices",
}
"""The arguments of Python for the options that errors name; for some, together with their value."""
_OPTION = re.compile(
    # a whole command is typed in a shell, also by those who use Python
    r"greval [a-z][^;,]*|\S*python\S* -[^;,]*"
    r"|(?<![\w-])--?(?P<name>[a-z-]+)(?: (?P<value>'[^']*'|[\w.]+=[^\s;,)]+|[A-Z]{2,}\b))?"
)
_SAID_TWICE = re.compile(r"\b(\w+) \(\1(=\S+)?\)")


@contextmanager
def name_options() -> Iterator[None]:
    """Let the messages of errors name options of the command line, in place of arguments of Python."""
    token = _names_options.set(True)
    try:
        yield
    finally:
        _names_options.reset(token)


def word_message(message: str) -> str:
    """Return a message that names options with arguments of Python instead, but in the command line as it is."""
    return message if _names_options.get() else write_arguments(message)


def write_arguments(message: str) -> str:
    """Replace the options of the command line that a message names by arguments of Python.

    Example:
        >>> write_arguments("name it with --column id=NAME, or cap calls (--max-calls); see greval report RUN --all")
        "name it with columns={'id': 'NAME'}, or cap calls (max_calls); see greval report RUN --all"
    """
    return _SAID_TWICE.sub(r"\1\2", _OPTION.sub(_write_argument, message))


def _write_argument(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    argument = ARGUMENTS.get(f"{name} {value}")
    if argument or name not in ARGUMENTS:
        return argument or match[0]
    argument = ARGUMENTS[name]
    if value is None:
        return f"{argument}=..." if name == "o" else argument
    key, sign, named = value.strip("'").partition("=")
    return f"{argument}={{{key!r}: {named!r}}}" if sign and argument.endswith("columns") else f"{argument}={value}"


class GrevalError(Exception):
    """The base class of all errors that greval raises. It can be sent between processes."""

    def __str__(self) -> str:
        """Return the message as `word_message` words it."""
        return word_message(super().__str__())

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling: by default the constructor would get the message instead of its own arguments."""
        return _restore, (type(self), self.args, vars(self))


def _restore(kind: type[GrevalError], args: tuple[object, ...], fields: dict[str, object]) -> GrevalError:
    """Restore an error without its constructor."""
    # BaseException.__new__ keeps the arguments, of which str() makes the message.
    error = kind.__new__(kind, *args)
    vars(error).update(fields)
    return error


class DefinitionError(GrevalError):
    """A metric definition is invalid; `faults` holds all faults, each with its place.

    Args:
        faults: One sentence each: the place, what is wrong, what to do.
    """

    def __init__(self, *faults: str) -> None:
        """Keep every fault, so that a file can be fixed in one pass."""
        super().__init__("\n".join(faults))
        self.faults: tuple[str, ...] = faults


class DataError(GrevalError):
    """A row or a data file is invalid; the message names the file and the line.

    Args:
        message: What is wrong.
        columns: The columns of a table of which none is a field that each row must have.
    """

    columns: tuple[str, ...] = ()

    def __init__(self, message: str, *, columns: Iterable[str] = ()) -> None:
        """Keep the columns with the message: somebody may say which of them is the field."""
        super().__init__(message)
        self.columns = tuple(columns)


class OutcomeError(GrevalError):
    """A result has no single value to return; the message states why.

    Args:
        message: The message of the failure, the reason for skipping, or what to read instead.
        kind: The failure kind, one of `greval.records.result.FailureKind`; "skipped" or "several" if nothing failed.
    """

    def __init__(self, message: str, kind: str) -> None:
        """Keep the kind with the message."""
        super().__init__(message)
        self.kind = kind


class DataWarning(UserWarning):
    """Some rows of the input are not valid cases, or some names in it are unknown. The rest was read."""


class StoreError(GrevalError):
    """A run folder cannot be used: locked by another run, disk full, or not a run."""


class JudgeError(GrevalError):
    """The judging model cannot be used as requested."""


class JudgeUnavailableError(JudgeError):
    """The judging model cannot be reached, started or found."""


class MalformedVerdictError(JudgeError):
    """A judge's answer cannot be parsed as a verdict.

    Args:
        kind: The failure kind, one of `greval.records.result.FailureKind`.
        message: What is wrong with the answer.
    """

    def __init__(self, kind: str, message: str) -> None:
        """Keep the kind with the message: failed rows are classified by it."""
        super().__init__(message)
        self.kind = kind


class StoppedError(JudgeError):
    """A run makes no further calls; the message states why. Results obtained before are kept."""


class ArgillaError(GrevalError):
    """An Argilla server, workspace or dataset cannot be used as requested. Its data is unchanged.

    Args:
        message: What is wrong, the place, and what to do.
        status: The HTTP status of the response, None if there was no response.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        """Keep the status with the message."""
        super().__init__(message)
        self.status = status


class ArgillaArgumentError(ArgillaError):
    """An argument of a push or pull cannot be used, such as a dataset that is missing or whose name is taken.

    Args:
        argument: The name of the argument, such as `dataset`.
        reason: What is wrong with it and what to do, without names of other workspaces and datasets.
        kind: Whether what it names is missing, or taken by something else, or the argument itself is invalid.
        known: The names that exist in its place; the message lists them.
    """

    def __init__(
        self,
        argument: str,
        reason: str,
        kind: Literal["missing", "taken", "invalid"] = "invalid",
        *,
        known: Iterable[str] | None = None,
    ) -> None:
        """Keep the parts with the message."""
        # None: nobody looked what there is. Empty: there is nothing.
        choices = "" if known is None else f"; there: {', '.join(sorted(known)) or 'none'}"
        super().__init__(f"{argument}: {reason}{choices}")
        self.argument = argument
        self.reason = reason
        self.kind = kind


class MethodError(GrevalError):
    """A method under test cannot be loaded or run."""


class MissingExtraError(GrevalError):
    """An optional package is not installed; the message holds the command that installs it.

    Args:
        extra: The extra of greval that contains the package.
        package: The package that could not be imported.
    """

    def __init__(self, extra: str, package: str) -> None:
        """Build the message from the package and the command that installs it."""
        super().__init__(f"{package} is not installed: pip install 'greval[{extra}]'")
        self.extra = extra
        self.package = package
