"""Routes of runs: start, follow, read, cancel, resume."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, cast

from fastapi import APIRouter, Depends, FastAPI, Header, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import JsonValue

from greval.records.record import Record
from greval.serve.ids import Id, build_not_found_error
from greval.serve.jobs.idempotency import hold_key
from greval.serve.jobs.info import (
    find_run_folder,
    list_run_folders,
    read_run_info,
    stream_events,
)
from greval.serve.jobs.manager import JobManager
from greval.serve.jobs.queue import (
    ACTIVE,
    JobRequest,
    JobSpec,
    ResumeRequest,
    RunInfo,
    RunRequest,
    is_run_folder,
    read_job_spec,
    remove_run_folder,
)
from greval.serve.jobs.requests import build_job_spec, enqueue_job, lock_ended_run
from greval.serve.jobs.requests import resume_job as queue_again
from greval.serve.problems import ServeError, build_fault, describe_errors
from greval.serve.schemas.cursors import Cursor, Limit, build_cursor_error, decode_cursor, encode_cursor
from greval.serve.service import Service, Tenant, TheService, TheTenant
from greval.serve.state.dataset_forecast import explain_unserved
from greval.serve.state.file_receiver import report_full_disk
from greval.serve.state.metric_runner import TheTenantMetrics
from greval.serve.state.uploads import Uploads
from greval.serve.tenant_quotas import get_tenant_quotas
from greval.serve.workers.pool import TaskLimitError


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Run jobs as long as the server runs."""
    service: Service = app.state.service
    runs = app.state.runs = JobManager(service)
    await runs.start()
    yield
    await runs.close()


router = APIRouter(prefix="/v1/runs", tags=["runs"], lifespan=_lifespan)


class RunList(Record):
    """Runs, newest first; `next` is the cursor of the next page, null on the last one."""

    runs: tuple[RunInfo, ...]
    next: str | None


def get_job_manager(request: Request) -> JobManager:
    """Return the job manager of this process."""
    return cast("JobManager", request.app.state.runs)


IdempotencyKey = Annotated[
    str | None,
    Header(min_length=1, max_length=255, description="a new random text for each run, the same for each attempt"),
]
TheJobManager = Annotated[JobManager, Depends(get_job_manager)]


class JobStarter:
    """Starts jobs of a client, each once for the same `Idempotency-Key`."""

    def __init__(
        self,
        response: Response,
        service: TheService,
        tenant: TheTenant,
        tenant_metrics: TheTenantMetrics,
        runs: TheJobManager,
        *,
        idempotency_key: IdempotencyKey = None,
    ) -> None:
        """Store the request and the client."""
        self._response = response
        self._metrics = tenant_metrics
        self._runs = runs
        self._key = idempotency_key
        self.service = service
        self.tenant = tenant

    async def start(self, body: JobRequest, check: Callable[[JobSpec], Awaitable[None]]) -> RunInfo:
        """Check a request, queue the job, and return it; `check` raises an error if the job could not begin."""
        spec = await asyncio.to_thread(self._prepare, body)
        await check(spec)
        enqueue = self._enqueue_once if self._key else self._enqueue
        with report_full_disk():
            folder = await asyncio.to_thread(enqueue, spec)
        self._runs.wake()
        self._response.headers["Location"] = f"/v1/runs/{folder.name}"
        return await asyncio.to_thread(read_run_info, self.tenant, folder)

    def _prepare(self, body: JobRequest) -> JobSpec:
        names = [*body.metrics] if isinstance(body, RunRequest) else [body.metric]
        metrics = [library_metric.metric for library_metric in self._metrics.find_all(names, body.reason_depth)]
        return build_job_spec(self.service, self.tenant, body, metrics)

    def _enqueue(self, spec: JobSpec) -> Path:
        return enqueue_job(self._runs.queue, get_tenant_quotas(self.service, self.tenant), spec)

    def _enqueue_once(self, spec: JobSpec) -> Path:
        with hold_key(self.tenant.runs, self._key or "", spec.asked, spec.id) as run_id:
            folder = self.tenant.runs / run_id
            # The first request may have been killed before it created the run.
            return folder if is_run_folder(folder) else self._enqueue(spec.model_copy(update={"id": run_id}))


TheJobStarter = Annotated[JobStarter, Depends()]


@router.post("", status_code=202, responses=describe_errors(404, 409, 422, 503, 507))
async def start_run(body: RunRequest, starter: TheJobStarter) -> RunInfo:
    """Start a run of metrics over a data set; follow it at the URL in `Location`.

    It runs in the background, independent of the client's connection and of restarts of the server. Runs beyond the
    limit of concurrent runs wait in order. If a request is sent again with the same `Idempotency-Key` within a day, the
    response is the run that the first one started.
    """
    return await starter.start(body, partial(_check_needs, starter.service, starter.tenant, body))


