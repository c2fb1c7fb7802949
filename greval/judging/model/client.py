"""The client of one judging model: sends messages and returns text and usage, in the same way for all models."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import JsonValue

from greval._util.concurrency import count_as_waiting, fails_one_call
from greval.errors import JudgeError, StoppedError
from greval.judging.model.adaptation import (
    NO_ADAPTATION,
    PART_OPTIONS,
    Adaptation,
    Change,
    JudgeState,
    RequestPart,
    adapt_judge,
    adapt_messages,
    adapt_model,
    choose_changes,
    describe_refusal,
    find_refused_part,
    list_sent_parts,
)
from greval.judging.model.answer_format import AnswerFormat, AnswerStrategy, build_strategy, select_tier
from greval.judging.model.budget import ASSUMED_OUTPUT_TOKENS, RunGuard
from greval.judging.model.call_context import NO_RUN, CallContext
from greval.judging.model.failures import (
    classify_error,
    find_empty_failure,
    find_finish_failure,
    find_long_failure,
    find_prompt_cut,
    find_thoughts,
    is_permanent,
    list_models,
    list_secrets,
)
from greval.judging.model.judge import (
    LOCAL_TIMEOUT,
    Judge,
    build_described_model,
    get_calling_model,
    is_direct,
    read_judge,
)
from greval.judging.model.openai_direct import DirectModel
from greval.judging.model.rate_limit import RateLimiter, get_rate_limiter
from greval.judging.model.reply_cache import Reply, ReplyCache, compute_reply_key
from greval.judging.model.reported_usage import ReportedUsage, estimate_unreported_usage, read_message_usage
from greval.judging.model.wait_times import (
    MAX_PAUSE_SECONDS,
    TRANSIENT_FAILURES,
    RequestedWait,
    call_with_retries,
    format_wait_reason,
    read_wait,
)
from greval.records.judge_choice import hide_secrets
from greval.records.metric import JudgedMetric
from greval.records.record import replace_lone_surrogates
from greval.records.result import Failure, Tier, Usage

CHARS_PER_TOKEN = 4
SERVED_MODEL_NAMES = ("model_name", "model", "model_version", "model_id")
MAX_SERVED_CHARS = 200
MAX_LOGPROB = 0.01
"""What a log-probability may be above 0, because servers round."""
MAX_WAIT_CHARS = 40
"""The most characters of a waiting time that a warning quotes."""
_LOG = logging.getLogger("greval")
IDENTITY_SETTINGS = ("model_name", "model", "temperature", "seed", "max_tokens", "top_p", "base_url", "openai_api_base")


@dataclass(frozen=True)
class Connection:
    """What the calls of a judge are made with: plain requests or a chat model, and what they need."""

    model: BaseChatModel | DirectModel
    pace: RateLimiter
    secrets: tuple[str, ...]
    adaptation: Adaptation

    async def load_model(self) -> BaseChatModel:
        """Return the chat model of LangChain, which is built if greval sends plain requests itself."""
        return await self.model.load_model() if isinstance(self.model, DirectModel) else self.model

    def record_reply(self, reply: Reply, tokens: int) -> None:
        """Report the result of a call to the rate limiter, which had reserved `tokens` for it."""
        usage = reply.usage
        # A refused answer with output tokens was paid for like any other.
        if reply.failure is None or usage.output_tokens is not None:
            self.pace.record_answer((usage.input_tokens or tokens) + (usage.output_tokens or 0) - tokens)
        elif reply.failure.kind == "rate_limit":
            self.pace.record_refusal(reply.pause, tokens)


ReplySource = Callable[[str, Connection, AnswerFormat, list[BaseMessage]], Awaitable[Reply]]
"""A function that looks up the reply for a request key, and raises `StoppedError` if it is not known yet."""

_LEARNT: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Adaptation]] = WeakKeyDictionary()
"""The adaptations of judges by their settings, which further clients of an event loop begin with."""


class _AdaptedError(Exception):
    """The requests to the judge were changed since this one was built: it is to be built again."""


class JudgeClient:
    """The client of a judging model, shared by all metrics of a run.

    Args:
        model: Settings of a judge, the name of its model, or any chat model of LangChain.
        gate: An async context manager entered for each call, such as a semaphore that several metrics share.
        cache: Cached replies of all runs. A cached reply replaces the call.
        journal: Replies of this run, for judgements that take several calls.
        reply_source: A function that returns replies in place of the model. Its replies may also be in the journal.
    """

    def __init__(
        self,
        model: Judge | BaseChatModel | str,
        *,
        gate: AbstractAsyncContextManager[object] | None = None,
        cache: ReplyCache | None = None,
        journal: ReplyCache | None = None,
        reply_source: ReplySource | None = None,
    ) -> None:
        """Store the settings. The chat model is created at the first call."""
        model = read_judge(model)
        self._given = None if isinstance(model, Judge) else _read_chat_model(model)
        if not isinstance(model, Judge) and self._given is None:
            example = "'openai:MODEL', Judge('openai:MODEL') or a chat model of LangChain"
            raise JudgeError(f"{model!r}: is not a judge; pass {example}")
        self.judge = model if isinstance(model, Judge) else _build_object_judge(cast("BaseChatModel", self._given))
        self._gate = gate or nullcontext()
        self._cache = cache
        self._journal = journal
        self._reply_source = reply_source
        self._lines: dict[asyncio.AbstractEventLoop, Connection] = {}
        self._states: dict[asyncio.AbstractEventLoop, JudgeState] = {}
        # A model object retries by itself.
        self._retries = self.judge.max_retries if self._given is None else 0

    @property
    def label(self) -> str:
        """The name of the judge in results."""
        return self.judge.label

    @cached_property
    def identity(self) -> Mapping[str, JsonValue]:
        """The settings that affect the judge's verdicts, as JSON, with those by which its model reaches its server."""
        return self.describe_judge()

    @property
    def tier(self) -> Tier:
        """The way to ask for structured answers: the one that was set, else the best that the model supports."""
        if self.judge.structured != "auto":
            return self.judge.structured
        if self._given is not None:
            return select_tier(self._given)
        return "schema" if self.judge.local or self.judge.model.startswith("openai:") else "tools"

    def choose_strategy(self, metric: JudgedMetric) -> AnswerStrategy:
        """Choose how the judge is asked for its answers to a metric."""
        if self.judge.local:
            from greval.judging.model.local_answers import build_local_strategy

            return build_local_strategy(metric, self.judge, self.label, self.tier)
        return build_strategy(metric, self.judge, self.tier)

    @property
    def adaptation(self) -> Adaptation:
        """The changes of requests that the judge refuses otherwise."""
        return next(reversed(self._states.values())).adaptation if self._states else NO_ADAPTATION

    def restore_adaptation(self, adaptation: Adaptation) -> None:
        """Ask the judge as it was asked for stored results. A refusal is a failure then and changes nothing."""
        self._states[asyncio.get_running_loop()] = JudgeState(adaptation, fixed=True, has_trial=self._is_remote)
        self._say(adaptation.describe(self.label))

    def select_tier(self, tier: Tier) -> Tier:
        """Return the tier by which the judge is really asked for an answer that is planned by another one."""
        adaptation = self.adaptation
        return adaptation.select_tier(tier) if adaptation.changes and self._may_change("format") else tier

    async def ready(self) -> Connection:
        """Return the connection to the model for the running event loop, created at first use."""
        loop = asyncio.get_running_loop()
        line, adaptation = self._lines.get(loop), self._get_state().adaptation
        if line is None or line.adaptation is not adaptation:
            # Loops of earlier calls of `asyncio.run` never come back.
            for ended in [event_loop for event_loop in self._lines if event_loop.is_closed()]:
                del self._lines[ended]
                self._states.pop(ended, None)
            with count_as_waiting():
                if self._given is None:
                    model = await get_calling_model(adapt_judge(self.judge, adaptation))
                else:
                    model = adapt_model(self._given, adaptation)
                line = self._lines[loop] = self._connect(model, adaptation)
        return line

    async def prepare(self) -> None:
        """Create the connection for the running event loop if it has none, so that this is no part of a latency."""
        if asyncio.get_running_loop() not in self._lines:
            await self.ready()

    def _get_state(self) -> JudgeState:
        """Return what is learnt of the judge in the running event loop; at first, what other clients have learnt."""
        loop = asyncio.get_running_loop()
        if loop not in self._states:
            learnt = _LEARNT.get(loop, {}).get(self._identity_text, NO_ADAPTATION) if self._given is None else None
            # The embedded model refuses no part of a request.
            self._states[loop] = JudgeState(learnt or NO_ADAPTATION, proven=self.judge.local, has_trial=self._is_remote)
            self._say(self._states[loop].adaptation.describe(self.label))
        return self._states[loop]

    @staticmethod
    def _say(lines: Iterable[str]) -> None:
        """Log how the judge is asked otherwise than by its settings."""
        for line in lines:
            _LOG.warning("%s", line)

    @property
    def _is_remote(self) -> bool:
        """Return whether the judge is a model of a provider or server, whose refused calls take time."""
        if self._given is None:
            return not self.judge.local
        has_url = any(getattr(inner, "base_url", None) for inner in list_models(self._given))
        return has_url or bool(list_secrets(self._given))

    async def ask(
        self,
        question: AnswerFormat,
        messages: list[BaseMessage],
        context: CallContext = NO_RUN,
        *,
        patient: bool = True,
    ) -> Reply:
        """Ask the judge and return its reply. A failed call is returned as a reply with a failure, not raised.

        Args:
            question: The format of the answer.
            messages: The messages to send.
            context: The context of the judgement that the call belongs to.
            patient: Whether to retry transient failures. The usage of the reply is that of all attempts.

        Raises:
            StoppedError: If the run makes no further calls.
        """
        noted = context.one_of_many or self._reply_source is not None
        memory = [store for store in (self._journal if noted else None, self._cache) if store]
        is_named = memory or self._reply_source or context.recorder
        spent: list[Usage] = []
        while True:
            key = self._compute_key(question, messages, context.repeat) if is_named else ""
            for store in memory:
                if cached := store.get(key):
                    return cached._replace(usage=sum(spent, cached.usage)) if spent else cached
            line = await self.ready()
            if self._reply_source:
                return await self._reply_source(key, line, question, messages)
            retries = self._retries if patient else 0
            try:
                reply = await self._ask_with_retries(line, question, messages, context, retries, spent)
            except _AdaptedError:
                # The request is built again, and has another key.
                continue
            reply = reply if len(spent) == 1 else reply._replace(usage=sum(spent, Usage()))
            # They may be newer than the key.
            if key and self.adaptation.changes:
                key = self._compute_key(question, messages, context.repeat)
            return reply._replace(key=key) if key else reply

    def remember(self, reply: Reply, *, one_of_many: bool = False) -> None:
        """Store a reply that was read as a verdict in the cache and, for one of several calls, in the journal."""
        for store in (self._journal if one_of_many else None, self._cache):
            if store and reply.key and not reply.known:
                store.put(reply)

    def forget(self, reply: Reply) -> None:
        """Remove a reply that could not be read from the journal, because it would be returned again."""
        if self._journal and reply.known:
            self._journal.drop(reply.key)

    @property
    def asks_again(self) -> bool:
        """True if a second call for the missing parts of an answer can be made at once."""
        return self._reply_source is None

    async def _ask_with_retries(
        self,
        line: Connection,
        question: AnswerFormat,
        messages: list[BaseMessage],
        context: CallContext,
        retries: int,
        spent: list[Usage],
    ) -> Reply:
        """Call the model, retry transient failures, and add the usage of each attempt to `spent`."""
        state, guard = self._get_state(), context.guard
        adapted = self._adapt_question(question, line.adaptation)
        schema = question.schema if adapted.tier == "text" and question.tier != "text" else None
        if line.adaptation.changes:
            messages = adapt_messages(messages, line.adaptation, schema)
        tokens = sum(len(message.content) for message in messages) // CHARS_PER_TOKEN
        last: list[Reply] = []

        async def attempt() -> Reply:
            async with AsyncExitStack() as stack:
                # a server that ends grants nothing to those that wait
                with count_as_waiting(), guard.cancel_on_stop():
                    await stack.enter_async_context(self._gate)
                    if state.has_trial and not state.proven:
                        await stack.enter_async_context(state.wait_for_trial())
                    # Another call was refused while this one waited.
                    if state.adaptation is not line.adaptation:
                        raise _AdaptedError
                    pause = line.pace.pause_seconds
                    reason = f"the rate limit of {self.label}"
                    with guard.note_waiting(pause, reason) if pause else nullcontext():
                        await line.pace.acquire(tokens, cautious=guard.watchful)
                    stack.callback(line.pace.release)
                    await guard.wait_until_allowed()
                reply = await self._call_once(line, adapted, messages, tokens, context)
                # Output tokens show that the judge took the request, whatever became of the answer.
                if reply.failure is None or reply.usage.output_tokens is not None:
                    state.proven = True
            spent.append(reply.usage)
            last[:] = [reply]
            # Refused for what another call has changed meanwhile.
            if state.adaptation is not line.adaptation and reply.failure and reply.failure.kind == "request":
                raise _AdaptedError
            return reply

        async def sleep(seconds: float) -> None:
            await guard.sleep(seconds, format_wait_reason(last[0].failure, self.label))

        return await call_with_retries(retries, attempt, sleep)

    async def _call_once(
        self, line: Connection, question: AnswerFormat, messages: list[BaseMessage], tokens: int, context: CallContext
    ) -> Reply:
        """Make one call if meter and guard admit it, and report its result to them and the rate limiter."""
        guard, meter = context.guard, context.meter
        if meter and (refusal := meter.admit_call(self.label)):
            return _refuse_call(guard, refusal)
        try:
            guard.admit_call(tokens)
        except StoppedError:
            if meter:
                # It has counted one too many.
                meter.withdraw_call(self.label)
            raise
        reply = estimate = None
        seconds = max(self.judge.timeout, LOCAL_TIMEOUT) if self.judge.local else self.judge.timeout
        start = read_clock()
        try:
            # A slow stream of bytes never reaches the timeout of the transport.
            async with asyncio.timeout(seconds):
                message = await question.ask(line.model, messages, context.config)
                reply = read_reply(message, messages)
                estimate = _estimate_usage(reply, tokens)
        except BaseException as error:
            if not fails_one_call(error):
                raise
            reply = self._read_error(error, line, question, messages)
        finally:
            # Also if the call is cancelled, because it may be paid for.
            guard.record_reply(reply, estimate)
            if meter:
                meter.record_usage(self.label, reply.usage if reply else Usage(calls=1))
        line.record_reply(reply, tokens)
        return reply._replace(latency=read_clock() - start)

    def _read_error(
        self, error: BaseException, line: Connection, question: AnswerFormat, messages: list[BaseMessage]
    ) -> Reply:
        """Build the reply of a failed call: its failure, and how long the provider asks to wait."""
        failure = classify_error(error, line.secrets)
        refusal = self._read_refusal(line, question, messages, error, failure)
        wait = read_wait(error) if failure.kind in TRANSIENT_FAILURES else RequestedWait()
        if wait.unusable:
            line.pace.warn_once(f"{self.label} asks to wait {wait.unusable[:MAX_WAIT_CHARS]!r}, which cannot be meant")
        elif wait.seconds is not None and wait.seconds > MAX_PAUSE_SECONDS:
            line.pace.warn_once(f"{self.label} asks to wait {wait.seconds:,.0f} s; it is asked again after 5 minutes")
        is_adapted = refusal is not None and line.adaptation is not self._get_state().adaptation
        is_final = is_permanent(error) or (refusal is not None and not is_adapted)
        return Reply("", Usage(calls=1), refusal or failure, pause=wait.seconds, permanent=is_final)

    def _read_refusal(
        self,
        line: Connection,
        question: AnswerFormat,
        messages: list[BaseMessage],
        error: BaseException,
        failure: Failure,
    ) -> Failure | None:
        """Return the failure of a call that is refused because of a part of it, None if the error names none.

        If nothing was answered yet, further requests are changed; else the failure names what to type.
        """
        sent = list_sent_parts(
            line.model,
            messages,
            question.tier,
            logprobs=question.confidence or question.alternatives > 0,
            options=self._list_option_names(),
        )
        part = find_refused_part(error, failure.kind, sent)
        if part is None:
            return None
        state = self._get_state()
        refused = failure.model_copy(update={"kind": "request"})
        # Another call was refused meanwhile.
        if state.adaptation is not line.adaptation:
            return refused
        changeable = [name for name in sent if self._may_change(name)]
        if part not in changeable or state.proven or state.fixed:
            answered = "it answered with it before; " if part in changeable else ""
            hint = PART_OPTIONS.get(part, f"{self.label} cannot be asked otherwise")
            return refused.model_copy(update={"message": f"{failure.message}; {answered}{hint}"})
        # These classes send the newer name.
        is_newer = type(list_models(line.model)[0]).__name__ in {"ChatOpenAI", DirectModel.__name__}
        limit: Change = "max_tokens" if is_newer else "max_completion_tokens"
        changes = choose_changes(part, state.adaptation, question.tier, changeable, limit)
        new = [change for change in changes if change not in state.adaptation.changes]
        if new:
            state.adapt(new)
            if self._given is None:
                _LEARNT.setdefault(asyncio.get_running_loop(), {})[self._identity_text] = state.adaptation
            self._say([describe_refusal(self.label, new)])
        return refused

    def _may_change(self, part: RequestPart) -> bool:
        """Return whether a part of requests may be changed: not what the user has set, unless it loses nothing."""
        inner = None if self._given is None else list_models(self._given)[0]
        if part == "format":
            return self.judge.structured == "auto" and getattr(inner, "answer_tier", None) is None
        if part == "temperature":
            temperature = self.judge.temperature if inner is None else getattr(inner, "temperature", None)
            return bool(temperature == Judge.model_fields["temperature"].default)
        if part == "max_tokens":
            is_openai = inner is None or hasattr(inner, "extra_body")
            return is_openai and not {"max_tokens", "max_completion_tokens"} & {*self.adaptation.changes}
        return part in {"system", "streaming", "logprobs"}

    def _list_option_names(self) -> list[str]:
        nested = (part for part in self.judge.options.values() if isinstance(part, dict))
        return [*self.judge.options, *(name for part in nested for name in part)]

    def _adapt_question(self, question: AnswerFormat, adaptation: Adaptation) -> AnswerFormat:
        """Return the format of an answer for requests that were changed."""
        if not adaptation.changes:
            return question
        confidence = question.confidence and "logprobs" not in adaptation.changes
        return question.adapt(self.select_tier(question.tier), confidence=confidence)

    def _connect(self, model: BaseChatModel | DirectModel, adaptation: Adaptation) -> Connection:
        """Build the connection to a model. All calls to one address with one key share a rate limiter."""
        pace = get_rate_limiter(model)
        pace.set_limits(self, requests=self.judge.requests_per_minute, tokens=self.judge.tokens_per_minute)
        return Connection(model, pace, list_secrets(model), adaptation)

    def _compute_key(self, question: AnswerFormat, messages: list[BaseMessage], repeat: int) -> str:
        """Compute the cache key of a request from everything that affects the reply."""
        texts = (f"{message.type}\n{message.text}" for message in messages)
        # Replies to changed requests are cached by the changes, too.
        changes = self.adaptation.changes
        identity = f"{self._identity_text}{json.dumps(changes)}" if changes else self._identity_text
        return compute_reply_key((question.form, identity, str(repeat), *texts))

    @cached_property
    def _identity_text(self) -> str:
        return json.dumps(self.identity, sort_keys=True)

    def describe_judge(self) -> dict[str, JsonValue]:
        """Describe the judge's identity, see `identity`."""
        return _describe_judge(self.judge) if self._given is None else _describe_settings(self._given)


