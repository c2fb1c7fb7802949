"""The client of one judging model: sends messages and returns text and usage, in the same way for all models."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import JsonValue

from greval.errors import JudgeError, StoppedError
from greval.judging.call_record import get_call_recorder
from greval.judging.model.answer_format import AnswerFormat, select_tier
from greval.judging.model.budget import ASSUMED_OUTPUT_TOKENS, CallMeter, RunGuard
from greval.judging.model.failures import classify_error, find_finish_failure, list_secrets
from greval.judging.model.judge import LOCAL_TIMEOUT, Judge, build_described_model, get_chat_model, read_environment
from greval.judging.model.judge_names import list_environment_names
from greval.judging.model.openai_direct import DirectModel, select_direct_model
from greval.judging.model.rate_limit import RateLimiter, get_rate_limiter, read_retry_after
from greval.judging.model.reply_cache import Reply, ReplyCache, compute_reply_key
from greval.judging.model.reported_usage import ReportedUsage, estimate_unreported_usage, read_message_usage
from greval.judging.model.retries import call_with_retries
from greval.judging.model.server_settings import (
    describe_answer_settings,
    describe_server,
    hide_secrets,
    normalise_address,
)
from greval.records.record import replace_lone_surrogates
from greval.records.result import Failure, Tier, Usage

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

CHARS_PER_TOKEN = 4
SERVED_MODEL_NAMES = ("model_name", "model", "model_version", "model_id")
MAX_SERVED_CHARS = 200
IDENTITY_SETTINGS = ("model_name", "model", "temperature", "seed", "max_tokens", "top_p", "base_url", "openai_api_base")


@dataclass(frozen=True)
class Connection:
    """A chat model with its rate limiter, the secrets to redact, and the environment it was built from.

    `direct` is the same model if it can be called without LangChain's machinery.
    """

    model: BaseChatModel
    pace: RateLimiter
    secrets: tuple[str, ...]
    environment: tuple[str | None, ...]
    direct: DirectModel | None = None

    def record_reply(self, reply: Reply, tokens: int) -> None:
        """Report the result of a call to the rate limiter, which had reserved `tokens` for it."""
        usage = reply.usage
        if reply.failure is None or usage.output_tokens is not None:
            self.pace.record_answer((usage.input_tokens or tokens) + (usage.output_tokens or 0) - tokens)
        elif reply.failure.kind == "rate_limit":
            self.pace.record_refusal(reply.pause, tokens)


ReplySource = Callable[[str, Connection, AnswerFormat, list[BaseMessage]], Awaitable[Reply]]
"""A function that looks up the reply for a request key, and raises `StoppedError` if it is not known yet."""

FailureCallback = Callable[[list[BaseMessage], Reply, Sequence[Failure]], None]


class JudgeClient:
    """The client of a judging model, shared by all metrics of a run.

    Args:
        model: Settings of a judge, or any chat model of LangChain.
        gate: An async context manager entered for each call, such as a semaphore that several metrics share.
        guard: Checks before each call whether it may be made, such as the budget of a run.
        cache: Cached replies of all runs. A cached reply replaces the call.
        journal: Replies of this run, for judgements that take several calls.
        reply_source: A function that returns replies in place of the model. Its replies may also be in the journal.
        on_failure: A function called with the messages, the reply and the failures of each unreadable reply.
        meter: Counts all calls of several runs and requests, and may refuse further ones.
    """

    def __init__(  # noqa: PLR0913 - the settings of a client
        self,
        model: Judge | BaseChatModel,
        *,
        gate: AbstractAsyncContextManager[object] | None = None,
        guard: RunGuard | None = None,
        cache: ReplyCache | None = None,
        journal: ReplyCache | None = None,
        reply_source: ReplySource | None = None,
        on_failure: FailureCallback | None = None,
        meter: CallMeter | None = None,
    ) -> None:
        """Store the settings. The chat model is created at the first call."""
        if not isinstance(model, Judge | BaseChatModel):
            named = f"Judge({model!r})" if isinstance(model, str) else "Judge('openai:MODEL')"
            raise JudgeError(f"{model!r}: is not a judge; pass {named} or a chat model of LangChain")
        self.judge = (
            model if isinstance(model, Judge) else Judge(model=_format_label(model), timeout=_read_timeout(model))
        )
        self.guard = guard or RunGuard(watchful=False)
        self._given = None if isinstance(model, Judge) else model
        self._gate = gate or nullcontext()
        self._cache = cache
        self._journal = journal
        self._reply_source = reply_source
        self._on_failure = on_failure
        self._meter = meter
        self._lines: dict[asyncio.AbstractEventLoop, Connection] = {}
        self._origin: JudgeClient | None = None
        self._identity: tuple[tuple[str | None, ...], dict[str, JsonValue], str] | None = None
        self._variables = list_environment_names(self.judge.model) if self._given is None else ()
        self._retries = self.judge.max_retries if self._given is None else 0  # a model object retries by itself

    def with_guard(self, guard: RunGuard) -> JudgeClient:
        """Return a copy of the client with another guard, such as that of one request, on the same connections."""
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
        """The settings that affect the judge's verdicts, as JSON, with those by which its model reaches its server."""
        return self._describe(self._read_environment())[0]

    @property
    def tier(self) -> Tier:
        """The way to ask for structured answers: the one that was set, else the best that the model supports."""
        if self.judge.structured != "auto":
            return self.judge.structured
        if self._given is not None:
            return select_tier(self._given)
        return "schema" if self.judge.local or self.judge.model.startswith("openai:") else "tools"

    def _read_environment(self) -> tuple[str | None, ...]:
        return read_environment(self._variables)

    async def ready(self, environment: tuple[str | None, ...] | None = None) -> Connection:
        """Return the connection to the model for the running event loop, created at first use.

        `environment` is that of the judge if it was just read, because reading it takes a while.

        Raises:
            JudgeError: If the judge cannot be used at all: unknown name, missing key or missing package.
        """
        loop = asyncio.get_running_loop()
        line = self._lines.get(loop)
        if line is None or line.environment != (environment or self._read_environment()):
            for ended in [known for known in self._lines if known.is_closed()]:
                del self._lines[ended]
            line = self._lines[loop] = self._connect(self._given or await get_chat_model(self.judge))
        return line

    async def ask(
        self,
        question: AnswerFormat,
        messages: list[BaseMessage],
        config: RunnableConfig,
        *,
        repeat: int = 0,
        one_of_many: bool = False,
        patient: bool = True,
    ) -> Reply:
        """Ask the judge and return its reply. A failed call is returned as a reply with a failure, not raised.

        Args:
            question: The format of the answer.
            messages: The messages to send.
            config: LangChain's config, with its callbacks.
            repeat: The number of the repeat. It is part of the cache key, so that each repeat is a call of its own.
            one_of_many: Whether the judgement takes several calls, so that the reply is kept in the journal.
            patient: Whether to retry transient failures. The usage of the reply is that of all attempts.

        Raises:
            StoppedError: If the run makes no further calls.
        """
        noted = one_of_many or self._reply_source is not None
        memory = [store for store in (self._journal if noted else None, self._cache) if store]
        is_named = memory or self._reply_source or get_call_recorder()
        environment = self._read_environment()
        key = self._compute_key(question, messages, repeat, environment) if is_named else ""
        for store in memory:
            if known := store.get(key):
                return known
        if self._reply_source:
            return await self._reply_source(key, await self.ready(), question, messages)
        line = await self.ready(environment)
        reply = await self._ask_with_retries(line, question, messages, config, self._retries if patient else 0)
        return replace(reply, key=key) if key else reply

    def remember(self, reply: Reply, *, one_of_many: bool = False) -> None:
        """Store a reply that was read as a verdict in the cache and, for one of several calls, in the journal."""
        for store in (self._journal if one_of_many else None, self._cache):
            if store and reply.key and not reply.known:
                store.put(reply)

    def failed(self, messages: list[BaseMessage], reply: Reply, failures: Sequence[Failure]) -> None:
        """Record a reply that could not be read as a verdict.

        It is removed from the journal, because the same reply would be returned again.
        """
        if self._journal and reply.known:
            self._journal.drop(reply.key)
        if self._on_failure:
            self._on_failure(messages, reply, failures)

    @property
    def asks_again(self) -> bool:
        """True if a second call for the missing parts of an answer can be made at once."""
        return self._reply_source is None

    async def _ask_with_retries(
        self,
        line: Connection,
        question: AnswerFormat,
        messages: list[BaseMessage],
        config: RunnableConfig,
        retries: int,
    ) -> Reply:
        """Call the model, retry transient failures, and sum the usage of all attempts."""
        tokens = sum(len(message.content) for message in messages) // CHARS_PER_TOKEN
        spent: list[Usage] = []

        async def attempt() -> Reply:
            async with AsyncExitStack() as held:
                with self.guard.cancel_on_stop():  # a server that ends grants nothing to those that wait
                    await held.enter_async_context(self._gate)
                    await line.pace.acquire(tokens, cautious=self.guard.watchful)
                held.callback(line.pace.release)
                await self.guard.wait_until_allowed()
                reply = await self._call_once(
                    line, partial(question.ask, line.model, messages, config, direct=line.direct), tokens
                )
            spent.append(reply.usage)
            return reply

        reply = await call_with_retries(retries, attempt, self.guard.sleep)
        return reply if len(spent) == 1 else replace(reply, usage=sum(spent, Usage()))

    async def _call_once(self, line: Connection, call: Callable[[], Awaitable[AIMessage]], tokens: int) -> Reply:
        """Make one call if meter and guard admit it, and report its result to them and the rate limiter."""
        if self._meter and (refusal := self._meter.admit_call(self.label)):
            return self._refuse_call(refusal)
        self._admit_call(tokens)
        reply = estimate = None
        start = read_clock()
        try:
            async with asyncio.timeout(_select_timeout(self.judge)):
                reply = read_reply(await call())
                estimate = _estimate_usage(reply, tokens)
        except Exception as error:  # noqa: BLE001 - any exception of a provider is one failed call
            reply = Reply("", Usage(calls=1), classify_error(error, line.secrets), pause=read_retry_after(error))
        finally:
            self.guard.record_reply(reply, estimate)
            if self._meter:
                self._meter.record_usage(self.label, reply.usage if reply else Usage(calls=1))
        line.record_reply(reply, tokens)
        return replace(reply, latency=read_clock() - start)

    def _refuse_call(self, refusal: str) -> Reply:
        """Stop the run because the meter admits no further call; outside a run, only this call fails."""
        if self.guard.watchful:
            self.guard.stop(refusal, kind="quota")
            raise StoppedError(refusal)
        return Reply("", Usage(), Failure(kind="quota", message=refusal))

    def _admit_call(self, tokens: int) -> None:
        """Count a call for the guard; if it admits none, the meter has counted one too many."""
        try:
            self.guard.admit_call(tokens)
        except StoppedError:
            if self._meter:
                self._meter.withdraw_call(self.label)
            raise

    def _connect(self, model: BaseChatModel) -> Connection:
        """Build the connection to a model. All calls to one address with one key share a rate limiter."""
        pace = get_rate_limiter(model)
        pace.set_limits(
            self._origin or self, requests=self.judge.requests_per_minute, tokens=self.judge.tokens_per_minute
        )
        direct = select_direct_model(model) if self._given is None else None
        return Connection(model, pace, list_secrets(model), self._read_environment(), direct)

    def _compute_key(
        self,
        question: AnswerFormat,
        messages: list[BaseMessage],
        repeat: int,
        environment: tuple[str | None, ...] | None = None,
    ) -> str:
        """Compute the cache key of a request from everything that affects the reply."""
        texts = (f"{message.type}\n{message.text}" for message in messages)
        _, identity = self._describe(environment or self._read_environment())
        return compute_reply_key((question.form, identity, str(repeat), *texts))

    def _describe(self, environment: tuple[str | None, ...]) -> tuple[dict[str, JsonValue], str]:
        """Return the identity, and the same as text, built again only if the environment changed."""
        if self._identity is None or self._identity[0] != environment:
            found = self.describe_judge()
            self._identity = environment, found, json.dumps(found, sort_keys=True)
        return self._identity[1:]

    def describe_judge(self) -> dict[str, JsonValue]:
        """Describe the judge's identity, see `identity`."""
        return _describe_judge(self.judge) if self._given is None else _describe_settings(self._given)


