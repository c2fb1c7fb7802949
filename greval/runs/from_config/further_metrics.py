"""The metrics of an evaluation beside the published ones: walk and retrieval against gold, and those of the config.

Metrics against gold are computed, without a model, if the gold of a question has what they need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from greval.metrics.library import load_metric
from greval.records.case import Gold, Sample
from greval.records.metric import Metric
from greval.runs.from_config.config import EvaluationConfig, load_further_metrics

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
"""The metrics beside the published ones, by the section of the result files."""


def select_further_metrics(config: EvaluationConfig, samples: Iterable[Sample], root: Path) -> FurtherMetrics:
    """Return the metrics that the gold of the samples allows, and those of the config, by section.

    A section without metrics is left out.

    Raises:
        DefinitionError: If a metric of the config is wrong.
    """
    gold = [sample.gold for sample in samples if sample.gold]
    found = {
        section: [load_metric(name) for part, names in parts.items() if _is_known(gold, part) for name in names]
        for section, parts in GOLD_METRICS.items()
    }
    taken = {*JUDGED_METRICS, *USAGE_METRICS, *(metric.name for metrics in found.values() for metric in metrics)}
    own = {metric.name: metric for spec in config.metrics for metric in load_further_metrics(spec, root)}
    found[OWN_SECTION] = [metric for name, metric in own.items() if name not in taken]
    return {section: metrics for section, metrics in found.items() if metrics}


def _is_known(gold: Iterable[Gold], part: str) -> bool:
    return any(getattr(one, part) for one in gold)
