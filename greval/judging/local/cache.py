"""The cache of fetched models, and the verification of its files."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from greval._util.files import sync_folder, try_lock
from greval.judging.local.models import HubFile, LocalModel, find_model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_POLL_SECONDS = 0.2


def cache_dir() -> Path:
    """Return `models/` in `$GREVAL_CACHE`, `$XDG_CACHE_HOME/greval` or `~/.cache/greval`, whichever is set first."""
    folder = os.environ.get("GREVAL_CACHE")
    if folder:
        return Path(folder).expanduser().absolute() / "models"
    base = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification tells readers to ignore a relative path.
    if base and Path(base).is_absolute():
        return Path(base) / "greval" / "models"
    return Path.home() / ".cache" / "greval" / "models"


def model_path(model: LocalModel) -> Path:
    """Return the path of a model's file in the cache, whether or not it exists."""
    return cache_dir() / f"{model.name}.gguf"


def hub_path(file: HubFile) -> Path:
    """Return the path of a file of the hub in the cache, whether or not it exists."""
    revision = "" if file.revision == HubFile.model_fields["revision"].default else f"@{file.revision}"
    return cache_dir() / "hub" / f"{file.repo}{revision}" / file.file


def cached_path(name: str | LocalModel) -> Path | None:
    """Return the verified file of a model, or None if it is missing or damaged.

    A file whose size and modification time changed since its last verification is hashed, which takes seconds.
    """
    model = find_model(name)
    path = model_path(model)
    if not path.is_file() or path.stat().st_size != model.size:
        return None
    if not _has_marker(path, model.sha256):
        if hash_file(path) != model.sha256:
            return None
        write_marker(path, model.sha256)
    return path


def hash_file(path: Path) -> str:
    """Compute the SHA-256 hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def store_file(path: Path, target: Path) -> None:
    """Move a file to its path in the cache, so that it survives a loss of power."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
    path.replace(target)
    sync_folder(target.parent)


def write_marker(path: Path, sha256: str) -> None:
    """Record that a file was verified, so that later starts need not hash it again."""
    # A read-only cache still works, only slower.
    with suppress(OSError):
        _find_marker(path).write_bytes(_build_marker(path, sha256))


def _has_marker(path: Path, sha256: str) -> bool:
    try:
        return _find_marker(path).read_bytes() == _build_marker(path, sha256)
    except OSError:
        return False


def _find_marker(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _build_marker(path: Path, sha256: str) -> bytes:
    """Build what stands for the hash, the size and the modification time of a verified file."""
    stat = path.stat()
    return f"{sha256} {stat.st_size} {stat.st_mtime_ns}".encode()


@contextmanager
def hold_lock(path: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold a file lock, which ends with the process; `on_wait` is called once if another process holds it."""
    # The file is never removed: otherwise two processes could each lock a file of that name.
    with path.open("ab") as file:
        announced = False
        while not try_lock(file.fileno()):
            if not announced:
                on_wait()
                announced = True
            time.sleep(_POLL_SECONDS)
        yield
