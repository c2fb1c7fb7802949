"""What cases can be judged by, and what a run over them would ask; the server works this out in child processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from langchain_core.language_models import BaseChatModel

from greval.analysis.data_summary import MetricFit, summarise_data
from greval.datasets.case_reader import CaseReader
from greval.datasets.case_records import read_records
from greval.datasets.row_faults import RowFault
from greval.errors import DataError
from greval.judging.model.judge import Judge
from greval.metrics.computed.outcomes import compute_outcome
from greval.metrics.fitting import NearlyFittingMetric
from greval.records.case import Case
from greval.records.formula_metric import FileMetric
from greval.records.metric import ComputedMetric, Metric, ReasonDepth
from greval.records.metric_input import explain_missing_needs
from greval.records.record import Record
from greval.records.result import Skipped
from greval.runs.forecast import MetricForecast, forecast
from greval.serve.settings import ServerLimits, ServerSettings
from greval.serve.state.dataset_files import DatasetFile, UnreadRow, select_rows
from greval.serve.state.metric_library import MetricLibrary

NO_FOLDER = Path("no run")
"""A forecast of a run that has no folder yet; nothing is read or written there."""
MAX_LISTED_ROWS = 100


class SentCases(NamedTuple):
    """Cases that were sent, and their column map."""

    rows: Sequence[object]
    columns: Mapping[str, str]

    def open(self, _: ServerLimits) -> CaseReader:
        """Open the cases, which were checked already."""
        return read_records([*self.rows], columns=self.columns or None)


@dataclass(frozen=True)
class ForecastOrder:
    """What is to be forecast: the metrics with those that they build on, as definitions or names, and their judges.

    `available` are all metrics of the client; which of them fit is found too.
    """

    definitions: Sequence[object]
    available: Sequence[object]
    judges: Mapping[str, Judge | BaseChatModel]
    repeats: int = 1
    reason_depth: ReasonDepth | None = None
    sample_ids: Sequence[str] | None = None
    limit: int | None = None


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


def dump_metrics(metrics: Iterable[Metric]) -> list[object]:
    """Return metrics as definitions, those with functions as names, from which another process restores them."""
    return [metric.model_dump(mode="json") if isinstance(metric, FileMetric) else metric.name for metric in metrics]


def compute_forecast(settings: ServerSettings, source: DatasetFile | SentCases, order: ForecastOrder) -> RunForecast:
    """Read the cases and forecast a run over them, without any call; use it in a child process.

    Raises:
        DataError: If the cases cannot be read.
        JudgeError: If a judge cannot be used at all.
    """
    library = MetricLibrary(*settings.library, metrics=settings.metrics)
    available = [library.restore(definition) for definition in order.available]
    summary = summarise_data(source.open(settings.limits), available)
    fit_only = RunForecast(
        cases=summary.cases,
        unread=tuple(UnreadRow(place=row.place, message=row.message) for row in summary.faults[:MAX_LISTED_ROWS]),
        unread_count=summary.fault_count,
        fitting=summary.fitting,
        nearly=summary.nearly,
    )
    if not order.definitions or not summary.cases:
        return fit_only
    metrics = [library.restore(definition) for definition in order.definitions]
    planned = forecast(
        select_rows(source.open(settings.limits), order.sample_ids, order.limit),
        metrics,
        None,
        out=NO_FOLDER,
        resume=False,
        judges=order.judges,
        repeats=order.repeats,
        reason_depth=order.reason_depth,
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


def explain_unserved(
    settings: ServerSettings,
    file: DatasetFile,
    definitions: Sequence[object],
    sample_ids: Sequence[str] | None,
    limit: int | None,
) -> dict[str, str]:
    """Return why each of the metrics is skipped for every case, or nothing if one of them judges a case.

    The reason is that of the first case. Reading ends at the first case that is judged.

    Raises:
        DataError: If samples are named, and there is no case of any of them.
    """
    library = MetricLibrary(*settings.library, metrics=settings.metrics)
    metrics = [library.restore(definition) for definition in definitions]
    reasons: dict[str, str] = {}
    case: Case | RowFault | None = None
    for case in select_rows(file.open(settings.limits), sample_ids, limit):
        if not isinstance(case, Case):
            continue
        for metric in metrics:
            reason = _explain_skip(metric, case)
            if reason is None:
                return {}
            reasons.setdefault(metric.name, reason)
    if sample_ids is not None and case is None:
        first = sample_ids[0][:64]
        raise DataError(
            f"{file.name}: expected a case with one of the ids in sample_ids, such as {first!r}; found none"
        )
    return reasons


def _explain_skip(metric: Metric, case: Case) -> str | None:
    """Return why a metric would be skipped for a case, None if it would judge it or fail."""
    if case.error is not None:
        return None
    if missing := explain_missing_needs(metric, case):
        return missing
    outcome = compute_outcome(metric, case) if isinstance(metric, ComputedMetric) else None
    return outcome.reason if isinstance(outcome, Skipped) else None
