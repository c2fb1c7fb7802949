"""The report of a run as one HTML file: figures, how its methods differ, worst cases, and all cases to search."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from greval._util.wording import format_count, format_names
from greval.analysis.case_results import CaseResults, index_results, read_case_results
from greval.analysis.comparison.api import compare
from greval.analysis.comparison.records import Comparison
from greval.analysis.duel.api import summarise_duel
from greval.analysis.summary import MetricSpending, Report, summarise_by_tags
from greval.errors import DataError, MissingExtraError
from greval.records.scale import Scale
from greval.report.agreement import (
    build_agreement_tables,
    format_agreement_legend,
    format_agreement_title,
    format_verdict,
)
from greval.report.comparison import describe_findings
from greval.report.console import (
    COST_COLUMNS,
    build_chance_table,
    build_passes_table,
    build_shares_table,
    describe_estimates,
    describe_imports,
    describe_replays,
    describe_served_models,
    describe_troubles,
    describe_weighting,
    format_spending,
    list_spending_rows,
)
from greval.report.duel import build_duel_tables, describe_preferences, format_duel_legend
from greval.report.escalation import build_escalation_table, describe_escalation, describe_saving
from greval.report.html.archive import ArchiveLimits, CaseArchive, CaseCells, PackedCases, build_line
from greval.report.html.case_view import CaseView, CaseViewBuilder
from greval.report.html.comparison_page import DIFFERENCE_FUNCTIONS
from greval.report.html.figure_rows import build_figure_rows
from greval.report.html.templating import PageOrigin, build_versions_table, list_run_facts, render_case, render_page
from greval.report.html.tones import find_mean_tone, format_values, is_best_value
from greval.report.html_console import TableView, read_tables
from greval.report.probe import build_probe_tables, format_probe_legend, format_troubles
from greval.runs.duels import read_paired_methods
from greval.runs.run_reader import CaseKey, read_known_scales, read_metrics
from greval.runs.store import Store
from greval.runs.worst_cases import WorstCase, read_worst_cases
from greval.trust.agreement.api import agreement
from greval.trust.annotations.files import ANNOTATIONS_FILE, read_run_annotations
from greval.trust.escalation.records import Escalation
from greval.trust.probing.records import Probe

WorstEntry = tuple[int, str, str, str, int | None]
"""A worst case of a metric: the number of its details in the page, its name, its question, its value and its tone."""
WorstList = tuple[str, list[WorstEntry], str]
"""A metric, its worst cases, and the reason if the list is empty."""
DEFAULT_WORST = 5
"""The number of worst cases of each metric, if none is given."""
MAX_COMPARED_METHODS = 4
"""The number of methods up to which a report compares all pairs."""


class PageContent(NamedTuple):
    """What a page shows besides the run.

    `made` is the time and `command` the command line that made it. `worst` is the number of worst cases of each of
    `metrics`, or of all metrics if it is empty. `probes` are the planted faults that the judge caught, and
    `limits` bound the size of the page. Without `with_addresses`, addresses of judges and options of commands are not
    shown: a server's clients do not see them.
    """

    made: datetime
    command: str = ""
    worst: int = DEFAULT_WORST
    metrics: tuple[str, ...] = ()
    probes: tuple[Probe, ...] = ()
    limits: ArchiveLimits = ArchiveLimits()
    with_addresses: bool = True


def build_report_page(store: Store, report: Report, content: PageContent) -> str:
    """Build the report of a run as one HTML page, which needs no other file and makes no request."""
    import greval

    page = PageOrigin(content.made, content.command, greval.__version__, content.with_addresses)
    # One state of the log for all sections, even while the run goes on.
    with store.snapshot():
        metrics = read_metrics(store)
        scales = {name: metric.scale for name, metric in metrics.items()}
        facts, versions = [*list_run_facts(store, page, report.command)], build_versions_table(store)
        lists, views = _build_worst(store, content.worst, content.metrics)
        tags = [
            (figures, build_figure_rows(report, figures.summaries, scales))
            for figures in summarise_by_tags(store, report.by)
        ]
        keys = [*index_results(store)]
        packed = _pack_cases(store, keys, scales, content.limits)
        pairs = read_paired_methods(store)
        preferences = [*list_preferences(store)]
    comparison, comparison_warnings = _compare_methods(store, {method for _, method in {*keys} - {*pairs}})
    parts = {
        "title": Path(report.folder).name,
        "report": report,
        "descriptions": {name: metric.describe().description for name, metric in metrics.items()},
        "summary": _describe_run(report, keys, pairs),
        "figures": build_figure_rows(report, report.summaries, scales),
        "weighting": [*describe_weighting(report.summaries)],
        "tables": _build_tables(report),
        "troubles": [*describe_troubles(report)],
        "comparison": comparison or comparison_warnings,
        "comparison_warnings": comparison_warnings,
        "findings": [*describe_findings(comparison)] if comparison else [],
        "tags": tags,
        "worst": lists,
        "worst_cases": views,
        "packed": packed,
        "preferences": preferences,
        "people": [*list_agreements(store)],
        "escalated": [*list_escalations(report.escalation)],
        "probes": [build_probe(probe) for probe in content.probes],
        "cost": (format_spending(report.spending) or "").removeprefix("cost: "),
        "cost_table": _build_cost_table(report.spending),
        "facts": [
            *facts,
            *(("imported", line) for line in describe_imports(report.imported)),
            *(("read again", line) for line in describe_replays(report.replayed)),
            *(("answered by", line) for line in describe_served_models(report.served_by)),
            *(("not reported", line) for line in describe_estimates(report)),
        ],
        "versions": versions,
    }
    return render_page(
        "report.html",
        page,
        sections=[*_list_sections(parts)],
        **DIFFERENCE_FUNCTIONS,
        **parts,
    )


def _list_sections(parts: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the anchors and the titles of the sections that have content."""
    labels = {
        "figures": ("figures", "Figures"),
        "comparison": ("comparison", "Comparison"),
        "preferences": ("preferences", "Preferences"),
        "people": ("people", "People"),
        "escalated": ("judges", "Two judges"),
        "troubles": ("missing", "Missing"),
        "tags": ("tags", "By tag"),
        "worst": ("worst", "Worst cases"),
        "packed": ("cases", "All cases"),
        "probes": ("probes", "Planted faults"),
        "cost": ("cost", "Cost"),
        "facts": ("made", "How made"),
    }
    yield from (label for name, label in labels.items() if parts[name])


