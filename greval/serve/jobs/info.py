"""Run information as clients see it, including runs of the command line."""

from __future__ import annotations

import fcntl
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from greval.errors import StoreError
from greval.runs.progress import Progress
from greval.runs.store import FILE, Store
from greval.runs.store.disk import LOCK
from greval.serve.ids import absent, inside
from greval.serve.jobs.queue import ORDER, is_run, order_of, state_of
from greval.serve.jobs.records import ACTIVE, Order, RunInfo, State, Status
from greval.serve.problems import ServeError
from greval.serve.service import PLAIN_NAME, Tenant
from greval.serve.state.uploads import Uploads


class _Held(NamedTuple):
    """A summary of the log of a command-line run."""

    judge: str | None
    metrics: tuple[str, ...]
    pending: bool


def run_folder(tenant: Tenant, given: str) -> Path:
    """Return the folder of a run.

    Raises:
        ServeError: If the tenant has no run with this id (404).
    """
    folder = inside(tenant.runs, given, "run")
    if not is_run(folder):
        raise absent("run", given)
    return folder


def judged_folder(tenant: Tenant, given: str) -> Path:
    """Return the folder of a run that has started to write results.

    Raises:
        ServeError: If the tenant has no run with this id (404), or it has not started (409).
    """
    folder = run_folder(tenant, given)
    if not (folder / FILE).is_file():
        raise ServeError(409, f"run {given!r}: has no results yet; it is queued, or it could not begin")
    return folder


def info_of(tenant: Tenant, folder: Path, progress: Progress | None = None) -> RunInfo:
    """Return a run as clients see it.

    Args:
        tenant: The owner of the run.
        folder: The folder of the run.
        progress: Progress newer than that in the folder, if this process works on the run.

    Raises:
        ServeError: If the run is gone (404).
    """
    order = order_of(folder)
    if order is not None:
        return _of_server(tenant, order, state_of(folder) or State(status="queued"), progress)
    try:
        return _of_command_line(folder)
    except FileNotFoundError as error:
        raise absent("run", folder.name) from error


def listed(tenant: Tenant) -> list[tuple[int, Path]]:
    """List the folders of all runs with their creation times in nanoseconds, newest first."""
    if not tenant.runs.is_dir():
        return []
    found = [path for path in tenant.runs.iterdir() if PLAIN_NAME.fullmatch(path.name) and is_run(path)]
    return sorted(((_made(path), path) for path in found), reverse=True)


def _made(folder: Path) -> int:
    for name in (ORDER, FILE):
        try:
            return (folder / name).stat().st_mtime_ns
        except OSError:
            continue
    return 0


def _of_server(tenant: Tenant, order: Order, state: State, progress: Progress | None) -> RunInfo:
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
        resumable=ended and Uploads(tenant.datasets).holds(order.asked.dataset),
    )


def _of_command_line(folder: Path) -> RunInfo:
    """Return the information of a command-line run; it is finished if nothing is pending."""
    file, wal = folder / FILE, folder / f"{FILE}-wal"
    created = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    stamp = tuple((one.stat().st_mtime_ns, one.stat().st_size) if one.exists() else (0, 0) for one in (file, wal))
    try:
        held = _held(folder, stamp)
    except StoreError as error:
        why = str(error).replace(str(folder), folder.name)
        return RunInfo(id=folder.name, name=folder.name, status="failed", why=why, created=created)
    status: Status = "finished" if not held.pending else "running" if _is_locked(folder) else "stopped"
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
def _held(folder: Path, _: tuple[tuple[int, int], ...]) -> _Held:
    """Read the log. Counting takes a second for a large one, so the summary is cached by the state of its files."""
    with Store.open(folder) as store:
        judges, metrics, pending = store.judges(), store.fact("metrics"), bool(store.stops())
    defined = metrics if isinstance(metrics, list) else []
    return _Held(
        judge=", ".join(judges) or None,
        metrics=tuple(str(one["name"]) for one in defined if isinstance(one, dict)),
        pending=pending,
    )


def _is_locked(folder: Path) -> bool:
    """Return whether a process writes to a run."""
    try:
        with (folder / LOCK).open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
