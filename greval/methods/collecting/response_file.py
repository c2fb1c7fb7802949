"""The file of responses: JSON lines that survive kill -9 and say what need not be asked again.

A line is with the operating system when `append` returns, and on the disk at the next `flush`. One
process writes at a time. A last line that was cut short is dropped when the file is opened again.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

from pydantic import ValidationError

from greval._util.files import Closing
from greval.errors import StoreError
from greval.records.case import Case, Sample
from greval.records.fingerprint import digest

ENDINGS = (".jsonl", ".ndjson")
FIRST = b'{"method":"'
"""How each line begins: what ends without a newline and begins so is a line that was cut short."""
CLOSED = -1
Key = tuple[str, str]


class Entry(NamedTuple):
    """Where a response stands, to which sample it belongs, and whether it failed."""

    at: int
    size: int
    content: str
    failed: bool


class ResponseFile(Closing):
    """A file of responses, opened to write; a context manager.

    Example:
        >>> import tempfile
        >>> with ResponseFile.open(Path(tempfile.mkdtemp()) / "responses.jsonl") as file:
        ...     file.append(Case(id="q1", question="Who?", method="walk", answer="Ada."))
        ...     file.known("q1", "walk").failed
        False
    """

    def __init__(self, path: Path, held: int) -> None:
        """Use `open`."""
        self.path = path
        self._held = held
        self._closing = threading.Lock()
        self._end = 0
        self._entries: dict[Key, Entry] = {}

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a file of responses, made where it is missing.

        Raises:
            StoreError: Where another process writes to it, it cannot be written, or it holds something else.
        """
        if path.suffix.lower() not in ENDINGS:
            raise StoreError(f"{path}: responses are written as JSON lines; call the file {path.stem}.jsonl")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and not path.is_file():
                raise IsADirectoryError(0, "is no plain file")
            file = cls(path, _locked(path))
        except OSError as error:
            raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
        try:
            file._load()
        except BaseException:
            file.close()
            raise
        return file

    def known(self, sample_id: str, method: str) -> Entry | None:
        """Give where the newest response of a sample and method stands, or None."""
        return self._entries.get((sample_id, method))

    def append(self, case: Case) -> None:
        """Write a response; when this returns, a killed process does not lose it.

        Raises:
            StoreError: Where the disk is full or the file is gone; what was written before stays.
        """
        line = f"{case.model_dump_json(exclude_defaults=True)}\n".encode()
        try:
            _write(self._held, line)
        except OSError as error:
            os.ftruncate(self._held, self._end)  # half a line in the middle could not be mended
            raise StoreError(
                f"{self.path}: {error.strerror or error}; mend it and run the same command again "
                "(what was written before stays)"
            ) from error
        self._note(case, len(line))

    def flush(self) -> None:
        """Bring everything written so far to the disk; any thread may call it, also after `close`.

        Raises:
            StoreError: Where the disk does not take it.
        """
        with self._closing:
            if self._held != CLOSED:
                try:
                    os.fsync(self._held)
                except OSError as error:
                    raise StoreError(f"{self.path}: cannot be written: {error.strerror or error}") from error

    def arrange(self, order: Iterable[Key]) -> None:
        """Let each response stand once: first those of `order`, then all others as they came.

        The file is replaced in one go: whoever reads it sees the old or the new one.

        Raises:
            StoreError: Where it cannot be written; the old one stays.
        """
        keys = dict.fromkeys(key for key in order if key in self._entries) | dict.fromkeys(self._entries)
        entries = {key: self._entries[key] for key in keys}
        places = [entry.at for entry in entries.values()]
        if places == sorted(places) and sum(entry.size for entry in entries.values()) == self._end:
            return
        try:
            self._replace(entries)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be put in order: {error.strerror or error}") from error

    def close(self) -> None:
        """Bring everything to the disk and let go of the file."""
        try:
            self.flush()
        finally:
            with self._closing:
                os.close(self._held)
                self._held = CLOSED

    def _load(self) -> None:
        """Note where the responses stand, and drop a last line that was cut short."""
        for number, line in enumerate(_lines(self._held), 1):
            if case := _case(line):
                whole = line.endswith(b"\n")
                self._note(case, len(line) + (not whole))
                if not whole:
                    _write(self._held, b"\n")
            elif not line.endswith(b"\n") and (line.startswith(FIRST) or FIRST.startswith(line)):
                os.ftruncate(self._held, self._end)
            else:
                raise StoreError(f"{self.path}:{number}: is no response of a method; choose another file with -o")

    def _note(self, case: Case, size: int) -> None:
        entry = Entry(self._end, size, content_of(case), case.error is not None)
        self._entries[(case.id, case.method)] = entry
        self._end += size

    def _replace(self, entries: dict[Key, Entry]) -> None:
        real = self.path.resolve()  # where it is a link, the link stays
        beside = real.with_name(f"{real.name}.new")
        new = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        try:
            fcntl.flock(new, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for entry in entries.values():
                _write(new, os.pread(self._held, entry.size, entry.at))
            os.fsync(new)
            beside.replace(real)
        except BaseException:
            os.close(new)
            beside.unlink(missing_ok=True)
            raise
        with self._closing:
            os.close(self._held)
            self._held = new
        self._end, self._entries = 0, {}
        for key, entry in entries.items():
            self._entries[key] = entry._replace(at=self._end)
            self._end += entry.size
        _sync_folder(real.parent)


def content_of(sample: Sample) -> str:
    """Give the key of a sample's content: a sample that changed has another one.

    Example:
        >>> content_of(Sample(id="q1", question="Who?")) == content_of(Case(id="q1", question="Who?", answer="Ada"))
        True
    """
    return digest(sample.model_dump(mode="json", include={*Sample.model_fields}, exclude_defaults=True))


def read_responses(path: Path) -> Iterator[Case]:
    """Give the newest response of each sample and method of a file, also while it is written.

    Raises:
        StoreError: Where the file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            newest = {(case.id, case.method): n for n, line in enumerate(stream) if (case := _case(line))}
            stream.seek(0)
            wanted = set(newest.values())
            for number, line in enumerate(stream):
                if number in wanted and (case := _case(line)):
                    yield case
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from error


def _case(line: bytes) -> Case | None:
    """Read a line, None where it holds no response."""
    try:
        case = Case.model_validate_json(line)
    except ValidationError:
        return None
    return case if case.method and case.id else None


def _lines(held: int) -> Iterator[bytes]:
    with os.fdopen(os.dup(held), "rb") as stream:
        stream.seek(0)
        yield from stream


def _locked(path: Path) -> int:
    """Open a file and keep other writers out of it.

    The file may be replaced between opening and locking it; then the new one is locked.
    """
    while True:
        held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(path.stat(), os.fstat(held)):
                return held
        except BlockingIOError:
            os.close(held)
            raise StoreError(f"{path}: another process writes to it; wait for it or choose another with -o") from None
        os.close(held)


def _write(held: int, content: bytes) -> None:
    """Write all of it: the system may take a part at a time."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(held, rest) :]


def _sync_folder(folder: Path) -> None:
    held = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(held)  # the name of a new file is content of the folder
    finally:
        os.close(held)