def read_reply(message: AIMessage) -> Reply:
    """Read a model's message: its text, its usage, who answered, and whether it is complete."""
    usage, total = read_message_usage(message)
    metadata = message.response_metadata
    return Reply(
        _extract_text(message),
        usage,
        find_finish_failure(message),
        (metadata.get("logprobs") or {}).get("content") or (),
        total_tokens=total,
        served_by=_format_served_model(metadata),
    )


def _format_served_model(metadata: Mapping[str, Any]) -> str:
    """Format the model that a reply names, and its fingerprint; empty if it names no model.

    Example:
        >>> _format_served_model({"model_name": "m-2026-01-01", "system_fingerprint": "fp_1"})
        'm-2026-01-01 (fp_1)'
    """
    names = (metadata.get(name) for name in SERVED_MODEL_NAMES)
    model = next((str(name) for name in names if name and isinstance(name, str)), "")
    mark = metadata.get("system_fingerprint")
    named = f"{model} ({mark})" if model and mark and isinstance(mark, str) else model
    return replace_lone_surrogates(named)[:MAX_SERVED_CHARS]


def _estimate_usage(reply: Reply, tokens: int) -> Usage | None:
    """Return the usage of a reply with estimates for what its provider did not report, None if it reported it."""
    usage = reply.usage
    if usage.cost is not None or (usage.input_tokens is not None and usage.output_tokens is not None):
        return None
    written = max(len(reply.text) // CHARS_PER_TOKEN, ASSUMED_OUTPUT_TOKENS)
    return estimate_unreported_usage(ReportedUsage(usage, reply.total_tokens), tokens, written)


def _extract_text(message: AIMessage) -> str:
    """Return the JSON of the first tool call, even if it is invalid, else the text."""
    if message.tool_calls:
        return replace_lone_surrogates(json.dumps(message.tool_calls[0]["args"], ensure_ascii=False))
    if message.invalid_tool_calls:
        return replace_lone_surrogates(message.invalid_tool_calls[0]["args"] or "")
    return replace_lone_surrogates(message.text)


def _select_timeout(judge: Judge) -> float:
    """Return the timeout of one whole call in seconds. A slow stream of bytes never reaches the transport's timeout."""
    return max(judge.timeout, LOCAL_TIMEOUT) if judge.local else judge.timeout


def _format_label(model: BaseChatModel) -> str:
    """Format the label of a model object from its class and its model name."""
    name = next((str(value) for key in ("model_name", "model") if (value := getattr(model, key, None))), "")
    return f"{type(model).__name__}:{name}" if name else type(model).__name__


def _read_timeout(model: BaseChatModel) -> float:
    """Return the model's own timeout in seconds, or the default of `Judge` if it has none."""
    own = getattr(model, "request_timeout", None) or getattr(model, "timeout", None)
    return float(own) if isinstance(own, int | float) and own > 0 else Judge.model_fields["timeout"].default


def _describe_settings(model: BaseChatModel) -> dict[str, JsonValue]:
    """Return the settings of a model object that affect its verdicts, without its secrets."""
    settings = {key: getattr(model, key, None) for key in IDENTITY_SETTINGS}
    plain: dict[str, JsonValue] = {k: v for k, v in settings.items() if isinstance(v, str | int | float)}
    plain = {name: hide_secrets(found) if isinstance(found, str) else found for name, found in plain.items()}
    further = describe_answer_settings(model) | _drop_known(describe_server(model), plain.values())
    return {"class": type(model).__name__, **further, **plain}


def _describe_judge(judge: Judge) -> dict[str, JsonValue]:
    """Return the identity of a judge, with what the environment adds to its settings when its model is built.

    An address that the settings name is that of the judge. The environment may name another than `Judge` knows.
    """
    settings = judge.identity
    model = build_described_model(judge)
    if model is None:
        return settings
    named = _drop_known(describe_server(model), [settings.get("base_url"), *judge.options.values()])
    address = named.pop("address", None)
    if address and judge.base_url is None:
        settings["base_url"] = address
    return {**named, **settings}


def _drop_known(server: dict[str, JsonValue], known: Iterable[JsonValue]) -> dict[str, JsonValue]:
    """Return the settings of a server without those that stand among other settings already."""
    texts = {normalise_address(text) for text in known if isinstance(text, str)}
    return {name: found for name, found in server.items() if normalise_address(str(found)) not in texts}


def read_clock() -> float:
    """Return a monotonic time in seconds, to measure latencies."""
    return time.perf_counter()
