"""Where fetched models lie, and how a file there is known to be whole."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from greval.judging.local.models import LocalModel, find_model
from greval.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_POLL_SECONDS = 0.2


class _Marker(Record):
    """What was known of a file when it was last hashed."""

    sha256: str
    size: int
    mtime_ns: int


def cache_dir() -> Path:
    """Give the folder of fetched models; it need not exist yet.

    Returns:
        `models/` in `$GREVAL_CACHE`, `$XDG_CACHE_HOME/greval` or `~/.cache/greval`,
        whichever is set first.

    Example:
        >>> cache_dir().name
        'models'
    """
    own = os.environ.get("GREVAL_CACHE")
    if own:
        return Path(own).expanduser().absolute() / "models"
    base = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification tells readers to ignore a relative path.
    if base and Path(base).is_absolute():
        return Path(base) / "greval" / "models"
    return Path.home() / ".cache" / "greval" / "models"


def model_path(model: LocalModel) -> Path:
    """Give the place of a model's file in the cache, whether it is there or not."""
    return cache_dir() / f"{model.name}.gguf"


def cached_path(name: str | LocalModel) -> Path | None:
    """Give the verified file of a model, or None if it is missing or damaged.

    A file whose size and time are those of its last verification is not read again; any
    other is hashed, which takes seconds for a large model.

    Args:
        name: A key of `MODELS`, or a `LocalModel`.

    Returns:
        The path of the GGUF file, or None.

    Raises:
        JudgeUnavailableError: No model has that name.

    Example:
        >>> path = cached_path("smollm2-135m")
        >>> path is None or path.suffix == ".gguf"
        True
    """
    model = find_model(name)
    path = model_path(model)
    marker = _marker(path, model.sha256)
    if marker is None or marker.size != model.size:
        return None
    if _read_marker(path) == marker:
        return path
    if file_sha256(path) != model.sha256:
        return None
    write_marker(path, model.sha256)
    return path


def file_sha256(path: Path) -> str:
    """Hash a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_marker(path: Path, sha256: str) -> None:
    """Note that a file was verified, so that later starts need not read it again."""
    marker = _marker(path, sha256)
    # A cache that may not be written to is only slower.
    with suppress(OSError):
        if marker is not None:
            _marker_path(path).write_text(marker.model_dump_json(), "utf-8")


def _marker_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _marker(path: Path, sha256: str) -> _Marker | None:
    """Give what a marker of the file would say now, or None without a file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return _Marker(sha256=sha256, size=stat.st_size, mtime_ns=stat.st_mtime_ns)


def _read_marker(path: Path) -> _Marker | None:
    try:
        return _Marker.model_validate_json(_marker_path(path).read_bytes())
    except (OSError, ValidationError):
        return None


@contextmanager
def locked(path: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold a file lock; the system drops it when the process ends, however it ends.

    Args:
        path: The lock file. It stays: were it removed, two processes could each lock
            a file of that name.
        on_wait: Called once if another process holds the lock.

    Yields:
        Nothing; the lock is held meanwhile.
    """
    with path.open("ab") as file:
        told = False
        while not _try_lock(file.fileno()):
            if not told:
                on_wait()
                told = True
            time.sleep(_POLL_SECONDS)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
