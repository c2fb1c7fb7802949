"""Efficiency metrics: latency, model calls, tokens and cost, as the method recorded them in `usage`."""

from __future__ import annotations

from collections.abc import Callable

from greval._util.wording import counted
from greval.metrics.computed.families import Family, judged
from greval.records.case import Case
from greval.records.metric import ComputedMetric
from greval.records.result import Judgement, Skipped
from greval.records.scale import MeasureScale


def _spent(name: str, description: str, *, unit: str, tell: Callable[[float], str]) -> Family:
    """Build the metric family for the field `name` of `usage`; `format_reason` formats the reason for a value."""

    def compute(case: Case) -> tuple[Judgement, ...] | Skipped:
        spent: float | None = getattr(case.usage, name, None)
        if spent is None:
            return Skipped(reason=f"usage.{name} is not recorded")
        return judged(spent, tell(spent))

    scale = MeasureScale(unit=unit, better="lower")
    return Family(
        name,
        lambda name, _: ComputedMetric(
            name=name, description=description, needs=("usage",), scale=scale, compute=compute
        ),
    )


def _counted(what: str) -> Callable[[float], str]:
    """Build a function that formats a count with its noun."""
    return lambda count: counted(int(count), what)


FAMILIES = (
    _spent(
        "latency",
        "Seconds from the question to the whole answer.",
        unit="s",
        tell=lambda seconds: f"{seconds:.2f} s from question to answer",
    ),
    _spent(
        "llm_calls",
        "How often a language model was called for the answer.",
        unit="calls",
        tell=_counted("call"),
    ),
    _spent(
        "prompt_tokens",
        "Tokens that the answer's model calls read.",
        unit="tokens",
        tell=_counted("prompt token"),
    ),
    _spent(
        "output_tokens",
        "Tokens that the answer's model calls wrote.",
        unit="tokens",
        tell=_counted("output token"),
    ),
    _spent(
        "cost",
        "What the answer's model calls cost, in US dollars.",
        unit="USD",
        tell=lambda dollars: f"{dollars:.6g} US dollars",
    ),
)
"""The families of efficiency metrics."""
