"""The route that imports verdicts that were given elsewhere, as a run."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import StringConstraints

from greval._util.files import sync_folder
from greval.datasets.column_map import parse_columns
from greval.metrics.scale_text import build_scale_metric
from greval.records.case import Over
from greval.records.metric import Metric
from greval.serve.ids import ID_PATTERN, create_id
from greval.serve.jobs.info import read_run_info
from greval.serve.jobs.queue import RunInfo
from greval.serve.problems import ServeError, describe_errors
from greval.serve.routes.datasets import ColumnLines
from greval.serve.service import TheService, TheTenant
from greval.serve.state.file_receiver import describe_file_body, find_extension, report_full_disk, run_to_completion
from greval.serve.state.metric_runner import TenantMetrics, TheTenantMetrics
from greval.serve.state.uploads import KINDS, Uploads, receive_within_quotas
from greval.serve.state.verdict_import import ImportCounts, ImportSettings, import_file
from greval.serve.tenant_quotas import TenantQuotas, get_tenant_quotas
from greval.serve.workers.pool import blame_file_for_limits

router = APIRouter(prefix="/v1/runs", tags=["runs"])

DEFAULT_NAMES = ("verdict",)
RunName = Annotated[str, Query(pattern=ID_PATTERN, description="what the run is called")]
MetricNames = Annotated[
    list[Annotated[str, StringConstraints(min_length=1, max_length=100)]] | None,
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


class ImportedRun(ImportCounts):
    """A run of imported verdicts, and what was imported.

    `scored`, `skipped` and `failed` count its results. `unread` lists the first rows that were not imported, of
    `unread_count`; `notes` say how the columns of the file were read.
    """

    run: RunInfo


@router.post(
    "/import",
    status_code=201,
    openapi_extra=describe_file_body(KINDS),
    responses=describe_errors(404, 408, 409, 413, 415, 422, 501, 503, 507),
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
    ending = find_extension(request.headers.get("content-type", ""), KINDS)
    metrics = await run_in_threadpool(_choose_metrics, tenant_metrics, metric, scale, over)
    limits = service.settings.limits
    cases = Uploads(tenant.datasets).find_file(dataset) if dataset is not None else None
    settings = ImportSettings(metrics, judge or name, method, parse_columns(column or ()), cases)
    quotas = get_tenant_quotas(service, tenant)
    new, final = tenant.runs / f".new-{secrets.token_hex(8)}", tenant.runs / create_id(name)
    try:
        with report_full_disk():
            await asyncio.to_thread(new.mkdir, parents=True)
            parts, path = request.stream(), new / f"{name}{ending}"
            sent = await receive_within_quotas(parts, path, limits.upload, quotas=quotas, kind="runs")
            with blame_file_for_limits():
                counts = await service.workers.run(tenant.name, import_file, sent.path, new / "run", settings, limits)
            await run_to_completion(_publish_run, new / "run", final, quotas)
    finally:
        # Not in a thread: the request may be cancelled here too.
        shutil.rmtree(new, ignore_errors=True)
    response.headers["Location"] = f"/v1/runs/{final.name}"
    return ImportedRun(run=await asyncio.to_thread(read_run_info, tenant, final), **dict(counts))


def _publish_run(new: Path, final: Path, quotas: TenantQuotas) -> None:
    """Move a run to its final folder, or raise `ServeError` (409) if it would be more than the quota."""
    with quotas.reserve("runs"):
        new.rename(final)
        sync_folder(final.parent)


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
