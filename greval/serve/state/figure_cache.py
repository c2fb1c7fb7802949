"""Figures of runs: worked out in a few threads, each once, and kept while the run stays as it is."""

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
from greval.trust.annotations.files import FILE as ANNOTATIONS

THREADS = 2
"""So many figures are worked out at once: a large comparison takes seconds of a whole processor."""
MOST_KEPT = 64
_TEXT: TypeAdapter[str] = TypeAdapter(str)


class Figuring:
    """Works figures out and keeps the newest of them as JSON.

    Who asks again while a figure is worked out, such as after a timeout, waits for the same one.
    """

    def __init__(self) -> None:
        """Keep nothing yet."""
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="figures")
        self._kept: OrderedDict[Hashable, asyncio.Future[str]] = OrderedDict()

    async def give(self, key: Hashable, make: Callable[[], str]) -> str:
        """Give a figure as JSON.

        Args:
            key: What it is a figure of, with all that it depends on.
            make: Works it out; called in a thread.
        """
        found = self._kept.get(key)
        if found is None or (found.done() and (found.cancelled() or found.exception())):
            found = self._kept[key] = asyncio.get_running_loop().run_in_executor(self._threads, make)
        self._kept.move_to_end(key)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return await asyncio.shield(found)  # who goes away takes it from nobody

    def close(self) -> None:
        """Begin no further figure."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def stamp(folder: Path) -> tuple[object, ...]:
    """Give what changes when a run or its annotations do."""
    files = (folder / FILE, folder / f"{FILE}-wal", folder / ANNOTATIONS)
    found = [file.stat() if file.exists() else None for file in files]
    return (str(folder), *((one.st_mtime_ns, one.st_size, one.st_ino) if one else None for one in found))


def told(record: Record, *folders: Path) -> str:
    """Give a record as JSON, with the ids of runs in place of the paths of this machine."""
    text = record.model_dump_json()
    for folder in folders:
        path, name = (_TEXT.dump_json(one).decode()[1:-1] for one in (str(folder), folder.name))
        text = text.replace(path, name)
    return text


@contextmanager
def named(*folders: Path) -> Iterator[None]:
    """Tell errors with the ids of runs in place of the paths of this machine.

    Raises:
        DataError: As within, in other words.
        StoreError: The same.
        ArgillaError: The same.
    """
    try:
        yield
    except (DataError, StoreError, ArgillaError) as error:
        text = str(error)
        for folder in folders:
            text = text.replace(str(folder), folder.name)
        raise ArgillaError(text, error.status) if isinstance(error, ArgillaError) else type(error)(text) from error
