"""Each way in which a judge can fail: its own kind, the raw text kept, the cost kept, other cases untouched."""

from __future__ import annotations

import re

import fault_server as fault
import pytest
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from tone_metrics import TONE
from virtual_time import in_virtual_time

from greval.judging.model.failures import MAX_MESSAGE_CHARS, classify_error, redact_secrets
from greval.judging.model.judge import Judge
from greval.records.case import Case
from greval.records.result import Failed, Scored, Usage
from greval.runs.runnable import compile_metric
from greval.testing import USAGE, ScriptedJudge

GOOD = {"reason": "It thanks.", "value": "Polite"}
CASES = [
    Case(id=id_, question="Well?", answer=answer) for id_, answer in (("a", "Thanks."), ("b", "BAD"), ("c", "Ta."))
]
ONE, TWO = Usage(calls=1, input_tokens=100, output_tokens=20), Usage(calls=2, input_tokens=200, output_tokens=40)


def ended(text="", **told):
    """Give a message that ended in another way than well."""
    extra = {"refusal": told.pop("refusal")} if "refusal" in told else {}
    return AIMessage(text, response_metadata=told, additional_kwargs=extra, usage_metadata=USAGE)


def named(name, *parents):
    """Give an exception as a vendor's class of that name."""
    return type(name, parents or (Exception,), {})("It went wrong.")


ANSWERS = {
    "wrong JSON": ("I would say polite.", "malformed", "I would say polite.", TWO),
    "half JSON": ('{"reason": "It th', "malformed", '{"reason": "It th', TWO),
    "nothing": ("", "malformed", None, TWO),
    "no reason": ('{"value": "Polite"}', "malformed", '{"value": "Polite"}', TWO),
    "blank reason": ('{"reason": " ", "value": "Polite"}', "malformed", '{"reason": " ", "value": "Polite"}', TWO),
    "no value": ('{"reason": "r"}', "malformed", '{"reason": "r"}', TWO),
    "a list": ('["Polite"]', "malformed", '["Polite"]', TWO),
    "a key twice": ('{"reason": "r", "value": "Polite", "value": "Rude"}', "malformed", None, TWO),
    "off scale": ('{"reason": "r", "value": "Warm"}', "off_scale", '{"reason": "r", "value": "Warm"}', TWO),
    "another word": ('{"reason": "r", "value": "politely"}', "off_scale", '{"reason": "r", "value": "politely"}', TWO),
    "a number": ('{"reason": "r", "value": 1}', "off_scale", '{"reason": "r", "value": 1}', TWO),
    "length": (ended('{"rea', finish_reason="length"), "length", '{"rea', ONE),
    "length, Anthropic": (ended('{"rea', stop_reason="max_tokens"), "length", '{"rea', ONE),
    "length, Google": (ended('{"rea', finish_reason="MAX_TOKENS"), "length", '{"rea', ONE),
    "length, Ollama": (ended('{"rea', done_reason="length"), "length", '{"rea', ONE),
    "length, Responses": (ended("{", incomplete_details={"reason": "max_output_tokens"}), "length", "{", ONE),
    "filter": (ended('{"rea', finish_reason="content_filter"), "content_filter", '{"rea', ONE),
    "filter, Google": (ended(finish_reason="SAFETY"), "content_filter", None, ONE),
    "filter, Google's prompt": (ended(prompt_feedback={"block_reason": "OTHER"}), "content_filter", None, ONE),
    "refusal": (ended(refusal="I can't."), "refusal", "I can't.", ONE),
    "refusal, Anthropic": (ended("I won't.", stop_reason="refusal"), "refusal", "I won't.", ONE),
    "refusal, block": (ended([{"type": "refusal", "refusal": "No."}]), "refusal", "No.", ONE),
    "timeout": (TimeoutError(), "timeout", None, Usage(calls=1)),
    "read timeout": (named("ReadTimeout"), "timeout", None, Usage(calls=1)),
    "connection": (ConnectionResetError("reset"), "connection", None, Usage(calls=1)),
    "rate limit": (named("RateLimitError"), "rate_limit", None, Usage(calls=1)),
    "key": (named("AuthenticationError"), "authentication", None, Usage(calls=1)),
    "cut, as exception": (named("LengthFinishReasonError"), "length", None, Usage(calls=1)),
    "filter, as exception": (named("ContentFilterFinishReasonError"), "content_filter", None, Usage(calls=1)),
    "window": (named("ContextOverflowError"), "context_window", None, Usage(calls=1)),
    "anything": (ZeroDivisionError("division by zero"), "error", None, Usage(calls=1)),
}


