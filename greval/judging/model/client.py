"""One judging model, ready to be asked: messages in, text and cost out, in one way for all models."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import JsonValue

from greval.errors import JudgeError
from greval.judging.model.answer_format import Question, best_tier
from greval.judging.model.budget import Guard
from greval.judging.model.failures import cut_short, failure_of, secrets_of, whole
from greval.judging.model.judge import LOCAL_TIMEOUT, Judge, chat_model, environment
from greval.judging.model.openai_direct import can_ask
from greval.judging.model.rate_limit import Pace, asked_pause, pace_of
from greval.judging.model.reply import Reply
from greval.judging.model.reply_cache import Replies, reply_key
from greval.judging.model.retries import retrying
from greval.records.result import Failure, Tier, Usage

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

LETTERS_PER_TOKEN = 4
RAW_SETTINGS = ("model_name", "model", "temperature", "seed", "max_tokens", "top_p", "base_url", "openai_api_base")


@dataclass(frozen=True)
class Line:
    """A chat model with the pace of its provider, what must not be told of it, and what it was made from.

    `plain` tells that it can be asked without LangChain's way to it.
    """

    model: BaseChatModel
    pace: Pace
    secrets: tuple[str, ...]
    environment: tuple[str | None, ...]
    plain: bool = False

    def told(self, reply: Reply, tokens: int) -> None:
        """Tell the pace what came of a call for which so many tokens were counted on."""
        usage = reply.usage
        if reply.failure is None or usage.output_tokens is not None:
            self.pace.answered((usage.input_tokens or tokens) + (usage.output_tokens or 0) - tokens)
        elif reply.failure.kind == "rate_limit":
            self.pace.refused(reply.pause, tokens)


Desk = Callable[[str, Line, Question, list[BaseMessage]], Awaitable[Reply]]
"""Gives the reply to what has this key, or raises `StoppedError` where it has none yet."""

OnFailure = Callable[[list[BaseMessage], Reply, Sequence[Failure]], None]


class JudgeClient:
    """A judge that is ready to be asked, shared by all metrics of a run.

    Args:
        model: Settings of a judge, or any chat model of LangChain.
        gate: Entered for each call, such as a semaphore that several metrics share.
        guard: Asked before each call whether it may be made.
        cache: Replies of all runs; what is there is not asked again.
        journal: Replies of this run, for judgements that take several calls.
        desk: Asked in place of the model, with all that is asked; its answers may be in the journal.
        on_failure: Called with what was asked, what came back, and what is wrong with it.
    """

    def __init__(  # noqa: PLR0913 - what a judge may be given
        self,
        model: Judge | BaseChatModel,
        *,
        gate: AbstractAsyncContextManager[object] | None = None,
        guard: Guard | None = None,
        cache: Replies | None = None,
        journal: Replies | None = None,
        desk: Desk | None = None,
        on_failure: OnFailure | None = None,
    ) -> None:
        """Keep the settings; a model is made at the first call."""
        if not isinstance(model, Judge | BaseChatModel):
            named = f"Judge({model!r})" if isinstance(model, str) else "Judge('openai:MODEL')"
            raise JudgeError(f"{model!r}: is no judge; give {named} or a chat model of LangChain")
        self.judge = model if isinstance(model, Judge) else Judge(model=_label(model), timeout=_timeout(model))
        self.guard = guard or Guard(watchful=False)
        self._given = None if isinstance(model, Judge) else model
        self._gate = gate or nullcontext()
        self._cache = cache
        self._journal = journal
        self._desk = desk
        self._on_failure = on_failure
        self._lines: dict[asyncio.AbstractEventLoop, Line] = {}
        self._origin: JudgeClient | None = None
        self._retries = self.judge.max_retries if self._given is None else 0  # a model object makes its own

    def with_guard(self, guard: Guard) -> JudgeClient:
        """Return a client with another guard, such as that of one request, on the same connections."""
        guarded = copy(self)
        guarded.guard = guard
        guarded._origin = self._origin or self  # noqa: SLF001 - its own copy
        return guarded

    @property
    def label(self) -> str:
        """The name of the judge in results."""
        return self.judge.label

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """What decides the judge's verdicts, as JSON."""
        return self.judge.identity if self._given is None else _given_identity(self._given)

    @property
    def tier(self) -> Tier:
        """How answers are asked for, the best that the model has or the one that was fixed."""
        if self.judge.structured != "auto":
            return self.judge.structured
        if self._given is not None:
            return best_tier(self._given)
        return "schema" if self.judge.local or self.judge.model.startswith("openai:") else "tools"

    async def ready(self) -> Line:
        """Give the line to the model for the running loop, made at first use.

        Raises:
            JudgeError: Where the judge cannot be used at all: no such name, no key, no package.
        """
        loop = asyncio.get_running_loop()
        line = self._lines.get(loop)
        if line is None or line.environment != environment():
            for ended in [known for known in self._lines if known.is_closed()]:
                del self._lines[ended]
            line = self._lines[loop] = self._connected(self._given or await chat_model(self.judge))
        return line

    async def ask(
        self,
        question: Question,
        messages: list[BaseMessage],
        config: RunnableConfig,
        *,
        repeat: int = 0,
        one_of_many: bool = False,
        patient: bool = True,
    ) -> Reply:
        """Ask, and say what came back; nothing that goes wrong with the call itself is raised.

        Args:
            question: The form of the answer.
            messages: What is asked.
            config: LangChain's, with its callbacks.
            repeat: The number of the repeat: each is asked for itself.
            one_of_many: Whether the judgement takes more calls, so that this one is worth a note.
            patient: Whether it is asked again while what went wrong may pass.

        Returns:
            The reply, with the cost of all attempts.

        Raises:
            StoppedError: Where the run makes no further calls.
        """
        noted = one_of_many or self._desk is not None
        memory = [store for store in (self._journal if noted else None, self._cache) if store]
        key = self._key(question, messages, repeat) if memory else ""
        for store in memory:
            if known := store.get(key):
                return known
        if self._desk:
            return await self._desk(key, await self.ready(), question, messages)
        reply = await self._called(question, messages, config, self._retries if patient else 0)
        return replace(reply, key=key) if key else reply

    def remember(self, reply: Reply, *, one_of_many: bool = False) -> None:
        """Remember a reply that was read as a verdict."""
        for store in (self._journal if one_of_many else None, self._cache):
            if store and reply.key and not reply.known:
                store.put(reply)

    def failed(self, messages: list[BaseMessage], reply: Reply, failures: Sequence[Failure]) -> None:
        """Take note of a reply that could not be read as a verdict: it is forgotten, as it would come again."""
        if self._journal and reply.known:
            self._journal.drop(reply.key)
        if self._on_failure:
            self._on_failure(messages, reply, failures)

    @property
    def asks_again(self) -> bool:
        """Whether what a first answer lacks can be asked for at once."""
        return self._desk is None

    async def _called(
        self, question: Question, messages: list[BaseMessage], config: RunnableConfig, retries: int
    ) -> Reply:
        """Ask as often as may help, and count what all of it cost."""
        line = await self.ready()
        tokens = sum(len(message.content) for message in messages) // LETTERS_PER_TOKEN
        spent: list[Usage] = []

        async def attempt() -> Reply:
            async with self._gate:
                with self.guard.waiting():
                    await line.pace.enter(tokens, cautious=self.guard.watchful)
                try:
                    await self.guard.affordable()
                    reply = await self._once(
                        line, partial(question.ask, line.model, messages, config, plain=line.plain), tokens
                    )
                finally:
                    line.pace.leave()
            spent.append(reply.usage)
            return reply

        reply = await retrying(retries, attempt, self.guard.sleep)
        return reply if len(spent) == 1 else replace(reply, usage=sum(spent, Usage()))

    async def _once(self, line: Line, call: Callable[[], Awaitable[AIMessage]], tokens: int) -> Reply:
        """Make one call if the guard lets it, and tell guard and pace what came of it."""
        self.guard.admit(tokens)
        reply = None
        try:
            async with asyncio.timeout(_patience(self.judge)):
                reply = reply_of(await call())
        except Exception as error:  # noqa: BLE001 - whatever a provider raises is one failed call
            reply = Reply("", Usage(calls=1), failure_of(error, line.secrets), pause=asked_pause(error))
        finally:
            self.guard.came(reply)
        line.told(reply, tokens)
        return reply

    def _connected(self, model: BaseChatModel) -> Line:
        """Give the line to a model, on which all calls to its address under its key share one pace."""
        pace = pace_of(model)
        pace.limit(self._origin or self, requests=self.judge.requests_per_minute, tokens=self.judge.tokens_per_minute)
        return Line(model, pace, secrets_of(model), environment(), plain=self._given is None and can_ask(model))

    def _key(self, question: Question, messages: list[BaseMessage], repeat: int) -> str:
        """Give the key under which a reply is remembered: all that decides what comes back."""
        said = (f"{message.type}\n{message.text}" for message in messages)
        return reply_key((question.form, json.dumps(self.identity, sort_keys=True), str(repeat), *said))


