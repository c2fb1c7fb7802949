"""Tracing of a query: its model calls, their tokens, its errors, and the contexts that the model was given.

Queries run concurrently and share one model. Each has its own trace, and tasks that a query starts write to the trace
of that query.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakSet

from greval._util.concurrency import measure_work
from greval.errors import MethodError
from greval.records.case import ResponseUsage

Count = Callable[[str], int]
Ask = Callable[..., Awaitable[Any]]

Made = TypeVar("Made", bound=Callable[..., Any])
_WRAPPED: WeakSet[Callable[..., Any]] = WeakSet()


@dataclass
class QueryTrace:
    """The trace of one query of a system: its calls with failed ones, its tokens, and the tables given to the model.

    `usage` is known when the query has ended. `errors` includes exceptions that the system suppressed. `ranking` is the
    similarity of each passage by its id, most similar first.
    """

    system: str
    calls: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    errors: list[Exception] = field(default_factory=list)
    contexts: list[Mapping[str, Any]] = field(default_factory=list)
    ranking: dict[str, float] = field(default_factory=dict)
    usage: ResponseUsage | None = None

    def require_answer(self, answer: object) -> str:
        """Return the answer of the query."""
        if self.errors:
            first = self.errors[0]
            more = f" (and {len(self.errors) - 1} more)" if len(self.errors) > 1 else ""
            error = f"{type(first).__name__}: {first}{more}"
            raise MethodError(f"{self.system}: it continued after an error: {error}") from first
        if not isinstance(answer, str) or not answer.strip():
            raise MethodError(f"{self.system}: the answer is empty, and no error was reported; see its log")
        return answer


_TRACE: ContextVar[QueryTrace | None] = ContextVar("watch", default=None)


@contextmanager
def trace_query(system: str) -> Iterator[QueryTrace]:
    """Trace the query of a system that runs in the `with` block."""
    trace = QueryTrace(system)
    token = _TRACE.set(trace)
    try:
        with measure_work() as spent:
            yield trace
    except Exception as error:
        raise MethodError(f"{system}: {type(error).__name__}: {error}") from error
    finally:
        _TRACE.reset(token)
    trace.usage = ResponseUsage(
        latency=spent.worked,
        waited=spent.waited,
        llm_calls=trace.calls,
        prompt_tokens=trace.prompt_tokens,
        output_tokens=trace.output_tokens,
    )


def get_current_trace() -> QueryTrace:
    """Return the trace of the running query; outside of a query, a new trace that is discarded."""
    return _TRACE.get() or QueryTrace("")


def wrap_once(function: Made, make: Callable[[Made], Made]) -> Made:
    """Return `make(function)`, or the function itself if it was returned by an earlier call."""
    if function in _WRAPPED:
        # Systems share a model between their searches, and its calls are counted once.
        return function
    wrapped = make(function)
    _WRAPPED.add(wrapped)
    return wrapped


def trace_chat_model(ask: Ask, count: Count) -> Ask:
    """Wrap a function of a chat model so that it records its calls in the trace of the query.

    Its argument `messages` is a text or a list of OpenAI messages. It returns a response with `choices`, or a stream
    of its chunks, in OpenAI's form. Tokens that the endpoint does not report, as for most streamed answers, are
    counted from the texts that were sent and received.
    """

    async def call_model(**kwargs: Any) -> Any:  # noqa: ANN401 - the system's own
        watch = get_current_trace()
        watch.calls += 1
        sent = "\n".join(_iterate_texts(kwargs.get("messages")))
        try:
            reply = await ask(**kwargs)
        except Exception as error:
            watch.errors.append(error)
            raise
        if hasattr(reply, "__aiter__"):
            return _trace_stream(reply, watch, sent, count)
        _add_usage(watch, getattr(reply, "usage", None), sent, _join_contents(reply.choices, "message"), count)
        return reply

    return call_model


async def _trace_stream(reply: AsyncIterator[Any], trace: QueryTrace, sent: str, count: Count) -> AsyncIterator[Any]:
    """Pass the chunks on; record the call when the stream ends or breaks off."""
    parts: list[str] = []
    usage = None
    try:
        async for chunk in reply:
            parts.append(_join_contents(chunk.choices, "delta"))
            usage = getattr(chunk, "usage", None) or usage
            yield chunk
    except Exception as error:
        trace.errors.append(error)
        raise
    finally:
        _add_usage(trace, usage, sent, "".join(parts), count)


def _add_usage(trace: QueryTrace, usage: Any, sent: str, received: str, count: Count) -> None:  # noqa: ANN401 - the system's own
    # Most endpoints report no tokens of a streamed answer.
    trace.prompt_tokens += getattr(usage, "prompt_tokens", None) or count(sent)
    trace.output_tokens += getattr(usage, "completion_tokens", None) or count(received)


def _iterate_texts(messages: Any) -> Iterator[str]:  # noqa: ANN401 - a text, or messages of any make
    if isinstance(messages, str):
        yield messages
        return
    for message in messages or ():
        content = message.get("content") if isinstance(message, Mapping) else getattr(message, "content", None)
        yield content if isinstance(content, str) else ""


def _join_contents(choices: Any, part: str) -> str:  # noqa: ANN401 - the system's own
    return "".join(getattr(getattr(choice, part, None), "content", None) or "" for choice in choices or ())