@pytest.mark.parametrize("tier", ["schema", "tools", "text"])
@pytest.mark.parametrize("name", ANSWERS)
def test_scripted_failure(name, tier):
    """Every failure of a model has its kind, its raw text and its cost, in every tier, and stays alone."""
    answer, kind, raw, usage = ANSWERS[name]
    judge = ScriptedJudge(lambda messages: answer if "BAD" in messages[1].text else GOOD, tier=tier)
    first, bad, last = compile_metric(TONE, judge).batch(CASES)
    assert (first.judgements[0].value, last.judgements[0].value) == ("Polite", "Polite")
    assert (first.usage, first.tier) == (ONE, tier)
    assert isinstance(bad.outcome, Failed)
    assert bad.outcome.error.kind == kind
    assert bad.outcome.error.raw == (raw if raw or name in {"nothing", "filter, Google"} else bad.outcome.error.raw)
    assert bad.usage == usage
    assert bad.latency > 0
    assert bad.judgements == ()


ENDS = {
    "content_filter": [
        *({"finish_reason": end} for end in ("SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII")),
        *({"finish_reason": end} for end in ("LANGUAGE", "IMAGE_SAFETY", "MODEL_ARMOR", "sensitive", "ERROR_TOXIC")),
        {"finish_reason": "FinishReason.PROHIBITED_CONTENT"},
        {"finish_reason": "FINISH_REASON_SAFETY"},
        {"stopReason": "content_filtered"},
        {"stopReason": "guardrail_intervened"},
        {"completionReason": "CONTENT_FILTERED"},
        {"incomplete_details": {"reason": "content_filter"}},
    ],
    "length": [
        {"stopReason": "max_tokens"},
        {"stop_reason": "max_tokens"},
        {"finishReason": "MAX_TOKENS"},
        {"completionReason": "LENGTH"},
        {"finish_reason": "model_length"},
        {"stop_reason": "token_limit"},
    ],
    "context_window": [
        {"stopReason": "model_context_window_exceeded"},
        {"stop_reason": "model_context_window_exceeded"},
    ],
    "refusal": [{"stop_reason": "refusal"}],
    "timeout": [{"stop_reason": "time_limit"}],
    "server": [{"finish_reason": "insufficient_system_resource"}, {"finish_reason": "network_error"}],
}


@pytest.mark.parametrize(("kind", "metadata"), [(kind, end) for kind, ends in ENDS.items() for end in ends])
def test_why_a_reply_ended_in_the_words_of_each_provider(kind, metadata):
    """The failure has the right kind and names the provider's word, after one call."""
    judge = ScriptedJudge([ended('{"reason": "It', **metadata)])
    result = compile_metric(TONE, judge).invoke(CASES[0])
    assert (result.outcome.error.kind, result.usage.calls) == (kind, 1)
    assert re.search(r"\([a-z_]+\)$", result.outcome.error.message)


@pytest.mark.parametrize(
    "end", ["stop", "STOP", "end_turn", "tool_use", "stop_sequence", "eos_token", "COMPLETE", None]
)
def test_a_reply_that_ended_well_is_read(end):
    """Words for a whole answer are no failure."""
    judge = ScriptedJudge([ended('{"reason": "r", "value": "Polite"}', finish_reason=end, stopReason=end)])
    assert compile_metric(TONE, judge).invoke(CASES[0]).outcome.status == "scored"


THOUGHTS = 'First {"reason": "r", "value": "Rude"}, or rather polite.'
VERDICT = '{"reason": "r", "value": "Polite"}'


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_an_answer_that_the_server_took_for_thoughts_is_read(fault_server, key):
    """An object and nothing else is the answer, also where a server puts it beside an empty text."""
    fault_server.plan = fault.says(None, extra={key: VERDICT})
    result = compile_metric(TONE, Judge("openai:fake", base_url=fault_server.url, max_retries=0)).invoke(CASES[0])
    assert (result.judgements[0].value, fault_server.calls) == ("Polite", 1)


