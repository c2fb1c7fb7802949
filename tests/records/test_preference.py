"""Preferences: their scales, what does not fit them, files, and that nothing else changes."""

from __future__ import annotations

import pytest

from greval.errors import DefinitionError
from greval.metrics.files import parse_metric, write_metric
from greval.metrics.library import load_metric
from greval.records.case import Case, Response, swap_responses
from greval.records.metric import CategoricalMetric, PreferenceMetric, build_metric
from greval.records.metric_input import compute_content_key

BASE = {"name": "clarity", "description": "d", "needs": ["question", "answer"], "steps": ["s"]}
TEXTS = {"A": "a", "Tie": "t", "B": "b"}


def test_the_categories_have_their_numbers():
    """Categories given as texts count as 1, 0.5 and 0, so that a mean is a win rate."""
    metric = PreferenceMetric(**BASE, categories=TEXTS)
    assert [(category.name, category.means, category.score) for category in metric.scale.categories] == [
        ("A", "a", 1.0),
        ("Tie", "t", 0.5),
        ("B", "b", 0.0),
    ]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"categories": {"Yes": "y", "No": "n"}}, "the categories A (1), Tie (0.5) and B (0)"),
        ({"categories": {**TEXTS, "A": {"means": "a", "score": 2}}}, "the categories A (1), Tie (0.5) and B (0)"),
        ({"scale": {"range": [1, 5], "levels": {1: "l", 5: "h"}}}, "the range -2 to 2"),
        ({"needs": ["question"]}, "add what is compared of the two responses"),
        ({"over": "chunks"}, "over"),
    ],
)
def test_what_does_not_fit_is_refused(changes, fault):
    """A scale, a need or items that no preference can have are refused with what to write."""
    with pytest.raises(DefinitionError, match="(?s)" + fault.replace("(", "[(]").replace(")", "[)]")):
        PreferenceMetric(**{**BASE, **changes})


def test_another_class_is_no_preference():
    """A metric of another class that says it is a preference is refused with the class to use."""
    with pytest.raises(DefinitionError, match="PreferenceMetric"):
        CategoricalMetric(**BASE, categories={"Yes": "y", "No": "n"}, preference=True)


@pytest.mark.parametrize("levels", [None, {-2: "b", 0: "t", 2: "a"}])
def test_a_file_is_read_as_it_was_written(levels):
    """Written to YAML and read again, a preference is the same; its stored form is one too."""
    metric = PreferenceMetric(**BASE, **({"levels": levels} if levels else {}))
    assert parse_metric(write_metric(metric)) == metric
    assert build_metric(metric.model_dump(mode="json")) == metric


def test_definitions_of_other_metrics_do_not_change():
    """A metric over one response is stored without a word about preferences, so that its fingerprint stays."""
    assert "preference" not in load_metric("correctness").model_dump(mode="json")
    assert "other_response" not in Case(question="Who?").model_dump()


def test_a_pair_is_judged_again_if_either_response_changes():
    """The key of a pair changes with what a preference reads of either response, and with nothing else."""
    metric = PreferenceMetric(**BASE)
    pair = Case(question="q", answer="a", other_response=Response(method="m", answer="b", usage={"latency": 1}))
    keys = {
        compute_content_key(case, metric, "f")
        for case in (
            pair,
            pair.model_copy(update={"other_response": Response(answer="c")}),
            pair.model_copy(update={"answer": "c"}),
            swap_responses(pair),
        )
    }
    assert len(keys) == 4
    same = pair.model_copy(update={"other_response": Response(method="n", answer="b"), "method": "x"})
    assert compute_content_key(same, metric, "f") == compute_content_key(pair, metric, "f")


def test_exchanging_twice_changes_nothing():
    """A pair whose responses are exchanged twice is the pair."""
    pair = Case(question="q", answer="a", chunks=["c"], other_response=Response(method="m", answer="b"))
    assert swap_responses(swap_responses(pair)) == pair
