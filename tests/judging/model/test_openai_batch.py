"""Many requests as files, by the form of OpenAI's Batch API."""

from __future__ import annotations

import json
from itertools import count

import pytest
from batch_server import BatchServer, answer_line, completion
from fault_server import body as answers
from fault_server import error, says
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI

from greval.errors import DataError, JudgeError, JudgeUnavailableError
from greval.judging.model.failures import classify_error
from greval.judging.model.openai_batch import (
    BLOCK_BYTES,
    BatchFiles,
    BatchState,
    format_batch_request,
    parse_batch_answer,
)
from greval.records.result import Failure

SEEN = [SystemMessage("Judge strictly: ½ < 1."), HumanMessage('Does "Ada" fit\n<answer>é\u2028</answer>?')]
SCHEMA = {"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]}
NAMED = {"name": "tone", "schema": SCHEMA, "strict": True}
TOOL = {"type": "function", "function": {"name": "verdict", "parameters": SCHEMA}}
TALK = [
    HumanMessage([{"type": "text", "text": "Look it up."}]),
    AIMessage("", tool_calls=[{"name": "verdict", "args": {"value": 1}, "id": "c0"}]),
    ToolMessage("1", tool_call_id="c0"),
]
CALL = {"id": "c1", "type": "function", "function": {"name": "verdict", "arguments": '{"value": 1}'}}
BROKEN_CALL = {"id": "c1", "type": "function", "function": {"name": "verdict", "arguments": '{"value": '}}
TOKEN = {"token": "1", "bytes": [49], "logprob": -0.1, "top_logprobs": []}


TIMEOUTS = count(60)
"""Models of one address and timeout share a client, and a port may come again: each has a timeout of its own."""


@pytest.fixture
async def model():
    """Give a function that makes a model of OpenAI's kind, which is closed after the test."""
    models = []

    def make(url="http://127.0.0.1:9/v1", name="fine", **settings):
        settings.setdefault("timeout", next(TIMEOUTS))
        models.append(ChatOpenAI(model=name, base_url=url, api_key="sk-secret-key", max_retries=0, **settings))
        return models[-1]

    yield make
    for built in models:
        built.root_client.close()
        await built.root_async_client.close()


@pytest.mark.parametrize(
    ("settings", "messages", "extra"),
    [
        ({}, SEEN, {}),
        ({"temperature": 0, "seed": 7, "max_completion_tokens": 50, "top_p": 0.5}, SEEN, {"stop": ["END"]}),
        (
            {"temperature": 0, "timeout": 9},
            SEEN,
            {"extra_body": {"response_format": {"type": "json_schema", "json_schema": NAMED}}, "logprobs": True},
        ),
        ({"extra_body": {"top_k": 5, "seed": 1}, "seed": 2}, SEEN, {}),
        ({"extra_body": {"top_k": 5}}, SEEN, {"extra_body": {"min_p": 0.1}, "temperature": 0.5}),
        ({"model_kwargs": {"user": "me"}, "service_tier": "flex"}, SEEN, {"extra_headers": {"X-A": "b"}, "timeout": 5}),
        ({"name": "o3", "reasoning_effort": "low"}, SEEN, {}),
        ({}, TALK, {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "verdict"}}}),
        ({}, SEEN, {"response_format": {"type": "json_object"}}),
        ({"default_headers": {"X-Key": "hidden"}, "metadata": {"run": "1"}}, SEEN, {"extra_query": {"a": "b"}}),
    ],
)
async def test_a_line_asks_what_a_call_asks(fault_server, model, settings, messages, extra):
    """The body of a request line is exactly the body that `ainvoke` sends."""
    fault_server.plan = says('{"value": 1}')
    chat_model = model(fault_server.url, **settings)
    line = format_batch_request("q1", chat_model, messages, extra)
    await chat_model.ainvoke(messages, **extra)
    told = json.loads(line)
    assert told.pop("body") == fault_server.bodies[0]
    assert told == {"custom_id": "q1", "method": "POST", "url": "/v1/chat/completions"}
    assert "\n" not in line
    assert "secret" not in line
    assert "hidden" not in line


