"""Tests of metrics as a run stores them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from strategies import metrics

from greval.metrics.computed import COMPUTED_METRICS
from greval.metrics.library import predefined
from greval.records.formula_metric import StoredMetric, parse_stored_metrics
from greval.records.metric import Metric
from greval.records.scale import ValueScale


@given(metrics())
def test_a_judged_definition_is_read_back_as_it_was(metric):
    """What `model_dump` writes into a run gives the same metric again."""
    (stored,) = parse_stored_metrics([metric.model_dump(mode="json")]).values()
    assert stored.is_judged
    assert (stored.name, stored.over, stored.scale, stored.judged) == (metric.name, metric.over, metric.scale, metric)


@pytest.mark.parametrize("name", sorted(COMPUTED_METRICS))
def test_a_computed_definition_keeps_its_scale_but_not_its_function(name):
    """A computed metric is recognised, and its shared fields are those of the metric."""
    metric = COMPUTED_METRICS[name]
    stored = StoredMetric(metric.model_dump(mode="json"))
    assert not stored.is_judged
    assert stored.judged is None
    assert stored.scale == metric.scale
    described = stored.describe()
    assert (described.name, described.over) == (metric.name, metric.over)
    assert described.needs == (metric.needs or metric.optional)


def test_the_shared_fields_of_a_judged_metric_are_those_of_the_metric():
    """`describe` drops what only a judge needs."""
    metric = predefined()["chunk_evaluation"]
    described = StoredMetric(metric.model_dump(mode="json")).describe()
    assert type(described) is Metric
    assert all(getattr(described, field) == getattr(metric, field) for field in Metric.model_fields)


@given(st.none() | st.integers() | st.text() | st.lists(st.none() | st.text() | st.dictionaries(st.text(), st.text())))
def test_entries_that_are_no_definitions_are_left_out(fact):
    """A run without metrics, or with entries without a scale, has no metric."""
    assert parse_stored_metrics(fact) == {}


def test_metrics_keep_their_order_and_the_later_definition_counts():
    """Names are unique, as in a run whose metric was edited."""
    scale = {"range": [0, 1], "levels": {"0": "No.", "1": "Yes."}}
    listed = [{"name": name, "scale": scale, "version": n} for n, name in enumerate(("b", "a", "b"))]
    stored = parse_stored_metrics(listed)
    assert [*stored] == ["b", "a"]
    assert stored["b"].definition["version"] == 2


def test_a_definition_is_parsed_only_when_it_is_asked_for():
    """A scale can be read although the rest of the definition does not satisfy today's rules."""
    scale = ValueScale(range=(0, 1), levels={0: "No.", 1: "Yes."})
    stored = StoredMetric({"name": "m", "scale": scale.model_dump(mode="json"), "steps": []})
    assert stored.scale == scale
    assert stored.is_judged
    with pytest.raises(ValidationError):
        _ = stored.judged
    with pytest.raises(ValidationError):
        _ = StoredMetric({"name": "m", "scale": {"range": [1]}}).scale
