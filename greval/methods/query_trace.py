"""Watching a query: the calls of its model, their tokens, what went wrong, and what the model was given.

Queries run at the same time and share one model. Each has its own watch, and tasks that a query starts
write to the watch of that query.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakSet

from greval.records.case import Effort

Count = Callable[[str], int]
Ask = Callable[..., Awaitable[Any]]

Made = TypeVar("Made", bound=Callable[..., Any])
_MADE: WeakSet[Callable[..., Any]] = WeakSet()


@dataclass
class Watch:
    """What one query did so far.

    Args:
        calls: Calls of the chat model, failed ones included.
        prompt_tokens: Tokens that were sent, over all calls.
        output_tokens: Tokens that came back, over all calls.
        errors: What went wrong, also where the system went on without a word.
        contexts: The tables that the model was given.
        ranking: How similar each passage is, by its id, the most similar first.
        began: When the query began.
    """

    calls: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    errors: list[Exception] = field(default_factory=list)
    contexts: list[Mapping[str, Any]] = field(default_factory=list)
    ranking: dict[str, float] = field(default_factory=dict)
    began: float = field(default_factory=time.perf_counter)

    def effort(self) -> Effort:
        """Give what was spent from the beginning until now."""
        latency = time.perf_counter() - self.began
        return Effort(
            latency=latency,
            llm_calls=self.calls,
            prompt_tokens=self.prompt_tokens,
            output_tokens=self.output_tokens,
        )


_WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watching() -> Iterator[Watch]:
    """Watch what is done inside.

    Example:
        >>> with watching() as watch:
        ...     current().calls += 1
        >>> watch.calls
        1
    """
    watch = Watch()
    token = _WATCH.set(watch)
    try:
        yield watch
    finally:
        _WATCH.reset(token)


def current() -> Watch:
    """Give the watch of the query that is running; outside of one, a watch that nobody reads."""
    return _WATCH.get() or Watch()


def once(function: Made, make: Callable[[Made], Made]) -> Made:
    """Give `make(function)`, or the function itself where it was made here already.

    Systems share a model between their searches, and its calls are to be counted once.

    Example:
        >>> def ask():
        ...     return 1
        >>> twice = once(once(ask, lambda found: lambda: found() + 1), lambda found: lambda: found() + 1)
        >>> twice()
        2
    """
    if function in _MADE:
        return function
    made = make(function)
    _MADE.add(made)
    return made


def watched(ask: Ask, count: Count) -> Ask:
    """Give a function of a chat model that tells the watch of its calls.

    Tokens are those that the endpoint tells. Where it tells none, as for most streamed answers, the
    texts that were sent and that came back are counted.

    Args:
        ask: The function: `messages` are a text or OpenAI's messages, and it gives a response with
            `choices`, or chunks of one, in OpenAI's form.
        count: Counts the tokens of a text.
    """

    async def asked(**given: Any) -> Any:  # noqa: ANN401 - the system's own
        watch = current()
        watch.calls += 1
        sent = "\n".join(_texts(given.get("messages")))
        try:
            reply = await ask(**given)
        except Exception as error:
            watch.errors.append(error)
            raise
        if hasattr(reply, "__aiter__"):
            return _streamed(reply, watch, sent, count)
        _add(watch, getattr(reply, "usage", None), sent, _said(reply.choices, "message"), count)
        return reply

    return asked


async def _streamed(reply: AsyncIterator[Any], watch: Watch, sent: str, count: Count) -> AsyncIterator[Any]:
    """Pass the chunks on; the call is counted when they end, also where they break off."""
    parts: list[str] = []
    usage = None
    try:
        async for chunk in reply:
            parts.append(_said(chunk.choices, "delta"))
            usage = getattr(chunk, "usage", None) or usage
            yield chunk
    except Exception as error:
        watch.errors.append(error)
        raise
    finally:
        _add(watch, usage, sent, "".join(parts), count)


def _add(watch: Watch, usage: Any, sent: str, said: str, count: Count) -> None:  # noqa: ANN401 - the system's own
    watch.prompt_tokens += getattr(usage, "prompt_tokens", None) or count(sent)
    watch.output_tokens += getattr(usage, "completion_tokens", None) or count(said)


def _texts(messages: Any) -> Iterator[str]:  # noqa: ANN401 - a text, or messages of any make
    if isinstance(messages, str):
        yield messages
        return
    for message in messages or ():
        content = message.get("content") if isinstance(message, Mapping) else getattr(message, "content", None)
        yield content if isinstance(content, str) else ""


def _said(choices: Any, part: str) -> str:  # noqa: ANN401 - the system's own
    return "".join(getattr(getattr(choice, part, None), "content", None) or "" for choice in choices or ())
