"""Names of computed metrics: one name for one metric, and near misses told with what to write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DefinitionError
from greval.metrics.computed import (
    COMPUTED_METRICS,
    FAMILIES,
    explain_bad_name,
    find_computed_metric,
    list_name_variants,
)
from greval.metrics.files import write_metric
from greval.metrics.library import OWN_METRIC_HINT, load_metric, predefined
from greval.records.metric import ComputedMetric, build_metric


@st.composite
def known(draw):
    """Draw a name of a metric that there is, its options in any order."""
    family = draw(st.sampled_from([*FAMILIES.values()]))
    at = ""
    if family.at == "cutoff" and draw(st.booleans()):
        at = f"@{draw(st.integers(1, 999_999))}"
    if family.at == "threshold" and draw(st.booleans()):
        at = f"@0.{draw(st.integers(1, 9999))}"
    options = draw(st.permutations(family.options))[: draw(st.integers(0, len(family.options)))]
    return "-".join([f"{family.name}{at}", *options])


@given(known())
def test_a_metric_is_found_by_its_own_name(name):
    """The name of what a name gives leads to the same metric, however the first one was written."""
    metric = find_computed_metric(name)
    assert isinstance(metric, ComputedMetric)
    assert find_computed_metric(metric.name) is metric
    assert load_metric(name) is metric
    assert explain_bad_name(name) is None


@given(known())
def test_every_metric_has_a_definition(name):
    """Each is described, says what it needs, and ends its description as a sentence."""
    metric = load_metric(name)
    assert metric.description.endswith(".")
    assert "{" not in metric.description
    assert metric.needs or metric.optional


@given(st.text(max_size=20) | st.text("abcdgnrel@-0123456789._", max_size=20))
def test_any_text_is_no_name_or_a_name(text):
    """Whatever is written gives a metric or None, never an error, and a metric's name is told by nobody as wrong."""
    metric = find_computed_metric(text)
    assert (metric is None) or (explain_bad_name(text) is None and find_computed_metric(metric.name) is metric)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("edge_recall-unlabelled-undirected", "edge_recall-undirected-unlabelled"),
        ("edge_recall-undirected-undirected", "edge_recall-undirected"),
        ("fuzzy_containment", "fuzzy_containment@0.80"),
        ("fuzzy_containment@0.8", "fuzzy_containment@0.80"),
        ("fuzzy_containment@.855", "fuzzy_containment@0.855"),
        ("fuzzy_containment@1", "fuzzy_containment@1.00"),
        ("ndcg", "ndcg"),
        ("ndcg-exponential", "ndcg-exponential"),
        ("ndcg@10-exponential", "ndcg@10-exponential"),
        ("mrr@10", "mrr@10"),
    ],
)
def test_one_usual_name(written, name):
    """Different ways to write a metric have one name."""
    assert load_metric(written).name == name


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("ndcg@0", "after @ stands a whole number from 1 to 999999, got '0'; write ndcg@10"),
        ("recall@ten", "after @ stands a whole number from 1 to 999999, got 'ten'; write recall@10"),
        ("recall@", "after @ stands a whole number from 1 to 999999, got ''; write recall@10"),
        ("recall@010", "after @ stands a whole number from 1 to 999999, got '010'; write recall@10"),
        ("mrr@1000000", "after @ stands a whole number from 1 to 999999, got '1000000'; write mrr@10"),
        ("ndcg@5-exponentail", "'exponentail' is no option, ndcg has exponential, judged; write ndcg@5-exponential"),
        ("ndcg@5-x", "'x' is no option, ndcg has exponential, judged; write ndcg@5"),
        ("recall-exponential", "'exponential' is no option, recall has none; write recall"),
        ("edge_recall@3", "edge_recall has no number after @; write edge_recall"),
        ("latency-p50", "'p50' is no option, latency has none; write latency"),
        ("fuzzy_containment@2", "after @ stands a number above 0, up to 1, got '2'; write fuzzy_containment@0.80"),
        ("fuzzy_containment@0.0", "after @ stands a number above 0, up to 1, got '0.0'; write fuzzy_containment@0.80"),
        ("ndgc@7", "no such metric in the predefined metrics; did you mean ndcg@7?"),
        ("edge_recal-undirected", "no such metric in the predefined metrics; did you mean edge_recall-undirected?"),
        ("ndgc", "no such metric in the predefined metrics; did you mean ndcg?"),
    ],
)
def test_near_misses(written, told):
    """What is wrong with a name is told with the name to write."""
    assert find_computed_metric(written) is None
    with pytest.raises(DefinitionError) as caught:
        load_metric(written)
    assert [fault.removesuffix(f" {OWN_METRIC_HINT}") for fault in caught.value.faults] == [f"{written}: {told}"]


def test_what_is_written_in_an_error_can_be_loaded():
    """Every name that an error offers is one."""
    for name in ("ndcg@0", "ndcg@5-exponentail", "edge_recall@3", "fuzzy_containment@2"):
        assert find_computed_metric(str(explain_bad_name(name)).rsplit(" ", 1)[1])


def test_a_users_file_goes_first(tmp_path):
    """A metric file of the same name, or of a name that is none of a computed metric, is what is loaded."""
    content = {
        "description": "d",
        "needs": ["answer"],
        "steps": ["s"],
        "scale": {"categories": {"Good": "", "Bad": ""}},
    }
    for name in ("ndcg@10", "ndcg@0", "recall-mine"):
        (tmp_path / f"{name}.yaml").write_text(write_metric(build_metric({**content, "name": name})), encoding="utf-8")
        assert load_metric(name, tmp_path).description == "d"
    assert isinstance(load_metric("ndcg@10"), ComputedMetric)


def test_the_list_is_of_usual_names():
    """Every family is listed with a usual setting, under its own name."""
    assert all(load_metric(name).name == name for name in COMPUTED_METRICS)
    assert {name.split("@")[0] for name in COMPUTED_METRICS} == {*FAMILIES}
    assert {*COMPUTED_METRICS} <= {*predefined()}


def test_variants():
    """The names that could have been meant have the setting that was written, where the family takes it."""
    assert "ndcg@3" in list_name_variants("x@3")
    assert "latency@3" not in list_name_variants("x@3")
