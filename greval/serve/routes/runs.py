"""Routes of runs: start, follow, read, cancel, resume."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, cast

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from pydantic import JsonValue

from greval.records.record import Record
from greval.serve.ids import Id, absent
from greval.serve.jobs.event_stream import EVENT, EventStream, events
from greval.serve.jobs.info import info_of, listed, run_folder
from greval.serve.jobs.manager import Runs
from greval.serve.jobs.queue import order_of, remove
from greval.serve.jobs.records import ACTIVE, ResumeRequest, RunInfo, RunRequest
from greval.serve.jobs.requests import begin, claimed, ordered
from greval.serve.jobs.requests import resume as queue_again
from greval.serve.problems import ServeError
from greval.serve.routes import results as reading
from greval.serve.schemas.cursors import Cursor, Limit, cursor_of, place_of, strange
from greval.serve.service import Service, Tenant, TheService, TheTenant
from greval.serve.state.dependencies import TheShelf
from greval.serve.state.file_receiver import room
from greval.serve.state.uploads import Uploads
from greval.serve.statuses import may_answer


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    """Run jobs as long as the server runs."""
    service: Service = app.state.service
    runs = app.state.runs = Runs(service)
    await runs.start()
    yield
    await runs.close()


router = APIRouter(prefix="/v1/runs", tags=["runs"], lifespan=_life)
router.include_router(reading.router)


class RunList(Record):
    """Runs, newest first; `next` is the cursor of the next page, null on the last one."""

    runs: tuple[RunInfo, ...]
    next: str | None


def runs_of(request: Request) -> Runs:
    """Return the job manager of this process."""
    return cast("Runs", request.app.state.runs)


TheRuns = Annotated[Runs, Depends(runs_of)]


@router.post("", status_code=202, responses=may_answer(404, 409, 422, 503, 507))
async def start_run(
    asked: RunRequest, response: Response, service: TheService, tenant: TheTenant, shelf: TheShelf, runs: TheRuns
) -> RunInfo:
    """Start a run of metrics over a data set; follow it at the URL in `Location`.

    It runs in the background, independent of the client's connection and of restarts of the server. Runs beyond the
    limit of concurrent runs wait in order.
    """

    def make() -> Path:
        Uploads(tenant.datasets).find(asked.dataset)
        metrics = [found.metric for found in shelf.find_all([*asked.metrics], asked.reason_depth)]
        with room():
            return begin(runs.queue, tenant, ordered(service, tenant, asked, metrics))

    folder = await asyncio.to_thread(make)
    runs.poke()
    response.headers["Location"] = f"/v1/runs/{folder.name}"
    return await asyncio.to_thread(_info, runs, tenant, folder)


@router.get("", responses=may_answer(422))
def list_runs(tenant: TheTenant, runs: TheRuns, cursor: Cursor = None, limit: Limit = 100) -> RunList:
    """List the runs, newest first, including those that the command line created in the same folder."""
    found = listed(tenant)
    if cursor is not None:
        made, name = _before(cursor)
        found = [(at, folder) for at, folder in found if (at, folder.name) < (made, name)]
    page = found[:limit]
    more: JsonValue = [page[-1][0], page[-1][1].name] if len(found) > limit else None
    infos = []
    for _, folder in page:
        with suppress(ServeError):  # it was deleted meanwhile
            infos.append(_info(runs, tenant, folder))
    return RunList(runs=tuple(infos), next=cursor_of(more))


@router.get("/{id}", responses=may_answer(404, 422))
def show_run(tenant: TheTenant, runs: TheRuns, id: Id) -> RunInfo:  # noqa: A002 - its name in the path
    """Show the current state of a run."""
    return _info(runs, tenant, run_folder(tenant, id))


@router.delete("/{id}", status_code=204, responses=may_answer(404, 409, 422))
def delete_run(tenant: TheTenant, id: Id) -> None:  # noqa: A002 - its name in the path
    """Delete a run with all its results. Cancel it first if it is queued or running."""
    folder = run_folder(tenant, id)
    with claimed(folder, "is worked on; cancel it first"):
        info = info_of(tenant, folder)
        if info.status in ACTIVE:
            raise ServeError(409, f"run {id!r}: is {info.status}; cancel it first")
        remove(folder)


@router.post("/{id}/cancel", status_code=202, responses=may_answer(404, 409, 422))
async def cancel_run(tenant: TheTenant, runs: TheRuns, id: Id) -> RunInfo:  # noqa: A002 - its name in the path
    """Cancel a run: calls in flight are finished and stored, no further calls are made. It can be resumed."""
    folder = run_folder(tenant, id)
    info = await asyncio.to_thread(_info, runs, tenant, folder)
    if info.status not in ACTIVE:
        raise ServeError(409, f"run {id!r}: is {info.status}; there is nothing to cancel")
    if order_of(folder) is None:
        raise ServeError(409, f"run {id!r}: was started on the command line; stop it there")
    try:
        runs.cancel(folder)
    except FileNotFoundError as error:  # it was deleted meanwhile
        raise absent("run", id) from error
    return info


@router.post("/{id}/resume", status_code=202, responses=may_answer(404, 409, 422, 503, 507))
async def resume_run(
    service: TheService,
    tenant: TheTenant,
    runs: TheRuns,
    id: Id,  # noqa: A002 - its name in the path
    asked: ResumeRequest | None = None,
) -> RunInfo:
    """Resume a stopped or failed run: only missing and failed results are judged.

    A run that reached a cap goes on only if the body holds a higher one: caps include what was spent before.
    """
    folder = run_folder(tenant, id)

    def again() -> None:
        with room():
            queue_again(service, runs.queue, tenant, folder, asked=asked)

    await asyncio.to_thread(again)
    runs.poke()
    return await asyncio.to_thread(_info, runs, tenant, folder)


@router.get(
    "/{id}/events",
    responses={
        200: {"content": {EventStream.media_type: {"schema": EVENT}}, "description": "The events."},
        **may_answer(404, 422),
    },
    response_class=EventStream,
)
def follow_run(
    service: TheService,
    tenant: TheTenant,
    runs: TheRuns,
    id: Id,  # noqa: A002 - its name in the path
) -> EventStream:
    """Follow a run as server-sent events: `progress` as it changes, then `end` with the run.

    A line that begins with a colon only keeps the connection open. After a lost connection, request the stream again:
    it starts with the newest progress.
    """
    folder = run_folder(tenant, id)
    look = partial(_info, runs, tenant, folder)
    return EventStream(events(look, service.stopping), headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


def _info(runs: Runs, tenant: Tenant, folder: Path) -> RunInfo:
    going = runs.going(folder)
    return info_of(tenant, folder, going.progress if going else None)


def _before(cursor: str) -> tuple[int, str]:
    """Return the creation time and the name in a cursor of runs.

    Raises:
        ServeError: If the server did not issue such a cursor (422).
    """
    match place_of(cursor):
        case [int(made), str(name)]:
            return made, name
        case _:
            raise strange()
