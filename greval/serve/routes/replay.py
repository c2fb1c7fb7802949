"""The route that reads a finished run again by edited metrics, without a call of the judge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from greval.records.metric import ReasonDepth
from greval.records.record import Record
from greval.runs.replay import RefusedMetric, ReplayableMetric, ReplayedMetric, preview_replay, replay
from greval.serve.jobs.info import JudgedFolder, read_run_info
from greval.serve.jobs.queue import ACTIVE, read_job_head
from greval.serve.jobs.requests import update_replayed_job
from greval.serve.problems import ServeError, describe_errors, report_full_disk
from greval.serve.routes.runs import TheJobManager
from greval.serve.schemas.requests import MetricName, StrictRequest
from greval.serve.service import TheTasks
from greval.serve.settings import ServerSettings
from greval.serve.state.metric_library import dump_metrics, restore_metrics
from greval.serve.state.metric_runner import TheTenantMetrics
from greval.serve.state.run_paths import hide_paths_in_errors
from greval.serve.tenant_quotas import get_tenant_quotas

router = APIRouter(prefix="/v1/runs", tags=["runs"])


class ReplayRequest(StrictRequest):
    """A replay of a run.

    `metrics` are names: their present definitions replace those of the run. Without names, all judged metrics of the
    run are read again by their stored definitions. `preview`: only find what can be read again, and write nothing.
    """

    metrics: Annotated[list[MetricName], Field(max_length=100)] = Field(default_factory=list)
    preview: bool = False


class RunReplay(Record):
    """What a replay read again, or would read again.

    `replayed` are the metrics whose results were read again; it is empty in a preview. `replayable` are those that can
    be read again, with the places at which their definitions differ from those of the run; it is filled in a preview
    only. `refused` are those for which the judge would have to be asked again, and why.
    """

    replayed: tuple[ReplayedMetric, ...] = ()
    replayable: tuple[ReplayableMetric, ...] = ()
    refused: tuple[RefusedMetric, ...] = ()


@router.post("/{id}/replay", responses=describe_errors(404, 409, 507))
async def replay_run(
    tasks: TheTasks,
    runs: TheJobManager,
    tenant_metrics: TheTenantMetrics,
    folder: JudgedFolder,
    body: ReplayRequest | None = None,
) -> RunReplay:
    """Read the verdicts of a run again from the stored replies of its judge, without a call of any model.

    Use it after a change of scores, of shares computed from notes, or of `pass`. A metric for which the judge would be
    asked something else is refused, with what changed; the others are read again. All is written, or nothing.
    """
    request, service, tenant = body or ReplayRequest(), tasks.service, tasks.tenant
    head = await tasks.run_in_thread(read_job_head, folder)
    depth = head.reason_depth if head else None
    metrics = await tenant_metrics.look_up(tenant_metrics.find_metrics, request.metrics, depth)
    metrics = [metric for metric in metrics if metric.name in request.metrics]
    order = service.child_settings, folder, dump_metrics(metrics), depth, request.preview
    if request.preview:
        return await tasks.run(replay_folder, *order)
    get_tenant_quotas(service, tenant).check_stored("disk")
    with await runs.lock_ended_run(folder, "it is worked on; replay it when it has ended"):
        info = await tasks.run_in_thread(read_run_info, tenant, folder)
        if info.status in ACTIVE:
            raise ServeError("run_active", f"run {info.id!r}: is {info.status}; replay it when it has ended")
        return await tasks.run(replay_folder, *order)


def replay_folder(
    settings: ServerSettings,
    folder: Path,
    definitions: Sequence[object],
    depth: ReasonDepth | None,
    preview: bool,  # noqa: FBT001 - a child process gets no keywords
) -> RunReplay:
    """Read a run again by these definitions, or find what that would do; the server calls it in a child process."""
    metrics = restore_metrics(settings, definitions)
    with hide_paths_in_errors(folder):
        if preview:
            replayable, refused = preview_replay(folder, metrics, reason_depth=depth)
            return RunReplay(replayable=replayable, refused=refused)
        done = replay(folder, metrics, reason_depth=depth)
    names = {replayed.metric for replayed in done.replayed}
    with report_full_disk():
        edited = {metric.name: metric.model_dump(mode="json") for metric in metrics if metric.name in names}
        update_replayed_job(folder, edited)
    return RunReplay(replayed=done.replayed, refused=done.refused)