@pytest.mark.parametrize("tier", ["schema", "text"])
def test_thoughts_beside_an_empty_text_are_no_answer(fault_server, tier):
    """The failure says where the text is, and which option of the server puts it there."""
    fault_server.plan = fault.says("", extra={"reasoning_content": THOUGHTS})
    judge = Judge("openai:fake", base_url=fault_server.url, max_retries=0, structured=tier)
    error = compile_metric(TONE, judge).invoke(CASES[0]).outcome.error
    assert (error.kind, error.raw) == ("malformed", THOUGHTS)
    assert "in reasoning_content" in error.message
    assert "--reasoning-parser" in error.message


def test_thoughts_in_blocks_are_no_answer():
    """Blocks of thoughts are neither read nor do they hide a verdict in a block of text."""
    thoughts = [{"type": "thinking", "thinking": THOUGHTS}, {"type": "reasoning", "reasoning": THOUGHTS}]
    judge = ScriptedJudge([AIMessage([*thoughts, {"type": "text", "text": VERDICT}]), AIMessage([*thoughts])])
    runnable = compile_metric(TONE, judge)
    assert runnable.invoke(CASES[0]).judgements[0].value == "Polite"
    assert runnable.invoke(CASES[0]).judgements[0].value == "Polite"
    assert len(judge.calls) == 3


@pytest.mark.parametrize(
    ("words", "read", "kind"),
    [
        (4000, 2050, "context_window"),
        (4000, 1026, "context_window"),
        (4000, 4400, None),
        (4000, 100, None),
        (4000, None, None),
        (300, 250, None),
    ],
)
def test_a_prompt_that_the_server_cut_is_no_verdict(words, read, kind):
    """Fewer tokens than words were not all read; a server that does not count, or a short prompt, is not suspected."""
    usage = read and {"input_tokens": read, "output_tokens": 20, "total_tokens": read + 20}
    judge = ScriptedJudge([AIMessage(VERDICT, usage_metadata=usage)])
    result = compile_metric(TONE, judge).invoke({"question": "Well?", "answer": "thanks " * words})
    if kind is None:
        assert result.judgements[0].value == "Polite"
        return
    assert (result.outcome.error.kind, result.outcome.error.raw, result.usage.calls) == (kind, VERDICT, 1)
    assert f"it read {read:,} tokens of at least 4,0" in result.outcome.error.message


UNANSWERED = {
    "400 filter": (fault.error(400, "content_filter", "Withheld."), "content_filter"),
    "400 window": (fault.error(400, "context_length_exceeded", "Too long."), "context_window"),
    "400 window in words": (fault.error(400, None, "The maximum context length is 4096."), "context_window"),
    "400": (fault.error(400, "invalid_json_schema", "Bad schema."), "request"),
    "401": (fault.error(401, "invalid_api_key"), "authentication"),
    "403": (fault.error(403), "authentication"),
    "404": (fault.error(404, "model_not_found"), "request"),
    "413": (fault.error(413), "context_window"),
    "429": (fault.error(429, "rate_limit_exceeded", Retry_After="1"), "rate_limit"),
    "500": (fault.error(500), "server"),
    "503": (fault.error(503), "server"),
    "reset": (fault.resets(), "connection"),
    "a body that breaks off": (fault.breaks_off(), "connection"),
    "hang": (fault.hangs(), "timeout"),
    "trickle": (fault.trickles(), "timeout"),
    "a page": (fault.body("<html>Sorry.</html>", "text/html"), "server"),
    "a text": (fault.body("Sorry.", "text/plain"), "server"),
    "no body": (fault.body(""), "server"),
    "a body that is not packed": (fault.answers_with(200, "{}", Content_Encoding="br"), "server"),
    "half a body": (fault.body('{"choices": ['), "server"),
    "an empty object": (fault.body("{}"), "server"),
    "null": (fault.body("null"), "server"),
    "an error as 200": (fault.body('{"error": {"message": "Busy.", "code": 429}}'), "rate_limit"),
    "an error of the server as 200": (fault.body('{"error": {"message": "No.", "type": "server_error"}}'), "server"),
}