async def _check_needs(service: Service, tenant: Tenant, request: RunRequest, spec: JobSpec) -> None:
    """Raise `ServeError` (409) if each metric would be skipped for every case, with what each of them lacks."""
    file = Uploads(tenant.datasets).find_file(request.dataset)
    requested = [
        definition for name, definition in zip(spec.metrics, spec.definitions, strict=True) if name in request.metrics
    ]
    lacking: dict[str, str] = {}
    explain = partial(
        explain_unserved, service.settings, file, requested or spec.definitions, request.sample_ids, request.limit
    )
    # A run may take longer to find out.
    with suppress(TaskLimitError):
        lacking = await service.workers.run(tenant.name, explain)
    if lacking:
        faults = [build_fault("body.metrics", f"{name}: {reason}") for name, reason in lacking.items()]
        lines = "; ".join(fault.message for fault in faults)
        message = f"metrics: no case of the data set {request.dataset!r} has what one of them needs: {lines}"
        raise ServeError("metrics_unservable", message, faults=faults)


@router.get("", responses=describe_errors(422))
def list_runs(tenant: TheTenant, cursor: Cursor = None, limit: Limit = 100) -> RunList:
    """List the runs, newest first, including those that the command line created in the same folder."""
    folders = list_run_folders(tenant)
    if cursor is not None:
        created, name = _decode_run_cursor(cursor)
        # By time and name, so that no run is lost between pages if several have one time.
        folders = [(at, folder) for at, folder in folders if (at, folder.name) < (created, name)]
    page = folders[:limit]
    more: JsonValue = [page[-1][0], page[-1][1].name] if len(folders) > limit else None
    infos = []
    for _, folder in page:
        # It was deleted meanwhile.
        with suppress(ServeError):
            infos.append(read_run_info(tenant, folder))
    return RunList(runs=tuple(infos), next=encode_cursor(more))


@router.get("/{id}", responses=describe_errors(404, 422))
def show_run(tenant: TheTenant, id: Id) -> RunInfo:  # noqa: A002 - its name in the path
    """Show the current state of a run."""
    return read_run_info(tenant, find_run_folder(tenant, id))


@router.delete("/{id}", status_code=204, responses=describe_errors(404, 409, 422))
def delete_run(tenant: TheTenant, id: Id) -> None:  # noqa: A002 - its name in the path
    """Delete a run with all its results. Cancel it first if it is queued or running."""
    folder = find_run_folder(tenant, id)
    with lock_ended_run(folder, "is worked on; cancel it first"):
        info = read_run_info(tenant, folder)
        if info.status in ACTIVE:
            raise ServeError("run_active", f"run {id!r}: is {info.status}; cancel it first")
        remove_run_folder(folder)


@router.post("/{id}/cancel", status_code=202, responses=describe_errors(404, 409, 422))
async def cancel_run(tenant: TheTenant, runs: TheJobManager, id: Id) -> RunInfo:  # noqa: A002 - its name in the path
    """Cancel a run: calls in flight are finished and stored, no further calls are made. It can be resumed."""
    folder = find_run_folder(tenant, id)
    info = await asyncio.to_thread(read_run_info, tenant, folder)
    if info.status not in ACTIVE:
        raise ServeError("run_ended", f"run {id!r}: is {info.status}; there is nothing to cancel")
    if read_job_spec(folder) is None:
        raise ServeError("run_of_command_line", f"run {id!r}: was started on the command line; stop it there")
    try:
        runs.cancel(folder)
    except FileNotFoundError as error:
        # It was deleted meanwhile.
        raise build_not_found_error("run", id) from error
    return info


@router.post("/{id}/resume", status_code=202, responses=describe_errors(404, 409, 422, 503, 507))
async def resume_run(
    service: TheService,
    tenant: TheTenant,
    runs: TheJobManager,
    id: Id,  # noqa: A002 - its name in the path
    body: ResumeRequest | None = None,
) -> RunInfo:
    """Resume a stopped or failed run: only missing and failed results are judged.

    A run that reached a cap goes on only if the body holds a higher one: caps include what was spent before.
    """
    folder = find_run_folder(tenant, id)

    def requeue() -> None:
        with report_full_disk():
            queue_again(service, runs.queue, tenant, folder, request=body)

    await asyncio.to_thread(requeue)
    runs.wake()
    return await asyncio.to_thread(read_run_info, tenant, folder)


def find_followed_run(tenant: TheTenant, runs: TheJobManager, id: Id) -> Callable[[], Awaitable[RunInfo]]:  # noqa: A002 - its name in the path
    """Return a function that reads a run, or raise `ServeError` (404) before the response begins."""
    return partial(runs.watch.read, tenant, find_run_folder(tenant, id))


@router.get(
    "/{id}/events",
    responses={
        200: {"description": "The events `progress` and `end`, with JSON as data."},
        **describe_errors(404, 422),
    },
    response_class=EventSourceResponse,
)
async def follow_run(
    look: Annotated[Callable[[], Awaitable[RunInfo]], Depends(find_followed_run)],
) -> AsyncIterator[ServerSentEvent]:
    """Follow a run as server-sent events: `progress` as it changes, then `end` with the run.

    A line that begins with a colon only keeps the connection open. After a lost connection, request the stream again:
    it starts with the newest progress.
    """
    async for event in stream_events(look):
        yield event


def _decode_run_cursor(cursor: str) -> tuple[int, str]:
    """Return the creation time and the name in a cursor of runs, or raise `ServeError` (422)."""
    match decode_cursor(cursor):
        case [int(made), str(name)]:
            return made, name
        case _:
            raise build_cursor_error()
