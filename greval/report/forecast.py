"""A forecast for the terminal: what a run would ask and cost."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from greval.forecasting import Expected, Forecast

COLUMNS = ("judged", "kept", "skipped", "calls", "input tokens", "output tokens", "cost")


def render(forecast: Forecast, console: Console) -> None:
    """Print what a run would ask, how its tokens were counted, and what is not in it."""
    table = Table(
        title=f"would be asked of {forecast.judge or 'nobody'}", title_justify="left", box=None, pad_edge=False
    )
    table.add_column("metric")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for part in forecast.expected:
        table.add_row(part.metric, *_cells(part))
    if len(forecast.expected) > 1:
        table.add_row("all", *_cells(_all(forecast)))
    console.print(table)
    for line in _notes(forecast):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _cells(part: Expected) -> tuple[str, ...]:
    numbers = (part.judged, part.kept, part.skipped, part.calls, part.input_tokens, part.output_tokens)
    cost = part.cost if part.calls else 0.0  # what asks nothing costs nothing, also of a judge without a price
    return (*(f"{number:,}" for number in numbers), "unknown" if cost is None else f"${cost:.4f}")


def _all(forecast: Forecast) -> Expected:
    """Add the metrics up."""
    names = ("judged", "kept", "skipped", "calls", "input_tokens", "output_tokens")
    sums = {name: sum(getattr(part, name) for part in forecast.expected) for name in names}
    return Expected(metric="all", **sums, cost=forecast.cost)


def _notes(forecast: Forecast) -> list[str]:
    """Say what the figures rest on."""
    notes = [f"input tokens: {forecast.how}; output tokens: an estimate", "calls: without what is asked again"]
    if forecast.judge and forecast.cost is None:
        notes.append(f"no price is known for {forecast.judge}: --prices FILE gives one")
    if forecast.unread:
        notes.append(f"rows that are no cases and would not be judged: {forecast.unread}")
    return notes
