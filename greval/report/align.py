"""An alignment for the terminal: the attempts, the gain on held-out folds, and what was written."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from greval._util.joins import JOIN_REMARKS
from greval._util.wording import format_count
from greval.report.tables import (
    Column,
    build_table,
    format_cost,
    format_interval,
    format_number,
    print_line,
    print_lines,
    print_tables,
    split_warnings,
)
from greval.trust.alignment.records import AgreementGain, AlignAttempt, Alignment, AlignmentForecast

PROMINENT = ("ENRICHED", *JOIN_REMARKS)


def render(alignment: Alignment, console: Console) -> None:
    """Print an alignment: important warnings, the attempts, the gain, the outcome, other warnings, and the diff."""
    tables = (_build_attempts_table(alignment), _build_gain_table(alignment.gain, alignment.level))
    important, other_warnings = split_warnings(alignment.warnings, PROMINENT)
    print_lines(console, important, "bold red")
    print_line(console, _format_title(alignment), "italic")
    print_tables(console, tables if alignment.attempts else ())
    print_lines(console, format_sentences(alignment))
    print_lines(console, other_warnings, "yellow")
    if alignment.diff:
        console.print()
        console.print(alignment.diff, markup=False, highlight=False, soft_wrap=True, end="")


def render_forecast(forecast: AlignmentForecast, console: Console) -> None:
    """Print the maximum number of calls and tokens that aligning would need."""
    cost = format_cost(forecast.cost)
    items, questions = format_count(forecast.labels, "labelled item"), format_count(forecast.questions, "question")
    judged, written = format_count(forecast.calls, "call"), format_count(forecast.written, "call")
    lines = (
        f"{forecast.metric}: {items} of {questions}; at most:",
        (
            f"  {format_count(forecast.before, 'case')} judged by the metric as it is, "
            f"{forecast.learned:,} by changed ones"
        ),
        f"  {judged} of {forecast.judge} to judge, {written} to write",
        f"  about {forecast.input_tokens:,} input tokens to judge, cost {cost} in all; examples make prompts longer",
        "no model was called; judgements that exist already are included here, but will be reused",
    )
    print_lines(console, lines)


def format_sentences(alignment: Alignment) -> Iterator[str]:
    """Yield sentences about the outcome, the cost, and how to read the figures."""
    if alignment.accepted:
        yield f"accepted: {alignment.why}; the new definition is in {alignment.path}"
    else:
        yield f"nothing helped: {alignment.why}; nothing was written"
    if alignment.failed:
        items = format_count(alignment.failed, "item")
        yield f"excluded from the gain: {items} on which one of the two definitions gave no verdict"
    if alignment.attempts:
        yield (
            "The first table is measured on the items that chose the definition, so its figures are optimistic. The "
            "gain is measured on held-out folds; intervals resample whole questions."
        )
    yield _format_spending(alignment)


def _format_title(alignment: Alignment) -> str:
    people = ", ".join(alignment.annotators)
    items = f"{format_count(alignment.labels, 'item')} of {format_count(alignment.questions, 'question')}"
    writer = "" if alignment.writer == alignment.judge else f", writer {alignment.writer}"
    return f"{alignment.folder}: {alignment.metric}, judge {alignment.judge}{writer}; {items} labelled by {people}"


def _build_attempts_table(alignment: Alignment) -> Table:
    """Build the table of attempts, one row for each changed definition."""
    way, outcome = Column("way", left=True), Column("", left=True)
    columns = ("learned on", way, "from", "chosen by", f"{_name_figure(alignment.gain)} before", "after", outcome)
    return build_table(columns, (_format_attempt(attempt, alignment.folds) for attempt in alignment.attempts))


def _name_figure(gain: AgreementGain) -> str:
    return "kappa (unweighted)" if gain.figure == "kappa" else gain.figure


def _format_attempt(attempt: AlignAttempt, folds: int) -> tuple[str, ...]:
    learned_on = f"all but fold {attempt.fold} of {folds}" if attempt.fold else "all labels"
    figures = (str(attempt.learned), str(attempt.things), format_number(attempt.before), format_number(attempt.after))
    return learned_on, attempt.way, *(("",) * len(figures) if attempt.dropped else figures), _format_outcome(attempt)


def _format_outcome(attempt: AlignAttempt) -> str:
    if attempt.dropped:
        return f"dropped: {attempt.dropped}"
    failed = f"{attempt.failed} failed" if attempt.failed else ""
    return ", ".join(part for part in ("chosen" if attempt.chosen else "", failed) if part)


def _build_gain_table(gain: AgreementGain, level: float) -> Table:
    """Build the table of figures on the held-out folds."""
    columns = ("held-out folds", "items", f"before [{level:.0%}]", "after", "gain", "p", "changed")
    pairs = ((gain.before, gain.before_interval), (gain.after, gain.after_interval), (gain.gain, gain.interval))
    cells = (f"{format_number(value)} {format_interval(interval)}".rstrip() for value, interval in pairs)
    p = "-" if gain.p is None else f"{gain.p:.4f}"
    rows = [(_name_figure(gain), str(gain.things), *cells, p, str(gain.changed))]
    if gain.ranks:
        rows.append(("Spearman", str(gain.things), *map(format_number, gain.ranks), "", "", ""))
    return build_table(columns, rows)


def _format_spending(alignment: Alignment) -> str:
    """Format what this call cost, and how many judgements already existed."""
    usage = alignment.usage
    tokens = f"{usage.input_tokens or 0:,} input tokens, {usage.output_tokens or 0:,} output tokens"
    reused = f"; {format_count(alignment.kept, 'judgement')} from before" if alignment.kept else ""
    return f"spent: {format_count(usage.calls, 'call')}, {tokens}, cost {format_cost(alignment.cost)}{reused}"
