"""Metrics over plain REST: list, show, create, check, edit, draft, delete, and their versions."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Header, Path, Query

from greval.errors import DefinitionError, JudgeError
from greval.judging.drafting.brief import DraftBrief, DraftScale
from greval.judging.metric_draft import draft_async
from greval.judging.model.client import JudgeClient
from greval.metrics.files import parse_metric, write_metric
from greval.records.formula_metric import FileMetric
from greval.records.metric import JudgedMetric, is_preference
from greval.serve.child_routes import in_child
from greval.serve.conditional import build_etag, build_headers
from greval.serve.problems import (
    MAX_FAULTS,
    ServeError,
    describe_errors,
    parse_faults,
)
from greval.serve.schemas.metrics import (
    DraftRequest,
    JudgeInfo,
    JudgeList,
    MetricCheck,
    MetricDetail,
    MetricDiff,
    MetricDraft,
    MetricEdit,
    MetricEditRequest,
    MetricInfo,
    MetricList,
    MetricText,
    MetricVersionList,
    MetricVersionText,
)
from greval.serve.service import Service, Tenant, TheService, TheTenant
from greval.serve.state.metric_library import LibraryMetric
from greval.serve.state.metric_runner import PathName, TenantMetrics, TheTenantMetrics
from greval.serve.state.metric_texts import SOURCE, ReadText, compare_texts, edit_metric_text, read_metric_text
from greval.serve.tenant_quotas import get_tenant_quotas
from greval.serve.workers.child import TaskAnswer

router = APIRouter(prefix="/v1", tags=["metrics"])

IfMatch = Annotated[
    str | None, Header(max_length=1_000, description="the `ETag` of the metric that may be replaced or deleted")
]
VersionNumber = Annotated[int, Path(ge=1, description="the number of a version")]


@router.get("/judges")
async def list_judges(service: TheService) -> JudgeList:
    """List the available judges, the default first."""
    models = enumerate(service.models.items())
    return JudgeList(
        judges=[JudgeInfo(name=name, label=JudgeClient(model).label, default=n == 0) for n, (name, model) in models]
    )


@router.get("/metrics")
@in_child
def list_metrics(
    tenant_metrics: TheTenantMetrics,
    kind: Annotated[Literal["judged", "computed"] | None, Query(description="only these")] = None,
    own: Annotated[bool | None, Query(description="true: only those that you made; false: only the others")] = None,
) -> MetricList:
    """List the metrics: the predefined ones, those of the server's library, and your own."""
    infos = [MetricInfo(**_build_info(metric)) for metric in tenant_metrics.list_all()]
    return MetricList(
        metrics=[info for info in infos if kind in {None, info.kind} and own in {None, info.origin == "own"}]
    )


@router.post("/metrics", status_code=201, responses=describe_errors(409, 412, 507), response_model=MetricInfo)
@in_child
def create_metric(
    body: MetricText,
    service: TheService,
    tenant: TheTenant,
    *,
    replace: Annotated[bool, Query(description="whether a metric that you made may be replaced")] = False,
    if_match: IfMatch = None,
) -> TaskAnswer:
    """Create a metric of your own from the text of a metric file; it can be used at once.

    With the header `If-Match` and the `ETag` of a metric that you made, that is replaced, unless it has changed since.
    """
    return _save(service, tenant, body.yaml, replace=replace, if_match=if_match)


def _save(service: Service, tenant: Tenant, text: str, *, replace: bool, if_match: str | None) -> TaskAnswer:
    """Save a text as a metric of a tenant on the condition that is stated; return it with its entity tag."""
    try:
        metric = parse_metric(text, SOURCE)
        _check_judge(service, metric)
        with get_tenant_quotas(service, tenant).reserve("disk"):
            saved = service.library.add(tenant.metrics, metric, text, replace=replace, if_match=if_match)
    except DefinitionError as error:
        raise ServeError("invalid_metric", "yaml: not a valid metric", faults=parse_faults(error.faults)) from error
    return TaskAnswer(MetricInfo(**_build_info(saved)), build_headers(build_etag(text)))


@router.post("/metrics/check")
@in_child
def check_metric(body: MetricText, tenant_metrics: TheTenantMetrics, service: TheService) -> MetricCheck:
    """Check the text of a metric file: report all faults at once, then warnings about unreliable judging."""
    return MetricCheck(**_check_text(read_metric_text(body.yaml), tenant_metrics, service))


@router.post("/metrics/edit")
@in_child
def edit_metric(body: MetricEditRequest, tenant_metrics: TheTenantMetrics, service: TheService) -> MetricEdit:
    """Put new values of fields in the text of a metric file, and check it; nothing is stored.

    All other fields stay as they are written, with their comments.
    """
    text, reading = edit_metric_text(body.yaml, body.fields)
    return MetricEdit(yaml=text, **_check_text(reading, tenant_metrics, service))


def _check_text(reading: ReadText, tenant_metrics: TenantMetrics, service: Service) -> dict[str, Any]:
    """Return the fields of a check of a text, with how its metric fits the others and the judges of the server."""
    faults, warnings = reading.faults, reading.remarks
    if reading.metric:
        try:
            needed = tenant_metrics.library.resolve_dependencies(tenant_metrics.tenant.metrics, [reading.metric])
            warnings += reading.find_formula_remarks(needed)
            _check_judge(service, reading.metric)
        except DefinitionError as error:
            faults = reading.locate_faults(error)
    parsed = parse_faults(faults)
    return {
        "ok": not faults,
        "faults": parsed[:MAX_FAULTS],
        "fault_count": len(parsed),
        "warnings": warnings,
        "content": reading.content,
    }


