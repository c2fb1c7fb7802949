"""Judges that refuse a part of each request: they are asked without it, or one line names the option."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import permutations

import fault_server as fault
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from provider_refusals import (
    HTTP_REFUSALS,
    Refusal,
    refuse,
    say,
    sends_schema,
    sends_structure,
    sends_system,
    sends_temperature,
)
from pydantic import SecretStr

from greval import Judge, ValueMetric, compile_metric, evaluate, evaluate_async
from greval.judging import check_judge
from greval.judging.model.adaptation import Adaptation, JudgeState, find_refused_part
from greval.records.case import Case
from greval.runs.manifest import read_judges
from greval.runs.store import Store

PARTS = {"name": "agrees", "description": "d", "needs": ["question", "answer"], "steps": ["Compare."]}
AGREES = ValueMetric(**PARTS, range=(0, 1), levels={0: "No.", 1: "Yes."})
"""A metric that each answer of the fault server fits, in plain text too."""
CASES = [Case(id=f"q{n}", question=f"Question {n}?", answer="Yes.") for n in range(20)]


def use(server, **settings):
    return Judge("openai:m", base_url=server.url, timeout=20, **settings)


def run_all(server, folder, **settings):
    """Judge the cases by a server's model, and return the run."""
    limit = {"max_tokens": 300} if "max_tokens" not in settings else {}
    return evaluate(CASES, [AGREES], use(server, **limit, **settings), out=folder)


def read_changes(folder):
    """Return the changes of the judge that a run has stored."""
    with Store.open(folder) as store:
        return read_judges(store)["agrees"].get("adapted")


def name_checks(checks):
    """Return the id of a test by the names of the parts of a request that its judge refuses, in their order."""
    return " ".join(check.__name__ for check in checks)


@pytest.mark.parametrize("refusal", HTTP_REFUSALS, ids=lambda refusal: refusal.provider)
def test_every_provider_is_judged_with(fault_server, tmp_path, caplog, refusal):
    """Each refusal costs one call, or two where it hides a second one; it is said in one line and stored."""
    fault_server.plan = refuse([refusal])
    if refusal.provider in {"Ollama", "vLLM, tools"}:  # they take a schema, and refuse the tools of the second tier
        fault_server.plan = refuse(
            [Refusal("", sends_schema, 400, say("Unknown parameter: 'response_format'"), ""), refusal]
        )
    run = run_all(fault_server, tmp_path)
    changes = read_changes(tmp_path)
    assert (run.why, run.progress.scored, run.progress.failed) == (None, len(CASES), 0)
    assert {*refusal.change.split()} <= {*changes}
    lines = [record.message for record in caplog.records if record.name == "greval"]
    assert fault_server.calls - len(CASES) == len(lines) <= 2
    assert all(line.startswith("openai:m refuses ") for line in lines)


@pytest.mark.parametrize(
    "refused", permutations((sends_system, sends_temperature, sends_schema, sends_structure), 3), ids=name_checks
)
def test_a_judge_loses_two_calls_at_most(fault_server, tmp_path, refused):
    """After a second refusal the request is plain, so that a restricted model loses two calls, in whichever order."""
    words = {
        sends_system: "System role not supported",
        sends_temperature: "Unsupported parameter: temperature",
        sends_schema: "response_format json_schema is not supported",
        sends_structure: "Structured output and tools are not supported",
    }
    fault_server.plan = refuse([Refusal("", check, 400, say(words[check]), "") for check in refused])
    run = run_all(fault_server, tmp_path)
    assert (run.why, run.progress.scored) == (None, len(CASES))
    assert fault_server.calls - len(CASES) <= 2
    assert {result.tier for result in run.results()} == {"text"}


@pytest.mark.parametrize(
    ("settings", "message", "option"),
    [
        (
            {"temperature": 0.7},
            "Unsupported value: 'temperature' does not support 0.7 with this model.",
            "--temperature none",
        ),
        ({"seed": 7}, "Unrecognized request argument supplied: seed", "leave out --seed"),
        ({"structured": "schema"}, "This response_format type is unavailable now", "--structured tools"),
        ({"options": {"top_p": 0.5}}, "Unsupported parameter: 'top_p'", "leave out --judge-option"),
        (
            {"options": {"extra_body": {"top_k": 5}}},
            "Unknown name top_k: Cannot find field.",
            "leave out --judge-option",
        ),
    ],
)
def test_what_was_set_is_not_left_out(fault_server, tmp_path, settings, message, option):
    """A setting of the user's own is never dropped: the run ends after the first call, in a line with the option."""
    fault_server.plan = fault.error(400, None, message)
    run = run_all(fault_server, tmp_path, **settings)
    assert run.fatal
    assert option in run.why
    assert "--base-url" not in run.why
    assert fault_server.calls == 1


