"""The route that imports verdicts that were given elsewhere, as a run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request, Response

from greval.datasets.column_map import parse_columns
from greval.datasets.file_identity import identify_file
from greval.metrics.scale_text import build_scale_metric
from greval.records.case import Over
from greval.records.metric import Metric
from greval.records.record import Record
from greval.runs.importing.api import import_verdicts
from greval.serve.ids import ID_PATTERN, create_id
from greval.serve.jobs.info import read_run_info
from greval.serve.jobs.queue import RunInfo
from greval.serve.problems import ServeError, describe_errors, report_full_disk
from greval.serve.routes.datasets import ColumnLines
from greval.serve.schemas.requests import MetricName
from greval.serve.service import TheService, TheTenant
from greval.serve.settings import ServerLimits
from greval.serve.state.datasets import DatasetFile, find_dataset_file
from greval.serve.state.file_receiver import describe_file_body, find_extension, publish_folder, receive_in_folder
from greval.serve.state.metric_runner import TenantMetrics, TheTenantMetrics
from greval.serve.state.run_paths import hide_paths, hide_paths_in_errors
from greval.serve.tenant_quotas import get_tenant_quotas
from greval.serve.workers.pool import blame_file_for_limits

router = APIRouter(prefix="/v1/runs", tags=["runs"])

DEFAULT_NAMES = ("verdict",)
RunName = Annotated[str, Query(pattern=ID_PATTERN, description="what the run is called")]
MetricNames = Annotated[
    list[MetricName] | None,
    Query(max_length=50, description="the metric of the verdicts; with `scale`, a new name; may be given often"),
]
ScaleText = Annotated[
    str | None,
    Query(
        max_length=1_000, description="the scale, if there is no metric: `0..3`, `0.0..1.0`, `yes/no`, `red|green|blue`"
    ),
]
JudgeLabel = Annotated[
    str | None, Query(min_length=1, max_length=200, description="who gave the verdicts; by default the run's name")
]
MethodLabel = Annotated[str | None, Query(max_length=1_000, description="the method of rows that name none")]
DatasetId = Annotated[
    str | None, Query(pattern=ID_PATTERN, description="the data set with the cases, joined by id, if the file has none")
]


class ImportedRun(Record):
    """A run of imported verdicts, and what was imported.

    `scored`, `skipped` and `failed` count its results. `unread` lists the first rows that were not imported, of
    `unread_count`; `notes` say how the columns of the file were read.
    """

    scored: int
    skipped: int
    failed: int
    unread: tuple[str, ...]
    unread_count: int
    notes: tuple[str, ...]
    run: RunInfo


class ImportSettings(NamedTuple):
    """How a file of verdicts is read; `judge` is who gave them, `cases` the data set whose cases are joined by id."""

    metrics: tuple[Metric, ...]
    judge: str
    method: str | None
    columns: Mapping[str, str]
    cases: DatasetFile | None


@router.post(
    "/import",
    status_code=201,
    openapi_extra=describe_file_body(),
    responses=describe_errors(404, 409, 501, 507),
)
async def import_run(  # noqa: PLR0913 - what one may say of a file
    request: Request,
    response: Response,
    service: TheService,
    tenant: TheTenant,
    tenant_metrics: TheTenantMetrics,
    *,
    name: RunName,
    metric: MetricNames = None,
    scale: ScaleText = None,
    over: Annotated[Over | None, Query(description="with `scale`: each verdict is of one of these items")] = None,
    judge: JudgeLabel = None,
    dataset: DatasetId = None,
    method: MethodLabel = None,
    column: ColumnLines = None,
) -> ImportedRun:
    """Import verdicts of another tool, of people or of a judge that ran elsewhere as a run.

    The body is the file, the header `Content-Type` its type. No judge is called. Reports, comparisons, agreement and
    panels read the run as any other; its results are marked as imported.
    """
    ending = find_extension(request)
    metrics = await tenant_metrics.look_up(_choose_metrics, tenant_metrics, metric, scale, over)
    limits, quotas = service.settings.limits, get_tenant_quotas(service, tenant)
    cases = find_dataset_file(tenant, dataset) if dataset is not None else None
    settings = ImportSettings(metrics, judge or name, method, parse_columns(column or ()), cases)
    path, final = tenant.runs / f"{name}{ending}", tenant.runs / create_id(name)
    async with receive_in_folder(request.stream(), path, limits.upload, quotas=quotas, kind="runs") as sent:
        new = sent.path.with_name("run")
        with blame_file_for_limits():
            counts = await service.workers.run(tenant.name, import_file, sent.path, new, settings, limits)
        await publish_folder(new, final, quotas=quotas, kind="runs")
    response.headers["Location"] = f"/v1/runs/{final.name}"
    return ImportedRun(run=await asyncio.to_thread(read_run_info, tenant, final), **counts)


def _choose_metrics(
    tenant_metrics: TenantMetrics, names: list[str] | None, scale: str | None, over: Over | None
) -> tuple[Metric, ...]:
    """Return the metrics that verdicts are of, or raise an error if none can be."""
    if scale is not None:
        return tuple(build_scale_metric(name, scale, over=over) for name in dict.fromkeys(names or DEFAULT_NAMES))
    if not names or over is not None:
        message = "query: say what the verdicts are of: metric=NAME, or scale=0..3 and metric=NAME for any other"
        raise ServeError("invalid_request", message)
    metrics = tuple(tenant_metrics.find(name).metric for name in dict.fromkeys(names))
    if computed := [metric.name for metric in metrics if metric.kind == "computed"]:
        message = f"metric: {', '.join(computed)} is computed; a run over the cases computes it"
        raise ServeError("invalid_request", message)
    return metrics


def import_file(path: Path, folder: Path, settings: ImportSettings, limits: ServerLimits) -> dict[str, Any]:
    """Import the verdicts of a file into a run folder in a child process, and return the counts of an `ImportedRun`.

    Messages name the file, not its folder.
    """
    unread: list[str] = []
    notes: list[str] = []
    with hide_paths_in_errors(path, folder), report_full_disk():
        run = import_verdicts(
            path,
            settings.metrics,
            out=folder,
            judge=settings.judge,
            method=settings.method,
            columns=settings.columns or None,
            cases=settings.cases.open(limits) if settings.cases else None,
            # Clients see it in reports.
            origin=identify_file(path)._replace(label=path.name),
            on_note=notes.append,
            on_unread=unread.append,
        )
    done = run.progress
    return {
        "scored": done.done - done.failed - done.skipped,
        "skipped": done.skipped,
        "failed": done.failed,
        "unread": tuple(hide_paths(line, path) for line in unread),
        "unread_count": done.unread,
        "notes": tuple(hide_paths(note, path) for note in notes),
    }
