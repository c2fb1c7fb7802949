"""The route that judges cases within one request."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool

from greval.serve.schemas.cases import rows, within
from greval.serve.schemas.metrics import Evaluated, EvaluateRequest
from greval.serve.service import TheService
from greval.serve.state.dependencies import TheShelf
from greval.serve.statuses import may_answer

router = APIRouter(prefix="/v1", tags=["evaluate"])


@router.post("/evaluate", responses=may_answer(404, 422, 500, 502, 503))
async def evaluate_cases(body: EvaluateRequest, service: TheService, shelf: TheShelf) -> Evaluated:
    """Judge cases by metrics, and by those that they build on.

    A case that cannot be judged has a result with the status `failed` or `skipped`; input that is not a case is listed
    in `unread`. The results of a case are adjacent, in the order of the cases.
    """
    within(body.cases, service.settings.limits, "cases")
    metrics = await run_in_threadpool(shelf.find_all, body.metrics, body.reason_depth)
    cases, unread, notice = await run_in_threadpool(rows, body.cases)
    results = await shelf.bench.results(shelf.tenant, cases, metrics, judge=body.judge, repeats=body.repeats)
    return Evaluated(results=results, unread=unread, notice=notice)
