"""Computed metrics of what a response cost."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from strategies import cases

from greval.metrics.computed import COMPUTED_METRICS
from greval.records.case import Case
from greval.records.result import Skipped

SPENT = {"latency": 3.42, "llm_calls": 8, "prompt_tokens": 4200, "output_tokens": 1, "cost": 0.00042}
NAMES = [*SPENT]


def test_table():
    """The table names each metric by its own name; less is better, and all need the usage."""
    assert {*NAMES} <= {*COMPUTED_METRICS}
    for name in NAMES:
        assert COMPUTED_METRICS[name].name == name
        assert COMPUTED_METRICS[name].needs == ("usage",)
        assert COMPUTED_METRICS[name].scale.better == "lower"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("latency", "3.42 s from question to answer"),
        ("llm_calls", "8 calls"),
        ("prompt_tokens", "4,200 prompt tokens"),
        ("output_tokens", "1 output token"),
        ("cost", "0.00042 US dollars"),
    ],
)
def test_recorded(name, reason):
    """A recorded figure is the value, with a reason that a person can read."""
    (judgement,) = COMPUTED_METRICS[name].compute(Case(question="q", usage=SPENT))
    assert (judgement.value, judgement.reason) == (SPENT[name], reason)
    assert judgement.number == float(SPENT[name])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("usage", [None, {}])
def test_not_recorded(name, usage):
    """A figure that is not recorded is skipped with the field's name, never taken for 0."""
    assert COMPUTED_METRICS[name].compute(Case(question="q", usage=usage)) == Skipped(
        reason=f"usage.{name} is not recorded"
    )


@pytest.mark.parametrize("name", NAMES)
def test_zero(name):
    """A recorded 0 is a figure."""
    (judgement,) = COMPUTED_METRICS[name].compute(Case(question="q", usage={name: 0}))
    assert judgement.value == 0


@given(case=cases())
def test_any_case(case):
    """Every case gives a figure on the scale or is skipped with a reason."""
    for name in NAMES:
        found = COMPUTED_METRICS[name].compute(case)
        if isinstance(found, Skipped):
            assert found.reason
        else:
            assert math.isfinite(COMPUTED_METRICS[name].scale.read(found[0].value))
