"""Texts of metric files that clients send."""

from __future__ import annotations

from greval.metrics.files import parse_metric
from greval.metrics.lint import lint_metric
from greval.records.metric import JudgedMetric


def check_metric_text(text: str) -> tuple[JudgedMetric, list[str]]:
    """Return the metric that a text defines, and warnings about unreliable judging.

    Raise `DefinitionError` with every fault of the text. It takes time that depends on the text, so the server calls it
    in a child process.
    """
    metric = parse_metric(text, "yaml")
    return metric, [*lint_metric(metric)]