def read_reply(message: AIMessage, prompt: Sequence[BaseMessage] = ()) -> Reply:
    """Read a model's message: its text, its usage, who answered, and whether it is complete and about the prompt."""
    usage, total = read_message_usage(message)
    metadata, text = message.response_metadata, _extract_text(message)
    long_failure = find_long_failure(text)
    return Reply(
        "" if long_failure else text,
        usage,
        long_failure
        or find_finish_failure(message)
        or find_prompt_cut(prompt, usage)
        or find_empty_failure(message, text),
        _read_tokens(metadata.get("logprobs")),
        total_tokens=total,
        served_by=_format_served_model(metadata),
    )


def _read_tokens(logprobs: object) -> Sequence[Mapping[str, Any]]:
    """Read the tokens of a reply with their log-probabilities; none if a server sends something else in their place."""
    tokens = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    return tokens if isinstance(tokens, list) and all(map(_is_token, tokens)) else ()


def _is_token(token: object) -> bool:
    if not isinstance(token, Mapping) or not isinstance(token.get("token"), str):
        return False
    logprob, written = token.get("logprob"), token.get("bytes") or []
    # NaN is not below any number.
    is_number = logprob is None or (isinstance(logprob, int | float) and logprob < MAX_LOGPROB)
    return is_number and isinstance(written, list) and all(byte in range(256) for byte in written)


