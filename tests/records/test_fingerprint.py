"""Fingerprints and keys: what changes a verdict changes them, what does not leaves them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.judging.model.judge import Judge
from greval.records.case import Case
from greval.records.metric import CategoricalMetric, ComputedMetric, ManyCategoricalMetric, Use
from greval.records.metric_input import (
    HASH_DIGITS,
    compute_content_key,
    compute_fingerprint,
    compute_keys,
    hash_json,
)
from greval.records.result import Judgement
from greval.records.scale import MeasureScale
from greval.runs.runnable import compile_metric
from greval.testing import ScriptedJudge

PARTS = {
    "name": "tone",
    "description": "The tone.",
    "needs": ["question", "answer"],
    "steps": ["Read."],
    "categories": {"Polite": "p", "Rude": "r"},
}
METRIC = CategoricalMetric(**PARTS)
CHUNKS = ManyCategoricalMetric(**{**PARTS, "name": "chunks", "needs": ["chunks"]}, over="chunks")
JUDGE = Judge("openai:fake", base_url="http://127.0.0.1:1/v1")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)


@given(st.dictionaries(st.text(max_size=4), JSON), st.randoms())
def test_digest_knows_no_order_of_keys(content, random):
    """The same content has the same digest, whatever the order of its keys."""
    names = [*content]
    random.shuffle(names)
    assert hash_json({name: content[name] for name in names}) == hash_json(content)


@given(JSON, JSON)
def test_digest_tells_contents_apart(one, other):
    """Different JSON has different digests, half surrogates included."""
    assert (hash_json(one) == hash_json(other)) == (
        json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    )
    assert len(hash_json("\ud83d")) == HASH_DIGITS


@pytest.mark.parametrize(
    "change",
    [
        {"name": "tune"},
        {"description": "The tone!"},
        {"needs": ["answer"]},
        {"needs": ["answer", "question"]},
        {"steps": ["Read.", "Weigh."]},
        {"categories": {"Rude": "r", "Polite": "p"}},
        {"categories": {"Polite": "p!", "Rude": "r"}},
        {"categories": {"Polite": {"means": "p", "score": 1}, "Rude": "r"}},
        {"instructions": "Be quick."},
        {"notes": {"advice": "What would help."}},
    ],
)
def test_an_edited_metric_is_another(change):
    """Every part of a definition is part of its fingerprint."""
    assert compute_fingerprint(CategoricalMetric(**{**PARTS, **change}), {}) != compute_fingerprint(METRIC, {})


@pytest.mark.parametrize(
    ("setting", "same"),
    [
        ({"timeout": 5}, True),
        ({"max_retries": 5}, True),
        ({"item_tokens": 100}, True),
        ({"confidence": True}, True),
        ({"temperature": 0.5}, False),
        ({"model": "openai:other"}, False),
        ({"structured": "text"}, False),
        ({"max_items": 3}, True),
        ({"seed": 7}, False),
        ({"max_tokens": 99}, False),
        ({"options": {"top_p": 0.5}}, False),
    ],
)
def test_judge_in_the_fingerprint(setting, same):
    """What decides a judge's verdicts is in the fingerprint; patience and packing are not."""
    changed = Judge(**{**JUDGE.model_dump(), **setting})
    assert (compile_metric(METRIC, changed).fingerprint == compile_metric(METRIC, JUDGE).fingerprint) is same


def test_packing_in_the_fingerprint_of_what_is_packed():
    """How many items share a call counts where there are items, and the default is the same as its number."""
    marks = [compile_metric(CHUNKS, Judge("openai:m", max_items=n)).fingerprint for n in (None, 10, 3)]
    assert marks[0] == marks[1] != marks[2]


def test_model_object_in_the_fingerprint():
    """The tier of a model that was given as an object counts too, and so do the metrics built on."""
    marks = {compile_metric(METRIC, ScriptedJudge([{}], tier=tier)).fingerprint for tier in ("schema", "tools", "text")}
    assert len(marks) == 3
    use = Use(judged_by="chunks", as_=("Polite",))
    built = METRIC.model_copy(update={"needs": ("chunks",), "uses": {"chunks": use}})
    filtering_metrics = (CHUNKS, CHUNKS.model_copy(update={"description": "e"}))
    assert (
        len({compile_metric(built, ScriptedJudge([{}]), built_on=[one]).fingerprint for one in filtering_metrics}) == 2
    )


def test_computed_metric_has_a_fingerprint():
    """A computed metric needs no judge for its fingerprint."""
    metric = ComputedMetric(
        name="length",
        description="Letters.",
        needs=["answer"],
        scale=MeasureScale(unit="letters"),
        compute=lambda case: (Judgement(value=len(case.answer), reason="counted"),),
    )
    assert compile_metric(metric).fingerprint == compute_fingerprint(metric, {})


CASE = Case(id="q1", method="walk", question="Who?", answer="Ada.", expected_answer="Ada Lovelace")


def key_of(case, mark="mark"):
    return compute_keys(case, METRIC, mark)[1]


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"answer": "Bob."}, False),
        ({"question": "What?"}, False),
        ({"id": "q2"}, False),
        ({"method": "chunks"}, False),
        ({"expected_answer": "Bob"}, True),
        ({"tags": {"kind": "person"}}, True),
    ],
)
def test_case_key(change, same):
    """A case is judged anew where the metric sees a change, and only there."""
    key = key_of(CASE)
    assert (key_of(CASE.model_copy(update=change)) == key) is same


def test_content_key_does_not_tell_who_is_judged():
    """The same content of two samples and methods has one key; other content has another."""
    twin = CASE.model_copy(update={"id": "q2", "method": "chunks"})
    assert compute_content_key(CASE, METRIC, "m") == compute_content_key(twin, METRIC, "m")
    assert compute_content_key(CASE, METRIC, "m") != compute_content_key(
        twin.model_copy(update={"answer": "Bob."}), METRIC, "m"
    )
