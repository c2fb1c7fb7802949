"""The report of a run for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from greval._util.wording import format_count, format_names
from greval.analysis.summary import CheckStatus, GateCheck, ImportSource, MetricSpending, Report
from greval.datasets.row_faults import describe_row_faults
from greval.records.judgement_text import format_details
from greval.records.result import Usage
from greval.report.tables import (
    NO_INTERVAL,
    Column,
    build_fields,
    build_table,
    fit_table,
    format_cost,
    format_measured,
    format_p,
    format_place,
    print_line,
    print_lines,
    shorten_name,
)
from greval.runs.manifest import format_judges
from greval.runs.run_summary import ShareSummary
from greval.runs.worst_cases import ReportVerdict, WorstCase, WorstCases
from greval.stats.interval import MeasuredValue, build_measured
from greval.stats.summary import ChanceEstimate, Summary

MAX_OTHER_VALUES = 5
MAX_SERVED_MODELS = 5
VALUES = "values"
VALUES_WIDTH = 26
NARROW_NOTE = "values are omitted at this width; use a wider terminal or --format json"
MAX_TEXT_CHARACTERS = 1_000
"""The number of characters of a text of a worst case that are printed."""
NARROW_VALUES_WIDTH = 14
MAX_WORD_WIDTH = 32
"""The maximum width at which a word of a group's name is not broken."""
MAX_SHOWN_ITEMS = 3
"""The number of judged items of a worst case that are printed."""
MOMENTS = {"median": "median", "sd": "standard_deviation", "min": "minimum", "max": "maximum"}
"""The headings of columns that are shown if they fit, and the fields of a summary in them."""
ANY_WIDTH = 10_000
COUNT_WIDTH = 7
MEAN = Column("mean [95 % interval]", left=True, wrap=False)
SCORED_OF = "scored of planned"
NOT_JUDGED = "(not judged yet)"
"""The group of cases whose method and tags are not known yet."""
WEIGHTED = "each number is weighted by the probabilities that the judge gave to the values, and so is the mean"
COST_COLUMNS = ("metric", "calls", "input tokens", "output tokens", "reused answers", "cost")
FINE, COARSE = 0.1, 1000
"""Between these, a measure is printed with two decimals."""


def render(report: Report, console: Console, *, with_costs: bool = False) -> None:
    """Print a report: ids that did not meet, verdicts with reasons, the summaries, what went wrong, and the gate.

    `with_costs` prints what each metric and group cost, in addition to the total.
    """
    print_lines(console, report.warnings, "bold red")
    if report.verdicts:
        console.print(_build_verdicts_table(report.verdicts))
    for worst_cases in report.worst:
        print_worst_cases(worst_cases, console)
    table = _fit_summaries_table(report, console)
    console.print(table)
    if all(column.header != VALUES for column in table.columns):
        print_line(console, NARROW_NOTE, "dim")
    for further_table in _build_further_tables(report, console):
        console.print()
        console.print(further_table)
    print_lines(console, describe_weighting(report.summaries), "dim")
    if with_costs and report.spending:
        console.print()
        columns = (Column(name, left=not index, wrap=False) for index, name in enumerate(COST_COLUMNS))
        console.print(build_table(tuple(columns), list_spending_rows(report.spending), title="Cost"))
    if report.escalation:
        # Few runs have two judges.
        from greval.report.escalation import render as render_escalation

        render_escalation(report.escalation, console)
    elif cost := format_spending(report.spending):
        print_line(console, cost)
    print_lines(console, (*describe_estimates(report), *describe_sources(report)))
    if report.command and report.command.config:
        print_line(console, f"described by {report.command.config}; --format json has its values")
    print_lines(console, describe_troubles(report), "yellow")
    print_gate(report.gate, console)


def _build_further_tables(report: Report, console: Console) -> Iterator[Table]:
    """Build the tables below the summaries that a report has."""
    if report.shares:
        yield fit_table(console, *(build_shares_table(report, wide=wide) for wide in (True, False)))
    if report.passes:
        yield build_passes_table(report)
    if report.chance:
        yield build_chance_table(report.chance)


def _build_verdicts_table(verdicts: Iterable[ReportVerdict]) -> RenderableType:
    names = (Column(name, left=True) for name in ("case", "metric", "verdict"))
    columns = (*names, Column("reason", left=True, ratio=3))
    return Group(build_table(columns, map(_format_verdict, verdicts), title="Verdicts and their reasons"), Text())


