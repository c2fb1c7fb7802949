"""Metrics over plain REST: list, show, create, check, draft."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from greval.errors import DefinitionError
from greval.judging.drafting.brief import DraftScale
from greval.judging.metric_draft import draft_async
from greval.judging.model.client import JudgeClient
from greval.metrics.files import parse_metric, write_metric
from greval.metrics.lint import lint_metric
from greval.records.metric import JudgedMetric
from greval.serve.problems import ServeError, describe_errors
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
    limit_faults,
)
from greval.serve.service import Service, TheService
from greval.serve.state.metric_library import LibraryMetric
from greval.serve.state.metric_runner import PathName, TheTenantMetrics

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


@router.post("/metrics", status_code=201, responses=describe_errors(409, 422, 500, 507))
def create_metric(
    body: MetricText,
    tenant_metrics: TheTenantMetrics,
    service: TheService,
    *,
    replace: Annotated[bool, Query(description="whether a metric that you made may be replaced")] = False,
) -> MetricInfo:
    """Create a metric of your own from the text of a metric file; it can be used at once."""
    try:
        _check_judge(service, parse_metric(body.yaml, "yaml"))
        found = tenant_metrics.library.add(tenant_metrics.tenant.metrics, body.yaml, replace=replace)
    except DefinitionError as error:
        raise ServeError(422, "yaml: not a valid metric", faults=limit_faults(error.faults)) from error
    return MetricInfo(**_build_info(found))


@router.post("/metrics/check", responses=describe_errors(422))
def check_metric(body: MetricText, tenant_metrics: TheTenantMetrics, service: TheService) -> MetricCheck:
    """Check the text of a metric file: report all faults at once, then warnings about unreliable judging."""
    try:
        metric = parse_metric(body.yaml, "yaml")
        tenant_metrics.library.resolve_dependencies(tenant_metrics.tenant.metrics, [metric])
        _check_judge(service, metric)
    except DefinitionError as error:
        return MetricCheck(ok=False, faults=limit_faults(error.faults))
    return MetricCheck(ok=True, warnings=lint_metric(metric))


@router.post("/metrics/draft", responses=describe_errors(404, 422, 502, 503))
async def draft_metric(body: DraftRequest, tenant_metrics: TheTenantMetrics) -> MetricDraft:
    """Let a judge draft a metric from its name and a sentence; review it, then create it."""
    client = tenant_metrics.runner.get_client(tenant_metrics.tenant, body.judge)
    found = await draft_async(body.name, body.description, _parse_scale(body.scale), body.over, client)
    return MetricDraft(yaml=write_metric(found.metric), warnings=found.remarks, usage=found.usage)


@router.get("/metrics/{name}", responses=describe_errors(404, 422, 500))
def show_metric(name: PathName, tenant_metrics: TheTenantMetrics) -> MetricDetail:
    """Show a metric in full, with the text of its file."""
    return _build_detail(tenant_metrics.find(name))


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
                raise ServeError(422, f"scale: must rise, got {low} to {high}")
            return low, high
        case _:
            names = [str(name) for name in scale]
            if len({name.strip().casefold() for name in names}) < len(names):
                raise ServeError(422, "scale: two names read alike; give each category its own")
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
