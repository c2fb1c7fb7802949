"""The default name of a run folder, which differs for each file of cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from shlex import quote

from greval.datasets.file_identity import CaseSource
from greval.datasets.row_sources import STDIN
from greval.errors import StoreError
from greval.runs.manifest import read_sources
from greval.runs.store import Store

RUNS = Path("runs")


def choose_folder(
    cases: str, origin: CaseSource, report: Callable[[str], None] = lambda _: None, parent: Path = Path()
) -> Path:
    """Return the default run folder for cases by their name, that of a file: `runs/NAME`, or the next free name.

    A folder is free if it is empty or has only runs of the same file. Standard input and rows of a program cannot be
    recognised, so they always get a new folder. `report` is called with a sentence if the first name is taken.
    """
    base = parent / RUNS / ("stdin" if cases == STDIN else Path(cases).stem)
    folder = next(name for name in _list_names(base) if _is_usable(name, origin))
    if folder != base:
        hint = f"; -o {quote(str(base))} goes on there" if cases == STDIN else ""
        report(f"{base} holds a run of other cases, so this one goes to {folder}{hint}")
    return folder


def find_free_folder(folder: Path) -> Path:
    """Return the folder if it is empty, else the first of its name with suffix -2, -3, ... that is."""
    return next(name for name in _list_names(folder) if not name.exists() or not any(name.iterdir()))


def _list_names(folder: Path) -> Iterator[Path]:
    yield folder
    yield from (folder.with_name(f"{folder.name}-{number}") for number in count(2))


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
    # Only a file has a path by which it could be recognised.
    return bool(origin.path) and places == {origin.path}
