"""A forecast for the terminal: the calls and the cost of a run."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console

from greval._util.wording import format_count
from greval.report.tables import format_cost, print_lines, split_table
from greval.runs.forecast import Forecast, MetricForecast

COLUMNS = ("metric", "judged", "kept", "skipped", "calls", "input tokens", "output tokens", "cost")
OUTCOMES = {True: "the run would be completed", False: "the run would stop at it"}


def render(forecast: Forecast, console: Console) -> None:
    """Print the calls of a run, how its tokens were counted, and what is not included."""
    parts = [*forecast.expected, *([_sum_metrics(forecast)] if len(forecast.expected) > 1 else [])]
    judges = {part.judge for part in forecast.expected if part.judge}
    several = len(judges) > 1
    columns = (COLUMNS[0], "judge", *COLUMNS[1:]) if several else COLUMNS
    rows = ((part.metric, *([part.judge or ""] if several else []), *_format_cells(part)) for part in parts)
    title = "would be asked of several judges" if several else f"would be asked of {forecast.judge or 'no judge'}"
    print_lines(console, [title])
    for table in split_table(console, columns, [*rows], keys=len(columns) - len(COLUMNS) + 1):
        console.print(table)
    print_lines(console, _format_notes(forecast))


def _format_cells(part: MetricForecast) -> tuple[str, ...]:
    numbers = (part.judged, part.kept, part.skipped, part.calls, part.input_tokens, part.output_tokens)
    # No calls cost nothing, even if the judge has no known price.
    cost = part.cost if part.calls else 0.0
    return (*(f"{number:,}" for number in numbers), format_cost(cost))


def _sum_metrics(forecast: Forecast) -> MetricForecast:
    names = ("judged", "kept", "skipped", "calls", "input_tokens", "repeated_tokens", "output_tokens")
    sums = {name: sum(getattr(part, name) for part in forecast.expected) for name in names}
    return MetricForecast(metric="all", **sums, cost=forecast.cost)


def _format_notes(forecast: Forecast) -> list[str]:
    """Return notes on how the figures were made."""
    notes = [f"input tokens: {forecast.how}; output tokens: an estimate", "calls: retries not included"]
    if repeated := _sum_metrics(forecast).repeated_tokens:
        notes.append(
            f"about {repeated:,} input tokens repeat the start of an earlier prompt, for which a provider may charge "
            "less; see --prompt-start"
        )
    free = dict.fromkeys(part.judge for part in forecast.expected if part.judge and part.calls and part.cost is None)
    if free or (forecast.judge and forecast.cost is None):
        names = ", ".join(filter(None, free)) or forecast.judge
        notes.append(f"no price is known for {names}: --prices FILE gives one")
    notes += _format_caps(forecast)
    if forecast.unread:
        notes.append(f"rows that are not cases and will not be judged: {forecast.unread}")
    return notes


def _format_caps(forecast: Forecast) -> Iterator[str]:
    """Yield what was spent on the run before, and whether its caps leave room for the calls."""
    spent = forecast.spent
    if spent.calls or spent.cost:
        cost = "" if spent.cost is None else f", ${spent.cost:.4f}"
        calls = format_count(spent.calls, "call")
        yield f"spent by earlier commands on this run: {calls}{cost}; --max-calls and --max-cost count it"
    if forecast.max_calls is not None:
        calls_left = max(forecast.max_calls - spent.calls, 0)
        outcome = OUTCOMES[forecast.calls <= calls_left]
        yield f"--max-calls {forecast.max_calls}: {outcome}; it leaves {format_count(calls_left, 'call')}"
    if forecast.max_cost is not None:
        left_cost = max(forecast.max_cost - (spent.cost or 0.0), 0.0)
        fits = (forecast.cost or 0.0) <= left_cost
        yield f"--max-cost {forecast.max_cost:g}: {OUTCOMES[fits]}; it leaves ${left_cost:.4f}"
