"""Collect responses: run the methods under test over samples and write each response, failed or not, to a file.

Running the same collection again calls a method only for responses that are missing, that failed, or whose sample
has changed.
"""

from __future__ import annotations

import asyncio
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sized
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, Unpack

from langchain_core.runnables import Runnable

from greval._util.concurrency import WorkTime, measure_work, run_in_background, run_sync, run_workers
from greval.datasets.case_records import MAX_LISTED_ROWS, dump_case, get_sample_fields, read_case, read_records
from greval.datasets.row_faults import RowFault
from greval.errors import DataError, MethodError
from greval.judging.model.client import read_clock
from greval.judging.model.failures import MAX_MESSAGE_CHARS, redact_secrets
from greval.methods.collecting.response_file import Key, ResponseFile, hash_sample, read_responses
from greval.methods.functions import use_thread_per_call
from greval.methods.loading import as_method
from greval.methods.protocol import Method, prepare_method
from greval.methods.responses import as_response
from greval.records.case import Case, Response, ResponseUsage, Sample
from greval.records.record import Record
from greval.records.result import Usage

FLUSH_SECONDS = 1.0
STOP_REASON = "it was asked to stop"
MethodLike = Method | Callable[[Sample], object] | Runnable[Any, Any]
SampleLike = Sample | Mapping[str, object]
GRACE_SECONDS = 1.0
"""How long a method may take to release its resources after its timeout."""


class CollectProgress(Record):
    """A snapshot of the progress of a collection.

    `planned` is the total number of responses; it is None while samples are read from a stream of unknown length.
    `kept` counts the answered and failed responses that come from an earlier run. `unread` counts rows that are not
    samples. `in_flight` counts calls that have not finished. `usage` and `cost` (US dollars) are sums of what the new
    responses report. `seconds` is the time since the start.

    Example:
        >>> CollectProgress(answered=3, failed=1).done
        4
    """

    planned: int | None = None
    answered: int = 0
    failed: int = 0
    kept: int = 0
    unread: int = 0
    in_flight: int = 0
    usage: Usage = Usage()
    cost: float | None = None
    seconds: float = 0.0

    @property
    def done(self) -> int:
        """The number of responses, failed ones included."""
        return self.answered + self.failed

    def after(self, response: Response, *, seconds: float, in_flight: int) -> CollectProgress:
        """Return the snapshot after one new response."""
        spent = response.usage or ResponseUsage()
        cost = self.cost if spent.cost is None else (self.cost or 0.0) + spent.cost
        usage = Usage(calls=spent.llm_calls or 0, input_tokens=spent.prompt_tokens, output_tokens=spent.output_tokens)
        update = {"usage": self.usage + usage, "cost": cost, "seconds": seconds, "in_flight": in_flight}
        return self.counted(failed=response.error is not None).model_copy(update=update)

    def counted(self, *, failed: bool, is_reused: bool = False) -> CollectProgress:
        """Return the snapshot with one more response counted, without adding usage or cost."""
        field = "failed" if failed else "answered"
        return self.model_copy(update={field: getattr(self, field) + 1, "kept": self.kept + is_reused})


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


class CollectOptions(TypedDict, total=False):
    """The options of `collect`; see `collect_async`."""

    concurrency: int
    timeout: float | None
    retry_failed: bool
    on_progress: OnProgress | None
    total: int | None
    debug: bool


def collect(
    samples: Iterable[SampleLike | RowFault],
    methods: Mapping[str, MethodLike],
    *,
    out: str | Path,
    **options: Unpack[CollectOptions],
) -> Collected:
    """Run methods over samples and write the responses to a file; the synchronous form of `collect_async`.

    Example:
        >>> import tempfile
        >>> samples = [{"id": "q1", "question": "When does it open?"}]
        >>> done = collect(samples, {"fixed": lambda sample: "At nine."}, out=f"{tempfile.mkdtemp()}/responses.jsonl")
        >>> [(case.method, case.answer) for case in done.cases()]
        [('fixed', 'At nine.')]
    """
    return run_sync(collect_async(samples, methods, out=out, **options))


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
    by_name = {name: as_method(method, name) for name, method in methods.items()}
    count = len(samples) if total is None and isinstance(samples, Sized) else total
    progress = CollectProgress(planned=None if count is None else count * len(by_name))
    with ResponseFile.open(Path(out)) as file:
        work = ResponseCollector(file, by_name, progress, timeout, retry_failed, stop, on_progress, debug)
        source = work.iterate_pairs(reading)
        async with _flush_periodically(file):
            with use_thread_per_call():
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


