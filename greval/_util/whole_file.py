"""Atomic file writes."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write a file atomically: readers see either the old or the new content, even after a kill or on a full disk.

    Args:
        path: The file, in an existing folder.
        text: The whole content, written as UTF-8.

    Raises:
        OSError: If it cannot be written. The old content is kept.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "a.txt"
        >>> write_atomically(file, "one")
        >>> file.read_text(), [found.name for found in file.parent.iterdir()]
        ('one', ['a.txt'])
    """
    content = text.encode()
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