@pytest.mark.parametrize(
    ("settings", "extra", "words"),
    [
        ({"use_responses_api": True}, {}, "chat completions only"),
        ({"streaming": True}, {}, "streaming=True"),
        ({}, {"user": object()}, "JSON"),
    ],
)
async def test_what_no_batch_can_ask_is_refused(model, settings, extra, words):
    """A model that a batch cannot ask is an error before anything is sent."""
    with pytest.raises(JudgeError, match=words):
        format_batch_request("q1", model(**settings), SEEN, extra)


@pytest.mark.parametrize(
    "body",
    [
        completion(),
        completion("It is l", "length"),
        completion(None, "content_filter"),
        completion(None, message={"refusal": "I can't."}),
        completion(None, "tool_calls", {"tool_calls": [CALL]}),
        completion(None, "tool_calls", {"tool_calls": [BROKEN_CALL]}),
        completion("1", choice={"logprobs": {"content": [TOKEN], "refusal": None}}),
        completion("é\u2028", usage=None),
        completion(service_tier="default", system_fingerprint="fp_1"),
        completion("ok", message={"annotations": [], "unheard_of": {"a": 1}}, unheard_of=3),
    ],
)
async def test_an_answer_is_read_as_a_call_reads_it(fault_server, model, body):
    """A line gives the message that `ainvoke` gives on the same body: text, calls, usage, finish reason."""
    fault_server.plan = answers(json.dumps(body))
    chat_model = model(fault_server.url)
    expected = await chat_model.ainvoke(SEEN)
    custom_id, message = parse_batch_answer(answer_line("q1", body), chat_model)
    assert custom_id == "q1"
    assert isinstance(message, AIMessage)
    assert message.model_dump(exclude={"id"}) == expected.model_dump(exclude={"id"})


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, None),
        (400, "context_length_exceeded"),
        (400, "content_filter"),
        (401, "invalid_api_key"),
        (403, None),
        (404, "model_not_found"),
        (408, None),
        (422, None),
        (429, "rate_limit_exceeded"),
        (429, "insufficient_quota"),
        (500, None),
        (503, None),
    ],
)
async def test_a_refused_request_fails_as_a_call_does(fault_server, model, status, code):
    """A line with an HTTP error has the failure kind that the error has when asked at once."""
    fault_server.plan = error(status, code, "No way with sk-abcdef123456.")
    chat_model = model(fault_server.url)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever LangChain makes of it
        await chat_model.ainvoke(SEEN)
    fault = {"message": "No way with sk-abcdef123456.", "type": "error", "param": None, "code": code}
    custom_id, failure = parse_batch_answer(answer_line("q1", {"error": fault}, status), chat_model)
    assert custom_id == "q1"
    assert isinstance(failure, Failure)
    assert failure.kind == classify_error(caught.value).kind
    assert failure.message == "BatchRequestError: No way with [key]."


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ({"response": None, "error": {"code": "batch_expired", "message": "Not begun in time."}}, "timeout"),
        ({"response": None, "error": {"code": "batch_cancelled", "message": "Cancelled."}}, "error"),
        ({"response": None, "error": {"code": "server_error", "message": "Down."}}, "server"),
        ({"response": {"status_code": 500, "body": "<html>"}, "error": None}, "server"),
        ({"response": {"status_code": 429, "body": None}}, "rate_limit"),
        ({"response": {"status_code": 200, "body": "<html>"}}, "server"),
        ({"response": {"status_code": 200, "body": {**completion(), "choices": None}}}, "server"),
        ({"response": {"status_code": 200, "body": {**completion(), "choices": []}}}, "error"),
        ({"response": {"status_code": 200, "body": None}}, "server"),
        ({"response": {}}, "error"),
        ({}, "error"),
    ],
)
async def test_a_line_without_an_answer_is_a_failure(model, line, kind):
    """What a batch says of a request that it could not answer is a failure with its kind."""
    custom_id, failure = parse_batch_answer(json.dumps({"custom_id": "q1", **line}), model())
    assert (custom_id, failure.kind) == ("q1", kind)
    assert failure.message