def _format_verdict(verdict: ReportVerdict) -> tuple[str, ...]:
    who = " ".join(shorten_name(part) for part in (verdict.sample_id, verdict.method, verdict.item) if part)
    details = format_details(verdict.findings, verdict.notes, verdict.cited_items)
    wrong = (f"contradiction: {why}" for why in verdict.contradictions)
    return who, verdict.metric, verdict.value, "\n".join((verdict.reason, *details, *wrong))


def print_worst_cases(worst_cases: WorstCases, console: Console) -> None:
    """Print the worst cases of a metric, each with its texts and its verdicts."""
    excluded = [f"{count} {status}" for status in ("failed", "skipped") if (count := worst_cases.statuses.get(status))]
    excluded_note = f"; {' and '.join(excluded)} not among them" if excluded else ""
    counts = f"the worst {len(worst_cases.cases)} of {format_count(worst_cases.ordered, 'case')}"
    print_line(console, f"{worst_cases.metric}: {counts}{excluded_note}", "bold")
    if unordered := worst_cases.statuses.get("scored", 0) - worst_cases.ordered:
        print_line(
            console, f"{format_count(unordered, 'case')} without a worst value: its values have no order", "yellow"
        )
    for number, case in enumerate(worst_cases.cases, 1):
        name = " ".join(shorten_name(part) for part in (case.sample_id, case.method) if part)
        print_line(console, f"{number}. {name}")
        console.print(build_fields(list_case_fields(case)))
    console.print()


def list_case_fields(case: WorstCase) -> Iterator[tuple[str, str]]:
    """Yield the fields of a worst case that are recorded, then its verdicts, the worst first."""
    texts = {
        "history": case.history,
        "question": case.question,
        "answer": case.answer,
        "expected": case.expected_answer,
    }
    yield from ((name, _cut_text(text)) for name, text in texts.items() if text is not None)
    mean = "" if case.mean is None else f" (mean of {len(case.verdicts)}: {format_figure(case.mean)})"
    for index, verdict in enumerate(case.verdicts[:MAX_SHOWN_ITEMS]):
        value = verdict.value if verdict.item is None else f"{shorten_name(verdict.item)}: {verdict.value}"
        yield "value", value + (mean if len(case.verdicts) > 1 and not index else "")
        if verdict.item in case.item_texts:
            yield "judged", _cut_text(case.item_texts[verdict.item or ""])
        _, _, _, reason = _format_verdict(verdict)
        yield from [("reason", reason)] if reason else []
    if (remaining := len(case.verdicts) - MAX_SHOWN_ITEMS) > 0:
        yield "", f"and {format_count(remaining, 'better verdict')} (--format json has all)"


def _cut_text(text: str) -> str:
    """Return the begin of a very long text, with the number of characters that are left out."""
    excess = len(text) - MAX_TEXT_CHARACTERS
    return (
        text if excess <= 0 else f"{text[:MAX_TEXT_CHARACTERS]}... ({excess:,} more characters; --format json has all)"
    )


def _fit_summaries_table(report: Report, console: Console) -> Table:
    """Build the table with the columns that fit the console.

    The columns of `MOMENTS` are left out first, if a cell would be folded to make room. Then the counts share one
    column. The values are left out last.
    """
    counts = ("planned", "scored", "skipped", "failed", *(["not judged yet"] if report.pending else []))
    plain = {name: Column(name, min_width=min(len(name), COUNT_WIDTH)) for name in counts}
    plain |= {VALUES: Column(VALUES, left=True, min_width=VALUES_WIDTH), "mean": MEAN}
    wide = _build_summaries_table(report, plain | {name: Column(name, wrap=False) for name in MOMENTS})
    # Without a limit of its own, rich measures the table as already folded into the console.
    needed = Measurement.get(console, console.options.update(max_width=ANY_WIDTH), wide).maximum
    if needed <= console.width:
        return wide
    # The counts can share a column: lines below the table name what was skipped, failed or not judged.
    narrowest = {SCORED_OF: Column("scored", wrap=False), "mean": MEAN}
    narrow = narrowest | {VALUES: Column(VALUES, left=True, min_width=NARROW_VALUES_WIDTH)}
    return fit_table(console, *(_build_summaries_table(report, columns) for columns in (plain, narrow, narrowest)))


