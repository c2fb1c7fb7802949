"""The report of a run for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from greval._util.wording import format_count
from greval.analysis.summary import MetricSpending, Report, ReportVerdict
from greval.datasets.row_faults import describe_row_faults
from greval.records.judgement_text import format_details
from greval.records.result import Usage
from greval.report.gate import print_gate
from greval.report.tables import (
    NO_INTERVAL,
    Column,
    build_table,
    format_cost,
    format_measured,
    format_place,
    print_line,
    print_lines,
    shorten,
)
from greval.runs.run_summary import ShareSummary
from greval.stats.measured import MeasuredValue
from greval.stats.summary import Summary

MAX_OTHER_VALUES = 5
VALUES_WIDTH = 26
MOMENTS = {"median": "median", "sd": "standard_deviation", "min": "minimum", "max": "maximum"}
"""The headings of columns that are shown if they fit, and the fields of a summary in them."""
ANY_WIDTH = 10_000
COUNT_WIDTH = 7
MEAN = Column("mean [95 % interval]", left=True, wrap=False)
NOT_JUDGED = "(not judged yet)"
"""The group of cases whose method and tags are not known yet."""
FINE, COARSE = 0.1, 1000
"""Between these, a measure is printed with two decimals."""


def render(report: Report, console: Console) -> None:
    """Print a report: verdicts with reasons first, then the summaries, then what went wrong, and the gate."""
    if report.verdicts:
        console.print(_build_verdicts_table(report.verdicts))
    console.print(_fit_summaries_table(report, console))
    if report.shares:
        console.print(_build_shares_table(report))
    if cost := format_spending(report.spending):
        print_line(console, cost)
    print_lines(console, describe_troubles(report), "yellow")
    print_gate(report.gate, console)


def _build_verdicts_table(verdicts: Iterable[ReportVerdict]) -> RenderableType:
    names = (Column(name, left=True) for name in ("case", "metric", "verdict"))
    columns = (*names, Column("reason", left=True, ratio=3))
    return Group(build_table(columns, map(_format_verdict, verdicts), title="Verdicts and their reasons"), Text())


def _format_verdict(verdict: ReportVerdict) -> tuple[str, ...]:
    who = " ".join(shorten(part) for part in (verdict.sample_id, verdict.method, verdict.item) if part)
    details = format_details(verdict.findings, verdict.notes, verdict.cited_items)
    wrong = (f"contradiction: {why}" for why in verdict.contradictions)
    return who, verdict.metric, verdict.value, "\n".join((verdict.reason, *details, *wrong))


def _fit_summaries_table(report: Report, console: Console) -> Table:
    """Build the table with the columns of `MOMENTS`, or without them if a cell would be folded to make room."""
    wide = _build_summaries_table(report, wide=True)
    needed = Measurement.get(console, console.options.update(max_width=ANY_WIDTH), wide).maximum
    return wide if needed <= console.width else _build_summaries_table(report, wide=False)


def _build_summaries_table(report: Report, *, wide: bool) -> Table:
    judge = f", judge {report.judge}" if report.judge else ""
    counts = ("planned", "scored", "skipped", "failed", *(["not judged yet"] if report.pending else []))
    columns = (
        *_name_rows(report),
        *(Column(name, min_width=min(len(name), COUNT_WIDTH)) for name in counts),
        Column("values", left=True, min_width=VALUES_WIDTH),
        MEAN,
        *(Column(name, wrap=False) for name in (MOMENTS if wide else ())),
    )
    rows = [_format_cells(report, summary, wide=wide) for summary in report.summaries]
    for metric, count in report.pending.items():
        if report.by or all(summary.metric != metric for summary in report.summaries):
            group = [NOT_JUDGED] if report.by else []
            rows.append([metric, *group, str(count), "0", "0", "0", str(count), "", "-"])
    return build_table(columns, rows, title=f"{report.folder}{judge}")


def _name_rows(report: Report) -> list[Column]:
    """Return the columns that name a row: the metric, and the group if there are groups."""
    group = [Column(" · ".join(report.by), left=True)] if report.by else []
    return [Column("metric", left=True, wrap=False), *group]


def _format_cells(report: Report, summary: Summary, *, wide: bool) -> list[str]:
    pending = 0 if report.by else report.pending.get(summary.metric, 0)
    counts = [summary.planned + pending, summary.scored, summary.skipped, summary.failed]
    counts += [pending] if report.pending else []
    name = [summary.metric, *([summary.group] if report.by else [])]
    more = map(_format_figure_or_dash, (getattr(summary, name) for name in MOMENTS.values())) if wide else ()
    return [*name, *map(str, counts), format_distribution(report, summary), format_mean(summary), *more]


def _build_shares_table(report: Report) -> RenderableType:
    """Build the table of the counts over the judge's notes."""
    columns = (
        *_name_rows(report),
        *(Column("share", left=True, wrap=False), MEAN, Column("nothing to count"), Column("contradictions")),
    )
    rows = (
        (
            *(share.metric, *([share.group] if report.by else []), share.note, format_mean(share)),
            *(str(share.empty), "-" if share.contradictions is None else str(share.contradictions)),
        )
        for share in report.shares
    )
    return Group(Text(), build_table(columns, rows, title="Shares counted over the judge's notes"))


