"""Families build the scales and judgements that their metrics share."""

from __future__ import annotations

import pytest

from greval.metrics.computed import FAMILIES, find_computed_metric
from greval.metrics.computed.families import (
    MetricSetting,
    build_judgement,
    build_share_scale,
    build_yes_no_scale,
    format_cutoff,
)


def test_scales():
    """A share lies between 0 and 1 with a direction; a decision is 0 or 1 with both described."""
    share = build_share_scale("lower")
    assert (share.low, share.high, share.better) == (0.0, 1.0, "lower")
    scale = build_yes_no_scale("It does.", "It does not.")
    assert (scale.range, scale.levels) == ((0, 1), {0: "It does not.", 1: "It does."})


def test_a_judgement_has_value_number_and_reason():
    """The single judgement of a case is of the whole case, and its number is a float."""
    (judgement,) = build_judgement(1, "found")
    assert (judgement.value, judgement.number, judgement.reason, judgement.item) == (1, 1.0, "found", None)
    assert isinstance(judgement.number, float)


def test_cutoffs_as_text():
    """A cut-off is written with its thousands; without one everything retrieved counts."""
    assert [format_cutoff(k) for k in (1, 1000, None)] == ["in the first 1", "in the first 1,000", "retrieved"]


@pytest.mark.parametrize("name", FAMILIES)
def test_each_family_makes_its_metric(name):
    """The metric of a family without a setting has the family's name, and each option is part of the name."""
    family = FAMILIES[name]
    assert family.name == name
    metric = find_computed_metric(name)
    assert metric.name.partition("@")[0] == name
    assert family.make("other", MetricSetting(threshold=family.threshold)).name == "other"
    for option in family.options:
        assert find_computed_metric(f"{name}-{option}").name == f"{name}-{option}"
