"""A probe for the terminal: the kill rate of each check, the noise, and the surviving mutants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from greval._util.wording import counted
from greval.report.number_format import by_question, told
from greval.report.terminal import plain_table, say, shortened
from greval.stats.measured import Figure
from greval.trust.probing.records import Checked, Noise, Probe, Survivor

SHORT = 100
"""The number of characters of a reason that are printed; the JSON form has it in full."""


def render(probe: Probe, console: Console, *, show: int = 5) -> None:
    """Print a probe.

    Args:
        probe: The probe.
        console: The console to print to.
        show: The number of surviving mutants to print.
    """
    say(console, f"{probe.folder}: {probe.metric}, judge {probe.judge}, {counted(probe.cases, 'case')}", "italic")
    if probe.checks:
        console.print()
        console.print(_checks(probe.checks))
    if probe.survivors and show:
        console.print()
        console.print(_survivors(probe.survivors, show))
    console.print()
    for line in legend(probe):
        say(console, line, "dim")
    for line in troubles(probe):
        say(console, line, "yellow")


def legend(probe: Probe) -> Iterator[str]:
    """Yield sentences about what each check expects, the noise, the checks not made, and the cost."""
    for one in probe.checks:
        yield f"{one.name}: {one.holds}"
    if any(isinstance(one.rate, Figure) and one.rate.clustered for one in probe.checks):
        yield "by question: verdicts on one question are not independent; this interval counts questions only"
    if probe.noise:
        yield noise(probe.noise)
    for skip in probe.skipped:
        yield f"{skip.check}: not made: {skip.reason}"
    usage = probe.usage
    tokens = f"{usage.input_tokens or 0:,} input tokens, {usage.output_tokens or 0:,} output tokens"
    cost = "" if probe.cost is None else f", ${probe.cost:.4f}"
    yield f"asked now: {counted(usage.calls, 'call')}, {tokens}{cost}"


def noise(found: Noise) -> str:
    """Format how stable repeated verdicts are.

    Example:
        >>> from greval.stats.measured import Undefined
        >>> none = Undefined(n=0, reason="nothing was judged twice")
        >>> format_noise(Noise(repeats=2, things=0, unsteady=none, flip_rate=None, sd=None))
        'repeats: nothing was judged twice'
    """
    if not isinstance(found.unsteady, Figure) or found.flip_rate is None:
        return "repeats: nothing was judged twice"
    spread = "" if found.sd is None else f", standard deviation {found.sd:.2f}"
    lost = f", {found.failed} failed" if found.failed else ""
    return (
        f"repeats: of {counted(found.things, 'verdict')} judged {found.repeats} times {told(found.unsteady)} changed; "
        f"flip rate {found.flip_rate:.2f}{spread}{lost}"
    )


def troubles(probe: Probe) -> Iterator[str]:
    """Yield what the figures do not include, with the remedy."""
    for one in probe.checks:
        for reason, times in one.unused.items():
            yield f"{one.name}: {times} not used: {reason}"
        if one.missing:
            yield f"{one.name}: {one.missing} not judged yet; run the same command again to go on, or with a higher cap"
    for reason, cases in probe.left_out.items():
        yield f"{counted(cases, 'case')} left out: {reason}"
    for row in probe.unread[:5]:
        yield f"not a case: {row}"
    if probe.failures:
        kinds = ", ".join(f"{kind} {times}" for kind, times in probe.failures.items())
        yield f"failures: {kinds}; they are not counted as caught; run the same command again to ask for these only"


def _checks(checks: Sequence[Checked]) -> Table:
    """Build the table of checks."""
    clustered = any(isinstance(one.rate, Figure) and one.rate.clustered for one in checks)
    heads = (
        "caught",
        "kill rate [95%]",
        *(["by question"] if clustered else []),
        "better",
        "worse",
        "failed",
        "not used",
    )
    table = plain_table("check", *heads)
    table.columns[0].no_wrap = True
    for one in checks:
        counts = (one.better, one.worse, one.failed, sum(one.unused.values()))
        apart = [by_question(one.rate)] if clustered else []
        cells = (one.name, f"{one.killed} of {one.mutants}", told(one.rate), *apart, *map(str, counts))
        table.add_row(*map(Text, cells))
    return table


def _survivors(survivors: Sequence[Survivor], show: int) -> Table:
    """Build the table of surviving mutants, the first of each check and variant at the top."""
    more = f" ({show} of {len(survivors)})" if len(survivors) > show else ""
    table = Table(title=f"Not caught{more}", title_justify="left", box=None, pad_edge=False)
    for name in ("check", "variant", "case", "before", "after", "reason"):
        table.add_column(name, overflow="fold")
    for one in _various(survivors)[:show]:
        who = " ".join(shortened(part) for part in (one.sample_id, one.method, one.item) if part)
        reason = one.reason if len(one.reason) <= SHORT else f"{one.reason[:SHORT]}..."
        table.add_row(*map(Text, (one.check, one.variant, who, str(one.before), str(one.after), reason)))
    return table


def _various(survivors: Sequence[Survivor]) -> list[Survivor]:
    """Return the survivors, the first of each check and variant before the others."""
    firsts: dict[tuple[str, str], Survivor] = {}
    for one in survivors:
        firsts.setdefault((one.check, one.variant), one)
    first = {id(one) for one in firsts.values()}
    return [*firsts.values(), *(one for one in survivors if id(one) not in first)]
