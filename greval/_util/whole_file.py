"""Writing a file in one step, so that nobody ever finds a part of it."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a file: whoever reads it, also after a kill or with a full disk, finds the old content or the new one.

    Args:
        path: The file, in a folder that is there.
        text: The whole content, written as UTF-8.

    Raises:
        OSError: Where it cannot be written; the old content stays.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "a.txt"
        >>> write_whole(file, "one")
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
