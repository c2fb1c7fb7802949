"""`greval open`: show a run in the web page, on this machine."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from greval.cli.options import RunFolder
from greval.runs.store import Store

MAX_NAME = 64
HOST = "127.0.0.1"


def open_run(
    run: RunFolder,
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="PORT", help="the port to listen on; 0 takes a free one")
    ] = 0,
) -> None:
    """Show a run in the web page. It starts a server for this machine and prints the address, which has a token."""
    from greval.serve.settings import ServerSettings
    from greval.serve.start import check_packages, choose_token, run_server

    # Report what is no run before anything else.
    Store.open(run).close()
    check_packages()
    token = choose_token()
    name = re.sub(r"[^A-Za-z0-9_-]", "-", run.resolve().name).lstrip("-_")[:MAX_NAME] or "run"
    with TemporaryDirectory(prefix="greval-open-") as folder:
        # it links to this run only, so that the jobs of a server that keeps its runs beside it are left alone
        (Path(folder) / name).symlink_to(run.resolve(), target_is_directory=True)
        run_server(
            ServerSettings(host=HOST, port=port, runs=Path(folder), token=token.value),
            announce=lambda address: typer.echo(
                f"{token.format_link(address, f'/runs/{name}')}   (Ctrl-C ends the server)"
            ),
        )
