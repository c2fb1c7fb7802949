"""Runs as clients see them, including those of the command line: their information, and their progress as events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple

from fastapi import Depends
from fastapi.sse import ServerSentEvent

from greval._util.files import is_locked
from greval.errors import StoreError
from greval.runs.progress import Progress
from greval.runs.run_reader import read_metrics
from greval.runs.store import FILE, Store, is_begun
from greval.runs.store.disk import LOCK_FILE
from greval.runs.store.pages import list_methods
from greval.runs.store.plans import list_judges, list_stop_reasons
from greval.serve.ids import Id, build_not_found_error, resolve_folder
from greval.serve.jobs.queue import (
    ACTIVE,
    SPEC_FILE,
    JobHead,
    JobState,
    JobStatus,
    RunInfo,
    is_run_folder,
    read_job_head,
    read_job_state,
)
from greval.serve.problems import ServeError
from greval.serve.service import PLAIN_NAME, Tenant, TheTenant
from greval.serve.state.datasets import INFO_FILE
from greval.serve.state.run_paths import read_run_stamp


def find_run_folder(tenant: Tenant, run_id: str) -> Path:
    """Return the folder of a run, or raise `ServeError` (404) if the tenant has no such run."""
    folder = resolve_folder(tenant.runs, run_id, "run")
    if not is_run_folder(folder):
        raise build_not_found_error("run", run_id)
    return folder


def find_judged_folder(tenant: Tenant, run_id: str) -> Path:
    """Return the folder of a run with results, or raise `ServeError` (404; 409 if the run has not started)."""
    folder = find_run_folder(tenant, run_id)
    if not is_begun(folder):
        message = f"run {run_id!r}: has no results; it is queued, could not begin, or is an alignment"
        raise ServeError("run_without_results", message)
    return folder


async def get_run_folder(tenant: TheTenant, id: Id) -> Path:  # noqa: A002 - its name in the path
    """Return the folder of the run that the path of a request names."""
    return find_run_folder(tenant, id)


async def get_judged_folder(tenant: TheTenant, id: Id) -> Path:  # noqa: A002 - as above
    """Return the folder of the run with results that the path of a request names."""
    return find_judged_folder(tenant, id)


RunFolder = Annotated[Path, Depends(get_run_folder)]
JudgedFolder = Annotated[Path, Depends(get_judged_folder)]
"""Dependencies of routes; without such a run the response is 404, without results 409."""


def read_run_info(tenant: Tenant, folder: Path) -> RunInfo:
    """Return a run as clients see it, or raise `ServeError` (404) if it is gone."""
    head = read_job_head(folder)
    if head is not None:
        return _build_server_info(tenant, head, read_job_state(folder) or JobState(status="queued"))
    try:
        return _read_command_line_info(folder)
    except FileNotFoundError as error:
        raise build_not_found_error("run", folder.name) from error


def list_run_folders(tenant: Tenant) -> list[tuple[int, Path]]:
    """List the folders of all runs with their creation times in nanoseconds, newest first."""
    if not tenant.runs.is_dir():
        return []
    folders = [path for path in tenant.runs.iterdir() if PLAIN_NAME.fullmatch(path.name) and is_run_folder(path)]
    return sorted(((_read_creation_time(path), path) for path in folders), reverse=True)


def _read_creation_time(folder: Path) -> int:
    for name in (SPEC_FILE, FILE):
        try:
            return (folder / name).stat().st_mtime_ns
        except OSError:
            continue
    return 0


def _build_server_info(tenant: Tenant, head: JobHead, state: JobState) -> RunInfo:
    ended = state.status not in ACTIVE
    return RunInfo(
        **head.model_dump(exclude={"tenant", "run", "reason_depth"}),
        status=state.status,
        why=state.why,
        methods=state.methods if ended else None,
        progress=state.progress,
        resumable=ended and _has_source(tenant, head),
    )


def _has_source(tenant: Tenant, head: JobHead) -> bool:
    """Return whether what a job reads exists."""
    if head.run is not None:
        return is_run_folder(tenant.runs / head.run)
    return head.dataset is None or (tenant.datasets / head.dataset / INFO_FILE).is_file()


def _read_command_line_info(folder: Path) -> RunInfo:
    """Return the information of a command-line run; it is finished if nothing is pending."""
    created = datetime.fromtimestamp((folder / FILE).stat().st_mtime, UTC)
    try:
        judge, metrics, methods, pending = _summarise_log(folder, read_run_stamp(folder))
    except StoreError as error:
        why = str(error).replace(str(folder), folder.name)
        return RunInfo(id=folder.name, name=folder.name, status="failed", why=why, created=created)
    status: JobStatus = "finished" if not pending else "running" if is_locked(folder / LOCK_FILE) else "stopped"
    return RunInfo(
        id=folder.name,
        name=folder.name,
        status=status,
        why="not all of it is judged; go on with it on the command line" if status == "stopped" else None,
        judge=judge,
        metrics=metrics,
        methods=methods if status != "running" else None,
        created=created,
    )


class LogSummary(NamedTuple):
    """The judge, the metrics and the methods of a log, and whether something is pending."""

    judge: str | None
    metrics: tuple[str, ...]
    methods: tuple[str, ...]
    pending: bool


@lru_cache(maxsize=1024)
def _summarise_log(folder: Path, _: tuple[object, ...]) -> LogSummary:
    """Summarise a log.

    Counting takes a second for a large log, so the summary is cached by the state of its files.
    """
    with Store.open(folder) as store:
        plans, metrics, methods = store.plans(), read_metrics(store), list_methods(store)
    return LogSummary(", ".join(list_judges(plans)) or None, tuple(metrics), methods, bool(list_stop_reasons(plans)))


POLL_SECONDS = 0.25


class RunWatch:
    """Reads the states of runs in threads, once in `POLL_SECONDS` for all streams that follow the same run."""

    def __init__(self) -> None:
        self._reads: dict[tuple[Tenant, Path], tuple[float, asyncio.Task[RunInfo]]] = {}

    async def read(self, tenant: Tenant, folder: Path, opened_at: float) -> RunInfo:
        """Return the state of a run, or raise `ServeError` (404) if it was deleted.

        A state that was read before the stream was opened is not returned: the run may have been resumed since.
        """
        now = time.monotonic()
        began_at, task = self._reads.get((tenant, folder), (0.0, None))
        if task is None or began_at < max(opened_at, now - POLL_SECONDS):
            task = asyncio.create_task(asyncio.to_thread(read_run_info, tenant, folder))
            # Perhaps nobody waits any more, and asyncio would log an error that nobody took.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            recent = {run: read for run, read in self._reads.items() if read[0] > now - POLL_SECONDS}
            self._reads = {**recent, (tenant, folder): (now, task)}
        # Shielded, because other streams may wait for the same reading.
        return await asyncio.shield(task)


async def stream_events(look: Callable[[], Awaitable[RunInfo]]) -> AsyncIterator[ServerSentEvent]:
    """Yield the progress of a run as it changes, and the run itself at its end.

    `look` returns the current state of the run; it is called at most four times a second.
    """
    sent: Progress | None = None
    while True:
        try:
            info = await look()
        except ServeError:
            # It was deleted.
            return
        if info.progress is not None and info.progress != sent:
            sent = info.progress
            yield ServerSentEvent(event="progress", data=sent)
        if info.status not in ACTIVE:
            yield ServerSentEvent(event="end", data=info)
            return
        await asyncio.sleep(POLL_SECONDS)
