"""The identity of the cases of a run, used to recognise the same cases when a command is repeated."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

READ_BYTES = 1 << 20
READER_VERSION = 4
"""The version of the readers. It is increased if the same file is read as different cases, to invalidate digests."""


class CaseSource(NamedTuple):
    """The source of the cases that a command judges.

    `label` identifies the file and the method of its rows. A later command with the same label replaces this one.
    `digest` is the hash of the content and of the settings for reading it. If it is equal, the cases are the same
    and a run resumes. Both are empty if they are unknown.
    """

    label: str = ""
    digest: str = ""

    @property
    def path(self) -> str:
        """The path of the file in the label, without the method of its rows."""
        return self.label.partition("\n")[0]


UNKNOWN_SOURCE = CaseSource()


def identify_file(path: Path, *joined_files: Path, **settings: object) -> CaseSource:
    """Return the source of a file of cases and of the files that are joined to it, such as gold.

    Its label holds the path and the method of its rows, its digest covers all contents and the settings for reading
    them, such as the number of rows; None counts as not set. It is `UNKNOWN_SOURCE` if a file cannot be read.
    """
    active_settings = {name: str(value) for name, value in sorted(settings.items()) if value is not None}
    # Names and arguments may hold bytes that are not UTF-8, which Python keeps as surrogates.
    digest = hashlib.sha256(repr((READER_VERSION, active_settings)).encode("utf-8", "surrogateescape"))
    try:
        for file in (path, *joined_files):
            # The names separate the contents: lines moved from one file to the next are a change.
            digest.update(file.name.encode("utf-8", "surrogateescape") + b"\0")
            with file.open("rb") as content:
                while block := content.read(READ_BYTES):
                    digest.update(block)
    except OSError:
        # The reader reports the error.
        return UNKNOWN_SOURCE
    # One file read for two methods is two sources.
    method = active_settings.get("method")
    return CaseSource(label=f"{path.resolve()}" + (f"\n{method}" if method else ""), digest=digest.hexdigest()[:32])
