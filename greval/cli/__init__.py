"""The command line; `greval --help` lists its commands.

Exit codes: 0 done, 1 a threshold was missed, 2 usage or data, 3 some outcomes failed, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any

from greval._util.wording import escape_control_characters, redact_credentials
from greval.errors import GrevalError, name_options

MISSED, USAGE_ERROR, FAILED, STOPPED = 1, 2, 3, 130
"""Exit codes; STOPPED is that of a process ended by Ctrl-C."""
COMPLETION_VARIABLE = "_GREVAL_COMPLETE"
"""The environment variable by which the script of a shell requests completions."""


def main() -> None:
    """Run the command line. Errors are printed in one or two lines; tracebacks only with --debug."""
    # A shell asks for completions, in the environment and not by an argument.
    if COMPLETION_VARIABLE in os.environ:
        from greval.cli.completion import print_completions

        print_completions()
    try:
        with name_options():
            code = _run_app("--debug" in sys.argv)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        code = STOPPED
    # Typer and rich exit like this if the reader of the output, such as `head`, is gone.
    except SystemExit:
        code = 0
    sys.exit(_flush_output(code if isinstance(code, int) else 0))


def _flush_output(code: int) -> int:
    """Flush stdout and return the exit code. Report a write error here; Python itself would exit with code 120."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # Otherwise Python flushes again at exit and reports the error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # The reader of the output, such as `head`, is gone.
        if code or isinstance(error, BrokenPipeError):
            return code
        sys.stderr.write(f"{_format_unexpected_error(error)}\n")
        return USAGE_ERROR
    return code


def _run_app(debug: bool) -> Any:  # noqa: FBT001, ANN401 - the exit code of a command
    with exit_on_interrupt():
        import typer

        from greval.cli.app import app

    # The UsageError of click, or that of the copy of click in newer versions of typer.
    wrong_use: Any = typer.BadParameter.__base__
    try:
        return app(args=[arg for arg in sys.argv[1:] if arg != "--debug"], standalone_mode=False, obj=debug)
    except wrong_use as error:
        # Typer's prefix for an invalid choice.
        error.message = error.message.removeprefix("Value error, ")
        error.show()
    # What typer makes of Ctrl-C.
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except Exception as error:
        if debug:
            raise
        message = str(error) if isinstance(error, GrevalError) else _format_unexpected_error(error)
        sys.stderr.write(f"{escape_control_characters(redact_credentials(message))}\n")
    return USAGE_ERROR


def print_note(text: str | None) -> None:
    """Print what people should know besides the output, if there is a text."""
    import typer

    if text:
        typer.echo(escape_control_characters(text), err=True)


@contextmanager
def exit_on_interrupt() -> Iterator[None]:
    """Exit silently on Ctrl-C during imports, instead of printing a long import traceback."""
    previous_handler = signal.getsignal(signal.SIGINT)
    # Only the main thread may set a handler, and one that somebody else set stays.
    if previous_handler is not signal.default_int_handler or current_thread() is not main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)


def _format_unexpected_error(error: Exception) -> str:
    """Format an unexpected error in one line. A system error most often concerns the output."""
    if isinstance(error, OSError):
        return f"{error.filename or 'the output'}: {error.strerror or error}; earlier results are kept"
    # Not by its class, for which every command would import sqlite3.
    if type(error).__module__ == "sqlite3":
        return f"a file of the run: {error}; greval repair RUN says whether its log is damaged"
    if isinstance(error, UnicodeEncodeError):
        letter = ascii(error.object[error.start])
        return f"the output: {error.encoding} has no {letter}; set PYTHONIOENCODING=utf-8 and run it again"
    return (
        f"an internal error of greval: {type(error).__name__}: {error}; earlier results are kept; "
        "run it with --debug for the traceback, and report it"
    )
