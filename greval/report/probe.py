"""A probe for the terminal: the kill rate of each check, the noise, and the surviving mutants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from greval._util.wording import format_count
from greval.report.tables import (
    Column,
    build_table,
    format_by_question,
    format_cost,
    format_measured,
    print_line,
    print_lines,
    shorten_name,
)
from greval.stats.interval import MeasuredValue
from greval.trust.probing.records import JudgeNoise, Probe, ProbeCheckResult, SurvivingMutant

MAX_REASON = 100
"""The number of characters of a reason that are printed; the JSON form has it in full."""


def render(probe: Probe, console: Console, *, show: int = 5) -> None:
    """Print a probe."""
    title = f"{probe.folder}: {probe.metric}, judge {probe.judge}, {format_count(probe.cases, 'case')}"
    print_line(console, title, "italic")
    for table in build_probe_tables(probe, show=show):
        console.print()
        console.print(table)
    console.print()
    print_lines(console, format_probe_legend(probe), "dim")
    print_lines(console, format_troubles(probe), "yellow")


def build_probe_tables(probe: Probe, *, show: int = 5) -> Iterator[Table]:
    """Build the table of the checks, and that of some surviving mutants."""
    if probe.checks:
        yield _build_checks_table(probe.checks)
    if probe.survivors and show:
        yield _build_survivors_table(probe.survivors, show)


def format_probe_legend(probe: Probe) -> Iterator[str]:
    """Yield sentences about what each check expects, the noise, the checks not made, and the cost."""
    for check in probe.checks:
        yield f"{check.name}: {check.holds}"
    yield from describe_rule(probe)
    if any(isinstance(check.rate, MeasuredValue) and check.rate.clustered for check in probe.checks):
        yield '"by question" resamples whole questions, because verdicts on one question are correlated'
    if probe.noise:
        yield format_noise(probe.noise)
    for skip in probe.skipped:
        yield f"{skip.check}: not made: {skip.reason}"
    usage = probe.usage
    tokens = f"{usage.input_tokens or 0:,} input tokens, {usage.output_tokens or 0:,} output tokens"
    cost = "" if probe.cost is None else f", {format_cost(probe.cost)}"
    yield f"asked now: {format_count(usage.calls, 'call')}, {tokens}{cost}"


def describe_rule(probe: Probe) -> Iterator[str]:
    """Yield what a rule of one line would catch of the same mutants, and the checks in which the judge is no better."""
    tried = [check for check in probe.checks if check.rule_mutants]
    if not tried:
        return
    counts = ", ".join(f"{check.name} {check.rule_killed} of {check.rule_mutants}" for check in tried)
    yield f"a rule of one line ({probe.rule}) would catch: {counts}"
    shares = ((check, check.rule_killed / check.rule_mutants) for check in tried if check.mutants > check.killed)
    if beaten := [check.name for check, share in shares if share >= check.killed / check.mutants]:
        yield f"the judge catches no more than a rule of one line: {', '.join(beaten)}"


def format_noise(noise: JudgeNoise) -> str:
    """Format how stable repeated verdicts are."""
    if not isinstance(noise.unsteady, MeasuredValue) or noise.flip_rate is None:
        return "repeats: nothing was judged twice"
    spread = "" if noise.sd is None else f", standard deviation {noise.sd:.2f}"
    lost = f", {noise.failed} failed" if noise.failed else ""
    return (
        f"repeats: of {format_count(noise.things, 'verdict')} judged {noise.repeats} times "
        f"{format_measured(noise.unsteady)} changed; flip rate {noise.flip_rate:.2f}{spread}{lost}"
    )


def format_troubles(probe: Probe) -> Iterator[str]:
    """Yield what the figures do not include, with the remedy."""
    for check in probe.checks:
        for reason, times in check.unused.items():
            yield f"{check.name}: {times} not used: {reason}"
        if check.missing:
            advice = "run the same command again to continue, with a higher cap if it was reached"
            yield f"{check.name}: {check.missing} not judged yet; {advice}"
    for reason, cases in probe.left_out.items():
        yield f"{format_count(cases, 'case')} left out: {reason}"
    for row in probe.unread[:5]:
        yield f"not a case: {row}"
    if probe.failures:
        kinds = ", ".join(f"{kind} {times}" for kind, times in probe.failures.items())
        yield f"failures: {kinds}; they are not counted as caught; run the same command again to ask for these only"


def _build_checks_table(checks: Sequence[ProbeCheckResult]) -> Table:
    clustered = any(isinstance(check.rate, MeasuredValue) and check.rate.clustered for check in checks)
    question = ["by question"] if clustered else []
    first = Column("check", left=True, wrap=False)
    rows = (
        (
            *(check.name, f"{check.killed} of {check.mutants}", format_measured(check.rate)),
            *([format_by_question(check.rate)] if clustered else []),
            *map(str, (check.better, check.worse, check.failed, sum(check.unused.values()))),
        )
        for check in checks
    )
    return build_table((first, "caught", "kill rate [95%]", *question, "better", "worse", "failed", "not used"), rows)


def _build_survivors_table(survivors: Sequence[SurvivingMutant], show: int) -> Table:
    """Build the table of surviving mutants, the first of each check and variant at the top."""
    more = f" ({show} of {len(survivors)})" if len(survivors) > show else ""
    columns = [Column(name, left=True) for name in ("check", "variant", "case", "before", "after", "reason")]
    rows = map(_format_survivor, _order_by_variety(survivors)[:show])
    return build_table(columns, rows, title=f"Not caught{more}")


def _format_survivor(survivor: SurvivingMutant) -> tuple[str, ...]:
    who = " ".join(shorten_name(part) for part in (survivor.sample_id, survivor.method, survivor.item) if part)
    reason = survivor.reason if len(survivor.reason) <= MAX_REASON else f"{survivor.reason[:MAX_REASON]}..."
    return survivor.check, survivor.variant, who, str(survivor.before), str(survivor.after), reason


def _order_by_variety(survivors: Sequence[SurvivingMutant]) -> list[SurvivingMutant]:
    """Return the survivors, the first of each check and variant before the others."""
    kinds: set[tuple[str, str]] = set()
    first: list[SurvivingMutant] = []
    further: list[SurvivingMutant] = []
    for survivor in survivors:
        # A check with many survivors must not fill the few rows that are shown.
        kind = survivor.check, survivor.variant
        (further if kind in kinds else first).append(survivor)
        kinds.add(kind)
    return first + further
