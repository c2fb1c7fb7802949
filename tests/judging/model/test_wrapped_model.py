"""Chat models with LangChain's wrappers around them, as judges."""

from __future__ import annotations

import fault_server as fault
import pytest
from langchain_openai import ChatOpenAI
from provider_refusals import HTTP_REFUSALS, refuse
from tone_metrics import TONE, cases

from greval import compile_metric, evaluate
from greval.errors import JudgeError
from greval.judging.model.client import JudgeClient
from greval.testing import ScriptedJudge

GOOD = {"reason": "It thanks.", "value": "Polite"}
WRAPPERS = {
    "with_retry": lambda model: model.with_retry(stop_after_attempt=2),
    "bind": lambda model: model.bind(stop=["END"]),
    "with_config": lambda model: model.with_config(tags=["judge"]),
    "with_fallbacks": lambda model: model.with_fallbacks([ScriptedJudge([GOOD], tier="text")]),
    "all": lambda model: model.bind(stop=["END"]).with_config(tags=["a"]).with_retry().with_fallbacks([model]),
}


def build_openai(server, **settings):
    return ChatOpenAI(model="m", base_url=server.url, api_key=fault.KEY, max_retries=0, **settings)


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize("tier", ["schema", "tools", "text"])
def test_a_wrapped_model_is_a_judge(name, tier):
    """It judges in each tier, under the name and timeout of the chat model inside."""
    model = ScriptedJudge([GOOD], tier=tier)
    wrapped = compile_metric(TONE, WRAPPERS[name](model))
    assert wrapped.invoke(cases(1)[0]).judgements[0].value == "Polite"
    assert wrapped.judge == compile_metric(TONE, model).judge


def test_what_is_bound_is_sent_and_part_of_the_identity(fault_server):
    """Bound arguments change what is asked, so that they make another judge; keys are no part of it."""
    model = build_openai(fault_server)
    bound = model.bind(extra_body={"top_k": 1}, reasoning_effort="low")
    compile_metric(TONE, bound).invoke(cases(1)[0])
    assert (fault_server.bodies[0]["top_k"], fault_server.bodies[0]["reasoning_effort"]) == (1, "low")
    assert "response_format" in fault_server.bodies[0]
    identity = JudgeClient(bound).identity
    assert identity != JudgeClient(model).identity == JudgeClient(model.with_retry()).identity
    assert fault.KEY not in str(identity)


def test_retries_are_those_of_the_wrapper(fault_server):
    """`with_retry` retries a failed call by itself."""
    fault_server.plan = [fault.error(500), fault.ok()]
    model = build_openai(fault_server).with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
    assert compile_metric(TONE, model).invoke(cases(1)[0]).judgements


def test_a_fallback_answers_if_the_first_model_fails(fault_server):
    """`with_fallbacks` asks the next model; all are asked by a tier that each of them supports."""
    fault_server.plan = fault.error(500)
    model = build_openai(fault_server).with_fallbacks([ScriptedJudge([GOOD], tier="text")])
    result = compile_metric(TONE, model).invoke(cases(1)[0])
    assert (result.judgements[0].value, result.tier) == ("Polite", "text")


def test_a_wrapped_model_is_adapted(fault_server, tmp_path):
    """A refused temperature is left out of the chat model inside the wrappers."""
    fault_server.plan = refuse([HTTP_REFUSALS[0]])
    model = build_openai(fault_server, temperature=0).with_retry(stop_after_attempt=1)
    run = evaluate(cases(3), [TONE], model, out=tmp_path)
    assert run.progress.scored == 3
    assert fault_server.calls == 4


@pytest.mark.parametrize("other", [ScriptedJudge([GOOD]) | str, object()])
def test_anything_else_is_no_judge(other):
    """A chain and other objects are refused in one line."""
    with pytest.raises(JudgeError, match="is not a judge; pass "):
        compile_metric(TONE, other)