@given(
    st.text() | st.dictionaries(st.sampled_from(["custom_id", "response"]), st.text() | st.integers()).map(json.dumps)
)
def test_what_is_no_line_is_told(line):
    """Anything that is no line of a batch is a DataError, or a failure where it says whose it is."""
    plain = ChatOpenAI.model_construct(model_name="fine")
    try:
        custom_id, outcome = parse_batch_answer(line, plain)
    except DataError:
        return
    assert json.loads(line)["custom_id"] is not None
    assert isinstance(custom_id, str)
    assert isinstance(outcome, Failure)


@pytest.fixture
async def server():
    """Give a running batch server."""
    batch_server = BatchServer()
    runner = await batch_server.start()
    yield batch_server
    await runner.cleanup()


async def finished(files, batch_id):
    """Ask until a batch is done; give every status on the way."""
    states = []
    while not states or not states[-1].is_done:
        states.append(await files.status(batch_id))
    return [state.status for state in states]


async def test_requests_go_out_and_their_answers_come_back(server, model):
    """A batch is sent, goes through its states, and gives a message or a failure for each request."""
    chat_model = model(server.url)
    files = BatchFiles(chat_model.root_async_client)
    names = ["a", "bad-1", "late-1", "ü"]
    batch_id = await files.submit(format_batch_request(name, chat_model, SEEN, {}) for name in names)
    with pytest.raises(JudgeError, match="not done yet"):
        [line async for line in files.collect(batch_id)]
    assert await finished(files, batch_id) == ["finalizing", "completed"]
    came = dict([parse_batch_answer(line, chat_model) async for line in files.collect(batch_id)])
    assert {*came} == {*names}
    assert came["a"].text == came["ü"].text == "a\u2028b\x85c"
    assert came["a"].usage_metadata["input_tokens"] == 100
    assert (came["bad-1"].kind, came["late-1"].kind) == ("request", "timeout")
    [sent] = [server.files[batch["input_file_id"]] for batch in server.batches.values()]
    assert [json.loads(line)["custom_id"] for line in sent.splitlines()] == names


async def test_a_file_larger_than_a_block_is_read_whole(server, model):
    """Lines that lie across the blocks in which a file comes are put together."""
    files = BatchFiles(model(server.url).root_async_client)
    server.steps = ["completed"]
    names = [f"q{number}" for number in range(6000)]
    batch_id = await files.submit(json.dumps({"custom_id": name}) for name in names)
    await files.status(batch_id)
    assert [json.loads(line)["custom_id"] async for line in files.collect(batch_id)] == names
    assert max(len(content) for content in server.files.values()) > 2 * BLOCK_BYTES


async def test_what_is_too_much_for_one_batch_becomes_several(server, model):
    """No batch has more requests, and no file more bytes, than allowed; none is lost, and each id is told."""
    chat_model = model(server.url)
    files = BatchFiles(chat_model.root_async_client, limits=(3, 100))
    lines = [json.dumps({"custom_id": f"q{number}", "x": "y" * size}) for number, size in enumerate([1] * 7 + [60] * 3)]
    batch_id = await files.submit(lines)
    assert batch_id == ",".join(server.batches)
    sent = [server.files[batch["input_file_id"]] for batch in server.batches.values()]
    assert b"".join(sent).decode().splitlines() == lines
    assert [len(file.splitlines()) for file in sent] == [3, 3, 1, 1, 1, 1]
    assert all(len(file) <= 100 for file in sent)
    assert (await finished(files, batch_id))[-1] == "completed"
    assert await files.status(batch_id) == BatchState(status="completed", total=10, completed=10)
    assert len([line async for line in files.collect(batch_id)]) == 10