def test_concurrent_calls_lose_one_call_together(fault_server, tmp_path):
    """The first call is alone until its reply has come, so that the others are not refused for the same."""
    fault_server.latency = 0.05
    fault_server.plan = refuse([HTTP_REFUSALS[0]])
    run = run_all(fault_server, tmp_path)
    assert run.progress.scored == len(CASES)
    assert Counter("temperature" in body for body in fault_server.bodies) == {True: 1, False: len(CASES)}
    assert fault_server.most > 1


def test_what_the_judge_is_asked_after_a_refusal(fault_server, tmp_path):
    """Without a system message its text begins the user's; in plain text the schema follows; nothing else changes."""
    fault_server.plan = refuse(
        [Refusal("", sends_structure, 400, say("tools and response_format are not supported"), ""), HTTP_REFUSALS[1]]
    )
    run_all(fault_server, tmp_path)
    first, last = fault_server.bodies[0], fault_server.bodies[-1]
    assert [message["role"] for message in last["messages"]] == ["user"]
    text = last["messages"][0]["content"]
    assert text.startswith(first["messages"][0]["content"])
    assert "<question>" in text
    assert '"required": ["reason", "value"]' in text


def test_a_continued_run_asks_as_before(fault_server, tmp_path):
    """The stored changes hold for the rest of a run: it loses no further call and has one setting of its judge."""
    fault_server.plan = refuse([HTTP_REFUSALS[0]])
    judge = use(fault_server)
    evaluate(CASES[:5], [AGREES], judge, out=tmp_path)
    first = fault_server.calls
    fault_server.plan = fault.ok()  # it would take a temperature now
    run = asyncio.run(evaluate_apart(CASES, judge, tmp_path))
    assert run.progress.kept == 5
    assert fault_server.calls - first == len(CASES) - 5
    assert not any("temperature" in body for body in fault_server.bodies[1:])


async def evaluate_apart(cases, judge, folder):
    """Continue a run in an event loop of its own, as another process does."""
    return await evaluate_async(cases, [AGREES], judge, out=folder)


def test_a_run_is_not_judged_by_two_settings(fault_server, tmp_path):
    """A judge that refuses what it took for the stored results ends the run in a line with the option."""
    judge = use(fault_server)
    evaluate(CASES[:5], [AGREES], judge, out=tmp_path)
    fault_server.plan = refuse([HTTP_REFUSALS[0]])
    run = asyncio.run(evaluate_apart(CASES, judge, tmp_path))
    assert run.fatal
    assert "it answered with it before; --temperature none" in run.why
    assert fault_server.calls == 6
    assert read_changes(tmp_path) is None


def test_a_judge_without_refusals_keeps_its_fingerprint(fault_server, tmp_path):
    """The fingerprint is that of the settings that were asked for, with and without changes."""
    plain = compile_metric(AGREES, use(fault_server)).fingerprint
    fault_server.plan = refuse([HTTP_REFUSALS[0]])
    run = run_all(fault_server, tmp_path, max_tokens=None)
    assert {result.fingerprint for result in run.results()} == {plain}
    assert compile_metric(AGREES, use(fault_server, temperature=None)).fingerprint != plain


def test_the_tier_of_a_result_is_that_of_its_request(fault_server):
    """A result says by which tier it was really asked."""
    fault_server.plan = refuse(
        [Refusal("", sends_schema, 400, say("This response_format type is unavailable now"), "")]
    )
    assert compile_metric(AGREES, use(fault_server)).invoke(CASES[0]).tier == "tools"


def test_probabilities_that_are_refused_are_left_out(fault_server, tmp_path):
    """A judge without token probabilities judges without confidence, and says so."""

    def sends_probabilities(body):
        return "logprobs" in body

    fault_server.plan = refuse(
        [Refusal("", sends_probabilities, 400, say("logprobs are not supported with this model"), "")]
    )
    run = run_all(fault_server, tmp_path, confidence=True)
    assert run.progress.scored == len(CASES)
    assert read_changes(tmp_path) == ["logprobs"]


def test_judge_check_names_what_to_type(fault_server):
    """The check finds the same as a run, in lines with the options, and asks no tier that is refused."""
    fault_server.plan = refuse(
        [HTTP_REFUSALS[0], Refusal("", sends_structure, 400, say("tools are not supported"), "")]
    )
    capabilities = asyncio.run(check_judge(use(fault_server)))
    assert capabilities.answers
    assert (capabilities.tier, capabilities.schema_enforced, capabilities.tool_calls) == ("text", "no", "no")
    assert any("--temperature none" in line for line in capabilities.adaptations)
    assert any("--structured text" in line for line in capabilities.adaptations)
    assert fault_server.calls == 4