def runnable(server, behaviour):
    """Return a metric's runnable whose second case of `CASES` meets the behaviour."""
    well = fault.ok()
    server.plan = lambda body: behaviour if "BAD" in body["messages"][1]["content"] else well
    return compile_metric(TONE, Judge("openai:fake", base_url=server.url, timeout=20, max_retries=0))


@pytest.mark.parametrize("name", UNANSWERED)
@in_virtual_time
async def test_no_answer_over_http(name):
    """A call without an answer fails with the kind of what happened, counted as a call; others are untouched."""
    behaviour, kind = UNANSWERED[name]
    async with fault.FaultServer() as server:
        first, bad, last = await runnable(server, behaviour).abatch(CASES)
    assert isinstance(bad.outcome, Failed)
    assert bad.outcome.error.kind == kind, bad.outcome.error
    assert bad.outcome.error.message
    assert (bad.usage, bad.outcome.error.raw) == (Usage(calls=1), None)
    assert bad.latency > 0
    assert isinstance(first.outcome, Scored)
    assert isinstance(last.outcome, Scored)
    assert server.calls == 3


@pytest.mark.parametrize("key", ["sk-proj-abc_DEF-0123456789", "a-plain-key-of-our-own"])
def test_key_of_the_environment_is_never_told(fault_server, monkeypatch, key):
    """A server that echoes the key does not get it into a result."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    told = fault.error(401, "invalid_api_key", "Incorrect API key provided: {authorization}.")
    _, bad, _ = runnable(fault_server, told).batch(CASES)
    assert fault_server.headers[0]["Authorization"] == f"Bearer {key}"
    assert bad.outcome.error.kind == "authentication"
    assert key not in bad.model_dump_json()
    assert "[key]" in bad.outcome.error.message


def test_key_of_a_model_object_is_never_told(fault_server):
    """The key of a model that was given as an object is known to no variable, and still not told."""
    fault_server.plan = fault.error(401, None, "Whose key is {authorization}?")
    model = ChatOpenAI(model="fake", base_url=fault_server.url, api_key="open-sesame-now", max_retries=0)
    result = compile_metric(TONE, model).invoke(CASES[0])
    assert "open-sesame-now" in fault_server.headers[0]["Authorization"]
    assert "sesame" not in result.model_dump_json()


def test_key_cut_by_the_length_of_a_message():
    """A key at the place where a long message is cut leaves no part of itself."""
    told = classify_error(RuntimeError("x" * (MAX_MESSAGE_CHARS - 20) + " sk-abcdefghijklmnopqrstuvwxyz")).message
    assert "sk-" not in told
    assert len(told) <= MAX_MESSAGE_CHARS


@pytest.mark.parametrize("text", ["sk-abcdef123456", "Bearer abc.def.ghi", "my-token-value"])
def test_redacted(monkeypatch, text):
    """What looks like a key, or is a value of the environment's keys and tokens, is replaced."""
    monkeypatch.setenv("HUB_TOKEN", "my-token-value")
    assert text.removeprefix("Bearer ") not in redact_secrets(f"It said {text} twice: {text}")


def test_short_values_are_words(monkeypatch):
    """A short value of a variable such as KEYBOARD is no secret: messages stay readable."""
    monkeypatch.setenv("KEYBOARD", "us")
    assert redact_secrets("just because") == "just because"


def test_the_cause_decides():
    """What an exception was raised from tells the kind where its own name does not."""
    try:
        try:
            raise ConnectionRefusedError("port 1")  # noqa: TRY301
        except ConnectionRefusedError as refused:
            raise RuntimeError("wrapped") from refused
    except RuntimeError as error:
        failure = classify_error(error)
    assert (failure.kind, failure.message) == ("connection", "ConnectionRefusedError: port 1")


def test_result_of_broken_text_can_be_stored():
    """Half of a surrogate pair in what a judge says is replaced: every result can be written as JSON."""
    result = compile_metric(TONE, ScriptedJudge(["half \ud83d of it"])).invoke(CASES[0])
    assert "half \N{REPLACEMENT CHARACTER} of it" in result.model_dump_json()
    result = compile_metric(TONE, ScriptedJudge(['{"reason": "\\ud83d", "value": "Polite"}'])).invoke(CASES[0])
    assert result.outcome.error.kind == "malformed"
    assert result.model_dump_json()
