"""The metrics of an evaluation: the published scores, walk and retrieval against gold, and those of the configuration.

Metrics against gold are computed, without a model, if the gold of a question has what they need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from greval.metrics.library import load_metric
from greval.records.case import Gold, Sample
from greval.records.metric import Metric

JUDGED_METRICS = ("correctness", "faithfulness", "relevance", "completeness")
USAGE_METRICS = ("latency", "llm_calls", "prompt_tokens", "output_tokens")
GOLD_METRICS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "walk": {
        "expected_edges": ("edge_recall-undirected-unlabelled",),
        "expected_nodes": ("node_recall", "node_precision"),
    },
    "retrieval": {"essential": ("recall@5", "ndcg@10")},
}
"""For each section of the result files, the metrics by the part of the gold that they need.

Systems name relations in their own words and directions, so edges are compared without both.
"""
OWN_SECTION = "metrics"
"""The section of the metrics that the configuration names."""


class EvaluationMetrics(NamedTuple):
    """The metrics of an evaluation: those of the section `scores`, and the further ones by their section."""

    scores: tuple[Metric, ...]
    further: Mapping[str, Sequence[Metric]]

    def list_all(self) -> tuple[Metric, ...]:
        """List all metrics."""
        return (*self.scores, *(metric for metrics in self.further.values() for metric in metrics))


def select_metrics(metrics: Iterable[Metric], samples: Iterable[Sample]) -> EvaluationMetrics:
    """Return metrics by their sections, with those that the gold of samples allows.

    What a metric builds on is judged and written like it. Metrics that have the name of a published one are scores. A
    section without metrics is left out.
    """
    metrics_by_name = {metric.name: metric for metric in metrics}
    gold = [sample.gold for sample in samples if sample.gold]
    sections = {
        section: [load_metric(name) for part, names in parts.items() if _has_part(gold, part) for name in names]
        for section, parts in GOLD_METRICS.items()
    }
    scores = tuple(metrics_by_name[name] for name in JUDGED_METRICS if name in metrics_by_name)
    published_names = {
        *JUDGED_METRICS,
        *USAGE_METRICS,
        *(metric.name for listed in sections.values() for metric in listed),
    }
    sections[OWN_SECTION] = [metric for name, metric in metrics_by_name.items() if name not in published_names]
    return EvaluationMetrics(scores, {section: listed for section, listed in sections.items() if listed})


def _has_part(gold: Iterable[Gold], part: str) -> bool:
    return any(getattr(expected, part) for expected in gold)
