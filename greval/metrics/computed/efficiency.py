"""Efficiency metrics: latency, model calls, tokens and cost, as the method recorded them in `usage`."""

from __future__ import annotations

from collections.abc import Callable

from greval._util.wording import format_count
from greval.metrics.computed.families import MetricFamily, build_judgement
from greval.records.case import Case
from greval.records.metric import ComputedMetric
from greval.records.result import Judgement, Skipped
from greval.records.scale import MeasureScale


def _build_family(name: str, description: str, *, unit: str, format_reason: Callable[[float], str]) -> MetricFamily:
    """Build the metric family for the field `name` of `usage`; `format_reason` formats the reason for a value."""

    def compute(case: Case) -> tuple[Judgement, ...] | Skipped:
        spent: float | None = getattr(case.usage, name, None)
        if spent is None:
            return Skipped(reason=f"usage.{name} is not recorded")
        return build_judgement(spent, format_reason(spent))

    scale = MeasureScale(unit=unit, better="lower")
    return MetricFamily(
        name,
        lambda name, _: ComputedMetric(
            name=name, description=description, needs=("usage",), scale=scale, compute=compute
        ),
    )


def _build_count_formatter(what: str) -> Callable[[float], str]:
    """Build a function that formats a count with its noun."""
    return lambda count: format_count(int(count), what)


FAMILIES = (
    _build_family(
        "latency",
        "Seconds from the question to the whole answer.",
        unit="s",
        format_reason=lambda seconds: f"{seconds:.2f} s from question to answer",
    ),
    _build_family(
        "llm_calls",
        "How often a language model was called for the answer.",
        unit="calls",
        format_reason=_build_count_formatter("call"),
    ),
    _build_family(
        "prompt_tokens",
        "Tokens that the answer's model calls read.",
        unit="tokens",
        format_reason=_build_count_formatter("prompt token"),
    ),
    _build_family(
        "output_tokens",
        "Tokens that the answer's model calls wrote.",
        unit="tokens",
        format_reason=_build_count_formatter("output token"),
    ),
    _build_family(
        "cost",
        "What the answer's model calls cost, in US dollars.",
        unit="USD",
        format_reason=lambda dollars: f"{dollars:.6g} US dollars",
    ),
)
"""The families of efficiency metrics."""
