"""Collect responses: run the methods under test over samples and write each response, failed or not, to a file.

Running the same collection again calls a method only for responses that are missing, that failed, or whose sample
has changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sized
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.runnables import Runnable

from greval._util.concurrency import run_in_background, run_sync, run_workers
from greval.datasets import RowFault
from greval.datasets.case_records import read_records
from greval.errors import MethodError
from greval.methods import Method
from greval.methods.collecting.progress import CollectProgress
from greval.methods.collecting.response_file import ResponseFile, read_responses
from greval.methods.collecting.worker import ResponseCollector, SampleLike
from greval.methods.loading import as_method
from greval.methods.threads import ThreadPerCallExecutor
from greval.records.case import Case, Sample

__all__ = ["CollectProgress", "Collected", "collect", "collect_async", "read_responses"]

FLUSH_SECONDS = 1.0
STOP_REASON = "it was asked to stop"
MethodLike = Method | Callable[[Sample], object] | Runnable[Any, Any]
OnProgress = Callable[[CollectProgress], None]


@dataclass(frozen=True)
class Collected:
    """The result of a collection: the file of responses, the final progress, and why it was stopped, if it was.

    `unread` lists the rows that are not samples. `failures` counts the errors of this run by method and error message.
    """

    path: Path
    progress: CollectProgress
    why: str | None = None
    unread: tuple[str, ...] = ()
    failures: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def stopped(self) -> bool:
        """Return whether the collection was stopped before all methods were called."""
        return self.why is not None

    def cases(self) -> Iterator[Case]:
        """Iterate over the newest response of each sample and method in the file, as cases."""
        yield from read_responses(self.path)


def collect(  # noqa: PLR0913 - its options
    samples: Iterable[SampleLike | RowFault],
    methods: Mapping[str, MethodLike],
    *,
    out: str | Path,
    concurrency: int = 8,
    timeout: float | None = None,
    retry_failed: bool = True,
    on_progress: OnProgress | None = None,
    total: int | None = None,
    debug: bool = False,
) -> Collected:
    """Run methods over samples and write the responses to a file; the synchronous form of `collect_async`.

    Example:
        >>> import tempfile
        >>> samples = [{"id": "q1", "question": "When does it open?"}]
        >>> done = collect(samples, {"fixed": lambda sample: "At nine."}, out=f"{tempfile.mkdtemp()}/responses.jsonl")
        >>> [(case.method, case.answer) for case in done.cases()]
        [('fixed', 'At nine.')]
    """
    work = collect_async(
        samples,
        methods,
        out=out,
        concurrency=concurrency,
        timeout=timeout,
        retry_failed=retry_failed,
        on_progress=on_progress,
        total=total,
        debug=debug,
    )
    return run_sync(_run_with_threads(work))


async def _run_with_threads(work: Coroutine[Any, Any, Collected]) -> Collected:
    """Run the coroutine with one thread per blocking call, so that LangChain's synchronous parts run concurrently.

    The default executor of the event loop has only a few threads. The loop is greval's own, so it may be replaced.
    """
    asyncio.get_running_loop().set_default_executor(ThreadPerCallExecutor())
    return await work


async def collect_async(  # noqa: PLR0913 - its options
    samples: Iterable[SampleLike | RowFault],
    methods: Mapping[str, MethodLike],
    *,
    out: str | Path,
    concurrency: int = 8,
    timeout: float | None = None,  # noqa: ASYNC109 - the timeout of one response, not of this coroutine
    retry_failed: bool = True,
    stop: asyncio.Event | None = None,
    on_progress: OnProgress | None = None,
    total: int | None = None,
    debug: bool = False,
) -> Collected:
    """Run methods over samples and write the responses to a file.

    Args:
        samples: Samples, mappings of their fields, or rows that could not be read. They are read lazily.
            Fields of a response in a row are ignored.
        methods: The methods by name: `Method` objects, functions (asynchronous or not) or LangChain runnables.
        out: The output file, `.jsonl`. Each line is a case that `evaluate` can read. Responses of an earlier
            run are kept if their sample is unchanged.
        concurrency: The maximum number of method calls in flight.
        timeout: The timeout of one method call, in seconds.
        retry_failed: Whether responses that failed in an earlier run are retried.
        stop: When set, no further call is started. Calls in flight are finished and written.
        on_progress: Called after each response.
        total: The number of samples, for progress, if `samples` has no length.
        debug: Whether errors include their tracebacks.

    Returns:
        The file, the final progress, and why it was stopped, if it was. The file holds one row for each sample
        and method, in the order of the samples. Rows of other samples and methods are kept after them.

    Raises:
        MethodError: If no method is given, or one cannot be called with a sample.
        StoreError: If the file cannot be written, another process is writing to it, or it has other content.
        DataError: If the samples cannot be read.
    """
    reading = read_records(samples, "samples")
    if not isinstance(methods, Mapping):
        raise MethodError(f"methods: name each, as {{'walk': walk}}; got {type(methods).__name__}")
    if not methods or not all(methods):
        raise MethodError("no method is given, or one without a name; give at least one, such as {'walk': walk}")
    if concurrency < 1:
        raise MethodError(f"concurrency: must be 1 or more, got {concurrency}")
    asked = {name: as_method(method, name) for name, method in methods.items()}
    count = len(samples) if total is None and isinstance(samples, Sized) else total
    progress = CollectProgress(planned=None if count is None else count * len(asked))
    with ResponseFile.open(Path(out)) as file:
        work = ResponseCollector(file, asked, progress, timeout, retry_failed, stop, on_progress, debug)
        source = work.iterate_pairs(reading)
        async with _flush_periodically(file):
            await run_workers(work.run_worker(source) for _ in range(concurrency))
        file.compact(work.order)
    return _build_collected(Path(out), work)


def _build_collected(path: Path, work: ResponseCollector) -> Collected:
    planned = work.progress.planned if work.stopped else len(work.order)
    failures: dict[str, dict[str, int]] = {}
    for (method, error), times in work.failures.most_common():
        failures.setdefault(method, {})[error] = times
    return Collected(
        path,
        work.progress.model_copy(update={"planned": planned}),
        STOP_REASON if work.stopped else None,
        tuple(work.unread),
        failures,
    )


@asynccontextmanager
async def _flush_periodically(file: ResponseFile) -> AsyncIterator[None]:
    """Flush the file to disk once a second from a background thread, without delaying the workers."""

    async def flush() -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await asyncio.to_thread(file.flush)

    async with run_in_background(flush()):
        yield