def _build_summaries_table(report: Report, columns: Mapping[str, Column]) -> Table:
    """Build the table of the summaries with some of the cells of each."""
    rows = [
        ([summary.metric, *([summary.group] if report.by else [])], _format_cells(report, summary))
        for summary in report.summaries
    ]
    for metric, count in report.pending.items():
        if report.by or all(summary.metric != metric for summary in report.summaries):
            cells = {"planned": str(count), "scored": "0", "skipped": "0", "failed": "0", "not judged yet": str(count)}
            key = [metric, *([NOT_JUDGED] if report.by else [])]
            rows.append((key, {**cells, SCORED_OF: f"0 of {count}", "mean": "-"}))
    cells_of_rows = ([*key, *(cells.get(name, "") for name in columns)] for key, cells in rows)
    return build_table([*_name_rows(report), *columns.values()], cells_of_rows, title=_format_title(report))


def _format_cells(report: Report, summary: Summary) -> dict[str, str]:
    """Format all cells of a summary by the names of their columns."""
    # The method and tags of a pending case are not known yet, so that no group can count it.
    pending = 0 if report.by else report.pending.get(summary.metric, 0)
    planned = summary.planned + pending
    counts = {"planned": planned, "not judged yet": pending}
    counts |= {status: getattr(summary, status) for status in ("scored", "skipped", "failed")}
    return {
        **{name: str(count) for name, count in counts.items()},
        SCORED_OF: f"{summary.scored} of {planned}",
        VALUES: format_distribution(report, summary),
        "mean": format_mean(summary),
        **{name: _format_figure_or_dash(getattr(summary, field)) for name, field in MOMENTS.items()},
    }


def _format_title(report: Report) -> str:
    judges = format_judges(report.judges) or (f"judge {report.judge}" if report.judge else "")
    return f"{report.folder}, {judges}" if judges else report.folder


def _name_rows(report: Report) -> list[Column]:
    """Return the columns that name a row: the metric, and the group if there are groups."""
    names = (report.by and (" · ".join(report.by), *(summary.group for summary in report.summaries))) or ("",)
    longest = max(len(word) for name in names for word in name.split() or [""])
    group = [Column(names[0], left=True, min_width=min(longest, MAX_WORD_WIDTH))] if report.by else []
    return [Column("metric", left=True, wrap=False), *group]


def build_shares_table(report: Report, *, wide: bool) -> Table:
    """Build the table of the counts over the judge's notes; contradictions are named below it too."""
    columns = (
        *_name_rows(report),
        *(Column("share", left=True, wrap=False), MEAN),
        *([Column("nothing to count"), Column("contradictions")] if wide else []),
    )
    rows = []
    for share in report.shares:
        cells = [share.metric, *([share.group] if report.by else []), share.note, format_mean(share)]
        counts = [str(share.empty), "-" if share.contradictions is None else str(share.contradictions)]
        rows.append([*cells, *(counts if wide else [])])
    return build_table(columns, rows, title="Shares counted over the judge's notes")


def build_passes_table(report: Report) -> Table:
    """Build the table of the cases that pass."""
    columns = (
        *_name_rows(report),
        *(Column("passes if", left=True, wrap=False), Column("passed"), Column("share [95 % interval]", left=True)),
    )
    rows = (
        (
            *(
                pass_rate.metric,
                *([pass_rate.group] if report.by else []),
                pass_rate.condition,
                f"{pass_rate.passed} of {pass_rate.counted}",
            ),
            format_measured(
                build_measured(pass_rate.share, pass_rate.counted, "-", interval=pass_rate.interval),
                "{:.2f}".format,
                without=NO_INTERVAL,
            ),
        )
        for pass_rate in report.passes
    )
    return build_table(columns, rows, title="Cases that pass")


def build_chance_table(figures: Sequence[ChanceEstimate]) -> Table:
    """Build the table of what metrics would be by chance."""
    has_methods = any(figure.method for figure in figures)
    columns = (
        *(Column("metric", left=True, wrap=False), *([Column("method", left=True)] if has_methods else [])),
        *(Column("mean"), Column("by chance [95 % of rounds]", left=True), Column("p"), Column("rounds")),
    )
    rows = (
        (
            *(figure.metric, *([figure.method] if has_methods else []), format_figure(figure.mean)),
            f"{format_figure(figure.by_chance)} [{format_figure(figure.low)}, {format_figure(figure.high)}]",
            *("-" if figure.p is None else format_p(figure.p), f"{figure.rounds:,}"),
        )
        for figure in figures
    )
    return build_table(columns, rows, title="By chance: each question with what was retrieved for another one")


def _format_figure_or_dash(number: float | None) -> str:
    return "-" if number is None else format_figure(number)


