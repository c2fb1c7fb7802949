"""Efficiency metrics: latency, model calls, tokens and cost, as the method recorded them in `usage`."""

from __future__ import annotations

from greval._util.wording import format_count
from greval.metrics.computed.families import JudgementsOrSkipped, MetricFamily, build_judgement
from greval.records.case import Case
from greval.records.metric import ComputedMetric
from greval.records.result import Skipped
from greval.records.scale import MeasureScale


def _build_family(name: str, description: str, unit: str, reason: str) -> MetricFamily:
    """Build the metric family for the field `name` of `usage`; `reason` is a noun that is counted, or a format."""

    def compute(case: Case) -> JudgementsOrSkipped:
        spent: float | None = getattr(case.usage, name, None)
        if spent is None:
            return Skipped(reason=f"usage.{name} is not recorded")
        text = reason.format(spent) if "{" in reason else format_count(int(spent), reason)
        return build_judgement(spent, text)

    scale = MeasureScale(unit=unit, better="lower")
    return MetricFamily(
        name,
        lambda name, _: ComputedMetric(
            name=name, description=description, needs=("usage",), scale=scale, compute=compute
        ),
    )


FAMILIES = (
    _build_family("latency", "Seconds from the question to the whole answer.", "s", "{:.2f} s from question to answer"),
    _build_family("llm_calls", "How often a language model was called for the answer.", "calls", "call"),
    _build_family("prompt_tokens", "Tokens that the answer's model calls read.", "tokens", "prompt token"),
    _build_family("output_tokens", "Tokens that the answer's model calls wrote.", "tokens", "output token"),
    _build_family("cost", "What the answer's model calls cost, in US dollars.", "USD", "{:.6g} US dollars"),
)
"""The families of efficiency metrics."""
