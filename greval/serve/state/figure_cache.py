"""Cache of analysis results: each is computed once in a small thread pool, and kept until the run changes."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter

from greval.errors import ArgillaError, DataError, StoreError
from greval.records.record import Record
from greval.runs.store import FILE
from greval.trust.annotations.files import ANNOTATIONS_FILE as ANNOTATIONS

THREADS = 2
"""The most analyses computed at once: a large comparison keeps a whole processor busy for seconds."""
MAX_ENTRIES = 64
_TEXT: TypeAdapter[str] = TypeAdapter(str)


class FigureCache:
    """An LRU cache of analysis results as JSON.

    If the same result is requested again while it is computed, such as after a timeout, both requests share it.
    """

    def __init__(self) -> None:
        """Create an empty cache."""
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="figures")
        self._kept: OrderedDict[Hashable, asyncio.Future[str]] = OrderedDict()

    async def get_json(self, key: Hashable, make: Callable[[], str]) -> str:
        """Return an analysis result as JSON, from the cache if it is there.

        The key holds everything that the result depends on; `make` computes it and is called in a thread.
        """
        found = self._kept.get(key)
        if found is None or (found.done() and (found.cancelled() or found.exception())):
            found = self._kept[key] = asyncio.get_running_loop().run_in_executor(self._threads, make)
        self._kept.move_to_end(key)
        while len(self._kept) > MAX_ENTRIES:
            self._kept.popitem(last=False)
        return await asyncio.shield(found)  # a client that disconnects does not cancel it for the others

    def close(self) -> None:
        """Shut the thread pool down, without starting pending computations."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def read_run_stamp(folder: Path) -> tuple[object, ...]:
    """Return a value that changes when a run or its annotations change."""
    files = (folder / FILE, folder / f"{FILE}-wal", folder / ANNOTATIONS)
    found = [file.stat() if file.exists() else None for file in files]
    return (str(folder), *((one.st_mtime_ns, one.st_size, one.st_ino) if one else None for one in found))


def dump_without_paths(record: Record, *folders: Path) -> str:
    """Return a record as JSON, with paths on this machine replaced by run ids."""
    text = record.model_dump_json()
    for folder in folders:
        path, name = (_TEXT.dump_json(one).decode()[1:-1] for one in (str(folder), folder.name))
        text = text.replace(path, name)
    return text


@contextmanager
def hide_paths_in_errors(*folders: Path) -> Iterator[None]:
    """Replace paths on this machine by run ids in the messages of errors."""
    try:
        yield
    except (DataError, StoreError, ArgillaError) as error:
        text = str(error)
        for folder in folders:
            text = text.replace(str(folder), folder.name)
        raise ArgillaError(text, error.status) if isinstance(error, ArgillaError) else type(error)(text) from error
