"""Metrics: the four classes over one definition, their short forms and what does not fit together."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from pydantic import ValidationError
from strategies import metrics

from greval.errors import DefinitionError
from greval.metrics.files import parse_metric
from greval.records.case import FIELDS
from greval.records.metric import (
    PROMPT_FIELDS,
    CategoricalMetric,
    ComputedMetric,
    ManyCategoricalMetric,
    ManyValueMetric,
    ValueMetric,
    build_metric,
    needs_judge,
)
from greval.records.metric_input import compute_fingerprint
from greval.records.result import Skipped
from greval.records.scale import MeasureScale

TWO = {"categories": {"Yes": "", "No": ""}}
RANGE = {"range": [1, 5], "levels": {"1": "a", "5": "b"}}
CASE = {"question": "q", "answer": "a"}
LIST = {"means": "m", "each": {"word": ["yes", "no"], "free": "text"}}


def content(**changes):
    base = {"name": "m", "description": "d", "needs": ["answer"], "steps": ["s"], "scale": TWO}
    return {key: value for key, value in {**base, **changes}.items() if value is not None}


@given(metric=metrics())
def test_round_trip(metric):
    """A definition that is written as JSON defines the same metric, of the same class and fingerprint."""
    reread = build_metric(json.loads(json.dumps(metric.model_dump(mode="json"))))
    assert reread == metric
    assert type(reread) is type(metric)
    assert compute_fingerprint(reread, {}) == compute_fingerprint(metric, {})


@pytest.mark.parametrize(
    ("scale", "over", "kind"),
    [
        (TWO, None, CategoricalMetric),
        (RANGE, None, ValueMetric),
        (TWO, "chunks", ManyCategoricalMetric),
        (RANGE, "triples", ManyValueMetric),
    ],
)
def test_classes(scale, over, kind):
    """The scale and `over` decide the class."""
    assert type(build_metric(content(scale=scale, over=over, needs=["chunks", "triples"]))) is kind


@pytest.mark.parametrize("parts", [TWO, {**TWO, "ordered": False}, RANGE, {**RANGE, "better": "lower"}])
def test_parts_of_a_scale(parts):
    """In Python the parts of a scale may stand for the scale."""
    assert build_metric({**content(scale=None), **parts}) == build_metric(content(scale=parts))


def test_needs():
    """What is needed twice is needed once, tags are named, and the order stays."""
    assert build_metric(content(needs=["answer", "tags.year", "question", "answer"])).needs == (
        "answer",
        "tags.year",
        "question",
    )


def test_a_computed_metric_says_what_it_reads():
    """It may need what no judge is shown, or nothing; if nothing is named, cases that differ would share a result."""
    parts = {"name": "m", "description": "d", "scale": MeasureScale(), "compute": lambda _: Skipped(reason="r")}
    assert ComputedMetric(**parts, needs=["gold", "usage"]).needs == ("gold", "usage")
    assert "compute" not in ComputedMetric(**parts, needs=["gold"]).model_dump()
    assert ComputedMetric(**parts, optional=("chunks",)).needs == ()
    with pytest.raises(DefinitionError, match="m: needs: name at least one field of a case that the function reads"):
        ComputedMetric(**parts)


@pytest.mark.parametrize(
    "changes",
    [
        {"needs": ["answr", 3]},
        {"stpes": ["s"], "steps": []},
        {"scale": {"categories": {"A": {"scor": 1}, "B": 3}}},
        {"scale": {"range": [1, 5], "levels": {"1": "a", "9": "b"}}},
        {"notes": {"reason": "x", "l": "text"}, "counts": "l"},
        {"notes": {"l": {"means": "m", "eahc": {}}}},
        {"examples": [{"reason": "r"}], "uses": {"chunks": {"judged_by": "a b"}}},
    ],
)
def test_a_definition_in_python_has_the_errors_of_a_metric_file(changes):
    """Each fault has its place, what was found and what to do, all at once; only the line of the file is missing."""
    definition = content(**changes)
    with pytest.raises(DefinitionError) as of_file:
        parse_metric(json.dumps(definition))
    with pytest.raises(DefinitionError) as of_class:
        (ValueMetric if "range" in definition["scale"] else CategoricalMetric)(**definition)
    assert [fault.removeprefix("m: ") for fault in of_class.value.faults] == [
        fault.removeprefix("metric:1: ") for fault in of_file.value.faults
    ]


@pytest.mark.parametrize(
    ("kind", "fields", "places"),
    [
        (CategoricalMetric, {"categories": {"A": {"scor": 1}, "B": ""}}, ["m: categories.A.scor"]),
        (ValueMetric, {"range": (1, 5), "levels": {1: "a", 5: 3}}, ["m: levels.5"]),
        (ManyValueMetric, RANGE, ["m: over"]),
        (CategoricalMetric, {"name": None}, ["CategoricalMetric: name", "CategoricalMetric: scale"]),
        (ValueMetric, {**RANGE, "over": "chunks"}, ["m: over: must be left out"]),
        (ComputedMetric, {"scale": MeasureScale(), "compute": 3}, ["m: compute", "m: steps"]),
    ],
)
def test_faults_of_a_class_name_the_metric_and_the_argument(kind, fields, places):
    """What a class takes otherwise than a file has places of its own; a metric without a name is named by its class."""
    with pytest.raises(DefinitionError) as refused:
        kind(**{**content(scale=None), **fields})
    assert all(fault.startswith(place) for fault, place in zip(refused.value.faults, places, strict=True))
    assert "pydantic" not in str(refused.value)


def test_prompt_fields():
    """A judge is shown every field of a case but the gold and the usage, and claims only one by one."""
    assert {*FIELDS} - {*PROMPT_FIELDS} == {"gold", "usage", "claims", "expected_claims"}


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({"needs": ["answer", "claims"]}, ["needs: 'claims' are judged one by one; set over: claims"]),
        ({"counts": "names"}, ["counts: 'names' is no list note", "counts: a number of entries needs a scale"]),
        ({"notes": {"reason": "x", "item": "y"}}, ["notes.reason: the name is taken", "notes.item: the name is taken"]),
        ({"notes": {"s": {"share": "l", "where": {"free": "x"}}, "l": LIST}}, ["notes.s: 'free' is no field of 'l'"]),
        (
            {"notes": {"s": {"share": "l", "where": {"word": ["yes", "maybe"]}}, "l": LIST}},
            ["notes.s: word: 'maybe' not among yes, no"],
        ),
        (
            {"notes": {"s": {"share": "l", "where": {"word": "yes"}, "among": {"word": "x"}}, "l": LIST}},
            ["notes.s: word: 'x' not among yes, no"],
        ),
    ],
)
def test_misfits(changes, faults):
    """Parts that do not fit together are refused, all at once, each with its place."""
    with pytest.raises(ValidationError) as caught:
        build_metric(content(**changes))
    told = caught.value.errors()[0]["msg"].removeprefix("Value error, ").splitlines()
    assert len(told) == len(faults)
    assert all(line.startswith(fault) for line, fault in zip(told, faults, strict=True))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"range": [1, 5]}, "either the scale or its parts"),
        ({"scale": {"unit": "s"}}, "Extra inputs"),
        ({"examples": [{"case": {"question": "q"}, "reason": "r", "value": "Yes"}]}, "answer is missing"),
        ({"examples": [{"case": CASE, "reason": "r", "value": True}], "scale": RANGE}, "valid integer"),
        ({"examples": [{"case": CASE, "reason": "r", "value": "Yes"}], "needs": ["context"]}, "context is missing"),
        ({"examples": [{"case": CASE, "reason": "r", "value": "Yes"}], "needs": ["tags.x"]}, "tags.x is missing"),
    ],
)
def test_refused(changes, why):
    """A definition that lacks or misnames something is refused with the reason."""
    with pytest.raises(ValidationError, match=why):
        build_metric(content(**changes))


def test_a_metric_says_its_kind_its_inputs_and_its_filters():
    """Judged metrics filter items by `uses`; computed ones read optional fields; callers ask without a class test."""
    parts = {"name": "m", "description": "d", "steps": ["s"], "categories": {"Yes": "y", "No": "n"}}
    judged = CategoricalMetric(
        needs=["question", "chunks"], uses={"chunks": {"judged_by": "relevance", "as": ["Yes"]}}, **parts
    )
    computed = ComputedMetric(
        name="n", description="d", needs=["answer"], optional=["gold"], scale=MeasureScale(), compute=lambda _: 1
    )
    assert [(metric.kind, metric.inputs) for metric in (judged, computed)] == [
        ("judged", ("question", "chunks")),
        ("computed", ("answer", "gold")),
    ]
    assert dict(judged.dependencies) == dict(judged.uses)
    assert dict(computed.dependencies) == {}
    assert [needs_judge(some) for some in ([], [computed], [computed, judged])] == [False, False, True]
    assert "kind" not in judged.model_dump()
