"""Collecting: methods under test are run over samples; each response is a line of a file, failed ones too.

Running the same thing again asks only for what is missing, failed, or belongs to a sample that changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sized
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.runnables import Runnable

from greval._util.concurrency import all_of, beside
from greval.datasets import RowFault
from greval.datasets.case_records import read_given
from greval.errors import MethodError
from greval.judging.metric_runnable import run_sync
from greval.methods import Method
from greval.methods.collecting.progress import CollectProgress
from greval.methods.collecting.response_file import ResponseFile, read_responses
from greval.methods.collecting.worker import Collecting, SampleLike
from greval.methods.loading import as_method
from greval.methods.threads import Threads
from greval.records.case import Case, Sample

__all__ = ["CollectProgress", "Collected", "collect", "collect_async", "read_responses"]

FLUSH_SECONDS = 1.0
STOPPED = "it was asked to stop"
MethodLike = Method | Callable[[Sample], object] | Runnable[Any, Any]
OnProgress = Callable[[CollectProgress], None]


@dataclass(frozen=True)
class Collected:
    """What was collected: the file of responses, how far it came, and why it was stopped where it was.

    `unread` tells the rows that were no samples, `failures` how often each method failed for each
    reason in this run.
    """

    path: Path
    progress: CollectProgress
    why: str | None = None
    unread: tuple[str, ...] = ()
    failures: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def stopped(self) -> bool:
        """Whether it was stopped before all methods were asked."""
        return self.why is not None

    def cases(self) -> Iterator[Case]:
        """Give the newest response of each sample and method of the file, as cases."""
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
    """Run methods over samples into a file of responses, from a script or a notebook; see `collect_async`.

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
    return run_sync(_unbounded(work))


async def _unbounded(work: Coroutine[Any, Any, Collected]) -> Collected:
    """Let LangChain's synchronous parts run side by side: the loop, which is greval's own, has a pool of a few."""
    asyncio.get_running_loop().set_default_executor(Threads())
    return await work


async def collect_async(  # noqa: PLR0913 - its options
    samples: Iterable[SampleLike | RowFault],
    methods: Mapping[str, MethodLike],
    *,
    out: str | Path,
    concurrency: int = 8,
    timeout: float | None = None,  # noqa: ASYNC109 - of one response, not of the whole
    retry_failed: bool = True,
    stop: asyncio.Event | None = None,
    on_progress: OnProgress | None = None,
    total: int | None = None,
    debug: bool = False,
) -> Collected:
    """Run methods over samples into a file of responses.

    Args:
        samples: Samples, mappings of their fields, or rows that could not be read; read as they are
            needed. What a row holds of a response is left out.
        methods: What is asked, by name: methods, functions (asynchronous or not), LangChain runnables.
        out: The file, `.jsonl`; each line is a case that `evaluate` reads. What it holds of an earlier
            run is kept where the sample is the same.
        concurrency: How many calls of methods are in flight at most.
        timeout: How long a method may take for one sample, in seconds.
        retry_failed: Whether rows that failed in an earlier run are asked again.
        stop: When set, no further sample is taken; what is in flight is finished and written.
        on_progress: Called after each response.
        total: How many samples there are, where `samples` does not tell it itself.
        debug: Whether errors come with their tracebacks.

    Returns:
        The file, how far it came, and why it was stopped where it was. In the file each sample and
        method stands once, in the order of the samples; rows of other samples and methods stay.

    Raises:
        MethodError: Where there is no method, or one of them cannot be called with a sample.
        StoreError: Where the file cannot be written, another process writes to it, or it holds something else.
        DataError: Where the samples cannot be read at all.
    """
    reading = read_given(samples, "samples")
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
        work = Collecting(file, asked, progress, timeout, retry_failed, stop, on_progress, debug)
        source = work.pairs(reading)
        async with _flushing(file):
            await all_of(work.through(source) for _ in range(concurrency))
        file.arrange(work.order)
    return _collected(Path(out), work)


def _collected(path: Path, work: Collecting) -> Collected:
    planned = work.progress.planned if work.stopped else len(work.order)
    failures: dict[str, dict[str, int]] = {}
    for (method, error), times in work.failures.most_common():
        failures.setdefault(method, {})[error] = times
    return Collected(
        path,
        work.progress.model_copy(update={"planned": planned}),
        STOPPED if work.stopped else None,
        tuple(work.unread),
        failures,
    )


@asynccontextmanager
async def _flushing(file: ResponseFile) -> AsyncIterator[None]:
    """Bring the file to the disk once a second, from a thread: nobody waits for it."""

    async def flush() -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await asyncio.to_thread(file.flush)

    async with beside(flush()):
        yield
