"""Metrics over plain REST: list, show, create, check, draft, delete."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool

from greval.errors import DefinitionError, JudgeError
from greval.judging.drafting.brief import DraftScale
from greval.judging.metric_draft import draft_async
from greval.judging.model.client import JudgeClient
from greval.metrics.files import write_metric
from greval.records.metric import JudgedMetric
from greval.serve.problems import (
    MAX_FAULTS,
    ServeError,
    build_fault,
    build_invalid_request_error,
    describe_errors,
    parse_faults,
)
from greval.serve.schemas.metrics import (
    DraftRequest,
    JudgeInfo,
    JudgeList,
    MetricCheck,
    MetricDetail,
    MetricDraft,
    MetricInfo,
    MetricList,
    MetricText,
)
from greval.serve.service import Service, TheService
from greval.serve.state.metric_library import LibraryMetric
from greval.serve.state.metric_runner import PathName, TheTenantMetrics
from greval.serve.state.metric_texts import check_metric_text
from greval.serve.tenant_quotas import get_tenant_quotas

router = APIRouter(prefix="/v1", tags=["metrics"])


@router.get("/judges")
async def list_judges(service: TheService) -> JudgeList:
    """List the available judges, the default first."""
    models = enumerate(service.models.items())
    return JudgeList(
        judges=[JudgeInfo(name=name, label=JudgeClient(model).label, default=n == 0) for n, (name, model) in models]
    )


@router.get("/metrics", responses=describe_errors(422))
def list_metrics(
    tenant_metrics: TheTenantMetrics,
    kind: Annotated[Literal["judged", "computed"] | None, Query(description="only these")] = None,
    own: Annotated[bool | None, Query(description="true: only those that you made; false: only the others")] = None,
) -> MetricList:
    """List the metrics: the predefined ones, those of the server's library, and your own."""
    infos = [
        MetricInfo(**_build_info(found))
        for found in tenant_metrics.library.list_metrics(tenant_metrics.tenant.metrics).values()
    ]
    return MetricList(metrics=[one for one in infos if kind in {None, one.kind} and own in {None, one.origin == "own"}])


@router.post("/metrics", status_code=201, responses=describe_errors(409, 422, 500, 503, 504, 507))
async def create_metric(
    body: MetricText,
    tenant_metrics: TheTenantMetrics,
    service: TheService,
    *,
    replace: Annotated[bool, Query(description="whether a metric that you made may be replaced")] = False,
) -> MetricInfo:
    """Create a metric of your own from the text of a metric file; it can be used at once."""
    try:
        metric, _ = await service.workers.run(tenant_metrics.tenant.name, check_metric_text, body.yaml)
        _check_judge(service, metric)
        add = partial(tenant_metrics.library.add, tenant_metrics.tenant.metrics, metric, body.yaml, replace=replace)
        found = await run_in_threadpool(add)
    except DefinitionError as error:
        raise ServeError("invalid_metric", "yaml: not a valid metric", faults=parse_faults(error.faults)) from error
    return MetricInfo(**_build_info(found))


@router.post("/metrics/check", responses=describe_errors(422, 503, 504))
async def check_metric(body: MetricText, tenant_metrics: TheTenantMetrics, service: TheService) -> MetricCheck:
    """Check the text of a metric file: report all faults at once, then warnings about unreliable judging."""
    try:
        metric, warnings = await service.workers.run(tenant_metrics.tenant.name, check_metric_text, body.yaml)
        resolve = tenant_metrics.library.resolve_dependencies
        await run_in_threadpool(resolve, tenant_metrics.tenant.metrics, [metric])
        _check_judge(service, metric)
    except DefinitionError as error:
        faults = parse_faults(error.faults)
        return MetricCheck(ok=False, faults=faults[:MAX_FAULTS], fault_count=len(faults))
    return MetricCheck(ok=True, warnings=warnings)


@router.post("/metrics/draft", responses=describe_errors(404, 422, 502, 503))
async def draft_metric(body: DraftRequest, service: TheService, tenant_metrics: TheTenantMetrics) -> MetricDraft:
    """Let a judge draft a metric from its name and a sentence; review it, then create it."""
    client = tenant_metrics.runner.create_draft_client(tenant_metrics.tenant, body.judge)
    try:
        found = await draft_async(body.name, body.description, _parse_scale(body.scale), body.over, client)
    except JudgeError:
        get_tenant_quotas(service, tenant_metrics.tenant).check_calls()  # if that was used up, it is why
        raise
    return MetricDraft(yaml=write_metric(found.metric), warnings=found.remarks, usage=found.usage)


@router.get("/metrics/{name}", responses=describe_errors(404, 422, 500))
def show_metric(name: PathName, tenant_metrics: TheTenantMetrics) -> MetricDetail:
    """Show a metric in full, with the text of its file."""
    return _build_detail(tenant_metrics.find(name))


@router.delete("/metrics/{name}", status_code=204, responses=describe_errors(403, 404, 409, 422, 500))
def delete_metric(name: PathName, tenant_metrics: TheTenantMetrics) -> None:
    """Delete a metric of your own. Runs keep the definition that they began with, also when they are resumed."""
    tenant_metrics.library.remove(tenant_metrics.tenant.metrics, name)


def _check_judge(service: Service, metric: JudgedMetric) -> None:
    """Raise `DefinitionError` if a metric names a judge that the server does not offer."""
    if metric.judge is None:
        return
    try:
        service.choose_judge(metric)
    except ServeError as error:
        raise DefinitionError(f"judge: {error}") from error


def _parse_scale(scale: str | list[int] | list[str]) -> DraftScale:
    """Return the requested scale, or raise `ServeError` (422) if a range does not increase or two names are equal."""
    match scale:
        case "categorical" | "value":
            return scale
        case [int() as low, int() as high]:
            if low >= high:
                raise build_invalid_request_error([build_fault("body.scale", f"must rise, got {low} to {high}")])
            return low, high
        case _:
            names = [str(name) for name in scale]
            if len({name.strip().casefold() for name in names}) < len(names):
                message = "two names read alike; give each category its own"
                raise build_invalid_request_error([build_fault("body.scale", message)])
            return names


def _build_info(found: LibraryMetric) -> dict[str, Any]:
    """Return the fields of a metric's entry in the list."""
    metric = found.metric
    return {
        "name": metric.name,
        "description": metric.description,
        "kind": metric.kind,
        "origin": found.origin,
        "over": metric.over,
        "needs": metric.needs,
        "optional": metric.inputs[len(metric.needs) :],
        "scale": metric.scale.model_dump(mode="json"),
    }


DETAIL_FIELDS = ("steps", "instructions", "reason_depth", "judge", "notes", "uses", "examples")


def _build_detail(found: LibraryMetric) -> MetricDetail:
    content = found.metric.model_dump(mode="json", include={*DETAIL_FIELDS})
    return MetricDetail(**_build_info(found), **content, yaml=found.text)
