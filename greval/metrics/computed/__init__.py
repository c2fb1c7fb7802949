"""Computed metrics: functions of a case with the same definition, scale and result as judged metrics."""

from __future__ import annotations

from greval.metrics.computed.judged_ranking import JUDGED
from greval.metrics.computed.metric_names import (
    CLAIM_FAMILIES,
    FAMILIES,
    JUDGED_FAMILIES,
    explain_bad_name,
    find_computed_metric,
    list_name_variants,
)
from greval.records.metric import ComputedMetric, DerivedMetric

__all__ = [
    "CLAIM_FAMILIES",
    "COMPUTED_METRICS",
    "DERIVED_METRICS",
    "FAMILIES",
    "JUDGED_FAMILIES",
    "explain_bad_name",
    "find_computed_metric",
    "list_name_variants",
]

_PREDEFINED_NAMES = (
    *("ndcg@10", "essential_recall@20", "recall@10", "precision@10", "hit_rate@10", "perfect_recall@10", "mrr", "map"),
    *("cross_repo_precision@5", "repo_recall", "version_coherence"),
    *("edge_recall", "edge_precision", "node_recall", "node_precision", "path_order", "hop_depth"),
    *("spurious_edge_rate", "entry_recall"),
    *("exact_match", "token_f1", "fuzzy_containment@0.80", "fuzzy_containment@0.90"),
    *("answer_words", "context_words", "chunk_words", "triple_words", "claim_words", "expected_claim_words"),
    *("latency", "llm_calls", "prompt_tokens", "output_tokens", "cost"),
)

COMPUTED_METRICS: dict[str, ComputedMetric] = {
    name: metric for name in _PREDEFINED_NAMES if isinstance(metric := find_computed_metric(name), ComputedMetric)
}
"""The predefined computed metrics by name; `find_computed_metric` returns those with other settings.

Those that are computed from verdicts are not among them: a list of all of these costs no call of a judge.
"""
_PREDEFINED_RANKINGS = ("ndcg@10", "precision@5", "context_precision", "hit_rate@10", "mrr")
DERIVED_METRICS: dict[str, DerivedMetric] = {
    name: metric
    for name in (*CLAIM_FAMILIES, *(f"{ranking}-{JUDGED}" for ranking in _PREDEFINED_RANKINGS))
    if isinstance(metric := find_computed_metric(name), DerivedMetric)
}
"""The predefined metrics that are computed from verdicts, by name; `find_computed_metric` returns other settings."""