def format_distribution(report: Report, summary: Summary) -> str:
    """Format the count of each value in the scale's order; quantiles if the scale has no upper end, or many values."""
    if summary.median is not None and summary.p95 is not None:
        return f"p50 {format_figure(summary.median)}, p95 {format_figure(summary.p95)}"
    values = report.scales.get(summary.metric, ())
    listed = [f"{value}: {summary.distribution.get(value, 0)}" for value in values]
    unlisted = [f"{value}: {count}" for value, count in summary.distribution.items() if value not in values]
    # Real numbers hardly repeat, so that their counts would say nothing.
    many = len(unlisted) > MAX_OTHER_VALUES or any(not value.isdecimal() for value in summary.distribution)
    if many and summary.counted and not listed:
        numbers = {"min": summary.minimum, "median": summary.median, "max": summary.maximum}
        return ", ".join(f"{name} {_format_figure_or_dash(number)}" for name, number in numbers.items())
    lost = f" (failed alone {summary.items_failed})" if summary.items_failed and summary.scored else ""
    return ", ".join([*listed, *unlisted]) + lost


def format_mean(summary: Summary | ShareSummary) -> str:
    """Format the mean with its interval and the number of values."""
    if summary.mean is None:
        return "-"
    is_open = isinstance(summary, Summary) and summary.p95 is not None
    # Latencies and counts span orders of magnitude; means on a scale line up with two decimals.
    write = format_figure if is_open and not FINE <= abs(summary.mean) < COARSE else "{:.2f}".format
    mean = MeasuredValue(value=summary.mean, n=summary.counted, interval=summary.interval)
    return f"{format_measured(mean, write, without=NO_INTERVAL)} n={summary.counted}{format_plain_mean(summary)}"


def format_plain_mean(summary: Summary | ShareSummary) -> str:
    """Format what follows a mean that is weighted by probability: the mean of the values themselves; else nothing."""
    plain = summary.plain_mean if isinstance(summary, Summary) else None
    return "" if plain is None else f", plain {plain:.2f}"


def describe_weighting(summaries: Iterable[Summary]) -> Iterator[str]:
    """Yield a sentence on the metrics whose means are weighted by probability, if there are any."""
    metrics = dict.fromkeys(summary.metric for summary in summaries if summary.plain_mean is not None)
    if metrics:
        yield f"{format_names(metrics)}: {WEIGHTED}; plain is the unweighted mean."


def format_figure(number: float) -> str:
    """Format a number of any size with three significant digits, and with all digits before the point.

    Example:
        >>> format_figure(1.234), format_figure(12345.6), format_figure(0.000123)
        ('1.23', '12,346', '0.000123')
    """
    return f"{number:,.0f}" if abs(number) >= COARSE else f"{number:.3g}"


def format_spending(parts: Sequence[MetricSpending]) -> str | None:
    """Format the total cost in one line, or return None if there was none."""
    if not parts:
        return None
    usage = sum((part.usage for part in parts), Usage())
    share = (usage.cached_tokens or 0) / (usage.input_tokens or 1)
    cached = f" ({share:.0%} cached)" if share else ""
    tokens = (
        f"{format_count(usage.input_tokens or 0, 'input token')}{cached}, "
        f"{format_count(usage.output_tokens or 0, 'output token')}"
    )
    hits = f", {format_count(usage.hits, 'reused answer')}" if usage.hits else ""
    return f"cost: {_format_money(parts)}; {format_count(usage.calls, 'call')}, {tokens}{hits}"


def _format_money(parts: Sequence[MetricSpending]) -> str:
    if any(part.cost is None for part in parts):
        return "not known (greval evaluate --prices FILE gives a price)"
    total = sum(part.cost or 0.0 for part in parts)
    return format_cost(total) if total else "nothing"


