"""Routes that send a run as files to save: its results, its metrics, and its report and comparisons, also as charts.

A child process writes each file, because that takes time and memory that depend on the run.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from zipfile import ZIP_DEFLATED, ZipFile

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import FileResponse
from pydantic import StringConstraints

from greval.analysis.summary import build_report
from greval.metrics.files import write_metric
from greval.metrics.library import FILE_SUFFIX
from greval.report.finding_plots import plot_comparison, plot_summaries
from greval.report.html.comparison_page import build_comparison_page
from greval.report.html.page import DEFAULT_WORST, PageContent, build_report_page
from greval.report.plots import draw_intervals
from greval.runs.run_reader import add_texts, check_metric_names, find_directions, read_metrics
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.runs.store.exports import read_layout, write_csv
from greval.serve.file_response import DownloadResponse
from greval.serve.jobs.info import JudgedFolder
from greval.serve.problems import ServeError, describe_errors, report_full_disk
from greval.serve.routes.figures import By, Metrics, TheWantedComparison, compare_folders
from greval.serve.routes.results import MethodName, OutcomeStatus, ValueText
from greval.serve.service import TheTasks
from greval.serve.state.run_paths import hide_paths, hide_paths_in_errors, read_run_stamp
from greval.serve.state.shared_work import SharedWork
from greval.serve.state.whole_folders import name_new_folder
from greval.trust.annotations.files import ANNOTATIONS_FILE, read_run_annotations, write_annotations
from greval.trust.labelling.sheets import write_label_sheet

MAX_TENANT_FILES = 8
"""The most different files of a tenant that are made and sent at once; each takes space on the disk."""


router = APIRouter(prefix="/v1/runs", tags=["downloads"])

MEDIA_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".jsonl": "application/jsonl",
    ".html": "text/html; charset=utf-8",
    ".zip": "application/zip",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".svg": "image/svg+xml",
}
"""The content types of files, by their extension."""
MAX_WORST = 1_000
Texts = Annotated[bool, Query(description="with question, answer, expected answer and the text of the judged item")]
MetricToLabel = Annotated[str, Query(max_length=100, description="the metric to label")]
TagFilters = Annotated[
    list[Annotated[str, StringConstraints(pattern=r"^[^:]+:", max_length=1000)]] | None,
    Query(max_length=20, description="only with this tag, as `name:value`; may be given often"),
]
Worst = Annotated[int, Query(ge=0, le=MAX_WORST, description="the number of worst cases of each metric")]


def describe_file(extension: str, *more: int) -> dict[int | str, dict[str, Any]]:
    """Return the responses of a route that sends a file of this type, with `more` statuses of errors."""
    content = {MEDIA_TYPES[extension].partition(";")[0]: {"schema": {"type": "string", "format": "binary"}}}
    responses: dict[int | str, dict[str, Any]] = {200: {"description": "The file, to save.", "content": content}}
    return responses | describe_errors(404, 409, 507, *more)


FileKey = tuple[str, str, tuple[object, ...], str]
"""A tenant, the name of a file, the states of the runs that it is made of, and its options."""


def create_temporary_files() -> SharedWork[FileKey, Path]:
    """Create the files that are made of runs: each is written once for all who save it at once, and then removed."""
    # Not in a thread: the request that ends may be cancelled.
    return SharedWork(lambda path: shutil.rmtree(path.parent, ignore_errors=True))


@dataclass
class RunDownload:
    """Sends a file that is made of a run."""

    request: Request
    tasks: TheTasks
    folder: JudgedFolder

    async def send(self, name: str, write: Callable[..., None], *arguments: Any) -> DownloadResponse:  # noqa: ANN401 - what the function takes
        """Let a child process write the file, and return it; `write` gets its path, and the run before `arguments`.

        Raise `ServeError` (429) if the tenant has as many files as it may.
        """
        tenant = self.tasks.tenant
        folders = [self.folder, *(argument for argument in arguments if isinstance(argument, Path))]
        stamps = tuple([await self.tasks.run_in_thread(read_run_stamp, folder) for folder in folders])

        async def make() -> Path:
            new = name_new_folder(tenant.runs)
            path = new / f"{self.folder.name}-{name}"
            await self.tasks.run_in_thread(new.mkdir, 0o777, True)  # noqa: FBT003 - called by position
            try:
                await self.tasks.run(write_file, write, path, self.folder, *arguments)
            except BaseException:
                shutil.rmtree(new, ignore_errors=True)
                raise
            return path

        files: SharedWork[FileKey, Path] = self.request.app.state.files
        key: FileKey = (tenant.name, name, stamps, repr(arguments))
        if key not in files.keys and sum(owner == tenant.name for owner, *_ in files.keys) >= MAX_TENANT_FILES:
            message = f"{MAX_TENANT_FILES} other files are being made or saved for this key; ask again when one is"
            raise ServeError("share_in_use", message, headers={"Retry-After": "5"})
        use = AsyncExitStack()
        path = await use.enter_async_context(files.use(key, make))
        patience = self.tasks.service.settings.limits.patience
        return DownloadResponse(path, media_type=MEDIA_TYPES[path.suffix], patience=patience, close=use.aclose)


def write_file(write: Callable[..., None], path: Path, folder: Path, *arguments: Any) -> None:  # noqa: ANN401 - as above
    """Write a file by a function; errors name runs instead of paths, and a full disk."""
    other_folders = [argument for argument in arguments if isinstance(argument, Path)]
    with hide_paths_in_errors(folder, *other_folders), report_full_disk():
        write(path, folder, *arguments)


TheDownload = Annotated[RunDownload, Depends()]


@dataclass
class WantedResults:
    """The results of a run that a client wants."""

    metric: Metrics = None
    method: MethodName = None
    status: OutcomeStatus = None
    value: ValueText = None
    tag: TagFilters = None
    texts: Texts = False

    def build_filter(self) -> ResultFilter:
        """Build the filter of the results."""
        tags = tuple((name, value) for name, _, value in (text.partition(":") for text in self.tag or ()))
        return ResultFilter(
            method=self.method, metrics=tuple(self.metric or ()), status=self.status, value=self.value, tags=tags
        )


TheWantedResults = Annotated[WantedResults, Depends()]


@router.get("/{id}/results.csv", responses=describe_file(".csv"), response_class=FileResponse)
async def download_results_csv(download: TheDownload, results: TheWantedResults) -> DownloadResponse:
    """Save the results of a run as CSV: one row for each judgement, failure and skip.

    The newest result of each sample, method and metric counts. A text that a spreadsheet would read as a formula has
    an apostrophe before it.
    """
    return await download.send("results.csv", write_results, results.build_filter(), results.texts)


@router.get("/{id}/results.jsonl", responses=describe_file(".jsonl"), response_class=FileResponse)
async def download_results_jsonl(download: TheDownload, results: TheWantedResults) -> DownloadResponse:
    """Save the results of a run as JSON lines: one result a line, as `/results` gives them, unchanged."""
    return await download.send("results.jsonl", write_results, results.build_filter(), results.texts)


def write_results(path: Path, folder: Path, result_filter: ResultFilter, texts: bool) -> None:  # noqa: FBT001 - a child process gets no keywords
    """Write the results of a run that meet a filter, one row at a time, as `greval results` does."""
    with (
        Store.open(folder) as store,
        # A run that goes on meanwhile does not change the file.
        store.snapshot(),
        path.open("w", encoding="utf-8") as file,
    ):
        check_metric_names(store, result_filter.metrics)
        lines = store.lines(result_filter)
        lines = add_texts(store, lines) if texts else lines
        if path.suffix == ".csv":
            layout_options = {"texts": texts, "status": result_filter.status, "value": result_filter.value}
            layout = read_layout(store.fact("metrics")).model_copy(update=layout_options)
            write_csv(lines, file, layout)
        else:
            file.writelines(f"{line}\n" for line in lines)


@router.get("/{id}/metrics.zip", responses=describe_file(".zip"), response_class=FileResponse)
async def download_metrics(download: TheDownload) -> DownloadResponse:
    """Save the judged metrics of a run as a ZIP archive of metric files: the definitions that the run judged by."""
    return await download.send("metrics.zip", write_metric_files)


def write_metric_files(path: Path, folder: Path) -> None:
    """Write the metrics of a run that files can define, as they were used, to a ZIP archive with a file for each."""
    with Store.open(folder) as store, ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for stored in read_metrics(store).values():
            if metric := stored.file_metric:
                archive.writestr(f"{metric.name}{FILE_SUFFIX}", write_metric(metric))


@router.get("/{id}/labels.csv", responses=describe_file(".csv"), response_class=FileResponse)
async def download_labels_csv(download: TheDownload) -> DownloadResponse:
    """Save the labels that people gave to the results of a run as CSV, one a row.

    A text that a spreadsheet would read as a formula has an apostrophe before it. `PUT /v1/runs/{id}/annotations` takes
    the file.
    """
    return await download.send("labels.csv", write_labels)


@router.get("/{id}/labels.jsonl", responses=describe_file(".jsonl"), response_class=FileResponse)
async def download_labels_jsonl(download: TheDownload) -> DownloadResponse:
    """Save the labels that people gave to the results of a run as JSON lines, unchanged."""
    return await download.send("labels.jsonl", write_labels)


def write_labels(path: Path, folder: Path) -> None:
    """Write the annotations of a run as CSV or JSON lines, by the extension of the path."""
    annotations = read_run_annotations(folder).annotations if (folder / ANNOTATIONS_FILE).is_file() else ()
    write_annotations(annotations, path)


@router.get("/{id}/label-sheet.csv", responses=describe_file(".csv"), response_class=FileResponse)
async def download_label_sheet_csv(
    download: TheDownload, metric: MetricToLabel, method: MethodName = None
) -> DownloadResponse:
    """Save the judged items of a metric as CSV for people to label: their texts, an empty label, and no verdict.

    The rows are in random order. `PUT /v1/runs/{id}/annotations` takes the filled file.
    """
    return await download.send("label-sheet.csv", write_label_table, metric, method)


@router.get("/{id}/label-sheet.xlsx", responses=describe_file(".xlsx"), response_class=FileResponse)
async def download_label_sheet_xlsx(
    download: TheDownload, metric: MetricToLabel, method: MethodName = None
) -> DownloadResponse:
    """Save the judged items of a metric as an Excel workbook for people to label, with the scale in a second sheet.

    The server needs the extra `excel`.
    """
    return await download.send("label-sheet.xlsx", write_label_table, metric, method)


def write_label_table(path: Path, folder: Path, metric: str, method: str | None) -> None:
    """Write the judged items of a run for people to label, without the verdicts, by the extension of the path."""
    write_label_sheet(folder, path, metric, method=method)


@router.get("/{id}/report.html", responses=describe_file(".html"), response_class=FileResponse)
async def download_report(
    download: TheDownload, by: By = None, metric: Metrics = None, worst: Worst = DEFAULT_WORST
) -> DownloadResponse:
    """Save the report of a run as one HTML file, which needs no other file and makes no request."""
    return await download.send("report.html", write_report, by or (), metric or (), worst)


def write_report(path: Path, folder: Path, by: Sequence[str], metrics: Sequence[str], worst: int) -> None:
    """Write the report of a run as a page with the worst cases of each metric: that of `greval report RUN --html`."""
    content = PageContent(made=datetime.now(UTC), worst=worst, metrics=tuple(metrics), with_addresses=False)
    with Store.open(folder) as store:
        report = build_report(store, by=by, worst=worst, metrics=metrics)
        page = build_report_page(store, report, content)
    path.write_text(hide_paths(page, folder), encoding="utf-8")


@router.get("/{id}/compare.html", responses=describe_file(".html"), response_class=FileResponse)
async def download_comparison(download: TheDownload, comparison: TheWantedComparison) -> DownloadResponse:
    """Save a comparison as one HTML file, with the won and lost questions side by side."""
    return await download.send("compare.html", write_comparison, comparison.find_against(), comparison.list_options())


def write_comparison(path: Path, folder: Path, against: Path | None, options: Mapping[str, Any]) -> None:
    """Write a comparison as a page: the file of `greval compare RUN --html`."""
    folders = [folder, against] if against else [folder]
    page = build_comparison_page(compare_folders(*folders, **options), made_at=datetime.now(UTC), with_addresses=False)
    path.write_text(hide_paths(page, *folders), encoding="utf-8")


@router.get("/{id}/report.svg", responses=describe_file(".svg", 501), response_class=FileResponse)
async def download_report_chart(download: TheDownload, by: By = None, metric: Metrics = None) -> DownloadResponse:
    """Save a chart of a run: the mean of each metric and group with its interval.

    The server needs the extra `plots`.
    """
    return await download.send("report.svg", write_report_chart, by or (), metric or ())


def write_report_chart(path: Path, folder: Path, by: Sequence[str], metrics: Sequence[str]) -> None:
    """Draw the means of a run with their intervals as SVG."""
    with Store.open(folder) as store:
        check_metric_names(store, metrics)
        summaries = [
            summary for summary in build_report(store, by=by).summaries if not metrics or summary.metric in metrics
        ]
        directions = find_directions(read_metrics(store))
    draw_intervals([*plot_summaries(summaries, directions)]).savefig(path)


@router.get("/{id}/compare.svg", responses=describe_file(".svg", 501), response_class=FileResponse)
async def download_comparison_chart(download: TheDownload, comparison: TheWantedComparison) -> DownloadResponse:
    """Save a chart of a comparison: the difference of each pair of methods in each metric, with its interval.

    The server needs the extra `plots`.
    """
    against = comparison.find_against()
    return await download.send("compare.svg", write_comparison_chart, against, comparison.list_options())


def write_comparison_chart(path: Path, folder: Path, against: Path | None, options: Mapping[str, Any]) -> None:
    """Draw the differences of a comparison with their intervals as SVG."""
    folders = [folder, against] if against else [folder]
    draw_intervals([*plot_comparison(compare_folders(*folders, **options))]).savefig(path)
