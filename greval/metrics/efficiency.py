"""What a response cost: time, calls and tokens, as the method recorded them in `usage`."""

from __future__ import annotations

from collections.abc import Callable

from greval.case import Case
from greval.metric import ComputedMetric
from greval.result import Judgement, Skipped
from greval.scale import MeasureScale


def _spent(name: str, description: str, *, unit: str, tell: Callable[[float], str]) -> ComputedMetric:
    """Make the metric of the field of `usage` that has its name.

    Args:
        name: The metric's name and the field's.
        description: What it measures.
        unit: The unit of the figure.
        tell: Gives the reason for a figure.
    """

    def compute(case: Case) -> tuple[Judgement, ...] | Skipped:
        spent: float | None = getattr(case.usage, name, None)
        if spent is None:
            return Skipped(reason=f"usage.{name} is not recorded")
        return (Judgement(value=spent, number=float(spent), reason=tell(spent)),)

    scale = MeasureScale(unit=unit, better="lower")
    return ComputedMetric(name=name, description=description, needs=("usage",), scale=scale, compute=compute)


def _counted(what: str) -> Callable[[float], str]:
    """Give the reason for a count, in the singular or the plural."""
    return lambda count: f"{count:,} {what}{'' if count == 1 else 's'}"


LATENCY = _spent(
    "latency",
    "Seconds from the question to the whole answer.",
    unit="s",
    tell=lambda seconds: f"{seconds:.2f} s from question to answer",
)
LLM_CALLS = _spent(
    "llm_calls",
    "How often a language model was called for the answer.",
    unit="calls",
    tell=_counted("call"),
)
PROMPT_TOKENS = _spent(
    "prompt_tokens",
    "Tokens that the answer's model calls read.",
    unit="tokens",
    tell=_counted("prompt token"),
)
OUTPUT_TOKENS = _spent(
    "output_tokens",
    "Tokens that the answer's model calls wrote.",
    unit="tokens",
    tell=_counted("output token"),
)
