"""Where the cases of a run come from: recognised when the same command is given again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

READ_BYTES = 1 << 20
READING = 1
"""Raised if the same file is read as other cases: a finished run then reads it again."""


class Source(NamedTuple):
    """The cases that a command judges.

    `label` names where they are read from: a later command that reads from there takes the place of
    this one. `digest` is the hash of their content and of how it is read: with an equal digest the
    cases are the same, so a run goes on where it stopped. Both are empty if they are not known.
    """

    label: str = ""
    digest: str = ""

    @property
    def place(self) -> str:
        """The file of the label, without the method that its rows are given."""
        return self.label.partition("\n")[0]


UNKNOWN = Source()


def identify_file(path: Path, *others: Path, **settings: object) -> Source:
    """Return the source that a file of cases is.

    Args:
        path: The file of cases.
        *others: Files that are joined to it, such as gold.
        **settings: What decides how the files are read, such as the number of rows; None counts as not given.

    Returns:
        A source whose label holds the path and the name of the method of its rows, and whose digest is
        that of all contents and settings. It is `UNKNOWN` if a file cannot be read as a whole.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "cases.jsonl"
        >>> _ = file.write_text('{"question": "Who?"}')
        >>> identify_file(file) == identify_file(file), identify_file(file) == identify_file(file, limit=3)
        (True, False)
    """
    given = {name: str(value) for name, value in sorted(settings.items()) if value is not None}
    found = hashlib.sha256(repr((READING, given)).encode("utf-8", "surrogateescape"))
    try:
        for file in (path, *others):
            found.update(file.name.encode("utf-8", "surrogateescape") + b"\0")
            with file.open("rb") as content:
                while block := content.read(READ_BYTES):
                    found.update(block)
    except OSError:  # the reader says what is wrong with it
        return UNKNOWN
    return Source(label=_label(path, given), digest=found.hexdigest()[:32])


def _label(path: Path, settings: Mapping[str, str]) -> str:
    """Name the rows: those of one file under two names of a method are two sources."""
    method = settings.get("method")
    return f"{path.resolve()}" + (f"\n{method}" if method else "")
