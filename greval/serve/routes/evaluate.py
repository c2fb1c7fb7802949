"""The route that judges cases within one request."""

from __future__ import annotations

from fastapi import APIRouter, Request

from greval.records.case import Case
from greval.serve.problems import describe_errors
from greval.serve.schemas.cases import check_limits, read_rows
from greval.serve.schemas.metrics import EvaluateRequest, EvaluationResponse, UnreadCase
from greval.serve.service import TheService
from greval.serve.settings import ServerLimits
from greval.serve.state.metric_runner import TheTenantMetrics

router = APIRouter(prefix="/v1", tags=["evaluate"])


@router.post("/evaluate", responses=describe_errors(404, 422, 500, 502, 503))
async def evaluate_cases(
    request: Request, body: EvaluateRequest, service: TheService, tenant_metrics: TheTenantMetrics
) -> EvaluationResponse:
    """Judge cases by metrics, and by those that they build on.

    A case that cannot be judged has a result with the status `failed` or `skipped`; input that is not a case is listed
    in `unread`. The results of a case are adjacent, in the order of the cases.
    """
    tenant, limits = tenant_metrics.tenant, service.settings.limits
    cases, unread, notice = await service.body_thread.run(
        tenant.name, request.state.bytes_in, _read_checked_rows, body, limits
    )
    metrics = await tenant_metrics.look_up(tenant_metrics.find_all, body.metrics, body.reason_depth)
    results = await tenant_metrics.runner.judge_cases(tenant, cases, metrics, judge=body.judge, repeats=body.repeats)
    return EvaluationResponse(results=results, unread=unread, notice=notice)


def _read_checked_rows(body: EvaluateRequest, limits: ServerLimits) -> tuple[list[Case], list[UnreadCase], str | None]:
    check_limits(body.cases, limits, "cases")
    return read_rows(body.cases, body.columns)
