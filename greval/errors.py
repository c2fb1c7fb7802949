"""The error tree: what a caller can catch, and what each of them asks the user to mend.

GrevalError
├── DefinitionError          a metric file or definition is wrong: mend the file
├── DataError                a row or a data file is wrong: file and line are named
├── OutcomeError             a result holds no single value: it failed, was skipped, or holds several
├── StoreError               a run folder cannot be used: locked, full, or not a run
├── JudgeError               the judging model cannot be used as asked
│   ├── JudgeUnavailableError    it cannot be reached or started
│   ├── MalformedVerdictError    its answer cannot be read as a verdict
│   └── StoppedError             a run makes no further calls: a cap, a dead endpoint, a wish to stop
├── ArgillaError             an Argilla server, workspace or dataset cannot be used as asked
├── MethodError              a method under test cannot be loaded or run
└── MissingExtraError        an optional package is not installed

DataWarning                  a UserWarning: rows that are no cases, names that were ignored

Inside a run nothing of this is raised for one case: there a failure is a row
(`greval.records.result.Failed`).
"""

from __future__ import annotations


class GrevalError(Exception):
    """The root: everything that greval raises on purpose."""


class DefinitionError(GrevalError):
    """A metric definition is wrong; `faults` holds all of them, each with its place.

    Args:
        faults: One sentence each: where, what is wrong, what to do.
    """

    def __init__(self, *faults: str) -> None:
        """Keep every fault, so that a file is mended in one go."""
        super().__init__("\n".join(faults))
        self.faults: tuple[str, ...] = faults


class DataError(GrevalError):
    """A row or a data file cannot be read; the message names the file and the line."""


class OutcomeError(GrevalError):
    """A result holds no single value to return; the message says why.

    Args:
        message: What happened: the failure in its own words, why it was skipped, or what to read instead.
        kind: The failure kind, one of `greval.records.result.FailureKind`; "skipped" or "several" if nothing failed.
    """

    def __init__(self, message: str, kind: str) -> None:
        """Keep the kind beside the message."""
        super().__init__(message)
        self.kind = kind

    def __reduce__(self) -> tuple[type[OutcomeError], tuple[str, str]]:
        """Let it travel between processes: it is made from two arguments."""
        return type(self), (str(self), self.kind)


class DataWarning(UserWarning):
    """Rows of the input are no cases, or names in it stand for nothing; what could be read was read."""


class StoreError(GrevalError):
    """A run folder cannot be used: locked by another run, disk full, or not a run."""


class JudgeError(GrevalError):
    """The judging model cannot be used as asked."""


class JudgeUnavailableError(JudgeError):
    """The judging model cannot be reached, started or found."""


class MalformedVerdictError(JudgeError):
    """A judge's answer cannot be read as a verdict.

    Args:
        kind: The failure kind, one of `greval.records.result.FailureKind`.
        message: What is wrong with the answer.
    """

    def __init__(self, kind: str, message: str) -> None:
        """Keep the kind beside the message: rows are told apart by it."""
        super().__init__(message)
        self.kind = kind


class StoppedError(JudgeError):
    """A run makes no further calls; the message says why. What was asked before is kept."""


class ArgillaError(GrevalError):
    """An Argilla server, workspace or dataset cannot be used as asked; what it holds stays.

    Args:
        message: What, where and what to do.
        status: The HTTP status of the answer, None where there was none.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        """Keep the status beside the message."""
        super().__init__(message)
        self.status = status


class MethodError(GrevalError):
    """A method under test cannot be loaded or run."""


class MissingExtraError(GrevalError):
    """An optional package is not installed; the message holds the command that installs it.

    Args:
        extra: The extra of greval that brings the package.
        package: The package that could not be imported.
    """

    def __init__(self, extra: str, package: str) -> None:
        """Say what is missing and what to type."""
        super().__init__(f"{package} is not installed: pip install 'greval[{extra}]'")
        self.extra = extra
        self.package = package

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        """Let it travel between processes: the message is made from two arguments."""
        return type(self), (self.extra, self.package)
