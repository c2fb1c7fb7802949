"""The command line: `greval metrics | judge | local | evaluate | report | results | demo`.

Exit codes: 0 done, 1 a threshold was missed, 2 usage or data, 3 some outcomes failed.
"""

from __future__ import annotations

import sys

from greval.errors import GrevalError

USAGE = 2
STOPPED = 130


def main() -> None:
    """Run the command line; errors are told in a line or two, with tracebacks only under --debug."""
    import click  # noqa: PLC0415 - the terminal's packages load for the command line only

    from greval.cli.app import app  # noqa: PLC0415

    debug = "--debug" in sys.argv
    try:
        code = app(args=[arg for arg in sys.argv[1:] if arg != "--debug"], standalone_mode=False)
    except click.exceptions.Exit as leave:
        code = leave.exit_code
    except click.ClickException as error:
        error.show()
        code = USAGE
    except GrevalError as error:
        if debug:
            raise
        sys.stderr.write(f"{error}\n")
        code = USAGE
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("stopped\n")
        code = STOPPED
    except BrokenPipeError:
        sys.stderr.close()
        code = 0
    sys.exit(code if isinstance(code, int) else 0)
