"""Which metrics fit the fields that cases have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.metrics.computed import DERIVED_METRICS, find_computed_metric
from greval.metrics.computed.outcomes import compute_outcome
from greval.metrics.fitting import DOCUMENTS, find_fitting_metrics
from greval.metrics.library import predefined
from greval.records.case import Case
from greval.records.metric import ComputedMetric, DerivedMetric, build_metric
from greval.records.metric_input import explain_missing_needs
from greval.records.recorded_fields import list_recorded_fields
from greval.records.result import CLAIM_SOURCES, Skipped
from greval.records.scale import MeasureScale

WHOLE = {
    "expected_answer": "Ada",
    "answer": "Ada Lovelace",
    "chunks": [{"text": "a", "doc_id": "x.md", "repo": "web", "version": "1"}, {"text": "b", "doc_id": "y.md"}],
    "triples": [["Ada", "wrote", "Notes"]],
    "aggregates": ["2 authors"],
    "traversal": {
        "start_nodes": ["Ada"],
        "traversed_edges": [["Ada", "Notes"]],
        "final_nodes": ["Notes"],
        "nodes": {"Ada": {"repo": "web", "version": "2"}},
    },
    "gold": {
        "essential_docs": ["x.md"],
        "helpful_docs": ["z.md"],
        "grades": {"x.md": 3},
        "essential_repos": ["web"],
        "expected_edges": [["Ada", "Notes"], ["Notes", "Engine"]],
        "expected_nodes": ["Engine"],
        "start_nodes": ["Ada"],
        "answers": ["A. Lovelace"],
    },
    "usage": {"latency": 0, "llm_calls": 2, "prompt_tokens": 3, "output_tokens": 4, "cost": 5},
}
JUDGED_RANKINGS = [name for name in DERIVED_METRICS if name.endswith("-judged")]
PLACES = [*(name for name, whole in WHOLE.items() if not isinstance(whole, dict))]
PLACES += [f"{name}.{part}" for name, whole in WHOLE.items() if isinstance(whole, dict) for part in whole]


def build_case(places):
    """Return the case with only some of its fields."""
    values = {name: full_value for name, full_value in WHOLE.items() if name in places}
    for name in ("traversal", "gold", "usage"):
        parts = {part: value for part, value in WHOLE[name].items() if f"{name}.{part}" in places}
        values |= {name: parts} if parts else {}
    return Case(id="q1", question="Who?", **values)


@given(st.sets(st.sampled_from(PLACES)))
def test_a_metric_fits_if_it_is_defined(places):
    """On another case with the same fields, the metrics that fit have an outcome, and all others are skipped."""
    case = build_case(places)
    fitting = find_fitting_metrics(list_recorded_fields(case))
    for name, metric in predefined().items():
        if isinstance(metric, DerivedMetric):
            continue
        listed = [claims for claims in metric.claim_fields if getattr(case, CLAIM_SOURCES[claims]) is not None]
        skipped = explain_missing_needs(metric, case, besides=listed) is not None
        if not skipped and isinstance(metric, ComputedMetric):
            skipped = isinstance(compute_outcome(metric, case), Skipped)
        assert (name in (*fitting.judged, *fitting.computed)) is not skipped, name


@given(st.sets(st.sampled_from(PLACES)))
def test_any_one_missing_field_is_enough(places):
    """A metric that nearly fits does fit with any of the fields that it is said to miss."""
    fields = list_recorded_fields(build_case(places))
    for nearly in find_fitting_metrics(fields).nearly[:6]:
        for name in nearly.missing:
            more = find_fitting_metrics([*fields, name], [predefined()[nearly.metric]])
            assert nearly.metric in (*more.judged, *more.computed, *more.derived), (nearly.metric, name)


@pytest.mark.parametrize(
    ("fields", "derived"),
    [
        (["answer"], set()),
        (["answer", "expected_answer"], {"claim_f1", "claim_precision", "claim_recall"}),
        (["answer", "chunks"], {"claim_faithfulness", *JUDGED_RANKINGS}),
        (["chunks.doc_id"], set()),
        (["chunks", "expected_claims"], {"context_claim_precision", "context_claim_recall", *JUDGED_RANKINGS}),
        (["answer", "chunks", "expected_answer"], {*DERIVED_METRICS}),
    ],
)
def test_what_is_computed_from_verdicts_fits_where_these_do(fields, derived):
    """Metrics that cost calls of a judge are no computed ones: they fit if every metric that they build on does."""
    assert {*find_fitting_metrics(["question", *fields]).derived} == derived


def test_rankings_need_the_names_of_documents():
    """Chunks without ids or documents are judged, but a ranking of them would be zero throughout."""
    fields = ["question", "chunks", "gold.essential_docs"]
    fitting = find_fitting_metrics(fields)
    assert {*fitting.computed} == {"chunk_words", "context_words"}
    assert {nearly.missing for nearly in fitting.nearly if nearly.metric == "recall@10"} == {(DOCUMENTS,)}
    assert "recall@10" in find_fitting_metrics([*fields, DOCUMENTS]).computed


@pytest.mark.parametrize(
    ("fields", "metric", "missing"),
    [
        ([], "faithfulness", None),
        (["answer"], "faithfulness", ("chunks", "triples", "aggregates")),
        (["answer"], "exact_match", ("expected_answer", "gold.answers")),
        (["chunks", DOCUMENTS], "ndcg@10", ("gold.essential_docs", "gold.helpful_docs", "gold.grades")),
        (["gold.essential_repos", "chunks"], "repo_recall", ("chunks.repo",)),
        (["traversal.final_nodes", "gold.expected_edges"], "edge_recall", ("traversal.traversed_edges",)),
    ],
)
def test_what_is_missing(fields, metric, missing):
    """The alternatives are named, and a metric that lacks two fields does not nearly fit."""
    nearly = {entry.metric: entry.missing for entry in find_fitting_metrics(["question", *fields]).nearly}
    assert nearly.get(metric) == missing


def test_a_ranking_without_texts_is_not_judged():
    """The documents of a TREC run are ranked, but a judge could read nothing of them."""
    fitting = find_fitting_metrics(["question", DOCUMENTS, "gold.grades"])
    assert fitting.judged == ()
    assert "ndcg@10" in fitting.computed
    assert {nearly.missing for nearly in fitting.nearly if nearly.metric == "chunk_evaluation"} == {("chunks",)}


def test_own_metrics():
    """Own metrics are chosen by what they need, tags included, and their functions are not called."""

    def compute(case):
        raise AssertionError(case)

    scale = MeasureScale()
    own_metric = ComputedMetric(name="own", description="d", needs=["answer"], scale=scale, compute=compute)
    tone = build_metric(
        {
            "name": "tone",
            "description": "d",
            "steps": ["s"],
            "needs": ["answer", "tags.style"],
            "scale": {"range": [0, 1], "levels": {"0": "a", "1": "b"}},
        }
    )
    ranking_metric = find_computed_metric("ndcg@3")
    fitting = find_fitting_metrics(["question", "answer"], [own_metric, tone, ranking_metric])
    assert fitting.computed == ("own",)
    assert [(nearly.metric, nearly.missing) for nearly in fitting.nearly] == [("tone", ("tags.style",))]
    assert find_fitting_metrics(["answer", "tags.style"], [tone]).judged == ("tone",)
