"""Runs on a Ray cluster: each shard is a Ray task with its own log, and the logs are merged at the end.

Ray only decides on which worker a shard is judged. Keys, log, retries and rate limits work as in any other run: if a
worker is lost, another worker resumes its shard.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Unpack
from uuid import uuid4

from greval.datasets.case_reader import read_cases
from greval.errors import DataError, GrevalError, MissingExtraError, StoreError
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.metrics.computed import find_computed_metric
from greval.metrics.library import find_metric
from greval.metrics.python_metrics import list_file_modules
from greval.metrics.sources import resolve_metrics
from greval.records.metric import Metric
from greval.records.result import Usage
from greval.runs.evaluation import Run, evaluate_async
from greval.runs.merging import merge_runs
from greval.runs.options import EvaluateOptions, get_asked_names, select_evaluate_options
from greval.runs.progress import Progress
from greval.runs.shard import Shard
from greval.runs.store import is_begun

SHARDS = "shards"
MINUTE = 60.0
MAX_LOST_WORKERS = 20
# A shared file system may release the lock of a lost worker a few seconds later.
LOCK_SECONDS = 5.0
STOP_CHECK_SECONDS = 0.5
OBJECT_STORE_BYTES = 80 * 1024 * 1024
SUMMED_COUNTS = ("done", "scored", "skipped", "failed", "items_failed", "kept")
RATE_LIMITS = ("requests_per_minute", "tokens_per_minute")
UNSUPPORTED_OPTIONS = frozenset(
    {"judges", "reply_source", "on_result", "resume", "shard", "total", "escalate", "agree", "labels", "first"}
)


@dataclass(frozen=True)
class Permit:
    """The driver's permit to judge: a folder that workers see, in which each shard leaves a mark when it begins.

    `ray.cancel` cannot stop the shards: in Ray 2.60 it aborts the driver if a task ends at the same time.
    """

    folder: Path

    @classmethod
    def issue(cls, shards_folder: Path) -> Permit:
        """Create a permit, and withdraw those that a lost driver left."""
        for left in shards_folder.glob("permit-*"):
            shutil.rmtree(left, ignore_errors=True)
        folder = shards_folder / f"permit-{uuid4().hex}"
        folder.mkdir(parents=True)
        return cls(folder)

    def begin(self, number: int) -> bool:
        """Mark a shard as begun; return whether it is still permitted."""
        try:
            self._mark(number).touch()
        except FileNotFoundError:
            return False
        return True

    def forget(self, number: int) -> None:
        """Remove the mark of a shard whose worker was lost."""
        self._mark(number).unlink(missing_ok=True)

    async def wait_for_end(self, number: int) -> None:
        """Wait until the permit of a begun shard is withdrawn."""
        while True:
            await asyncio.sleep(STOP_CHECK_SECONDS)
            try:
                # A network file system keeps what it knows about a path until the file is opened.
                self._mark(number).open("rb").close()
            except FileNotFoundError:
                return

    def withdraw(self) -> set[int]:
        """Withdraw the permit and return the numbers of the shards that had begun."""
        withdrawn = self.folder.with_name(f"{self.folder.name}.withdrawn")
        try:
            # Once it is renamed, no other shard can begin.
            self.folder.rename(withdrawn)
        except FileNotFoundError:
            # It was removed, which stops all shards too.
            return set()
        begun = {int(mark.name) for mark in withdrawn.iterdir()}
        shutil.rmtree(withdrawn, ignore_errors=True)
        return begun

    def _mark(self, number: int) -> Path:
        return self.folder / str(number)


@dataclass(frozen=True)
class RayJob:
    """The job description sent to the workers: plain values, built-in computed metrics by name, and no API key."""

    source: Path
    metrics: tuple[Metric | str, ...]
    judge: Judge
    out: Path
    permit: Permit
    shards: int
    method: str | None
    limit: int | None
    options: EvaluateOptions

    def shard_folder(self, number: int) -> Path:
        """Return the run folder of a shard."""
        return self.out / SHARDS / f"{number}-of-{self.shards}"


def evaluate_on_ray(  # noqa: PLR0913 - what a run is made of
    source: str | Path,
    metrics: Sequence[Metric],
    judge: Judge,
    *,
    out: str | Path,
    shards: int = 16,
    workers: int | None = None,
    address: str | None = None,
    method: str | None = None,
    limit: int | None = None,
    **options: Unpack[EvaluateOptions],
) -> Run:
    """Judge the cases of a file in shards on a Ray cluster. The same call again resumes the run.

    Args:
        source: The file of cases. Like `out`, it must be on a file system that all workers share.
        metrics: Metric definitions. The metrics that they build on are added.
        judge: Settings of a judge. Each worker reads the API key from its environment. The rate limits
            apply to the whole run; each worker gets an equal share of them.
        out: The run folder. The folders of the shards are in its subfolder `shards`.
        shards: The number of shards. A run must be resumed with the same number.
        workers: The number of shards that are judged at the same time, by default the number of CPUs of the cluster.
        address: The address of the Ray cluster. By default the cluster of the caller's own `ray.init`, else that of
            RAY_ADDRESS, else a new one on this machine.
        method: The method of the cases that do not name one.
        limit: The maximum number of cases; the first ones are judged.
        **options: As in `evaluate_async`, without `judges`, `reply_source`, `on_result`, `resume`, `shard`, `total` and
            the options of a second judge.
            `concurrency` applies to each worker. `max_calls` and `max_cost` are divided among the shards, and
            count all calls of this function for the run. `cache` is on the worker's machine. `on_progress` is
            called after each shard. `columns` names columns of the file, as in `read_cases`.

    Returns:
        The merged run: its folder, its progress, and why it was stopped, if it was.

    Raises:
        DataError: If the file cannot be read, an option is not supported, or a budget cannot be divided.
        JudgeError: If the judge cannot be used at all, for example because a worker has no API key.
        MissingExtraError: If Ray is not installed.
        StoreError: If a folder cannot be used, or the run was begun with another number of shards.
    """
    # Workers have working folders of their own.
    source, folder = Path(source).resolve(), Path(out).resolve()
    _check_shard_count(folder, shards)
    loaded = resolve_metrics(metrics)
    sent = tuple(m.name if find_computed_metric(m.name) is m else m for m in loaded.metrics)
    options = {**options, "asked": get_asked_names(loaded.asked, options)}
    budget = _divide_budget(options, shards)
    total = (read_cases(source, columns=options.get("columns")).count(limit) or 0) * len(sent)
    with _connect_to_ray(address, workers) as ray:
        for module in list_file_modules(loaded.metrics):
            # No worker could import it by its name.
            ray.cloudpickle.register_pickle_by_value(module)
        width = min(shards, workers or int(ray.cluster_resources().get("CPU", 1)))
        # Each worker has a rate limiter of its own, and the provider counts all calls together.
        limits = {name: limit / width for name in RATE_LIMITS if (limit := getattr(judge, name))}
        permit, of_worker = Permit.issue(folder / SHARDS), judge.model_copy(update=limits)
        job = RayJob(source, sent, of_worker, folder, permit, shards, method, limit, budget)
        driver = RayDriver(ray, job, width, total, options)
        driver.run()
    begun = [job.shard_folder(n) for n in range(1, shards + 1) if is_begun(job.shard_folder(n))]
    merge_runs(out, begun, metrics=[metric.name for metric in loaded.metrics])
    return Run(Path(out), driver.progress, why=driver.why, fatal=driver.fatal)


class RayDriver:
    """The driver of a run on Ray: it queues the shards, starts their tasks and collects their results."""

    def __init__(self, ray: Any, job: RayJob, width: int, total: int, options: EvaluateOptions) -> None:  # noqa: ANN401 - a module
        """Queue all shards; at most `width` of them are judged at the same time."""
        self.fatal = False
        self._is_stopped = False
        self._stop_reason: str | None = None
        self._ray = ray
        self._job = ray.put(job)
        self._permit = job.permit
        # Ray's own retries begin at once, but the lock and the used rate limit of a lost worker take a while to go.
        self._task = ray.remote(num_cpus=1, max_retries=0)(judge_shard)
        self._pause = max(LOCK_SECONDS, MINUTE if job.judge.tokens_per_minute else _compute_refill_time(job.judge))
        self._width, self._total, self._options = width, total, options
        self._waiting = deque(range(1, job.shards + 1))
        self._running: dict[Any, int] = {}
        self._lost: Counter[int] = Counter()
        self._runs: list[Run] = []
        self._start = time.monotonic()

    @property
    def why(self) -> str | None:
        """The reason why the run is incomplete, or None if it is complete. A budget stops single shards."""
        stopped = [run for run in self._runs if run.stopped]
        if self._stop_reason or not stopped:
            return self._stop_reason
        return f"{len(stopped)} of the shards were stopped; {stopped[0].folder.name}: {stopped[0].why}"

    @property
    def progress(self) -> Progress:
        """The total progress of the finished shards."""
        parts = [run.progress for run in self._runs]
        costs = [part.cost for part in parts if part.cost is not None]
        return Progress(
            total=self._total,
            **{name: sum(getattr(part, name) for part in parts) for name in SUMMED_COUNTS},
            # Each shard reads all rows.
            unread=max((part.unread for part in parts), default=0),
            usage=sum((part.usage for part in parts), Usage()),
            cost=sum(costs) if costs else None,
            seconds=time.monotonic() - self._start,
        )

    def run(self) -> None:
        """Judge all shards. If this ends early for any reason, wait until the workers have stored calls in flight."""
        deadline = self._options.get("deadline")
        try:
            while self._running or self._waiting:
                while self._waiting and len(self._running) < self._width:
                    number = self._waiting.popleft()
                    pause = self._pause if self._lost[number] else 0.0
                    self._running[self._task.remote(self._job, number, pause)] = number
                seconds_left = None if deadline is None else max(0.0, self._start + deadline - time.monotonic())
                done, _ = self._ray.wait([*self._running], timeout=seconds_left)
                if not done:
                    self._stop_shards(f"the deadline of {deadline:g} s is over")
                    deadline = None
                for ref in done:
                    self._record_shard(self._running.pop(ref), ref)
        finally:
            # After an error or Ctrl-C, shards are still running.
            self._stop_shards("it was interrupted")
            if self._running:
                self._ray.wait([*self._running], num_returns=len(self._running))

    def _record_shard(self, number: int, ref: Any) -> None:  # noqa: ANN401 - Ray's
        """Record the result of a finished shard."""
        try:
            run: Run | None = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            self._requeue_lost_shard(number, error)
            return
        if run is None:
            if not self._is_stopped:
                raise StoreError(f"{self._permit.folder.parent}: expected a folder that all workers see; one does not")
            return
        self._runs.append(run)
        if run.fatal:
            self.fatal, self._stop_reason = True, self._stop_reason or run.why
            self._stop_shards("")
        if on_progress := self._options.get("on_progress"):
            on_progress(self.progress)

    def _requeue_lost_shard(self, number: int, error: Exception) -> None:
        """Put a shard whose worker was lost at the front of the queue."""
        kinds = self._ray.exceptions
        lost = (kinds.WorkerCrashedError, kinds.NodeDiedError, kinds.OutOfMemoryError, kinds.ObjectLostError)
        cause = getattr(error, "cause", None)
        # The worker that was lost still holds the lock.
        locked = isinstance(cause, StoreError) and self._lost[number]
        if not (isinstance(error, lost) or locked):
            raise (cause if isinstance(cause, GrevalError) else error) from None
        self._lost[number] += 1
        if self._lost[number] > MAX_LOST_WORKERS:
            raise StoreError(f"shard {number} lost its worker {MAX_LOST_WORKERS} times; the same call resumes: {error}")
        if self._stop_reason is None:
            logging.getLogger("greval").warning("shard %s lost its worker and continues on another", number)
            self._permit.forget(number)
            self._waiting.appendleft(number)

    def _stop_shards(self, why: str) -> None:
        """Clear the queue and stop the shards that have begun, after calls in flight; the first reason is kept."""
        if self._is_stopped:
            return
        self._is_stopped = True
        if self._waiting or self._running:
            self._stop_reason = self._stop_reason or why
        self._waiting.clear()
        begun = self._permit.withdraw()
        # Ray may start the others much later, when other jobs leave it a CPU; they will not begin.
        self._running = {ref: number for ref, number in self._running.items() if number in begun}


def judge_shard(job: RayJob, number: int, pause: float) -> Run | None:
    """Judge a shard, or the rest of it, in a Ray worker, after a pause in seconds; None without a permit."""
    return asyncio.run(_judge_shard(job, number, pause)) if job.permit.begin(number) else None


async def _judge_shard(job: RayJob, number: int, pause: float) -> Run:
    """Judge a shard. When its permit is withdrawn, calls in flight are finished first."""
    stop = asyncio.Event()
    watch = asyncio.create_task(job.permit.wait_for_end(number))
    watch.add_done_callback(lambda _: stop.set())
    await _pause(pause, stop)
    reading = read_cases(job.source, method=job.method, columns=job.options.get("columns"))
    options: EvaluateOptions = {
        **job.options,
        # The reader has them.
        "columns": None,
        "shard": Shard(number=number, count=job.shards),
        "origin": reading.identify_source(limit=job.limit),
    }
    run = await evaluate_async(
        islice(reading, job.limit),
        [find_metric(metric) if isinstance(metric, str) else metric for metric in job.metrics],
        job.judge,
        out=job.shard_folder(number),
        stop=stop,
        **options,
    )
    # Without a call no limit was used, and after a stop no shard follows.
    if (run.progress.usage.calls or run.stopped) and not (run.fatal or stop.is_set()):
        await _wait_for_rate_limits(job.judge, stop)
    return run


async def _pause(seconds: float, stop: asyncio.Event) -> None:
    """Wait some seconds, or until the shard is stopped."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


