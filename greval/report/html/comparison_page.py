"""A comparison as one HTML file: differences with their intervals, and won and lost questions side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from greval.analysis.case_results import CaseResults
from greval.analysis.comparison.changed_cases import (
    ChangedKey,
    ChangedQuestion,
    list_changed_questions,
    read_changed_questions,
    strip_folder,
)
from greval.analysis.comparison.records import Comparison, Contrast, DifferenceAxis
from greval.records.formula_metric import StoredMetric
from greval.records.result import Result
from greval.report.comparison import (
    PROMINENT,
    create_writer,
    describe_findings,
    format_comparison_legend,
    format_comparison_title,
    format_difference,
    format_pairs_count,
    format_relative,
    format_verdict,
    group_pairs,
)
from greval.report.console import format_figure
from greval.report.html.archive import ArchiveLimits, CaseArchive, PackedCases, build_line
from greval.report.html.case_view import EXPECTED, QUESTION, CaseView, CaseViewBuilder
from greval.report.html.plots import DistributionPlot, IntervalPlot, build_bar, plot_interval
from greval.report.html.templating import PageOrigin, build_versions_table, list_run_facts, render_changed, render_page
from greval.report.html.tones import find_mean_tone, format_values
from greval.report.html_console import TableView
from greval.report.tables import format_p, split_warnings
from greval.runs.run_reader import read_metrics
from greval.runs.store import Store

RunFacts = tuple[str, list[tuple[str, str]], TableView]
"""The folder of a compared run, and how it came to be: facts, and the definitions and judges."""
MAX_NAMED = 5
"""The number of won and of lost questions of each metric that are shown without a search."""
WON, TIED, LOST = 4, None, 0
"""The tones of questions that are won, tied and lost."""


class SideView(NamedTuple):
    """One side of a question; `values` are name, text and tone of the values of metrics that judge items.

    `case` is None if the run does not hold it any more.
    """

    label: str
    method: str
    case: CaseView | None
    values: tuple[tuple[str, str, int | None], ...]


class ChangedView(NamedTuple):
    """A question with the views of the baseline and of the method; `place` is the number of its details, if listed."""

    place: int
    sample_id: str
    question: str
    expected: str
    sides: tuple[SideView, SideView]


def build_comparison_page(
    comparison: Comparison, *, made_at: datetime, command: str = "", with_addresses: bool = True
) -> str:
    """Build a comparison as one HTML page, which needs no other file; `with_addresses` is as in `PageContent`."""
    import greval

    page = PageOrigin(made_at, command, greval.__version__, with_addresses)
    metrics, runs = _read_runs(comparison, page)
    views = _build_views(comparison.name_first(MAX_NAMED), metrics)
    packed = _pack_questions(comparison, metrics) if views else None
    important, other_warnings = split_warnings(comparison.warnings, PROMINENT)
    sections = [("differences", "Differences")]
    sections += [("changed", "Won and lost"), ("cases", "All won and lost")] if packed else []
    sections += [("notes", "Notes"), ("made", "How made")]
    return render_page(
        "comparison.html",
        page,
        comparison=comparison,
        title=format_comparison_title(comparison),
        summary=_describe_sides(comparison),
        findings=[*describe_findings(comparison)],
        important=important,
        views=views,
        **DIFFERENCE_FUNCTIONS,
        warnings=other_warnings,
        runs=runs,
        most=MAX_NAMED,
        sections=sections,
        packed=packed,
    )


def _describe_sides(comparison: Comparison) -> str:
    """Describe what is compared with what, and the tests."""
    methods = ", ".join(comparison.methods)
    if comparison.against:
        sides = f"{methods}: now against {comparison.against}"
    else:
        sides = f"{methods} against {comparison.baseline}" if comparison.baseline else f"{methods}, each with each"
    return f"{sides}; {comparison.family.told}"


def _read_runs(comparison: Comparison, page: PageOrigin) -> tuple[dict[str, StoredMetric], list[RunFacts]]:
    """Return the metrics of both runs, those of the newer one first, and how each run came to be."""
    metrics: dict[str, StoredMetric] = {}
    runs = []
    for folder in dict.fromkeys(filter(None, (comparison.folder, comparison.against))):
        with Store.open(Path(folder)) as store:
            # The newer run is read first, and its definition of a metric counts.
            metrics = {**read_metrics(store), **metrics}
            runs.append((folder, [*list_run_facts(store, page)], build_versions_table(store)))
    return metrics, runs


def _build_views(
    comparison: Comparison, metrics: Mapping[str, StoredMetric]
) -> dict[tuple[str, str], dict[str, ChangedView]]:
    """Build the views of the questions that a comparison names, by pair of methods and question."""
    build = _ChangedViewBuilder(comparison, metrics, CaseViewBuilder(metrics, prefix="first"))
    views: dict[tuple[str, str], dict[str, ChangedView]] = {}
    for number, question in enumerate(read_changed_questions(comparison, list_changed_questions(comparison)), 1):
        pair = question.key.method, question.key.baseline
        views.setdefault(pair, {})[question.key.sample_id] = build.build_view(question, number)
    return views


def _pack_questions(comparison: Comparison, metrics: Mapping[str, StoredMetric]) -> PackedCases:
    """Compress all questions that were won or lost over all questions, those of the largest differences first."""
    cells = _rank_questions(comparison)
    keys = sorted(cells, key=lambda key: min(position for _, position in cells[key].values()))
    names = [*dict.fromkeys(contrast.metric for contrast in comparison.contrasts)]
    several = len({(key.method, key.baseline) for key in keys}) > 1
    limits = ArchiveLimits()
    archive = CaseArchive(limits)
    views = CaseViewBuilder(metrics, keep_text=archive.keep_text, prefix="changed")
    build = _ChangedViewBuilder(comparison, metrics, views)
    lines: list[JsonValue] = []
    for question in read_changed_questions(comparison, keys[: limits.cases]):
        case_results = question.method_case or question.baseline_case
        if case_results is None:
            continue
        position = archive.add(partial(build.render, question))
        name = _name_pair(comparison, question.key) if several else ""
        row = [_build_cell(*cells[question.key][metric]) if metric in cells[question.key] else None for metric in names]
        lines.append(build_line(case_results, name, row, position))
    return archive.pack({"kind": "changes", "metrics": [*names], "cases": lines}, "question", total=len(keys))


def _rank_questions(comparison: Comparison) -> dict[ChangedKey, dict[str, tuple[bool, int]]]:
    """Return for each question and metric whether it was won, and its place in the order of the differences."""
    ranks: dict[ChangedKey, dict[str, tuple[bool, int]]] = {}
    for contrast in comparison.contrasts:
        for won, questions in (
            ((False, contrast.lost_questions), (True, contrast.won_questions)) if not contrast.group else ()
        ):
            for position, question in enumerate(questions):
                ranks.setdefault(ChangedKey(question, contrast.method, contrast.baseline), {})[contrast.metric] = (
                    won,
                    position,
                )
    return ranks


def _build_cell(won: bool, position: int) -> JsonValue:  # noqa: FBT001 - of a pair
    """Return the text, the rank, the lower the worse for the method, and the tone of a question."""
    # The larger the difference, the farther from 0, so that one sort puts the worst losses first and wins last.
    return ["won" if won else "lost", 1 / (position + 1) if won else -1 / (position + 1), WON if won else LOST]


def _name_pair(comparison: Comparison, key: ChangedKey) -> str:
    """Name a pair of methods without the folders of the runs."""
    # A server replaces folders in the text of a page, which does not reach into compressed blocks.
    return key.method if comparison.against else f"{key.method} against {key.baseline}"


class _ChangedViewBuilder:
    """Builds the views of questions with the results of the compared metrics."""

    def __init__(self, comparison: Comparison, metrics: Mapping[str, StoredMetric], views: CaseViewBuilder) -> None:
        self._against = comparison.against
        self._compared = {contrast.metric for contrast in comparison.contrasts}
        self._metrics = metrics
        self._views = views

    def build_view(self, question: ChangedQuestion, place: int = 0) -> ChangedView:
        """Build the view of a question."""
        labels = ("Before", "Now") if self._against else ("Baseline", "Method")
        baseline = strip_folder(question.key.baseline, self._against)
        sides = (
            self._build_side(labels[0], baseline, question.baseline_case),
            self._build_side(labels[1], question.key.method, question.method_case),
        )
        texts = next((dict(side.case.texts) for side in reversed(sides) if side.case), {})
        return ChangedView(place, question.key.sample_id, texts.get(QUESTION, ""), texts.get(EXPECTED, ""), sides)

    def render(self, question: ChangedQuestion) -> str:
        """Render the details of a question."""
        return render_changed(self.build_view(question))

    def _build_side(self, label: str, method: str, case: CaseResults | None) -> SideView:
        if case is None:
            return SideView(label, method, None, ())
        results = tuple(result for result in case.results if result.metric in self._compared)
        # A side that was judged by none of the compared metrics is shown with all its verdicts.
        view = self._views.build_view(case._replace(results=results or case.results))
        return SideView(label, method, view, tuple(_list_item_values(results, self._metrics)))


def _list_item_values(
    results: Iterable[Result], metrics: Mapping[str, StoredMetric]
) -> Iterator[tuple[str, str, int | None]]:
    """Yield name, text and tone of each result of several items, whose verdicts are beside the items."""
    for result in results:
        metric = metrics.get(result.metric)
        if metric and metric.over and result.judgements:
            values = [str(judgement.value) for judgement in result.judgements]
            numbers = [judgement.number for judgement in result.judgements if judgement.number is not None]
            text = format_values(metric.scale, values, numbers)
            yield result.metric, text, find_mean_tone(metric.scale, values)


def _format_ticks(axis: DifferenceAxis) -> tuple[str, str, str]:
    """Format the labels of an axis: its ends, and zero."""
    end = format_figure(axis.end)
    return f"\N{MINUS SIGN}{end}", "0", f"{end} {axis.unit}".rstrip()


def _plot_difference(contrast: Contrast, axis: DifferenceAxis) -> IntervalPlot | None:
    if contrast.difference is None:
        return None
    return plot_interval(contrast.difference, contrast.interval, (-axis.end, axis.end), zero=True)


def _plot_questions(contrast: Contrast) -> DistributionPlot | None:
    """Draw the shares of questions won, tied and lost."""
    parts = (("won", contrast.won, WON), ("tied", contrast.tied, TIED), ("lost", contrast.lost, LOST))
    return build_bar([(count, tone, f"{count:,} {name}") for name, count, tone in parts])


DIFFERENCE_FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "group_pairs": group_pairs,
    "create_writer": create_writer,
    "format_comparison_legend": format_comparison_legend,
    "format_difference": format_difference,
    "format_p": format_p,
    "format_pairs_count": format_pairs_count,
    "format_relative": format_relative,
    "format_verdict": format_verdict,
    "format_ticks": _format_ticks,
    "plot_difference": _plot_difference,
    "plot_questions": _plot_questions,
}
"""The functions that the template of the differences calls."""
