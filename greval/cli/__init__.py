"""The command line; `greval --help` lists its commands.

Exit codes: 0 done, 1 a threshold was missed, 2 usage or data, 3 some outcomes failed.
"""

from __future__ import annotations

import sys
from typing import Any

from greval.errors import GrevalError

USAGE = 2
STOPPED = 130


def main() -> None:
    """Run the command line; errors are told in a line or two, with tracebacks only under --debug."""
    import typer  # noqa: PLC0415 - the terminal's packages load for the command line only

    from greval.cli.app import app  # noqa: PLC0415

    debug = "--debug" in sys.argv
    wrong_use: Any = typer.BadParameter.__base__  # UsageError: click's, or that of the click within newer typers
    try:
        code = app(args=[arg for arg in sys.argv[1:] if arg != "--debug"], standalone_mode=False, obj=debug)
    except wrong_use as error:
        error.show()
        code = USAGE
    except GrevalError as error:
        if debug:
            raise
        sys.stderr.write(f"{error}\n")
        code = USAGE
    except (typer.Abort, KeyboardInterrupt):
        sys.stderr.write("stopped\n")
        code = STOPPED
    except SystemExit:  # how typer and rich end where the reader of the output went away, such as `head`
        code = 0
    sys.exit(code if isinstance(code, int) else 0)
