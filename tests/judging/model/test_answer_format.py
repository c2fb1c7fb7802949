"""Formats of answers: the arguments that each tier sends, and what is built once for a model."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from greval.judging.answer_schema import build_object_schema, format_schema_name
from greval.judging.model.answer_format import (
    MAX_CACHED_MODELS,
    AnswerFormat,
    build_schema_arguments,
)
from greval.testing import ScriptedJudge

SCHEMA = build_object_schema({"value": {"type": "integer"}})
MESSAGES = [HumanMessage("Judge!")]


@given(st.text(min_size=1), st.booleans(), st.none() | st.integers(1, 9))
def test_the_schema_is_sent_strictly(name, confidence, limit):
    """The server gets the schema with a valid name, and log-probabilities and a limit only if they are set."""
    form = AnswerFormat(name, SCHEMA, "schema", confidence, max_tokens=limit)
    sent = build_schema_arguments(SimpleNamespace(extra_body={"own": 1}), form)
    body = sent.pop("extra_body")
    assert body == {
        "own": 1,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": format_schema_name(name), "schema": SCHEMA, "strict": True},
        },
    }
    assert sent == ({"logprobs": True} if confidence else {}) | ({"max_completion_tokens": limit} if limit else {})


def test_the_responses_api_has_its_own_form():
    """A model of the Responses API gets the schema as a text format, and no log-probabilities."""
    form = AnswerFormat("m", SCHEMA, "schema", confidence=True, max_tokens=7)
    sent = build_schema_arguments(SimpleNamespace(use_responses_api=True), form)
    text = {"format": {"type": "json_schema", "name": "m", "schema": SCHEMA, "strict": True}}
    assert sent == {"text": text, "max_completion_tokens": 7}


def test_the_form_tells_all_requests_apart():
    """Each setting that changes the reply is part of the form, which is part of the cache key; the limit is not."""
    base = AnswerFormat("m", SCHEMA, "schema")
    variants = [
        AnswerFormat("n", SCHEMA, "schema"),
        AnswerFormat("m", build_object_schema({}), "schema"),
        AnswerFormat("m", SCHEMA, "text"),
        AnswerFormat("m", SCHEMA, "schema", confidence=True),
    ]
    assert len({base.form, *(variant.form for variant in variants)}) == 5
    assert json.loads(base.form) == ["m", SCHEMA, "schema", False]
    assert AnswerFormat("m", SCHEMA, "schema", max_tokens=5).form == base.form


@pytest.mark.parametrize("tier", ["schema", "tools", "text"])
async def test_each_tier_returns_the_message_of_the_model(tier):
    """The message comes back as the model gave it; a tool call is in its arguments."""
    reply = await AnswerFormat("m", SCHEMA, tier).ask(ScriptedJudge([{"value": 3}], tier=tier), MESSAGES, {})
    content = reply.tool_calls[0]["args"] if tier == "tools" else json.loads(reply.text)
    assert isinstance(reply, AIMessage)
    assert content == {"value": 3}


async def test_the_schema_is_bound_once_for_each_model():
    """Many models, as of closed event loops, are dropped at a limit; the same model is bound once."""
    form = AnswerFormat("m", SCHEMA, "schema")
    models = [ScriptedJudge([{"value": 1}]) for _ in range(MAX_CACHED_MODELS + 2)]
    for model in models:
        for _ in range(2):
            await form.ask(model, MESSAGES, {})
        assert len(form._made) <= MAX_CACHED_MODELS
    assert form._made.keys() == {id(model) for model in models[-2:]}
