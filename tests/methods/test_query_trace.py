"""Traces of queries: calls, tokens and errors of each query, also if several share one model."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from chat_streams import chunk, count_words, streamed

from greval.errors import MethodError
from greval.methods.query_trace import get_current_trace, trace_chat_model, trace_query


async def test_usage_of_a_call():
    """Tokens are the endpoint's where it tells them, else those of the texts."""
    usage = SimpleNamespace(prompt_tokens=70, completion_tokens=9)
    reply = SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="a b"))], usage=usage)

    async def ask(**options):
        return streamed("one ", "two") if options.get("stream") else reply

    traced = trace_chat_model(ask, count_words)
    with trace_query("graphrag") as watch:
        await traced(messages="who was it")
        messages = [{"role": "system", "content": "be short"}, {"role": "user", "content": "who was it"}]
        parts = [part async for part in await traced(messages=messages, stream=True)]
    assert [part.choices[0].delta.content for part in parts] == ["one ", "two"]
    assert (watch.calls, watch.prompt_tokens, watch.output_tokens) == (2, 70 + 5, 9 + 2)


async def test_usage_of_a_stream():
    """A stream that tells its usage, in its last part, is counted by that; a call outside a query by none."""

    async def told():
        yield chunk("one two")
        yield chunk("", SimpleNamespace(prompt_tokens=70, completion_tokens=9))

    async def ask(**_):
        return told()

    with trace_query("graphrag") as watch:
        assert len([part async for part in await trace_chat_model(ask, count_words)(messages="who")]) == 2
    assert len([part async for part in await trace_chat_model(ask, count_words)(messages="who")]) == 2
    assert (watch.calls, watch.prompt_tokens, watch.output_tokens) == (1, 70, 9)


async def test_failed_calls():
    """A call that fails is counted and told to the watch, and so is a stream that breaks off."""

    async def ask(**options):
        if options.get("stream"):
            return streamed("one ", fails=True)
        raise TimeoutError("late")

    with trace_query("graphrag") as watch:
        with pytest.raises(TimeoutError):
            await trace_chat_model(ask, count_words)(messages="who")
        with pytest.raises(ConnectionError):
            [part async for part in await trace_chat_model(ask, count_words)(messages="who", stream=True)]
    assert [str(error) for error in watch.errors] == ["late", "gone"]
    assert (watch.calls, watch.prompt_tokens, watch.output_tokens) == (2, 1, 1)


async def test_queries_at_once():
    """Each query counts its own calls, those of its tasks too."""

    async def ask(**_):
        await asyncio.sleep(0.001)
        return streamed("so")

    traced = trace_chat_model(ask, count_words)

    async def call():
        return [part async for part in await traced(messages="x")]

    async def query(calls):
        with trace_query("graphrag") as watch:
            await asyncio.gather(*[call() for _ in range(calls)])
        return watch.calls, watch.output_tokens

    assert await asyncio.gather(*map(query, range(1, 6))) == [(n, n) for n in range(1, 6)]


def test_usage_is_known_at_the_end_only():
    """The usage of a query is the sum of its calls, and its latency ends with the block."""
    with trace_query("rag") as trace:
        get_current_trace().calls += 2
        get_current_trace().prompt_tokens += 30
        assert trace.usage is None
    assert (trace.usage.llm_calls, trace.usage.prompt_tokens, trace.usage.output_tokens) == (2, 30, 0)
    assert trace.usage.latency >= 0
    get_current_trace().calls += 1
    assert trace.calls == 2


def test_an_exception_of_a_query_is_an_error_of_the_method():
    """The message has the name of the system; after it, no query is traced."""
    with pytest.raises(MethodError, match="rag: KeyError: 'u9'") as error, trace_query("rag") as trace:
        raise KeyError("u9")
    assert isinstance(error.value.__cause__, KeyError)
    assert get_current_trace() is not trace


async def test_a_cancelled_query_stays_cancelled():
    """A cancellation is not an error of the system."""
    with pytest.raises(asyncio.CancelledError), trace_query("rag"):
        raise asyncio.CancelledError


@pytest.mark.parametrize("answer", [None, "", " \n", 3])
def test_an_answer_without_text_is_an_error(answer):
    """Only a text with letters in it is an answer."""
    with trace_query("rag") as trace:
        pass
    assert trace.require_answer("Ada.") == "Ada."
    with pytest.raises(MethodError, match="rag: the answer is empty"):
        trace.require_answer(answer)


def test_suppressed_errors_outweigh_an_answer():
    """The first suppressed error is raised with the number of the others."""
    with trace_query("rag") as trace:
        trace.errors += [ConnectionError("gone"), ValueError("late")]
    with pytest.raises(MethodError, match=r"continued after an error: ConnectionError: gone \(and 1 more\)"):
        trace.require_answer("Ada.")
