"""An alignment for the terminal: the attempts, the gain on held-out folds, and what was written."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from greval.report.number_format import format_interval, format_number
from greval.report.tables import build_plain_table, print_line, print_prominent, print_rest
from greval.trust.alignment.records import AgreementGain, AlignAttempt, Alignment, AlignmentForecast

PROMINENT = "ENRICHED"


def render(alignment: Alignment, console: Console) -> None:
    """Print an alignment: important warnings, the attempts, the gain, the outcome, other warnings, and the diff."""
    print_prominent(console, alignment.warnings, PROMINENT)
    print_line(console, _format_title(alignment), "italic")
    if alignment.attempts:
        console.print()
        console.print(_build_attempts_table(alignment))
        console.print()
        console.print(_build_gain_table(alignment.gain, alignment.level))
    console.print()
    for line in format_sentences(alignment):
        print_line(console, line)
    print_rest(console, alignment.warnings, PROMINENT)
    if alignment.diff:
        console.print()
        console.print(alignment.diff, markup=False, highlight=False, soft_wrap=True, end="")


def render_forecast(found: AlignmentForecast, console: Console) -> None:
    """Print the maximum number of calls and tokens that aligning would need."""
    cost = "unknown" if found.cost is None else f"${found.cost:.4f}"
    lines = (
        f"{found.metric}: {found.labels:,} labelled things of {found.questions:,} questions; at most:",
        f"  {found.before:,} cases judged by the metric as it is, {found.learned:,} by changed ones",
        f"  {found.calls:,} calls of {found.judge} to judge, {found.written:,} calls to write",
        f"  about {found.input_tokens:,} input tokens of the former, cost {cost}; examples make prompts longer",
        "what is there from before is not asked again and not taken off here; nothing was asked",
    )
    for line in lines:
        print_line(console, line)


def format_sentences(alignment: Alignment) -> Iterator[str]:
    """Yield sentences about the outcome, the cost, and how to read the figures."""
    if alignment.accepted:
        yield f"accepted: {alignment.why}; the new definition is in {alignment.path}"
    else:
        yield f"nothing helped: {alignment.why}; nothing was written"
    if alignment.failed:
        yield f"left out of the gain: {alignment.failed} things of which one of the two definitions gave no verdict"
    if alignment.attempts:
        yield (
            "Figures of the first table are of things that chose, and flatter what was chosen. The gain is that of "
            "held-back folds; intervals draw whole questions."
        )
    yield _format_spending(alignment)


def _format_title(alignment: Alignment) -> str:
    """Format the title."""
    people = ", ".join(alignment.annotators)
    things = f"{alignment.labels:,} things of {alignment.questions:,} questions"
    writer = "" if alignment.writer == alignment.judge else f", writer {alignment.writer}"
    return f"{alignment.folder}: {alignment.metric}, judge {alignment.judge}{writer}; {things} labelled by {people}"


def _build_attempts_table(alignment: Alignment) -> Table:
    """Build the table of attempts, one row for each changed definition."""
    heads = ("learned on", "way", "from", "chosen by", f"{alignment.gain.figure} before", "after", "")
    table = build_plain_table(*heads, left={"way", ""})
    for one in alignment.attempts:
        where = f"all but fold {one.fold} of {alignment.folds}" if one.fold else "all labels"
        figures = (str(one.learned), str(one.things), format_number(one.before), format_number(one.after))
        cells = ("", "", "", "") if one.dropped else figures
        table.add_row(*map(Text, (where, one.way, *cells, _format_outcome(one))))
    return table


def _format_outcome(one: AlignAttempt) -> str:
    """Format the outcome of an attempt."""
    if one.dropped:
        return f"dropped: {one.dropped}"
    failed = f"{one.failed} failed" if one.failed else ""
    return ", ".join(part for part in ("chosen" if one.chosen else "", failed) if part)


def _build_gain_table(gain: AgreementGain, level: float) -> Table:
    """Build the table of figures on the held-out folds."""
    table = build_plain_table("held-back folds", "things", f"before [{level:.0%}]", "after", "gain", "p", "changed")
    cells = (
        *(
            f"{format_number(gain.before)}{format_interval(gain.before_interval)}",
            f"{format_number(gain.after)}{format_interval(gain.after_interval)}",
        ),
        f"{format_number(gain.gain)}{format_interval(gain.interval)}",
        *(f"{gain.p:.4f}", str(gain.changed)),
    )
    table.add_row(*map(Text, (gain.figure, str(gain.things), *cells)))
    if gain.ranks:
        table.add_row(*map(Text, ("Spearman", str(gain.things), *map(format_number, gain.ranks), "", "", "")))
    return table


def _format_spending(alignment: Alignment) -> str:
    """Format what this call cost, and how many judgements already existed."""
    usage = alignment.usage
    money = "unknown" if alignment.cost is None else f"${alignment.cost:.4f}"
    tokens = f"{usage.input_tokens or 0:,} input tokens, {usage.output_tokens or 0:,} output tokens"
    kept = f"; {alignment.kept:,} judgements were there from before" if alignment.kept else ""
    return f"spent: {usage.calls:,} calls, {tokens}, cost {money}{kept}"
