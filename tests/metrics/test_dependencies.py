"""The order of metrics that build on others."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DefinitionError
from greval.metrics.dependencies import list_dependency_names, list_missing_dependencies, order_metrics
from greval.records.metric import ComputedMetric, build_metric
from greval.records.result import Skipped
from greval.records.scale import MeasureScale

SCALES = {"words": {"categories": {"Good": "", "Bad": ""}}, "levels": {"range": [0, 2], "levels": {"0": "a", "2": "b"}}}


def metric(name, uses=None, *, over="chunks", scale="words"):
    content = {"name": name, "description": "d", "over": over, "needs": ["chunks", "triples"], "steps": ["s"]}
    return build_metric({**content, "scale": SCALES[scale], "uses": uses or {}})


def use(name, *values, field="chunks"):
    return {field: {"judged_by": name, "as": [*(values or ("Good",))]}}


def faults_of(*metrics):
    with pytest.raises(DefinitionError) as caught:
        order_metrics(metrics)
    return caught.value.faults


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20), st.randoms(use_true_random=False))
def test_order(pairs, random):
    """Whatever the order they are given in, each metric comes once and after what it builds on."""
    builds = {max(pair): min(pair) for pair in pairs if pair[0] != pair[1]}
    given_metrics = [metric(f"m{n}", use(f"m{builds[n]}") if n in builds else None) for n in range(10)]
    random.shuffle(given_metrics)
    names = [ordered.name for ordered in order_metrics(given_metrics)]
    assert sorted(names) == [f"m{n}" for n in range(10)]
    assert all(names.index(f"m{below}") < names.index(f"m{after}") for after, below in builds.items())


def test_same_metric_twice():
    """A metric that is given twice is run once; an other one of the same name is refused."""
    assert len(order_metrics([metric("a"), metric("a")])) == 1
    assert faults_of(metric("a"), metric("a", scale="levels")) == (
        "a: two different metrics have this name; rename one",
    )


def test_missing():
    """What is built on and not given is named once, in the order of use."""
    both = {**use("b"), **use("a", field="triples")}
    assert list_missing_dependencies([metric("x", both), metric("y", use("b"))]) == ("b", "a")
    assert list_missing_dependencies([metric("x", use("y")), metric("y")]) == ()
    assert list_dependency_names(metric("x", both)) == ("b", "a")
    assert faults_of(metric("x", use("tone")), metric("tones")) == (
        "x: uses.chunks.judged_by: 'tone' is not among the metrics; did you mean tones?",
    )


def test_circle():
    """Metrics that build on each other are refused, with the way around."""
    (fault,) = faults_of(metric("a", use("b")), metric("b", use("c")), metric("c", use("a")))
    way = fault.split(": ")[1].split(" -> ")
    assert way[0] == way[-1]
    assert all(above == {"a": "b", "b": "c", "c": "a"}[below] for below, above in pairwise(way))
    assert faults_of(metric("a", use("a")))[0].startswith("uses: a -> a: metrics build on each other in a circle")


@pytest.mark.parametrize(
    ("source", "values", "fault"),
    [
        (metric("a", over="triples"), ["Good"], "m: uses.chunks.judged_by: a judges each of the triples"),
        (metric("a", over=None), ["Good"], "m: uses.chunks.judged_by: a judges the whole case"),
        (metric("a"), ["Godo", "Bad"], "m: uses.chunks.as: 'Godo' is no value of a; did you mean Good?"),
        (metric("a", scale="levels"), ["1", "7"], "m: uses.chunks.as: '7' is no value of a; known: "),
        (metric("a", scale="levels"), ["1.0"], "m: uses.chunks.as: '1.0' is no value of a"),
        (
            ComputedMetric(
                name="a",
                description="d",
                over="chunks",
                needs=["chunks"],
                scale=MeasureScale(),
                compute=lambda _: Skipped(reason="r"),
            ),
            ["1.0"],
            "m: uses.chunks.as: a gives numbers of any size",
        ),
    ],
)
def test_unfit(source, values, fault):
    """A use of a metric that judges other items, or of a value it never gives, is refused with the nearest name."""
    (told,) = faults_of(metric("m", use("a", *values)), source)
    assert told.startswith(fault)


def test_levels_can_be_used():
    """The levels of a value scale are named as text, also those that are not described."""
    assert len(order_metrics([metric("m", use("a", "1", "2")), metric("a", scale="levels")])) == 2
