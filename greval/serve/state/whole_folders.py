"""Folders of runs and data sets, which appear and disappear whole: no reader sees a part of one."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from greval._util.files import sync_folder

LEFTOVER_SECONDS = 24 * 60 * 60.0


def name_new_folder(parent: Path) -> Path:
    """Return the path of a new folder that is not complete yet; if this process is killed, a later start removes it."""
    return parent / f".new-{secrets.token_hex(8)}"


@contextmanager
def create_folder(folder: Path, reserving: AbstractContextManager[object] = nullcontext()) -> Iterator[Path]:  # noqa: B008 - it can be entered again
    """Yield a new folder, which gets its name at the end, within a context; raise `OSError` if another has it."""
    new = name_new_folder(folder.parent)
    new.mkdir(parents=True)
    try:
        yield new
        with reserving:
            new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    # Else the new name could be lost in a crash, although its content is on disk.
    sync_folder(folder.parent)


def remove_folder(folder: Path) -> None:
    """Remove a folder, or raise `FileNotFoundError`."""
    trash = folder.with_name(f".gone-{secrets.token_hex(8)}")
    folder.rename(trash)
    shutil.rmtree(trash, ignore_errors=True)


def remove_leftovers(runs: Path) -> None:
    """Remove partial folders that killed processes left, for all tenants.

    Only those older than a day are removed, because a running process may still use newer ones.
    """
    for above in ("", "*/", "*/*/", ".datasets/", "*/.datasets/"):
        for leftover in (*runs.glob(f"{above}.new-*"), *runs.glob(f"{above}.gone-*")):
            with suppress(OSError):
                if time.time() - leftover.stat().st_mtime > LEFTOVER_SECONDS:
                    shutil.rmtree(leftover, ignore_errors=True)
