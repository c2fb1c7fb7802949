"""Routes that send a run as files to save: its results, its metrics, and its report and comparisons, also as charts."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import FileResponse
from pydantic import StringConstraints

from greval.report.html.page import DEFAULT_WORST
from greval.runs.store.filters import ResultFilter
from greval.serve.file_response import DownloadResponse, make_download
from greval.serve.ids import Id
from greval.serve.jobs.info import find_judged_folder
from greval.serve.problems import describe_errors
from greval.serve.routes.figures import By, Metrics, TheWantedComparison
from greval.serve.routes.results import MethodName, OutcomeStatus, ValueText
from greval.serve.service import Service, Tenant, TheService, TheTenant
from greval.serve.state.downloads import (
    ReportRequest,
    ResultsForm,
    write_comparison,
    write_comparison_chart,
    write_label_table,
    write_labels,
    write_metric_files,
    write_report,
    write_report_chart,
    write_results,
)

router = APIRouter(prefix="/v1/runs", tags=["downloads"])

MEDIA_TYPES: dict[ResultsForm, str] = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
HTML = "text/html; charset=utf-8"
ZIP = "application/zip"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
SVG = "image/svg+xml"
MAX_WORST = 1_000
Texts = Annotated[bool, Query(description="with question, answer, expected answer and the text of the judged item")]
MetricToLabel = Annotated[str, Query(max_length=100, description="the metric to label")]
TagFilters = Annotated[
    list[Annotated[str, StringConstraints(pattern=r"^[^:]+:", max_length=1000)]] | None,
    Query(max_length=20, description="only with this tag, as `name:value`; may be given often"),
]


def describe_file(media_type: str, *more: int) -> dict[int | str, dict[str, Any]]:
    """Return the responses of a route that sends a file of this type, with `more` statuses of errors."""
    content = {media_type.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}}}
    responses: dict[int | str, dict[str, Any]] = {200: {"description": "The file, to save.", "content": content}}
    return responses | describe_errors(404, 409, 422, 503, 504, 507, *more)


class WantedResults:
    """The results of a run that a client wants."""

    def __init__(  # noqa: PLR0913 - what one may ask for
        self,
        service: TheService,
        tenant: TheTenant,
        *,
        metric: Metrics = None,
        method: MethodName = None,
        status: OutcomeStatus = None,
        value: ValueText = None,
        tag: TagFilters = None,
        texts: Texts = False,
    ) -> None:
        """Build the filter."""
        tags = tuple((name, of_tag) for name, _, of_tag in (text.partition(":") for text in tag or ()))
        self._wanted = ResultFilter(method=method, metrics=tuple(metric or ()), status=status, value=value, tags=tags)
        self._texts = texts
        self._service, self._tenant = service, tenant

    async def send(self, run_id: str, form: ResultsForm) -> DownloadResponse:
        """Let the results of a run be written to a file, and return it as a response."""
        folder = find_judged_folder(self._tenant, run_id)
        name = f"{folder.name}-results.{form}"
        arguments = folder, form, self._wanted, self._texts
        return await make_download(self._service, self._tenant, name, MEDIA_TYPES[form], write_results, *arguments)


TheWantedResults = Annotated[WantedResults, Depends()]


@router.get("/{id}/results.csv", responses=describe_file("text/csv"), response_class=FileResponse)
async def download_results_csv(results: TheWantedResults, id: Id) -> DownloadResponse:  # noqa: A002 - its name in the path
    """Save the results of a run as CSV: one row for each judgement, failure and skip.

    The newest result of each sample, method and metric counts. A text that a spreadsheet would read as a formula has
    an apostrophe before it.
    """
    return await results.send(id, "csv")


@router.get("/{id}/results.jsonl", responses=describe_file("application/jsonl"), response_class=FileResponse)
async def download_results_jsonl(results: TheWantedResults, id: Id) -> DownloadResponse:  # noqa: A002 - its name in the path
    """Save the results of a run as JSON lines: one result a line, as `/results` gives them, unchanged."""
    return await results.send(id, "jsonl")


@router.get("/{id}/metrics.zip", responses=describe_file(ZIP), response_class=FileResponse)
async def download_metrics(service: TheService, tenant: TheTenant, id: Id) -> DownloadResponse:  # noqa: A002 - its name in the path
    """Save the judged metrics of a run as a ZIP archive of metric files: the definitions that the run judged by."""
    folder = find_judged_folder(tenant, id)
    return await make_download(service, tenant, f"{folder.name}-metrics.zip", ZIP, write_metric_files, folder)


@router.get("/{id}/labels.csv", responses=describe_file("text/csv"), response_class=FileResponse)
async def download_labels_csv(service: TheService, tenant: TheTenant, id: Id) -> DownloadResponse:  # noqa: A002 - its name in the path
    """Save the labels that people gave to the results of a run as CSV, one a row.

    A text that a spreadsheet would read as a formula has an apostrophe before it. `PUT /v1/runs/{id}/annotations` takes
    the file.
    """
    return await _send_labels(service, tenant, id, "csv")


@router.get("/{id}/labels.jsonl", responses=describe_file("application/jsonl"), response_class=FileResponse)
async def download_labels_jsonl(service: TheService, tenant: TheTenant, id: Id) -> DownloadResponse:  # noqa: A002 - its name in the path
    """Save the labels that people gave to the results of a run as JSON lines, unchanged."""
    return await _send_labels(service, tenant, id, "jsonl")


@router.get("/{id}/label-sheet.csv", responses=describe_file("text/csv"), response_class=FileResponse)
async def download_label_sheet_csv(
    service: TheService,
    tenant: TheTenant,
    id: Id,  # noqa: A002 - its name in the path
    metric: MetricToLabel,
    method: MethodName = None,
) -> DownloadResponse:
    """Save the judged items of a metric as CSV for people to label: their texts, an empty label, and no verdict.

    The rows are in random order. `PUT /v1/runs/{id}/annotations` takes the filled file.
    """
    return await _send_label_sheet(service, tenant, id, "csv", metric, method)


@router.get("/{id}/label-sheet.xlsx", responses=describe_file(XLSX), response_class=FileResponse)
async def download_label_sheet_xlsx(
    service: TheService,
    tenant: TheTenant,
    id: Id,  # noqa: A002 - its name in the path
    metric: MetricToLabel,
    method: MethodName = None,
) -> DownloadResponse:
    """Save the judged items of a metric as an Excel workbook for people to label, with the scale in a second sheet.

    The server needs the extra `excel`.
    """
    return await _send_label_sheet(service, tenant, id, "xlsx", metric, method)


async def _send_label_sheet(
    service: Service, tenant: Tenant, run_id: str, form: Literal["csv", "xlsx"], metric: str, method: str | None
) -> DownloadResponse:
    """Let a label sheet be written to a file, and return it as a response."""
    folder = find_judged_folder(tenant, run_id)
    name = f"{folder.name}-label-sheet.{form}"
    media_type = XLSX if form == "xlsx" else MEDIA_TYPES[form]
    return await make_download(service, tenant, name, media_type, write_label_table, folder, metric, method)


async def _send_labels(service: Service, tenant: Tenant, run_id: str, form: ResultsForm) -> DownloadResponse:
    """Let the labels of a run be written to a file, and return it as a response."""
    folder = find_judged_folder(tenant, run_id)
    name = f"{folder.name}-labels.{form}"
    return await make_download(service, tenant, name, MEDIA_TYPES[form], write_labels, folder)


@router.get("/{id}/report.html", responses=describe_file(HTML), response_class=FileResponse)
async def download_report(
    service: TheService,
    tenant: TheTenant,
    id: Id,  # noqa: A002 - its name in the path
    *,
    by: By = None,
    metric: Metrics = None,
    worst: Annotated[int, Query(ge=0, le=MAX_WORST, description="the number of worst cases of each metric")] = (
        DEFAULT_WORST
    ),
) -> DownloadResponse:
    """Save the report of a run as one HTML file, which needs no other file and makes no request."""
    folder = find_judged_folder(tenant, id)
    request = ReportRequest(by=by or (), worst=worst, metrics=metric or ())
    return await make_download(service, tenant, f"{folder.name}-report.html", HTML, write_report, folder, request)


@router.get("/{id}/compare.html", responses=describe_file(HTML), response_class=FileResponse)
async def download_comparison(
    service: TheService,
    tenant: TheTenant,
    comparison: TheWantedComparison,
    id: Id,  # noqa: A002 - its name in the path
) -> DownloadResponse:
    """Save a comparison as one HTML file, with the won and lost questions side by side."""
    folders = comparison.find_folders(id)
    name = f"{folders[0].name}-compare.html"
    return await make_download(service, tenant, name, HTML, write_comparison, folders, comparison.options)


@router.get("/{id}/report.svg", responses=describe_file(SVG, 501), response_class=FileResponse)
async def download_report_chart(
    service: TheService,
    tenant: TheTenant,
    id: Id,  # noqa: A002 - its name in the path
    *,
    by: By = None,
    metric: Metrics = None,
) -> DownloadResponse:
    """Save a chart of a run: the mean of each metric and group with its interval.

    The server needs the extra `plots`.
    """
    folder = find_judged_folder(tenant, id)
    name = f"{folder.name}-report.svg"
    return await make_download(service, tenant, name, SVG, write_report_chart, folder, by or (), metric or ())


@router.get("/{id}/compare.svg", responses=describe_file(SVG, 501), response_class=FileResponse)
async def download_comparison_chart(
    service: TheService,
    tenant: TheTenant,
    comparison: TheWantedComparison,
    id: Id,  # noqa: A002 - its name in the path
) -> DownloadResponse:
    """Save a chart of a comparison: the difference of each pair of methods in each metric, with its interval.

    The server needs the extra `plots`.
    """
    folders = comparison.find_folders(id)
    name = f"{folders[0].name}-compare.svg"
    return await make_download(service, tenant, name, SVG, write_comparison_chart, folders, comparison.options)