def list_spending_rows(parts: Iterable[MetricSpending]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of `COST_COLUMNS` for each metric and group."""
    for part in parts:
        usage = part.usage
        counts = (usage.calls, usage.input_tokens or 0, usage.output_tokens or 0, usage.hits)
        yield format_place(part.metric, part.group), *(f"{count:,}" for count in counts), format_cost(part.cost)


def describe_sources(report: Report) -> Iterator[str]:
    """Yield which results did not come from a call of a judge: imported ones, and those that were read again."""
    yield from describe_imports(report.imported)
    yield from describe_replays(report.replayed)
    yield from describe_served_models(report.served_by)


def describe_served_models(served_by: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield which models the replies of a judge name if there are several, one line for each judge.

    Example:
        >>> next(describe_served_models({"openai:m": {"m-1 (fp_1)": 40, "m-2": 1}})).partition("; ")[0]
        'openai:m: the replies name several models: m-1 (fp_1) (40 results), m-2 (1 result)'
    """
    for judge, models in served_by.items():
        model_counts = [f"{model} ({format_count(count, 'result')})" for model, count in models.items()]
        more = [f"{len(model_counts) - MAX_SERVED_MODELS} more"] if len(model_counts) > MAX_SERVED_MODELS else []
        listed = ", ".join([*model_counts[:MAX_SERVED_MODELS], *more])
        yield f"{judge}: the replies name several models: {listed}; scores of different models may not be comparable"


def describe_estimates(report: Report) -> Iterator[str]:
    """Yield for how many calls the cost is not known."""
    if report.estimated_calls:
        calls = format_count(report.estimated_calls, "call")
        yield f"cost: the provider did not report the tokens of {calls}, which are missing from this figure"


def describe_replays(replayed: Mapping[str, int]) -> Iterator[str]:
    """Yield how many results were read again, one line for each metric.

    Example:
        >>> print(*describe_replays({"tone": 40}))
        tone: 40 results read again from the judge's stored replies (greval replay); no new call
    """
    for metric, count in replayed.items():
        results = format_count(count, "result")
        yield f"{metric}: {results} read again from the judge's stored replies (greval replay); no new call"


def describe_imports(imported: Iterable[ImportSource]) -> Iterator[str]:
    """Yield which verdicts were imported, one line for each file and judge.

    Example:
        >>> print(*describe_imports([ImportSource(metric="tone", judge="gpt-4", file="/home/ana/v.csv")]))
        tone: imported from v.csv, judge as stated: gpt-4; greval judged none of these
    """
    metrics_by_source: dict[tuple[str, str], list[str]] = {}
    for origin in imported:
        metrics_by_source.setdefault((origin.file, origin.judge), []).append(origin.metric)
    for (file, judge), metrics in metrics_by_source.items():
        name = Path(file).name
        source = f" from {name}" if name else ""
        # An import without a stated judge is recorded under the name of its file.
        stated = f"judge as stated: {judge}" if judge and judge != name else "no judge was stated"
        yield f"{', '.join(metrics)}: imported{source}, {stated}; greval judged none of these"


def _describe_contradictions(shares: Iterable[ShareSummary]) -> Iterable[str]:
    """Yield the number of verdicts that contradict a share, with the command that lists them."""
    for share in shares:
        if share.contradictions:
            label = format_place(share.metric, share.group)
            what = "verdict contradicts" if share.contradictions == 1 else "verdicts contradict"
            yield f"{label}: {share.contradictions} {what} {share.note}; greval results RUN --format csv names them"


def describe_troubles(report: Report) -> Iterable[str]:
    """Yield what is missing from the figures, with the remedy."""
    imported = {origin.metric for origin in report.imported}
    for summary in report.summaries:
        label = format_place(summary.metric, summary.group)
        if summary.failures:
            kinds = ", ".join(f"{kind} {count}" for kind, count in summary.failures.items())
            remedy = "correct the file and import it" if summary.metric in imported else "run the same command"
            scope = "" if summary.metric in imported else " to ask for these only"
            yield f"{label}: failures: {kinds}; {remedy} again{scope}"
        for reason, count in summary.skips.items():
            yield f"{label}: {count} skipped: {reason}"
    yield from _describe_contradictions(report.shares)
    for metric, count in report.pending.items():
        advice = "run the same command again to continue, with a higher cap if it was reached"
        yield f"{metric}: {count} not judged yet; {advice}"
    for why in report.stopped:
        yield f"stopped: {why}"
    if report.others:
        rows = format_count(report.others, "row")
        yield f"{rows} of other cases, answers, judges or definitions: excluded (--all includes them)"
    for line in describe_row_faults(report.unread, report.unread_count):
        yield f"not a case: {line}"


LABELS: dict[CheckStatus, str] = {"passed": "passed", "failed": "FAILED", "undecided": "UNDECIDED"}
STYLES: dict[CheckStatus, str] = {"passed": "green", "failed": "red", "undecided": "red"}


def print_gate(gate: Iterable[GateCheck], console: Console) -> None:
    """Print a line for each condition."""
    for check in gate:
        print_line(console, format_check(check), STYLES[check.status])


def format_check(check: GateCheck) -> str:
    """Format a gate condition with its figures as a line."""
    return f"{LABELS[check.status]}: {'; '.join((check.condition, *check.told))}"