def _describe_run(report: Report, keys: Sequence[CaseKey], pairs: Mapping[CaseKey, tuple[str, str]]) -> str:
    """Describe the size of a run and its judge in one line."""
    metrics = format_count(len({summary.metric for summary in report.summaries}), "metric")
    judge = f", judged by {report.judge}" if report.judge else ""
    return f"{_describe_size(keys, pairs)}, {metrics}{judge}"


def _describe_size(keys: Sequence[CaseKey], pairs: Mapping[CaseKey, tuple[str, str]]) -> str:
    """Describe how many cases there are, how many of them are pairs, and of how many questions and methods."""
    paired = sum(key in pairs for key in keys)
    cases = format_count(len(keys), "pair" if paired == len(keys) else "case")
    if 0 < paired < len(keys):
        cases += f", {paired:,} of them {'a pair' if paired == 1 else 'pairs'}"
    methods = {method for key in keys for method in pairs.get(key, key[1:])}
    if len(methods) < 2:  # noqa: PLR2004 - several
        return cases
    questions = format_count(len({sample_id for sample_id, _ in keys}), "question")
    return f"{questions}, {format_count(len(methods), 'method')}, {cases}"


def _compare_methods(store: Store, methods: Collection[str]) -> tuple[Comparison | None, list[str]]:
    """Compare all pairs of a few methods; return the comparison, if there is one, and its warnings."""
    if len(methods) < 2:  # noqa: PLR2004 - several
        return None, []
    if len(methods) > MAX_COMPARED_METHODS:
        return None, [f"{len(methods)} methods are not compared here; use greval compare with --baseline and --html"]
    try:
        comparison = compare(store.folder)
    # A page is worth having without its comparison; the section says what is missing.
    except (DataError, MissingExtraError) as error:
        return None, [f"no comparison: {line}" for line in str(error).splitlines()]
    return comparison, [*comparison.warnings]


def _build_tables(report: Report) -> tuple[TableView, ...]:
    tables = [build_shares_table(report, wide=True)] if report.shares else []
    tables += [build_passes_table(report)] if report.passes else []
    return read_tables([*tables, *([build_chance_table(report.chance)] if report.chance else [])])


def _build_worst(store: Store, most: int, metrics: Sequence[str]) -> tuple[list[WorstList], list[CaseView]]:
    """Build the lists of the worst cases, and the details of each case in them, once."""
    scales = read_known_scales(store)
    numbers: dict[CaseKey, int] = {}
    lists = []
    for worst in read_worst_cases(store, most, metrics) if most else ():
        scale = scales[worst.metric]
        # The worst of a metric may have the best value: such a case is nothing to look at.
        cases = [case for case in worst.cases if not all(is_best_value(scale, each.value) for each in case.verdicts)]
        entries = [
            _build_worst_entry(case, numbers.setdefault((case.sample_id, case.method), len(numbers) + 1), scale)
            for case in cases
        ]
        why = "" if entries else "No case has an order." if not worst.ordered else "No case is below the best value."
        lists.append((worst.metric, entries, why))
    builder = CaseViewBuilder(read_metrics(store), prefix="worst")
    return lists, [builder.build_view(case_results) for case_results in read_case_results(store, numbers)]


