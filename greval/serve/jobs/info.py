"""Run information as clients see it, including runs of the command line."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from greval._util.files import is_locked
from greval.errors import StoreError
from greval.runs.progress import Progress
from greval.runs.run_reader import read_metrics
from greval.runs.store import FILE, Store
from greval.runs.store.disk import LOCK_FILE
from greval.serve.ids import build_not_found_error, resolve_folder
from greval.serve.jobs.queue import SPEC_FILE, is_run_folder, read_job_spec, read_job_state
from greval.serve.jobs.records import ACTIVE, JobSpec, JobState, JobStatus, RunInfo
from greval.serve.problems import ServeError
from greval.serve.service import PLAIN_NAME, Tenant
from greval.serve.state.uploads import Uploads


class _LogSummary(NamedTuple):
    """A summary of the log of a command-line run."""

    judge: str | None
    metrics: tuple[str, ...]
    pending: bool


def find_run_folder(tenant: Tenant, run_id: str) -> Path:
    """Return the folder of a run.

    Raises:
        ServeError: If the tenant has no run with this id (404).
    """
    folder = resolve_folder(tenant.runs, run_id, "run")
    if not is_run_folder(folder):
        raise build_not_found_error("run", run_id)
    return folder


def find_judged_folder(tenant: Tenant, run_id: str) -> Path:
    """Return the folder of a run that has started to write results.

    Raises:
        ServeError: If the tenant has no run with this id (404), or it has not started (409).
    """
    folder = find_run_folder(tenant, run_id)
    if not (folder / FILE).is_file():
        raise ServeError(409, f"run {run_id!r}: has no results yet; it is queued, or it could not begin")
    return folder


def read_run_info(tenant: Tenant, folder: Path, progress: Progress | None = None) -> RunInfo:
    """Return a run as clients see it.

    Args:
        tenant: The owner of the run.
        folder: The folder of the run.
        progress: Progress newer than that in the folder, if this process works on the run.

    Raises:
        ServeError: If the run is gone (404).
    """
    order = read_job_spec(folder)
    if order is not None:
        return _build_server_info(tenant, order, read_job_state(folder) or JobState(status="queued"), progress)
    try:
        return _read_command_line_info(folder)
    except FileNotFoundError as error:
        raise build_not_found_error("run", folder.name) from error


def list_run_folders(tenant: Tenant) -> list[tuple[int, Path]]:
    """List the folders of all runs with their creation times in nanoseconds, newest first."""
    if not tenant.runs.is_dir():
        return []
    found = [path for path in tenant.runs.iterdir() if PLAIN_NAME.fullmatch(path.name) and is_run_folder(path)]
    return sorted(((_read_creation_time(path), path) for path in found), reverse=True)


def _read_creation_time(folder: Path) -> int:
    for name in (SPEC_FILE, FILE):
        try:
            return (folder / name).stat().st_mtime_ns
        except OSError:
            continue
    return 0


def _build_server_info(tenant: Tenant, order: JobSpec, state: JobState, progress: Progress | None) -> RunInfo:
    ended = state.status not in ACTIVE
    return RunInfo(
        id=order.id,
        name=order.name,
        status=state.status,
        why=state.why,
        judge=order.judge,
        metrics=order.metrics,
        methods=state.methods if ended else None,
        dataset=order.asked.dataset,
        created=order.created,
        progress=state.progress if ended else progress or state.progress,
        resumable=ended and Uploads(tenant.datasets).has_dataset(order.asked.dataset),
    )


def _read_command_line_info(folder: Path) -> RunInfo:
    """Return the information of a command-line run; it is finished if nothing is pending."""
    file, wal = folder / FILE, folder / f"{FILE}-wal"
    created = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    stamp = tuple((one.stat().st_mtime_ns, one.stat().st_size) if one.exists() else (0, 0) for one in (file, wal))
    try:
        held = _summarise_log(folder, stamp)
    except StoreError as error:
        why = str(error).replace(str(folder), folder.name)
        return RunInfo(id=folder.name, name=folder.name, status="failed", why=why, created=created)
    status: JobStatus = "finished" if not held.pending else "running" if is_locked(folder / LOCK_FILE) else "stopped"
    return RunInfo(
        id=folder.name,
        name=folder.name,
        status=status,
        why="not all of it is judged; go on with it on the command line" if status == "stopped" else None,
        judge=held.judge,
        metrics=held.metrics,
        created=created,
    )


@lru_cache(maxsize=1024)
def _summarise_log(folder: Path, _: tuple[tuple[int, int], ...]) -> _LogSummary:
    """Read the log. Counting takes a second for a large one, so the summary is cached by the state of its files."""
    with Store.open(folder) as store:
        judges, metrics, pending = store.judges(), read_metrics(store), bool(store.stops())
    return _LogSummary(
        judge=", ".join(judges) or None,
        metrics=tuple(metrics),
        pending=pending,
    )
