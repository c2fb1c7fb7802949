"""One answering model for all methods: what it is given in each mode, and what is recorded of it."""

from __future__ import annotations

import asyncio

import pytest
from fault_server import says
from langchain_core.messages import AIMessage

from greval.errors import MethodError
from greval.judging.model.judge import Judge
from greval.methods.fair_context.answer_generation import generate_answers, with_generator
from greval.methods.fair_context.counts import create_fact_counter
from greval.records.case import Response, ResponseUsage, Sample
from greval.testing import USAGE, ScriptedJudge

SAMPLE = Sample(id="q1", question="What fails most?")
FOUND = Response(
    answer="The method's own answer.",
    chunks=[{"id": "c1", "text": "The battery died.", "doc_id": "d1"}, {"id": "c2", "text": "Dear.", "doc_id": "d2"}],
    triples=[["Phone", "has", "battery"]],
    aggregates=("battery: 7 in the whole graph",),
    usage=ResponseUsage(latency=2.0, llm_calls=3, prompt_tokens=100, output_tokens=10),
)
FACTS = {"d1": {"feature": "battery"}, "d2": {"feature": "price"}, "d9": {"feature": "screen"}}
OWN = "battery: 7 in the whole graph"
COUNTED = "feature, told by 2 of 2 documents: battery: 1, price: 1"


def method(response=FOUND):
    """Give a method that always gives this response."""

    async def search(sample):
        return response

    return search


def ask(answering, sample=SAMPLE):
    return asyncio.run(answering(sample))


@pytest.mark.parametrize(
    ("context", "visible", "hidden", "aggregates", "triples"),
    [
        ("default", [OWN, "Phone", "The battery died."], [COUNTED], (OWN,), 1),
        ("fair", [COUNTED, "Phone", "The battery died."], [OWN, "screen"], (COUNTED,), 1),
        ("none", ["The battery died."], [OWN, COUNTED, "Phone"], (), 0),
    ],
)
def test_the_model_sees_what_the_mode_allows(context, visible, hidden, aggregates, triples):
    """Each mode shows its own part of the context, and the response records just what was shown."""
    model = ScriptedJudge(["The battery."])
    response = ask(generate_answers(method(), model, context=context, aggregate=create_fact_counter(FACTS)))
    ((_, human),) = model.calls
    assert [text for text in visible if text not in human.text] == []
    assert [text for text in (*hidden, FOUND.answer) if text in human.text] == []
    assert (response.answer, response.aggregates, len(response.triples)) == ("The battery.", aggregates, triples)
    assert response.chunks == FOUND.chunks


def test_usage_is_that_of_both():
    """Calls, tokens and latency of the method and of the model add up."""
    slow = FOUND.model_copy(update={"usage": FOUND.usage.model_copy(update={"latency": 1000.0})})
    usage = ask(generate_answers(method(slow), ScriptedJudge(["Yes."], delay=0.05), context="default")).usage
    assert (usage.llm_calls, usage.prompt_tokens) == (4, 100 + USAGE["input_tokens"])
    assert usage.output_tokens == 10 + USAGE["output_tokens"]
    assert 1000.05 <= usage.latency < 2000


def test_what_the_method_did_not_tell_stays_untold():
    """Tokens of the model alone are never given for those of both; time is measured."""
    usage = ask(generate_answers(method(Response(chunks=["One."])), ScriptedJudge(["Yes."]), context="none")).usage
    assert (usage.llm_calls, usage.prompt_tokens, usage.output_tokens, usage.cost) == (None, None, None, None)
    assert usage.latency > 0


def test_thoughts_are_no_part_of_the_answer():
    """What the model thinks before its answer is not judged with it, but an example in a tag is."""
    reply = "<think>Ada, or Mary?</think>\n\nIt was Ada, as in <example>{Ada}</example>."
    answered = ask(generate_answers(method(Response(chunks=["One."])), ScriptedJudge([reply]), context="none"))
    assert answered.answer == "It was Ada, as in <example>{Ada}</example>."


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (TimeoutError(), "timeout"),
        (" ", "gave an empty answer"),
        ("<think>Ada, or Mary?</think>", "gave an empty answer"),
        ("<think>Ada, or", "gave an empty answer"),
        (AIMessage("The bat", response_metadata={"finish_reason": "length"}), "length"),
    ],
)
def test_a_model_that_gives_no_answer_is_an_error(reply, told):
    """What went wrong with the answering model is raised, so that no empty or broken answer is judged."""
    with pytest.raises(MethodError, match=told):
        ask(generate_answers(method(), ScriptedJudge([reply]), context="default"))


def test_a_method_that_failed_is_left_alone():
    """A response with an error is not answered for."""
    model = ScriptedJudge(["Yes."])
    failed = Response(error="TimeoutError: no response within 30 s")
    assert ask(generate_answers(method(failed), model, context="none")) == failed
    assert model.calls == []


@pytest.mark.parametrize("context", ["default", "none"])
def test_no_recorded_context_is_an_error_and_none_found_is_not(context):
    """Without recorded chunks there is nothing to answer from; retrieving nothing is a finding."""
    with pytest.raises(MethodError, match="recorded no chunks"):
        ask(generate_answers(method(Response(answer="Yes.")), ScriptedJudge(["Yes."]), context=context))
    nothing = generate_answers(method(Response(chunks=())), ScriptedJudge(["It does not say."]), context=context)
    assert ask(nothing).answer == "It does not say."


def test_fair_needs_what_computes_the_aggregates():
    """Without facts there is nothing to count: told when the method is made."""
    with pytest.raises(MethodError, match="create_fact_counter"):
        generate_answers(method(), ScriptedJudge(["Yes."]))
    with pytest.raises(MethodError, match="needs facts"):
        with_generator({"walk": method()}, ScriptedJudge(["Yes."]))


def test_plain_functions_retrieve_too():
    """What `collect` takes as a method can be given: a function that gives a mapping, and is not asynchronous."""
    answering = generate_answers(lambda sample: {"chunks": [sample.question]}, ScriptedJudge(["Yes."]), context="none")
    assert [chunk.text for chunk in ask(answering).chunks] == [SAMPLE.question]


def test_one_model_answers_for_all_methods():
    """All methods are wrapped alike, and none without a model."""
    methods = {"walk": method(), "local": method(Response(chunks=["Two."]))}
    assert ask(with_generator(methods, None)["walk"]) == FOUND
    model = ScriptedJudge(["A.", "B."])
    wrapped = with_generator(methods, model, facts=FACTS)
    assert [ask(answering).answer for answering in wrapped.values()] == ["A.", "B."]
    assert [bool(ask(answering).aggregates) for answering in wrapped.values()] == [True, False]


def test_over_the_wire(fault_server):
    """The answering model is asked for plain text, without a schema."""
    fault_server.plan = says("The battery.")
    model = Judge("openai:fake", base_url=fault_server.url)
    assert ask(generate_answers(method(), model, context="none")).answer == "The battery."
    (body,) = fault_server.bodies
    assert "response_format" not in body
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