async def _wait_for_rate_limits(judge: Judge, stop: asyncio.Event) -> None:
    """Wait until the rate limits have fully recovered, because the next shard on this worker starts a new limiter."""
    if quiet := _compute_refill_time(judge):
        # A call may use more tokens than estimated; wait until they are refilled.
        if judge.tokens_per_minute:
            pace = (await JudgeClient(judge).ready()).pace
            await pace.acquire()
            pace.release()
        await _pause(quiet, stop)


def _compute_refill_time(judge: Judge) -> float:
    """Return the idle time in seconds after which all rate limits allow a burst again (see `rate_limit.RateBucket`)."""
    limits = (getattr(judge, name) for name in RATE_LIMITS)
    return max((MINUTE / min(MINUTE - 1, limit) for limit in limits if limit), default=0.0)


def _divide_budget(options: EvaluateOptions, shards: int) -> EvaluateOptions:
    """Return the options of each shard, with the budget divided by the number of shards."""
    calls, cost = options.get("max_calls"), options.get("max_cost")
    if unfit := UNSUPPORTED_OPTIONS & options.keys():
        raise DataError(f"{', '.join(sorted(unfit))}: not supported on a cluster; omit it")
    if shards < 1 or (calls is not None and calls < shards):
        raise DataError(f"{shards} shards: expected at least one, and at most max_calls, which is divided among them")
    caps: EvaluateOptions = {}
    if calls is not None:
        caps["max_calls"] = calls // shards
    if cost is not None:
        caps["max_cost"] = cost / shards
    of_shard = {name: option for name, option in options.items() if name not in {"deadline", "on_progress"}}
    return select_evaluate_options(of_shard, **caps)


def _check_shard_count(out: Path, shards: int) -> None:
    begun = {path.name.rpartition("-of-")[2] for path in (out / SHARDS).glob("*-of-*")} - {str(shards)}
    if begun:
        raise StoreError(f"{out}: was begun with shards={min(begun)}; use this number, or choose another folder")


@contextmanager
def _connect_to_ray(address: str | None, workers: int | None) -> Iterator[Any]:
    """Connect to a Ray cluster and yield the module `ray`. Usage statistics are off unless the user enabled them."""
    # Ray sends usage statistics unless it is told not to.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("ray", "ray") from error
    callers = address is None and ray.is_initialized()
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    local_options: dict[str, Any] = {
        "num_cpus": workers,
        "object_store_memory": OBJECT_STORE_BYTES,
        "include_dashboard": False,
    }
    if not callers:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            **(local_options if address == "local" else {}),
        )
    try:
        yield ray
    finally:
        # A cluster that the caller has connected to stays connected.
        if not callers:
            ray.shutdown()
