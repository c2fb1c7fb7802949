"""The route that judges cases within one request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Field

from greval.records.formula_metric import build_file_metric
from greval.records.metric import ReasonDepth
from greval.records.record import Record
from greval.records.result import Result
from greval.serve.problems import describe_errors
from greval.serve.schemas.cases import UnreadCase, check_limits, read_rows
from greval.serve.schemas.metrics import Yaml
from greval.serve.schemas.requests import INTEGRAL, MAX_METRICS, MetricName, ShortText, StrictRequest
from greval.serve.service import Service, Tenant, TheService
from greval.serve.state.metric_library import LibraryMetric
from greval.serve.state.metric_runner import JudgingOrder, MetricRunner, TheTenantMetrics
from greval.serve.state.metric_texts import parse_metric_texts

router = APIRouter(prefix="/v1", tags=["evaluate"])

MAX_UNSAVED = 10
MAX_REPEATS = 9


class EvaluateRequest(StrictRequest):
    """Cases and the metrics to judge them by; a case is an object with the fields of a case.

    Field names of other tools are recognised; `columns` has the name, or the path in JSON, of each field that is called
    otherwise. `judge` is the first by default. `reason_depth` is how much the judge writes for each verdict; it
    overrides the metrics' own setting. `unsaved` are texts of metric files: in this request, each stands for the metric
    of its name, which need not exist.
    """

    cases: Annotated[
        list[Any],
        Field(
            examples=[[{"id": "q1", "question": "Who wrote it?", "answer": "Ada."}]],
            # Checked by the reader, with the same message as elsewhere.
            json_schema_extra={"minItems": 1},
        ),
    ]
    metrics: Annotated[list[MetricName], Field(min_length=1, max_length=MAX_METRICS)]
    unsaved: Annotated[list[Yaml], Field(max_length=MAX_UNSAVED)] = Field(default_factory=list)
    columns: dict[str, str] | None = None
    judge: ShortText | None = None
    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS), INTEGRAL] = 1
    reason_depth: ReasonDepth | None = None


class EvaluationResponse(Record):
    """One result for each case and metric, in this order, including metrics that others build on.

    `notice` lists the field names of other tools that were recognised, and what was ignored.
    """

    results: Sequence[Result]
    unread: Sequence[UnreadCase] = ()
    notice: str | None = None


@router.post("/evaluate", responses=describe_errors(404, 502), response_model=EvaluationResponse)
async def evaluate_cases(
    request: Request, body: EvaluateRequest, service: TheService, tenant_metrics: TheTenantMetrics
) -> Response:
    """Judge cases by metrics, and by those that they build on.

    A case that cannot be judged has a result with the status `failed` or `skipped`; input that is not a case is listed
    in `unread`. The results of a case are adjacent, in the order of the cases. Metrics of `unsaved` are not stored.
    """
    tenant, runner = tenant_metrics.tenant, tenant_metrics.runner
    unsaved = await _read_unsaved(service, tenant, body.unsaved)
    metrics = await tenant_metrics.look_up(tenant_metrics.find_all, body.metrics, body.reason_depth, unsaved)
    if runner.is_light(metrics, body.judge, request.state.bytes_in, len(body.cases) * body.repeats):
        response, _ = await _judge(body, runner, tenant, metrics)
        return Response(response, media_type="application/json")
    content = await request.body()
    answer = await runner.judge_in_child(tenant, metrics, body.judge, evaluate_in_child, content)
    return Response(answer, media_type="application/json")


async def _judge(
    body: EvaluateRequest, runner: MetricRunner, tenant: Tenant, metrics: Sequence[LibraryMetric]
) -> tuple[str, list[Result]]:
    """Judge the cases of a request, and return the JSON of its response, and the results."""
    check_limits(body.cases, runner.service.settings.limits, "cases")
    cases, unread, notice = read_rows(body.cases, body.columns)
    results = await runner.judge_cases(
        tenant, cases, metrics, judge=body.judge, repeats=body.repeats, requested=body.metrics
    )
    return EvaluationResponse(results=results, unread=unread, notice=notice).model_dump_json(), results


async def evaluate_in_child(
    runner: MetricRunner, metrics: Sequence[LibraryMetric], order: JudgingOrder, content: bytes
) -> tuple[str, list[Result]]:
    """Judge the cases of the body of a request in a child process."""
    return await _judge(EvaluateRequest.model_validate_json(content), runner, order.tenant, metrics)


async def _read_unsaved(service: Service, tenant: Tenant, texts: Sequence[str]) -> list[LibraryMetric]:
    """Return the metrics that texts define, or raise `ServeError` (422) with each fault of the first faulty one."""
    if not texts:
        return []
    definitions = await service.workers.run(tenant.name, parse_metric_texts, texts)
    metrics = map(build_file_metric, definitions)
    return [LibraryMetric(metric, "own", text) for metric, text in zip(metrics, texts, strict=True)]
