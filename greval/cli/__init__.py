"""The command line; `greval --help` lists its commands.

Exit codes: 0 done, 1 a threshold was missed, 2 usage or data, 3 some outcomes failed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any

from greval.errors import GrevalError

USAGE = 2
STOPPED = 130


def main() -> None:
    """Run the command line; errors are told in a line or two, with tracebacks only under --debug."""
    try:
        code = _run("--debug" in sys.argv)
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        code = STOPPED
    except SystemExit:  # how typer and rich end where the reader of the output went away, such as `head`
        code = 0
    sys.exit(_written(code if isinstance(code, int) else 0))


def _written(code: int) -> int:
    """Write what the output still holds; where it takes no more that is told, and the exit code is not Python's 120."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # Python would try again at its end, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if code or isinstance(error, BrokenPipeError):  # its reader went away, such as `head`
            return code
        sys.stderr.write(f"{_unforeseen(error)}\n")
        return USAGE
    return code


def _run(debug: bool) -> Any:  # noqa: FBT001, ANN401 - how the words were given; what a command gave
    with _ending_at_once():
        import typer

        from greval.cli.app import app
        from greval.cli.console import visible

    wrong_use: Any = typer.BadParameter.__base__  # UsageError: click's, or that of the click within newer typers
    try:
        return app(args=[arg for arg in sys.argv[1:] if arg != "--debug"], standalone_mode=False, obj=debug)
    except wrong_use as error:
        error.message = error.message.removeprefix("Value error, ")  # typer's own, before a choice that is none
        error.show()
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except Exception as error:
        if debug:
            raise
        sys.stderr.write(f"{visible(str(error) if isinstance(error, GrevalError) else _unforeseen(error))}\n")
    return USAGE


@contextmanager
def _ending_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process without a word: what a package is stopped in while it loads, it tells at length."""
    held = signal.getsignal(signal.SIGINT)
    if held is not signal.default_int_handler or current_thread() is not main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, held)


def _unforeseen(error: Exception) -> str:
    """Say what nobody foresaw in a line; an error of the system is most often one of where the output goes."""
    if isinstance(error, OSError):
        return f"{error.filename or 'the output'}: {error.strerror or error}; what was judged before is kept"
    if isinstance(error, UnicodeEncodeError):
        letter = ascii(error.object[error.start])
        return f"the output: {error.encoding} has no {letter}; set PYTHONIOENCODING=utf-8 and run it again"
    return (
        f"a fault of greval: {type(error).__name__}: {error}; what was judged before is kept; "
        "greval --debug ... shows where it happened, to report it"
    )
