"""The cost of a run: calls, tokens, and dollars if a price is known."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from greval.judging.model.prices import Price
from greval.records.record import Record
from greval.records.result import Usage
from greval.stats.summary import Summary


class MetricSpending(Record):
    """The cost of one metric and group in US dollars; None if the price or the tokens are not known."""

    metric: str
    group: str
    usage: Usage
    cost: float | None


def compute_spending(summaries: Sequence[Summary], price: JsonValue) -> tuple[MetricSpending, ...]:
    """Return the cost of each group; groups without calls are left out.

    Args:
        summaries: The groups.
        price: The price of the run's judge in the run's manifest, None if it is not known.
    """
    known = Price.model_validate(price) if isinstance(price, dict) else None
    return tuple(
        MetricSpending(
            metric=summary.metric,
            group=summary.group,
            usage=summary.usage,
            cost=known.cost(summary.usage) if known else None,
        )
        for summary in summaries
        if summary.usage.calls or summary.usage.hits
    )


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
    each = ", ".join(f"{part.metric}{f' ({part.group})' if part.group else ''} ${part.cost:.4f}" for part in dear)
    total = f"${sum(part.cost or 0.0 for part in dear):.4f}"
    return f"{total} ({each})" if len(dear) > 1 else total
