"""The response file: JSON lines that survive `kill -9` and record which responses need not be collected again.

A line has reached the operating system when `append` returns, and the disk after the next `flush`. Only one process
can write at a time. A truncated last line is dropped when the file is opened again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

from pydantic import ValidationError

from greval._util.files import CloseOnExit, sync_folder, try_lock
from greval.errors import StoreError
from greval.records.case import Case, Sample
from greval.records.metric_input import hash_json

SUFFIXES = (".jsonl", ".ndjson")
ROW_START = b'{"method":"'
"""The start of each line. A last line with this start and without a newline is a truncated row."""
CLOSED = -1
Key = tuple[str, str]


class ResponseEntry(NamedTuple):
    """The index entry of a response: its position, the key of its sample's content, and whether it failed."""

    at: int
    size: int
    content: str
    failed: bool


class ResponseFile(CloseOnExit):
    """A response file opened for writing; a context manager."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Use `open` instead."""
        self.path = path
        self._descriptor = descriptor
        self._closing = threading.Lock()
        self._end = 0
        self._entries: dict[Key, ResponseEntry] = {}

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a response file; create it if it is missing."""
        if path.suffix.lower() not in SUFFIXES:
            raise StoreError(f"{path}: responses are written as JSON lines; call the file {path.stem}.jsonl")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and not path.is_file():
                raise IsADirectoryError(0, "is not a regular file")
            file = cls(path, _open_locked(path))
        except OSError as error:
            raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
        try:
            file._load()
        except BaseException:
            file.close()
            raise
        return file

    def find(self, sample_id: str, method: str) -> ResponseEntry | None:
        """Return the index entry of the newest response of a sample and method, or None."""
        return self._entries.get((sample_id, method))

    def append(self, case: Case) -> None:
        """Write a response. Once this returns, the response survives if the process is killed."""
        line = f"{case.model_dump_json(exclude_defaults=True)}\n".encode()
        try:
            _write_all(self._descriptor, line)
        except OSError as error:
            # A partial line in the middle of the file could not be repaired.
            os.ftruncate(self._descriptor, self._end)
            raise StoreError(
                f"{self.path}: {error.strerror or error}; fix the cause and run the same command again "
                "(what was written before stays)"
            ) from error
        self._index_row(case, len(line))

    def flush(self) -> None:
        """Flush all rows to disk. Any thread may call it, also after `close`."""
        with self._closing:
            if self._descriptor != CLOSED:
                try:
                    os.fsync(self._descriptor)
                except OSError as error:
                    raise StoreError(f"{self.path}: cannot be written: {error.strerror or error}") from error

    def compact(self, order: Iterable[Key]) -> None:
        """Keep only the newest row of each response: first the keys in `order`, then all others in file order.

        The file is replaced atomically, so a reader sees either the old or the new file.
        """
        keys = dict.fromkeys(key for key in order if key in self._entries) | dict.fromkeys(self._entries)
        entries = {key: self._entries[key] for key in keys}
        places = [entry.at for entry in entries.values()]
        if places == sorted(places) and sum(entry.size for entry in entries.values()) == self._end:
            return
        try:
            self._rewrite(entries)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be put in order: {error.strerror or error}") from error

    def close(self) -> None:
        """Flush all rows to disk and close the file."""
        try:
            self.flush()
        finally:
            with self._closing:
                os.close(self._descriptor)
                self._descriptor = CLOSED

    def _load(self) -> None:
        """Index the responses in the file, and drop a truncated last line."""
        for number, line in enumerate(_iterate_lines(self._descriptor), 1):
            if case := _parse_case(line):
                is_complete = line.endswith(b"\n")
                self._index_row(case, len(line) + (not is_complete))
                if not is_complete:
                    # Only the newline is missing, so that the response counts.
                    _write_all(self._descriptor, b"\n")
            elif not line.endswith(b"\n") and (line.startswith(ROW_START) or ROW_START.startswith(line)):
                os.ftruncate(self._descriptor, self._end)
            else:
                raise StoreError(f"{self.path}:{number}: is not a response of a method; choose another file with -o")

    def _index_row(self, case: Case, size: int) -> None:
        entry = ResponseEntry(self._end, size, hash_sample(case), case.error is not None)
        self._entries[(case.id, case.method)] = entry
        self._end += size

    def _rewrite(self, entries: dict[Key, ResponseEntry]) -> None:
        # A symbolic link is kept.
        real = self.path.resolve()
        beside = real.with_name(f"{real.name}.new")
        new = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        try:
            # Locked before it has the name of the old file, so that no other process writes to it first.
            try_lock(new)
            for entry in entries.values():
                _write_all(new, os.pread(self._descriptor, entry.size, entry.at))
            os.fsync(new)
            beside.replace(real)
        except BaseException:
            os.close(new)
            beside.unlink(missing_ok=True)
            raise
        with self._closing:
            os.close(self._descriptor)
            self._descriptor = new
        self._end, self._entries = 0, {}
        for key, entry in entries.items():
            self._entries[key] = entry._replace(at=self._end)
            self._end += entry.size
        # The rename itself must reach the disk.
        sync_folder(real.parent)


def hash_sample(sample: Sample) -> str:
    """Return a hash of the fields of a sample; it changes when the sample changes."""
    return hash_json(sample.model_dump(mode="json", include={*Sample.model_fields}, exclude_defaults=True))


def read_responses(path: Path) -> Iterator[Case]:
    """Iterate over the newest response of each sample and method in a file, also while it is being written."""
    try:
        with path.open("rb") as stream:
            newest = {(case.id, case.method): n for n, line in enumerate(stream) if (case := _parse_case(line))}
            stream.seek(0)
            newest_numbers = set(newest.values())
            for number, line in enumerate(stream):
                if number in newest_numbers and (case := _parse_case(line)):
                    yield case
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from error


def select_responses(path: Path, samples: Iterable[Sample], methods: Collection[str]) -> dict[Key, Case]:
    """Select the responses of some methods to some samples, by sample id and method, in the order of the samples.

    A response to an older version of a sample is left out. A file that does not exist has no responses.
    """
    contents = {sample.id: hash_sample(sample) for sample in samples}
    cases = {
        (case.id, case.method): case
        for case in (read_responses(path) if path.is_file() else ())
        if case.method in methods and case.id in contents and hash_sample(case) == contents[case.id]
    }
    keys = ((sample_id, method) for sample_id in contents for method in methods)
    return {key: cases[key] for key in keys if key in cases}


def _parse_case(line: bytes) -> Case | None:
    """Parse a line; return None if it is not a response."""
    try:
        case = Case.model_validate_json(line)
    except ValidationError:
        return None
    return case if case.method and case.id else None


def _iterate_lines(descriptor: int) -> Iterator[bytes]:
    with os.fdopen(os.dup(descriptor), "rb") as stream:
        stream.seek(0)
        yield from stream


def _open_locked(path: Path) -> int:
    """Open a file and lock it against other writers."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        if not try_lock(descriptor):
            os.close(descriptor)
            raise StoreError(f"{path}: another process writes to it; wait for it or choose another file with -o")
        # The file may have been replaced between opening and locking; then the new one is locked.
        if path.exists() and os.path.samestat(path.stat(), os.fstat(descriptor)):
            return descriptor
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    """Write all of the content, since `os.write` may write only a part of it."""
    remaining = memoryview(content)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]