def test_judged_text_names_no_parameter(fault_server, tmp_path):
    """What an error repeats of the request, such as a case about temperatures, changes nothing."""
    told = {
        "detail": [
            {"type": "value_error", "loc": ["body", "model"], "msg": "no such model", "input": "temperature tools"}
        ]
    }
    fault_server.plan = fault.answers_with(422, told)
    run = run_all(fault_server, tmp_path)
    assert run.fatal
    assert read_changes(tmp_path) is None


@pytest.mark.parametrize(
    ("message", "part"),
    [
        ("`temperature` may only be set to 1 when thinking is enabled.", "temperature"),
        ("invalid temperature: only 1 is allowed for this model", "temperature"),
        ("Thinking may not be enabled when tool_choice forces tool use.", "format"),
        ("This model doesn't support tool use in streaming mode.", "format"),
        ("The specified schema produces a constraint that has too many states for serving.", "format"),
        ("No endpoints found that can handle the requested parameters.", "format"),
        ("This model doesn't support system messages. Try again without a system message.", "system"),
        ("After the optional system message, conversation roles must alternate user/assistant/...", "system"),
        ("You are not allowed to request logprobs from this model", "logprobs"),
        ("Streaming is strongly recommended for operations that may take longer than 10 minutes", "streaming"),
        ("max_tokens is too large: 100000. This model supports at most 16384 completion tokens", None),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens"),
        ("The model `tool-master` does not exist or you do not have access to it.", None),
        ("Please pass a valid user id.", None),
    ],
)
def test_the_part_that_a_refusal_names(message, part):
    """The part that an error names is found by its words; a wrong value, or another model's name, is no refusal."""
    error = build_error("BadRequestError", message, status_code=400, body=say(message))
    sent = dict.fromkeys(("format", "temperature", "system", "streaming", "max_tokens", "seed", "logprobs"), "")
    assert find_refused_part(error, "request", sent) == part


class RefusingModel(BaseChatModel):
    """A chat model of another provider, which raises its client's error while it is asked with a temperature."""

    error: object
    temperature: float | None = 0.0
    api_key: SecretStr = SecretStr("secret-of-the-model")
    asked: list[float | None]

    @property
    def _llm_type(self):
        return "refusing"

    def _generate(self, messages, stop=None, run_manager=None, **_):
        self.asked.append(self.temperature)
        if self.temperature is not None:
            raise self.error
        return ChatResult(generations=[ChatGeneration(message=AIMessage('{"reason": "r", "value": 1}'))])


def build_error(name, text, **attributes):
    """Build an error as a provider's client has it."""
    error = type(name, (Exception,), {})(text)
    for attribute, value in attributes.items():
        setattr(error, attribute, value)
    return error


CLIENT_ERRORS = {
    "Anthropic": build_error(
        "BadRequestError",
        "Error code: 400",
        status_code=400,
        body={
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "`temperature` is deprecated for this model."},
        },
    ),
    "Bedrock": build_error(
        "ValidationException",
        "An error occurred (ValidationException) when calling the Converse operation",
        response={
            "Error": {"Code": "ValidationException", "Message": "The model does not support temperature."},
            "ResponseMetadata": {"HTTPStatusCode": 400, "HTTPHeaders": {}},
        },
    ),
    "Gemini": build_error(
        "ClientError",
        "400 INVALID_ARGUMENT",
        code=400,
        details={"error": {"code": 400, "message": "Unsupported parameter: temperature", "status": "INVALID_ARGUMENT"}},
    ),
    "Ollama": build_error("ResponseError", "temperature is not supported", status_code=400, error="temperature"),
}


@pytest.mark.parametrize("provider", CLIENT_ERRORS)
def test_errors_of_other_clients_are_read(tmp_path, provider):
    """A chat model of any provider is adapted by what its client's error holds."""
    model = RefusingModel(error=CLIENT_ERRORS[provider], asked=[])
    run = evaluate(CASES, [AGREES], model, out=tmp_path)
    assert run.progress.scored == len(CASES)
    assert Counter(model.asked) == {0.0: 1, None: len(CASES)}


def test_a_slow_first_reply_holds_up_no_call():
    """Calls wait for the first reply for a moment only, and not at all once the judge has answered."""

    async def count_waiting(state, calls):
        inside = []

        async def call(number):
            async with state.wait_for_trial():
                inside.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*map(call, range(calls)))
        return inside

    state = JudgeState(Adaptation(), proven=True)
    assert asyncio.run(count_waiting(state, 3)) == [0, 1, 2]