def reply_of(message: AIMessage) -> Reply:
    """Read a model's message: what it said, what it cost, and whether it came to its end."""
    told = message.usage_metadata
    usage = Usage(
        calls=1,
        input_tokens=told["input_tokens"] if told else None,
        output_tokens=told["output_tokens"] if told else None,
        cached_tokens=(told.get("input_token_details") or {}).get("cache_read") if told else None,
    )
    probabilities = (message.response_metadata.get("logprobs") or {}).get("content") or ()
    return Reply(_said(message), usage, cut_short(message), probabilities)


def _said(message: AIMessage) -> str:
    """Give the JSON of the first tool call, even a broken one, else the text."""
    if message.tool_calls:
        return whole(json.dumps(message.tool_calls[0]["args"], ensure_ascii=False))
    if message.invalid_tool_calls:
        return whole(message.invalid_tool_calls[0]["args"] or "")
    return whole(message.text)


def _patience(judge: Judge) -> float:
    """Give the seconds after which one call is given up: a trickle never times out by itself."""
    return max(judge.timeout, LOCAL_TIMEOUT) if judge.local else judge.timeout


def _label(model: BaseChatModel) -> str:
    """Name a model object by its class and the model that it speaks to."""
    name = next((str(value) for key in ("model_name", "model") if (value := getattr(model, key, None))), "")
    return f"{type(model).__name__}:{name}" if name else type(model).__name__


def _timeout(model: BaseChatModel) -> float:
    """Give the model's own timeout in seconds where it has one."""
    own = getattr(model, "request_timeout", None) or getattr(model, "timeout", None)
    return float(own) if isinstance(own, int | float) and own > 0 else Judge.model_fields["timeout"].default


def _given_identity(model: BaseChatModel) -> dict[str, JsonValue]:
    """Give what decides the verdicts of a model object, without its secrets."""
    settings = {key: getattr(model, key, None) for key in RAW_SETTINGS}
    plain: dict[str, JsonValue] = {k: v for k, v in settings.items() if isinstance(v, str | int | float)}
    return {"class": type(model).__name__, **plain}


def clock() -> float:
    """Give a monotonic time in seconds, to measure latencies."""
    return time.perf_counter()