@router.post("/metrics/draft", responses=describe_errors(404, 502))
async def draft_metric(body: DraftRequest, service: TheService, tenant_metrics: TheTenantMetrics) -> MetricDraft:
    """Let a judge draft a metric from its name and a sentence; review it, then create it."""
    client, context = tenant_metrics.runner.open_judge(tenant_metrics.tenant, body.judge)
    brief = DraftBrief.parse(body.name, body.description, cast("DraftScale", body.scale), body.over)
    try:
        draft = await draft_async(brief, client, context, check=body.check)
    except JudgeError:
        # If the quota was used up, that is why.
        get_tenant_quotas(service, tenant_metrics.tenant).check_calls()
        raise
    return MetricDraft(yaml=write_metric(draft.metric), warnings=draft.remarks, good=draft.is_good, usage=draft.usage)


@router.get("/metrics/{name}", responses=describe_errors(404), response_model=MetricDetail)
@in_child
def show_metric(name: PathName, tenant_metrics: TheTenantMetrics) -> TaskAnswer:
    """Show a metric in full, with the text of its file, and its `ETag` for saving it again."""
    library_metric = tenant_metrics.find(name)
    headers = {} if library_metric.text is None else build_headers(build_etag(library_metric.text))
    return TaskAnswer(_build_detail(library_metric), headers)


@router.delete("/metrics/{name}", status_code=204, responses=describe_errors(403, 404, 409, 412))
@in_child
def delete_metric(name: PathName, tenant_metrics: TheTenantMetrics, if_match: IfMatch = None) -> None:
    """Delete a metric of your own with its versions.

    Runs keep the definition that they began with, also when they are resumed.
    """
    tenant_metrics.library.remove(tenant_metrics.tenant.metrics, name, if_match=if_match)


@router.get("/metrics/{name}/versions", responses=describe_errors(403, 404))
@in_child
def list_metric_versions(name: PathName, tenant_metrics: TheTenantMetrics) -> MetricVersionList:
    """List the versions of a metric of your own; each save keeps the former one, up to 50 of them."""
    return MetricVersionList(versions=tenant_metrics.library.list_versions(tenant_metrics.tenant.metrics, name))


@router.get("/metrics/{name}/versions/{version}", responses=describe_errors(403, 404))
@in_child
def show_metric_version(name: PathName, version: VersionNumber, tenant_metrics: TheTenantMetrics) -> MetricVersionText:
    """Show the text of a version of a metric of your own."""
    text = tenant_metrics.library.read_version(tenant_metrics.tenant.metrics, name, version)
    return MetricVersionText(version=version, yaml=text)


@router.get("/metrics/{name}/versions/{version}/diff", responses=describe_errors(403, 404))
@in_child
def compare_metric_versions(
    name: PathName,
    version: VersionNumber,
    tenant_metrics: TheTenantMetrics,
    to: Annotated[int | None, Query(ge=1, description="the new version; by default the current one")] = None,
) -> MetricDiff:
    """Compare the lines of a version of a metric of your own with those of another."""
    library, folder = tenant_metrics.library, tenant_metrics.tenant.metrics
    old = library.read_version(folder, name, version)
    new = to if to is not None else library.list_versions(folder, name)[0].version
    return MetricDiff(old=version, new=new, lines=compare_texts(old, library.read_version(folder, name, new)))


@router.post(
    "/metrics/{name}/versions/{version}/restore",
    responses=describe_errors(403, 404, 409, 412, 507),
    response_model=MetricInfo,
)
@in_child
def restore_metric_version(
    name: PathName, version: VersionNumber, service: TheService, tenant: TheTenant, if_match: IfMatch = None
) -> TaskAnswer:
    """Save a version of a metric of your own as the current one, which is kept as a version itself."""
    text = service.library.read_version(tenant.metrics, name, version)
    return _save(service, tenant, text, replace=True, if_match=if_match)


def _check_judge(service: Service, metric: FileMetric) -> None:
    """Raise `DefinitionError` if a metric names a judge that the server does not offer."""
    if not isinstance(metric, JudgedMetric) or metric.judge is None:
        return
    try:
        service.choose_judge(metric)
    except ServeError as error:
        raise DefinitionError(f"judge: {error}") from error


def _build_info(library_metric: LibraryMetric) -> dict[str, Any]:
    """Return the fields of a metric's entry in the list."""
    metric = library_metric.metric
    return {
        "name": metric.name,
        "description": metric.description,
        "kind": metric.kind,
        "origin": library_metric.origin,
        "over": metric.over,
        "needs": metric.needs,
        "optional": metric.inputs[len(metric.needs) :],
        "preference": is_preference(metric),
        "scale": metric.scale.model_dump(mode="json"),
    }


DETAIL_FIELDS = ("steps", "instructions", "reason_depth", "judge", "notes", "uses", "examples")


def _build_detail(library_metric: LibraryMetric) -> MetricDetail:
    content = library_metric.metric.model_dump(mode="json", include={*DETAIL_FIELDS})
    return MetricDetail(**_build_info(library_metric), **content, yaml=library_metric.text)
