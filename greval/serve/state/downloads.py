"""Files that are made of a run for download: its results, and its report or a comparison as a page or a chart.

Making one takes time and memory that depend on the run, so the server calls these functions in a child process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

from greval.analysis.summary import build_report
from greval.metrics.files import write_metric
from greval.metrics.library import FILE_SUFFIX
from greval.report.finding_plots import plot_comparison, plot_summaries
from greval.report.html.comparison_page import build_comparison_page
from greval.report.html.page import DEFAULT_WORST, PageContent, build_report_page
from greval.report.plots import draw_intervals
from greval.runs.run_reader import add_texts, check_metric_names, find_directions, read_metrics
from greval.runs.store import Store
from greval.runs.store.exports import read_layout, write_csv
from greval.runs.store.filters import ResultFilter
from greval.serve.state.file_receiver import report_full_disk
from greval.serve.state.run_figures import compare_folders
from greval.serve.state.run_paths import hide_paths_in_errors
from greval.trust.annotations.files import ANNOTATIONS_FILE, read_run_annotations, write_annotations
from greval.trust.labelling.sheets import write_label_sheet

ResultsForm = Literal["csv", "jsonl"]


class ReportRequest(NamedTuple):
    """What a page of a report shows; `worst` is the number of worst cases of each of `metrics`, or of all metrics."""

    by: Sequence[str] = ()
    worst: int = DEFAULT_WORST
    metrics: Sequence[str] = ()


def write_results(path: Path, folder: Path, form: ResultsForm, result_filter: ResultFilter, texts: bool) -> None:  # noqa: FBT001 - a child process gets no keywords
    """Write the results of a run that meet a filter, one row at a time, as `greval results` does.

    In CSV a text that a spreadsheet would read as a formula has an apostrophe before it.
    """
    with (
        _report_errors(folder),
        Store.open(folder) as store,
        # A run that goes on meanwhile does not change the file.
        store.snapshot(),
        path.open("w", encoding="utf-8") as file,
    ):
        check_metric_names(store, result_filter.metrics)
        lines = store.lines(result_filter)
        lines = add_texts(store, lines) if texts else lines
        if form == "csv":
            layout_options = {"texts": texts, "status": result_filter.status, "value": result_filter.value}
            layout = read_layout(store.fact("metrics")).model_copy(update=layout_options)
            write_csv(lines, file, layout, escape_formulas=True)
        else:
            file.writelines(f"{line}\n" for line in lines)


def write_metric_files(path: Path, folder: Path) -> None:
    """Write the metrics of a run that files can define, as they were used, to a ZIP archive with a file for each."""
    with _report_errors(folder), Store.open(folder) as store, ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for stored in read_metrics(store).values():
            if metric := stored.file_metric:
                archive.writestr(f"{metric.name}{FILE_SUFFIX}", write_metric(metric))


def write_labels(path: Path, folder: Path) -> None:
    """Write the annotations of a run as CSV or JSON lines, by the extension of the path."""
    with _report_errors(folder):
        annotations = read_run_annotations(folder).annotations if (folder / ANNOTATIONS_FILE).is_file() else ()
        write_annotations(annotations, path)


def write_label_table(path: Path, folder: Path, metric: str, method: str | None) -> None:
    """Write the judged items of a run for people to label, without the verdicts, by the extension of the path."""
    with _report_errors(folder):
        write_label_sheet(folder, path, metric, method=method)


def write_report(path: Path, folder: Path, request: ReportRequest) -> None:
    """Write the report of a run as a page: the file of `greval report RUN --html`."""
    content = PageContent(
        made=datetime.now(UTC), worst=request.worst, metrics=tuple(request.metrics), with_addresses=False
    )
    with _report_errors(folder), Store.open(folder) as store:
        report = build_report(store, by=request.by, worst=request.worst, metrics=request.metrics)
        text = build_report_page(store, report, content)
        # Clients see the name of the run, not a path of this machine.
        path.write_text(text.replace(str(folder), folder.name), encoding="utf-8")


def write_comparison(path: Path, folders: Sequence[Path], options: Mapping[str, Any]) -> None:
    """Write a comparison as a page: the file of `greval compare RUN --html`."""
    with _report_errors(*folders):
        comparison = compare_folders(*folders, **options)
        text = build_comparison_page(comparison, made_at=datetime.now(UTC), with_addresses=False)
        for folder in folders:
            text = text.replace(str(folder), folder.name)
        path.write_text(text, encoding="utf-8")


def write_report_chart(path: Path, folder: Path, by: Sequence[str], metrics: Sequence[str]) -> None:
    """Draw the means of a run with their intervals as SVG."""
    with _report_errors(folder):
        with Store.open(folder) as store:
            check_metric_names(store, metrics)
            summaries = [
                summary for summary in build_report(store, by=by).summaries if not metrics or summary.metric in metrics
            ]
            directions = find_directions(read_metrics(store))
        draw_intervals([*plot_summaries(summaries, directions)]).savefig(path)


def write_comparison_chart(path: Path, folders: Sequence[Path], options: Mapping[str, Any]) -> None:
    """Draw the differences of a comparison with their intervals as SVG."""
    with _report_errors(*folders):
        draw_intervals([*plot_comparison(compare_folders(*folders, **options))]).savefig(path)


@contextmanager
def _report_errors(*folders: Path) -> Iterator[None]:
    """Name runs instead of paths in errors, and report a full disk."""
    with hide_paths_in_errors(*folders), report_full_disk():
        yield