def _build_worst_entry(case: WorstCase, number: int, scale: Scale) -> WorstEntry:
    values = [verdict.value for verdict in case.verdicts]
    numbers = [] if case.mean is None else [case.mean]
    name = " ".join(part for part in (case.sample_id, case.method) if part)
    text, tone = format_values(scale, values, numbers), find_mean_tone(scale, values)
    return number, name, case.question or "", text, tone


def _pack_cases(
    store: Store, keys: Sequence[CaseKey], scales: Mapping[str, Scale], limits: ArchiveLimits
) -> PackedCases:
    """Compress the cases of a run, one at a time."""
    cells, archive = CaseCells(scales), CaseArchive(limits)
    builder = CaseViewBuilder(read_metrics(store), keep_text=archive.keep_text, prefix="case")
    lines: list[JsonValue] = []
    for case_results in read_case_results(store, keys[: limits.cases]):
        position = archive.add(partial(_render, builder, case_results))
        lines.append(build_line(case_results, case_results.method, cells.build(case_results.results), position))
    return archive.pack({"metrics": [*scales], "cases": lines}, "case", total=len(keys))


def _render(builder: CaseViewBuilder, case_results: CaseResults) -> str:
    return render_case(builder.build_view(case_results))


def _build_cost_table(parts: Iterable[MetricSpending]) -> TableView:
    is_left = (True, *(False for _ in COST_COLUMNS[1:]))
    return TableView("", COST_COLUMNS, is_left, tuple(list_spending_rows(parts)))


class FindingSection(NamedTuple):
    """A finding: what was found in plain sentences, its warnings, its tables, and the lines that explain these."""

    title: str
    tables: tuple[TableView, ...]
    lines: tuple[str, ...]
    warnings: tuple[str, ...]
    sentences: tuple[str, ...] = ()


def list_agreements(store: Store) -> Iterator[FindingSection]:
    """Yield the agreement with people on each metric for which the run's folder has annotations."""
    if not (store.folder / ANNOTATIONS_FILE).is_file():
        return
    try:
        annotated = {annotation.metric for annotation in read_run_annotations(store.folder).annotations}
    except DataError as error:
        yield FindingSection(ANNOTATIONS_FILE, (), (), (str(error),))
        return
    for name in read_metrics(store):
        if name in annotated:
            yield _build_agreement(store, name)


def _build_agreement(store: Store, metric: str) -> FindingSection:
    try:
        measured_agreement = agreement(store.folder, metric)
    # A page is worth having without its agreement; the section says what is missing.
    except (DataError, MissingExtraError) as error:
        return FindingSection(metric, (), (), (f"no agreement: {error}",))
    return FindingSection(
        title=metric,
        tables=read_tables(build_agreement_tables(measured_agreement)),
        lines=(f"{format_agreement_title(measured_agreement)}.", *format_agreement_legend(measured_agreement)),
        warnings=measured_agreement.warnings,
        sentences=(format_verdict(measured_agreement),),
    )


def list_escalations(stored: JsonValue) -> Iterator[FindingSection]:
    """Yield the section of each metric whose cases two judges shared."""
    if not stored:
        return
    escalation = Escalation.model_validate(stored, strict=False)
    for metric in escalation.metrics:
        yield FindingSection(
            title=metric.metric,
            tables=read_tables([build_escalation_table(metric)]),
            lines=(describe_saving(metric),),
            warnings=metric.warnings,
            sentences=(" ".join(describe_escalation(metric, escalation)),),
        )


def build_probe(probe: Probe) -> FindingSection:
    """Build the section of the faults that were planted for a metric."""
    return FindingSection(
        title=probe.metric,
        tables=read_tables(build_probe_tables(probe)),
        lines=tuple(format_probe_legend(probe)),
        warnings=tuple(format_troubles(probe)),
    )


def list_preferences(store: Store) -> Iterator[FindingSection]:
    """Yield the section of all preferences of a run, if pairs were judged."""
    if not any(metric.is_preference for metric in read_metrics(store).values()):
        return
    duel = summarise_duel(store)
    if not duel.metrics:
        return
    yield FindingSection(
        title=format_names(findings.metric for findings in duel.metrics),
        tables=read_tables(build_duel_tables(duel)),
        lines=tuple(format_duel_legend(duel)),
        warnings=duel.warnings,
        sentences=tuple(describe_preferences(duel)),
    )
