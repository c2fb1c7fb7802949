"""The forecast of a run: what it would ask, and which metrics fit the cases."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field, model_validator

from greval.analysis.data_summary import MetricFit, summarise_data
from greval.analysis.duel.judging import read_duel
from greval.datasets.case_reader import CaseReader
from greval.datasets.case_records import read_records
from greval.metrics.fitting import NearlyFittingMetric
from greval.records.metric import ReasonDepth
from greval.records.record import Record
from greval.runs.duels import check_preferences
from greval.runs.forecast import MetricForecast, forecast
from greval.serve.child_routes import in_child
from greval.serve.jobs.queue import PlainName, PositiveCount, SampleIds
from greval.serve.jobs.requests import NO_FOLDER
from greval.serve.problems import describe_errors
from greval.serve.schemas.cases import check_limits
from greval.serve.schemas.requests import INTEGRAL, MethodName, MetricName, ShortText, StrictRequest
from greval.serve.service import TheService, TheTenant
from greval.serve.state.datasets import MAX_LISTED_ROWS, UnreadRow, find_dataset_file, select_rows
from greval.serve.state.metric_runner import TheTenantMetrics

router = APIRouter(prefix="/v1", tags=["runs"])


class ForecastRequest(StrictRequest):
    """A run to forecast, over a data set or over cases that are sent; without metrics only which of them fit.

    The fields are those of a run; `columns` belongs to `cases`. With `duel`, they and `methods` are those of a duel.
    """

    dataset: PlainName | None = None
    cases: list[Any] | None = None
    columns: dict[str, str] | None = None
    metrics: Annotated[list[MetricName], Field(max_length=100)] = Field(default_factory=list)
    judge: ShortText | None = None
    repeats: Annotated[int, Field(ge=1, le=25), INTEGRAL] = 1
    reason_depth: ReasonDepth | None = None
    sample_ids: SampleIds | None = None
    limit: PositiveCount | None = None
    duel: bool = False
    methods: Annotated[list[MethodName], Field(max_length=50)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check_source(self) -> ForecastRequest:
        if (self.dataset is None) == (self.cases is None):
            raise ValueError("name either a dataset or cases")
        return self


class RunForecast(Record):
    """Which metrics fit some cases, and what a run over them would ask.

    `cases` is the number of cases and `unread` the first hundred rows that are not judged, of `unread_count`. `fitting`
    are the metrics that find all their input in at least one case, with the number of such cases; `nearly` would fit
    with one more field. `metrics` is the forecast of each metric of the run, and the sums are over these: `results` is
    the number of rows, `cost` is in US dollars, null if a price is not known. `how` says how tokens were counted, and
    `exact` whether that is the judge's own way. Retries are not included.
    """

    cases: int
    unread: tuple[UnreadRow, ...] = ()
    unread_count: int = 0
    fitting: tuple[MetricFit, ...] = ()
    nearly: tuple[NearlyFittingMetric, ...] = ()
    judge: str | None = None
    metrics: tuple[MetricForecast, ...] = ()
    results: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    how: str | None = None
    exact: bool = False


@router.post("/forecast", responses=describe_errors(404, 409, 502))
@in_child
def forecast_run(
    body: ForecastRequest, service: TheService, tenant: TheTenant, tenant_metrics: TheTenantMetrics
) -> RunForecast:
    """Forecast a run without any call: results, calls of the judge, tokens and cost; and list the metrics that fit.

    Only first calls are counted, not retries. A metric that builds on others is counted as if they kept everything,
    which is the upper bound.
    """
    limits = service.settings.limits
    if body.cases is not None:
        check_limits(body.cases, limits, "cases")
    chosen = tenant_metrics.find_metrics(body.metrics, body.reason_depth)
    judges = service.choose_judges(chosen, body.judge)
    file = None if body.dataset is None else find_dataset_file(tenant, body.dataset)

    def open_cases() -> CaseReader:
        if file:
            return file.open(limits)
        return read_records(body.cases or [], columns=body.columns or None)

    available = [library_metric.metric for library_metric in tenant_metrics.list_all()]
    summary = summarise_data(open_cases(), available)
    fit_only = RunForecast(
        cases=summary.cases,
        unread=tuple(UnreadRow(place=row.place, message=row.message) for row in summary.faults[:MAX_LISTED_ROWS]),
        unread_count=summary.fault_count,
        fitting=summary.fitting,
        nearly=summary.nearly,
    )
    if not chosen or not summary.cases:
        return fit_only
    if body.duel:
        check_preferences(chosen)
        rows, _ = read_duel(open_cases(), chosen, body.methods, body.limit)
    planned = forecast(
        rows if body.duel else select_rows(open_cases(), body.sample_ids, body.limit),
        chosen,
        None,
        out=NO_FOLDER,
        resume=False,
        judges=judges,
        repeats=body.repeats,
        reason_depth=body.reason_depth,
    )
    return fit_only.model_copy(
        update={
            "judge": planned.judge,
            "metrics": planned.expected,
            "results": sum(expected.judged + expected.skipped for expected in planned.expected),
            "calls": planned.calls,
            "input_tokens": sum(expected.input_tokens for expected in planned.expected),
            "output_tokens": sum(expected.output_tokens for expected in planned.expected),
            "cost": planned.cost,
            "how": planned.how if planned.judge else None,
            "exact": planned.exact,
        }
    )
