"""The metrics of an evaluation: the published scores, walk and retrieval against gold, and those of the config.

Metrics against gold are computed, without a model, if the gold of a question has what they need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from greval.metrics.library import load_metric
from greval.metrics.sources import load_metrics
from greval.records.case import Gold, Sample
from greval.records.metric import Metric
from greval.runs.from_config.config import EvaluationConfig

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
"""The section of the metrics that the config names."""

FurtherMetrics = Mapping[str, Sequence[Metric]]
"""The metrics beside the published scores, by the section of the result files."""


class EvaluationMetrics(NamedTuple):
    """The metrics of an evaluation: those of the section `scores`, and the further ones by their section."""

    scores: tuple[Metric, ...]
    further: FurtherMetrics

    @classmethod
    def load_published(cls) -> EvaluationMetrics:
        """Load the published metrics, without further ones."""
        return cls(tuple(load_metric(name) for name in JUDGED_METRICS), {})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all metrics."""
        return tuple(metric.name for metric in self.list_all())

    def list_all(self) -> tuple[Metric, ...]:
        """List all metrics."""
        return (*self.scores, *(metric for metrics in self.further.values() for metric in metrics))


def select_metrics(config: EvaluationConfig, samples: Iterable[Sample], root: Path) -> EvaluationMetrics:
    """Return the metrics that the config names, by default the published ones, and those that the gold allows.

    What a named metric builds on is judged and written like the named ones. Metrics that have the name of a published
    one are scores. A section without metrics is left out.

    Raises:
        DefinitionError: If a metric of the config is wrong.
    """
    gold = [sample.gold for sample in samples if sample.gold]
    found = {
        section: [load_metric(name) for part, names in parts.items() if _is_known(gold, part) for name in names]
        for section, parts in GOLD_METRICS.items()
    }
    own = {metric.name: metric for metric in load_metrics(config.metrics, root=root)} if config.metrics else {}
    published = EvaluationMetrics.load_published().scores
    scores = published if config.metrics is None else tuple(own[name] for name in JUDGED_METRICS if name in own)
    taken = {*JUDGED_METRICS, *USAGE_METRICS, *(metric.name for metrics in found.values() for metric in metrics)}
    found[OWN_SECTION] = [metric for name, metric in own.items() if name not in taken]
    return EvaluationMetrics(scores, {section: metrics for section, metrics in found.items() if metrics})


def _is_known(gold: Iterable[Gold], part: str) -> bool:
    return any(getattr(one, part) for one in gold)
