"""Computed metrics: functions of a case with the same definition, scale and result as judged ones."""

from __future__ import annotations

from greval.metric import ComputedMetric
from greval.metrics.efficiency import LATENCY, LLM_CALLS, OUTPUT_TOKENS, PROMPT_TOKENS

__all__ = ["COMPUTED"]

COMPUTED: dict[str, ComputedMetric] = {
    metric.name: metric for metric in (LATENCY, LLM_CALLS, PROMPT_TOKENS, OUTPUT_TOKENS)
}
"""Every computed metric that is built in, by name."""
