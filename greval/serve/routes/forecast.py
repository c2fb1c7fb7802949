"""The forecast of a run: what it would ask, and which metrics fit the cases."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from pydantic import Field, model_validator

from greval.records.metric import ReasonDepth
from greval.serve.jobs.queue import MetricName, PlainName, PositiveCount, SampleIds
from greval.serve.problems import describe_errors
from greval.serve.schemas.cases import check_limits
from greval.serve.schemas.metrics import JudgeName
from greval.serve.schemas.requests import INTEGRAL, StrictRequest
from greval.serve.service import TheService, TheTenant
from greval.serve.state.dataset_files import DatasetFile
from greval.serve.state.dataset_forecast import (
    ForecastOrder,
    RunForecast,
    SentCases,
    compute_forecast,
    dump_metrics,
)
from greval.serve.state.metric_runner import TheTenantMetrics
from greval.serve.state.uploads import Uploads

router = APIRouter(prefix="/v1", tags=["runs"])


class ForecastRequest(StrictRequest):
    """A run to forecast, over a data set or over cases that are sent; without metrics only which of them fit.

    The fields are those of a run; `columns` belongs to `cases`.
    """

    dataset: PlainName | None = None
    cases: list[Any] | None = None
    columns: dict[str, str] | None = None
    metrics: Annotated[list[MetricName], Field(max_length=100)] = Field(default_factory=list)
    judge: JudgeName | None = None
    repeats: Annotated[int, Field(ge=1, le=25), INTEGRAL] = 1
    reason_depth: ReasonDepth | None = None
    sample_ids: SampleIds | None = None
    limit: PositiveCount | None = None

    @model_validator(mode="after")
    def _check_source(self) -> ForecastRequest:
        if (self.dataset is None) == (self.cases is None):
            raise ValueError("name either a dataset or cases")
        return self


@router.post("/forecast", responses=describe_errors(404, 409, 422, 502, 503, 504))
async def forecast_run(
    body: ForecastRequest, service: TheService, tenant: TheTenant, tenant_metrics: TheTenantMetrics
) -> RunForecast:
    """Forecast a run without any call: results, calls of the judge, tokens and cost; and list the metrics that fit.

    Only first calls are counted, not retries. A metric that builds on others is counted as if they kept everything,
    which is the upper bound.
    """
    if body.cases is not None:
        check_limits(body.cases, service.settings.limits, "cases")

    def prepare() -> tuple[DatasetFile | SentCases, ForecastOrder]:
        metrics = [library_metric.metric for library_metric in tenant_metrics.find_all(body.metrics, body.reason_depth)]
        available = tenant_metrics.library.list_metrics(tenant.metrics).values()
        order = ForecastOrder(
            dump_metrics(metrics),
            dump_metrics(library_metric.metric for library_metric in available),
            service.choose_judges(metrics, body.judge),
            body.repeats,
            body.reason_depth,
            body.sample_ids,
            body.limit,
        )
        if body.dataset is None:
            return SentCases(body.cases or (), body.columns or {}), order
        return Uploads(tenant.datasets).find_file(body.dataset), order

    source, order = await run_in_threadpool(prepare)
    return await service.workers.run(tenant.name, compute_forecast, service.settings, source, order)