async def test_several_batches_are_as_far_as_the_last(server, model):
    """Together batches are done when each is done."""
    files = BatchFiles(model(server.url).root_async_client, limits=(1, 1000))
    server.steps = ["completed"]
    first = await files.submit(['{"custom_id": "a"}'])
    server.steps = ["in_progress", "in_progress", "in_progress", "completed"]
    second = await files.submit(['{"custom_id": "b"}'])
    assert (await files.status(f"{first},{second}")).status == "in_progress"
    assert await finished(files, f"{first},{second}") == ["in_progress", "completed"]


async def test_an_upload_that_fails_once_is_sent_again_whole(server, model):
    """A passing error of the server neither loses nor doubles a line."""
    files = BatchFiles(model(server.url).root_async_client)
    server.broken = 1
    await files.submit([json.dumps({"custom_id": f"q{number}"}) for number in range(5)])
    assert [len(content.splitlines()) for content in server.files.values()] == [5]


async def test_a_batch_is_begun_once(server, model):
    """A request that begins a batch is not made again by itself: a batch that was begun twice is paid for twice."""
    server.busy = True
    with pytest.raises(JudgeUnavailableError, match="busy"):
        await BatchFiles(model(server.url).root_async_client).submit(['{"custom_id": "a"}'])
    assert server.begun == 1


async def test_a_later_upload_that_fails_names_the_batches_that_go_on(server, model):
    """When a file is not taken, the batches before it are told, for they are paid for; the key is not."""
    files = BatchFiles(model(server.url).root_async_client, limits=(1, 1000), retries=1)
    server.max_batches = 1
    with pytest.raises(JudgeUnavailableError, match=r"sending batch 2: .*these continue .*batch_2") as caught:
        await files.submit(['{"custom_id": "a"}', '{"custom_id": "b"}'])
    assert "secret" not in str(caught.value)
    assert [*server.batches] == ["batch_2"]


async def test_a_cancelled_batch_gives_what_was_answered(server, model):
    """If a batch was cancelled at the provider, what came until then can be collected."""
    files = BatchFiles(model(server.url).root_async_client)
    server.steps = ["cancelling", "cancelled"]
    batch_id = await files.submit(['{"custom_id": "a"}'])
    assert (await finished(files, batch_id))[-1] == "cancelled"
    assert len([line async for line in files.collect(batch_id)]) == 1


async def test_a_refused_file_is_an_error_after_the_answers_of_others(server, model):
    """A batch that failed its check is told with its reason, and hides no answer of another one."""
    files = BatchFiles(model(server.url).root_async_client)
    server.steps = ["completed"]
    good = await files.submit(['{"custom_id": "a"}'])
    server.steps = ["failed"]
    bad = await files.submit(['{"custom_id": "b"}'])
    came = []

    async def collect():
        async for line in files.collect(f"{bad},{good}"):
            came.append(line)  # noqa: PERF401 - what comes before the error is kept

    with pytest.raises(JudgeError, match=r"line 2: no JSON"):
        await collect()
    assert len(came) == 1
    assert (await files.status(bad)).message == "line 2: no JSON"


@pytest.mark.parametrize(("lines", "words"), [([], "no request"), (["x" * 200], "201 bytes")])
async def test_what_cannot_be_sent_is_told(server, model, lines, words):
    """Nothing at all, or a line larger than a file, is an error, and no batch begins."""
    files = BatchFiles(model(server.url).root_async_client, limits=(1, 100))
    with pytest.raises(DataError, match=words):
        await files.submit(lines)
    assert server.batches == {}


async def test_a_server_that_is_not_there_is_told(model):
    """A lost server is one error of greval's own, in each thing that can be asked."""
    files = BatchFiles(model().root_async_client, retries=0)
    with pytest.raises(JudgeUnavailableError, match="asking for batch_1"):
        await files.status("batch_1")
    with pytest.raises(JudgeUnavailableError, match="sending batch 1"):
        await files.submit(['{"custom_id": "a"}'])
    with pytest.raises(JudgeUnavailableError):
        [line async for line in files.collect("batch_1")]