def _format_figure_or_dash(number: float | None) -> str:
    return "-" if number is None else format_figure(number)


def format_distribution(report: Report, summary: Summary) -> str:
    """Format the count of each value in the scale's order; quantiles if the scale has no upper end, or many values."""
    if summary.median is not None and summary.p95 is not None:
        return f"p50 {format_figure(summary.median)}, p95 {format_figure(summary.p95)}"
    values = report.scales.get(summary.metric, ())
    listed = [f"{value}: {summary.distribution.get(value, 0)}" for value in values]
    others = [f"{value}: {count}" for value, count in summary.distribution.items() if value not in values]
    many = len(others) > MAX_OTHER_VALUES or any(not value.isdecimal() for value in summary.distribution)
    if many and summary.counted and not listed:
        numbers = {"min": summary.minimum, "median": summary.median, "max": summary.maximum}
        return ", ".join(f"{name} {_format_figure_or_dash(number)}" for name, number in numbers.items())
    lost = f" (failed alone {summary.items_failed})" if summary.items_failed and summary.scored else ""
    return ", ".join([*listed, *others]) + lost


def format_mean(summary: Summary | ShareSummary) -> str:
    """Format the mean with its interval and the number of values."""
    if summary.mean is None:
        return "-"
    is_open = isinstance(summary, Summary) and summary.p95 is not None
    write = format_figure if is_open and not FINE <= abs(summary.mean) < COARSE else "{:.2f}".format
    mean = MeasuredValue(value=summary.mean, n=summary.counted, interval=summary.interval)
    return f"{format_measured(mean, write, without=NO_INTERVAL)} n={summary.counted}"


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
    tokens = f"{usage.input_tokens or 0:,} input tokens{cached}, {usage.output_tokens or 0:,} output tokens"
    hits = f", {usage.hits:,} answers taken over" if usage.hits else ""
    return f"cost: {_format_money(parts)}; {usage.calls:,} calls, {tokens}{hits}"


def _format_money(parts: Sequence[MetricSpending]) -> str:
    """Format the sum, and each part if there are several."""
    if any(part.cost is None for part in parts):
        return "not known (greval evaluate --prices FILE gives a price)"
    dear = [part for part in parts if part.cost]
    if not dear:
        return "nothing"
    each = ", ".join(f"{format_place(part.metric, part.group)} {format_cost(part.cost)}" for part in dear)
    total = format_cost(sum(part.cost or 0.0 for part in dear))
    return f"{total} ({each})" if len(dear) > 1 else total


def _describe_contradictions(shares: Iterable[ShareSummary]) -> Iterable[str]:
    """Yield the number of verdicts that contradict a share, with the command that lists them."""
    for share in shares:
        if share.contradictions:
            place = format_place(share.metric, share.group)
            what = "verdict contradicts" if share.contradictions == 1 else "verdicts contradict"
            yield f"{place}: {share.contradictions} {what} {share.note}; greval results RUN --format csv names them"


def describe_troubles(report: Report) -> Iterable[str]:
    """Yield what is missing from the figures, with the remedy."""
    for summary in report.summaries:
        place = format_place(summary.metric, summary.group)
        if summary.failures:
            kinds = ", ".join(f"{kind} {count}" for kind, count in summary.failures.items())
            yield f"{place}: failures: {kinds}; run the same command again to ask for these only"
        for reason, count in summary.skips.items():
            yield f"{place}: {count} skipped: {reason}"
    yield from _describe_contradictions(report.shares)
    for metric, count in report.pending.items():
        yield f"{metric}: {count} not judged yet; run the same command again to go on, or with a higher cap"
    for why in report.stopped:
        yield f"stopped: {why}"
    if report.others:
        rows = format_count(report.others, "row")
        yield f"{rows} of other cases, answers, judges or definitions: not counted (--all counts them)"
    for line in describe_row_faults(report.unread, report.unread_count):
        yield f"not a case: {line}"