def _refuse_call(guard: RunGuard, refusal: str) -> Reply:
    """Stop the run because the meter admits no further call; outside a run, only this call fails."""
    if guard.watchful:
        guard.stop(refusal, kind="quota")
        raise StoppedError(refusal)
    return Reply("", Usage(), Failure(kind="quota", message=refusal))


def _format_served_model(metadata: Mapping[str, Any]) -> str:
    """Format the model that a reply names, and its fingerprint; empty if it names no model."""
    names = (metadata.get(name) for name in SERVED_MODEL_NAMES)
    model = next((str(name) for name in names if name and isinstance(name, str)), "")
    mark = metadata.get("system_fingerprint")
    full_name = f"{model} ({mark})" if model and mark and isinstance(mark, str) else model
    return replace_lone_surrogates(full_name)[:MAX_SERVED_CHARS]


def _estimate_usage(reply: Reply, tokens: int) -> Usage | None:
    """Return the usage of a reply with estimates for what its provider did not report, None if it reported it."""
    usage = reply.usage
    if usage.cost is not None or (usage.input_tokens is not None and usage.output_tokens is not None):
        return None
    written = max(len(reply.text) // CHARS_PER_TOKEN, ASSUMED_OUTPUT_TOKENS)
    return estimate_unreported_usage(ReportedUsage(usage, reply.total_tokens), tokens, written)


def _extract_text(message: AIMessage) -> str:
    """Return the JSON of the tool calls, one a line, even if it is invalid, else the text."""
    calls = [json.dumps(call["args"], ensure_ascii=False) for call in message.tool_calls]
    calls += [call["args"] or "" for call in message.invalid_tool_calls]
    text = str(message.text)
    # Some servers put an empty tool call beside an answer in the text.
    if calls and not (text and {*calls} <= {"", "{}"}):
        text = "\n".join(calls)
    elif not text.strip() and (thoughts := find_thoughts(message)).startswith("{") and thoughts.endswith("}"):
        # A server with a reasoning parser may take an answer without thoughts for thoughts.
        text = thoughts
    return replace_lone_surrogates(text)


def _read_chat_model(model: object) -> BaseChatModel | None:
    from greval.judging.model.wrapped_model import read_chat_model

    return read_chat_model(model)


def _build_object_judge(model: BaseChatModel) -> Judge:
    """Build the settings of a model object, whose label is not the name of a model."""
    inner = list_models(model)[0]
    return Judge.model_construct(model=_format_label(inner), timeout=_read_timeout(inner))


def _format_label(model: BaseChatModel) -> str:
    """Format the label of a model object from its class and its model name."""
    name = next((str(value) for key in ("model_name", "model") if (value := getattr(model, key, None))), "")
    return f"{type(model).__name__}:{name}" if name else type(model).__name__


def _read_timeout(model: BaseChatModel) -> float:
    """Return the model's own timeout in seconds, or the default of `Judge` if it has none."""
    timeout = getattr(model, "request_timeout", None) or getattr(model, "timeout", None)
    return float(timeout) if isinstance(timeout, int | float) and timeout > 0 else Judge.model_fields["timeout"].default


def _describe_settings(model: BaseChatModel) -> dict[str, JsonValue]:
    """Return the settings of a model object that affect its verdicts, without its secrets."""
    from greval.judging.model.server_settings import describe_answer_settings, describe_server
    from greval.judging.model.wrapped_model import WrappedModel

    if isinstance(model, WrappedModel):
        first, *fallbacks = map(_describe_settings, model.inner_models)
        fallback_settings: dict[str, JsonValue] = {"fallbacks": [*fallbacks]} if fallbacks else {}
        return {**first, **model.identity, **fallback_settings}
    settings = {key: getattr(model, key, None) for key in IDENTITY_SETTINGS}
    plain: dict[str, JsonValue] = {k: v for k, v in settings.items() if isinstance(v, str | int | float)}
    plain = {name: hide_secrets(setting) if isinstance(setting, str) else setting for name, setting in plain.items()}
    further = describe_answer_settings(model) | _drop_known(describe_server(model), plain.values())
    return {"class": type(model).__name__, **further, **plain}


def _describe_judge(judge: Judge) -> dict[str, JsonValue]:
    """Return the identity of a judge, with what the environment adds to its settings when its model is built.

    An address that the settings name is that of the judge. The environment may name another than `Judge` knows.
    """
    settings = judge.identity
    # The environment adds nothing to what is sent directly.
    model = None if is_direct(judge) else build_described_model(judge)
    if model is None:
        return settings
    from greval.judging.model.server_settings import describe_server

    server = _drop_known(describe_server(model), [settings.get("base_url"), *judge.options.values()])
    address = server.pop("address", None)
    if address and judge.base_url is None:
        settings["base_url"] = address
    return {**server, **settings}


def _drop_known(server: dict[str, JsonValue], other_settings: Iterable[JsonValue]) -> dict[str, JsonValue]:
    """Return the settings of a server without those that stand among other settings already."""
    from greval.judging.model.server_settings import normalise_address

    texts = {normalise_address(text) for text in other_settings if isinstance(text, str)}
    return {name: setting for name, setting in server.items() if normalise_address(str(setting)) not in texts}


def read_clock() -> float:
    """Return a monotonic time in seconds, to measure latencies."""
    return time.perf_counter()
