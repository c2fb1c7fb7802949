"""The run folder: its default name, which differs for each file of cases, and a notice if it holds results."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from shlex import quote

import typer

from greval._util.wording import format_count
from greval.cli.console import escape_control_characters
from greval.datasets.file_identity import CaseSource
from greval.datasets.row_sources import STDIN
from greval.errors import StoreError
from greval.runs.manifest import read_sources
from greval.runs.store import FILE, Store

RUNS = Path("runs")


def choose_folder(cases: str, origin: CaseSource, parent: Path = Path()) -> Path:
    """Return the default run folder for a file of cases: `runs/NAME`, or the next free name.

    A folder is free if it is empty or has only runs of the same file. Standard input cannot be recognised, so it always
    gets a new folder.

    Args:
        cases: The file name as given, or "-" for standard input.
        origin: The source that identifies the cases.
        parent: The folder of `runs`.
    """
    base = parent / RUNS / ("stdin" if cases == STDIN else Path(cases).stem)
    names = (base if number == 1 else base.with_name(f"{base.name}-{number}") for number in count(1))
    folder = next(name for name in names if _is_usable(name, origin))
    if folder != base:
        hint = f"; -o {quote(str(base))} goes on there" if cases == STDIN else ""
        typer.echo(
            escape_control_characters(f"{base} holds a run of other cases, so this one goes to {folder}{hint}"),
            err=True,
        )
    return folder


def print_continuing(folder: Path) -> None:
    """Print the number of results that a run folder already holds, if any."""
    if (folder / FILE).is_file():
        with Store.open(folder, all_rows=True) as store:
            if before := store.count():
                typer.echo(
                    escape_control_characters(f"continuing {folder}: {format_count(before, 'result')} from before"),
                    err=True,
                )


def _is_usable(folder: Path, origin: CaseSource) -> bool:
    """Return whether a folder is empty or has only runs of this source."""
    if not folder.is_dir():
        return not folder.exists()
    if not any(folder.iterdir()):
        return True
    try:
        with Store.open(folder) as store:
            places = {source.path for source in read_sources(store)}
    except StoreError:
        return False
    return bool(origin.path) and places == {origin.path}
