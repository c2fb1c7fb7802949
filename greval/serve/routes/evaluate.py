"""The route that judges cases within one request."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool

from greval.serve.problems import describe_errors
from greval.serve.schemas.cases import check_limits, read_rows
from greval.serve.schemas.metrics import EvaluateRequest, EvaluationResponse
from greval.serve.service import TheService
from greval.serve.state.metric_runner import TheTenantMetrics

router = APIRouter(prefix="/v1", tags=["evaluate"])


@router.post("/evaluate", responses=describe_errors(404, 422, 500, 502, 503))
async def evaluate_cases(
    body: EvaluateRequest, service: TheService, tenant_metrics: TheTenantMetrics
) -> EvaluationResponse:
    """Judge cases by metrics, and by those that they build on.

    A case that cannot be judged has a result with the status `failed` or `skipped`; input that is not a case is listed
    in `unread`. The results of a case are adjacent, in the order of the cases.
    """
    check_limits(body.cases, service.settings.limits, "cases")
    metrics = await run_in_threadpool(tenant_metrics.find_all, body.metrics, body.reason_depth)
    cases, unread, notice = await run_in_threadpool(read_rows, body.cases, body.columns)
    results = await tenant_metrics.runner.judge_cases(
        tenant_metrics.tenant, cases, metrics, judge=body.judge, repeats=body.repeats
    )
    return EvaluationResponse(results=results, unread=unread, notice=notice)