@dataclass
class ResponseCollector:
    """The state shared by the workers: the file, the methods, and the progress."""

    file: ResponseFile
    methods: Mapping[str, Method]
    progress: CollectProgress
    timeout: float | None = None
    retry_failed: bool = True
    stop: asyncio.Event | None = None
    on_progress: Callable[[CollectProgress], None] | None = None
    debug: bool = False
    stopped: bool = False
    start: float = field(default_factory=read_clock)
    order: list[Key] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    failures: Counter[Key] = field(default_factory=Counter)
    """The number of failures by (method, first line of the error)."""
    _seen: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The hashes of each sample that was read: of all its fields, and of those without the tags."""
    _in_flight: int = 0
    _prepared: bool = False
    _preparing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run_worker(self, source: Iterator[tuple[Sample, str]]) -> None:
        """Process pairs of a sample and a method name until there are no more or a stop is requested."""
        for sample, name in source:
            if self.stop and self.stop.is_set():
                self.stopped = True
                return
            if not self._reuse_response(sample, name):
                await self._call_method(sample, name)

    def iterate_pairs(self, samples: Iterable[Case | RowFault]) -> Iterator[tuple[Sample, str]]:
        """Iterate over each sample with each method name; rows that are not samples are counted and skipped."""
        for row in samples:
            try:
                sample = self._read_sample(row)
            except DataError as error:
                self._count_unread(f"{error}")
                continue
            if sample:
                for name in self.methods:
                    self.order.append((sample.id, name))
                    yield sample, name

    def _read_sample(self, row: Case | RowFault) -> Sample | None:
        """Return the sample in a row, or None if it was read before; raise if its id belongs to a different sample."""
        case = read_case(row)
        sample = Sample.model_validate(get_sample_fields(case))
        # Raises for what no file can store, before a method is called with it.
        dump_case(case)
        digest = hash_sample(sample.model_copy(update={"tags": {}}))
        if sample.id not in self._seen:
            self._seen[sample.id] = hash_sample(sample), digest
            return sample
        if self._seen[sample.id][1] != digest:
            raise DataError(f"id: {sample.id!r} is that of another question or other gold; give each its own")
        # A row of another method, whose tags may describe its response.
        return None

    def _count_unread(self, message: str) -> None:
        if len(self.unread) < MAX_LISTED_ROWS:
            self.unread.append(message)
        self.progress = self.progress.model_copy(update={"unread": self.progress.unread + 1})

    def _reuse_response(self, sample: Sample, name: str) -> bool:
        """Return whether an earlier run has the response already, and count it if so."""
        entry = self.file.find(sample.id, name)
        if not entry or entry.content != self._seen[sample.id][0] or (entry.failed and self.retry_failed):
            return False
        self._report_progress(self.progress.counted(failed=entry.failed, is_reused=True))
        return True

    async def _prepare_methods(self) -> None:
        """Let all methods open what they need before the first question, one after the other.

        None is opened if all responses are there.
        """
        async with self._preparing:
            # Another worker may have prepared them while this one waited for the lock.
            for method in () if self._prepared else self.methods.values():
                # What cannot be opened is reported by the questions.
                with suppress(Exception):
                    async with asyncio.timeout(self.timeout):
                        await prepare_method(method)
            self._prepared = True

    async def _call_method(self, sample: Sample, name: str) -> None:
        if not self._prepared:
            await self._prepare_methods()
        self._in_flight += 1
        try:
            case = await call_method(self.methods[name], name, sample, timeout=self.timeout, debug=self.debug)
        finally:
            self._in_flight -= 1
        self.file.append(case)
        if case.error is not None and len(self.failures) < MAX_LISTED_ROWS:
            self.failures[(name, case.error.partition("\n")[0])] += 1
        self._report_progress(self.progress.after(case, seconds=read_clock() - self.start, in_flight=self._in_flight))

    def _report_progress(self, progress: CollectProgress) -> None:
        self.progress = progress
        if self.on_progress:
            self.on_progress(progress)


async def call_method(method: Method, name: str, sample: Sample, *, timeout: float | None, debug: bool = False) -> Case:  # noqa: ASYNC109 - an option of the caller
    """Call a method, and return the sample with its response; an exception is its `error` and is never raised.

    `usage.latency` and `usage.waited` are measured if the method does not report its latency. With `debug` an error
    includes its traceback.
    """
    try:
        returned, spent = await _await_response(method, sample, timeout)
        response = _add_latency(as_response(returned), spent)
        case = _build_case(sample, response, name)
        # A response that no file can store has failed.
        dump_case(case)
    except Exception as error:  # noqa: BLE001 - any exception of a method is one failed row
        return _build_case(sample, Response(error=_format_error(error, debug=debug)), name)
    return case


async def _await_response(method: Method, sample: Sample, limit_seconds: float | None) -> tuple[object, WorkTime]:
    """Await a method's response in its own task, so that a cancellation in the method does not reach the caller."""
    task = asyncio.create_task(_call_contained(method, sample))
    try:
        # Not `wait_for`, which waits on for a method that ignores its cancellation.
        await asyncio.wait({task}, timeout=limit_seconds)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE_SECONDS)
            raise TimeoutError(f"no response within {limit_seconds:g} s")
        if task.cancelled():
            raise MethodError("the method cancelled itself")
        return task.result()
    finally:
        task.cancel()
        task.add_done_callback(_retrieve_exception)


async def _call_contained(method: Method, sample: Sample) -> tuple[object, WorkTime]:
    """Call a method; what would end the process, such as `sys.exit` or a Rust panic, fails this call only."""
    with measure_work() as spent:
        try:
            response = await method(sample)
        except (Exception, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            raise MethodError(f"{type(error).__name__}: {error}") from error
    return response, spent


def _retrieve_exception(task: asyncio.Task[tuple[object, WorkTime]]) -> None:
    """Retrieve the exception of a finished task, so that asyncio does not log it as never retrieved."""
    if not task.cancelled():
        task.exception()


def _add_latency(response: Response, spent: WorkTime) -> Response:
    """Add the measured times if the method did not report a latency."""
    usage = response.usage or ResponseUsage()
    if usage.latency is not None:
        return response
    times = {"latency": spent.worked, "waited": spent.waited}
    return response.model_copy(update={"usage": usage.model_copy(update=times)})


def _build_case(sample: Sample, response: Response, name: str) -> Case:
    answered = {field: getattr(response, field) for field in Response.model_fields}
    return Case.model_validate({**get_sample_fields(sample), **answered, "method": name})


def _format_error(error: BaseException, *, debug: bool) -> str:
    """Format an exception without secrets; a group with a single exception is formatted as that exception."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - a user-defined exception whose `__str__` fails
        message = ""
    kind = type(error).__name__
    text = redact_secrets(f"{kind}: {message}" if message else kind)[:MAX_MESSAGE_CHARS]
    return f"{text}\n{redact_secrets(''.join(traceback.format_exception(error)))}" if debug else text
