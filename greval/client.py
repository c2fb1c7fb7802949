"""One judging model, ready to be asked: messages in, text and cost out, in one way for all models."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import JsonValue, SecretStr

from greval.faults import cut_short, failure_of, whole
from greval.judge import LOCAL_TIMEOUT, Judge, chat_model
from greval.result import Failure, Tier, Usage
from greval.schema import schema_name

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable, RunnableConfig

OPENAI_BASE = "BaseChatOpenAI"
MAX_MODELS = 8
"""As many models are kept ready; those of loops that ended go with the next ones."""
RAW_SETTINGS = ("model_name", "model", "temperature", "seed", "max_tokens", "top_p", "base_url", "openai_api_base")


@dataclass(frozen=True)
class Reply:
    """What a call gave: the text (JSON, if all went well) or the failure, and what it cost."""

    text: str
    usage: Usage
    failure: Failure | None = None
    tokens: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Question:
    """The form of the answer that is asked for: a JSON schema under a name, in the way of a tier."""

    name: str
    schema: Mapping[str, Any]
    tier: Tier
    confidence: bool = False
    _made: dict[int, tuple[BaseChatModel, Any]] = field(default_factory=dict, repr=False, compare=False)

    async def ask(self, model: BaseChatModel, messages: list[BaseMessage], config: RunnableConfig) -> AIMessage:
        """Send messages to a model and give its message, whatever it holds."""
        if self.tier == "tools":
            answer = await self._once(model, _structured).ainvoke(messages, config)
            raw = answer["raw"]
        else:
            arguments = self._once(model, _native) if self.tier == "schema" else {}
            raw = await model.ainvoke(messages, config, **arguments)
        if not isinstance(raw, AIMessage):
            message = f"the model gave a {type(raw).__name__} instead of a message"
            raise TypeError(message)
        return raw

    def _once(self, model: BaseChatModel, make: Callable[[BaseChatModel, Question], Any]) -> Any:  # noqa: ANN401
        """Give what is made of the schema for a model, made once; each running loop has its model."""
        known = self._made.get(id(model))
        if known is None:
            if len(self._made) == MAX_MODELS:
                self._made.clear()
            known = self._made[id(model)] = model, make(model, self)
        return known[1]


class JudgeClient:
    """A judge that is ready to be asked; `gate` bounds how many calls are in flight.

    Args:
        model: Settings of a judge, or any chat model of LangChain.
        gate: Entered for each call, such as a semaphore that several metrics share.
    """

    def __init__(
        self, model: Judge | BaseChatModel, *, gate: AbstractAsyncContextManager[object] | None = None
    ) -> None:
        """Keep the settings; a model is made at the first call."""
        self.judge = model if isinstance(model, Judge) else Judge(model=_label(model), timeout=_timeout(model))
        self._given = None if isinstance(model, Judge) else model
        self._gate = gate or nullcontext()

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

    async def ready(self) -> BaseChatModel:
        """Give the chat model for the running loop, made at first use.

        Raises:
            JudgeError: Where the judge cannot be used at all: no such name, no key, no package.
        """
        return self._given or await chat_model(self.judge)

    async def ask(self, question: Question, messages: list[BaseMessage], config: RunnableConfig) -> Reply:
        """Ask once, and say what came back; nothing that goes wrong with the call itself is raised."""
        model = await self.ready()
        try:
            async with self._gate:
                async with asyncio.timeout(_deadline(self.judge)):
                    return _reply(await question.ask(model, messages, config))
        except Exception as error:  # noqa: BLE001 - whatever a provider raises is one failed call
            return Reply("", Usage(calls=1), failure_of(error, _secrets(model)))


def best_tier(model: BaseChatModel) -> Tier:
    """Give the best way in which a model can be asked for structure.

    A class of its own can say so in an attribute `answer_tier`; `schema` means that it takes
    `extra_body={"response_format": ...}`.
    """
    own: Tier | None = getattr(model, "answer_tier", None)
    if own:
        return own
    if _openai(model):
        return "schema"
    return "text" if type(model).bind_tools is BaseChatModel.bind_tools else "tools"


def _openai(model: BaseChatModel) -> bool:
    """Tell whether a model speaks to an OpenAI-compatible server, whose class is not imported for it."""
    return OPENAI_BASE in {cls.__name__ for cls in type(model).__mro__}


def _structured(model: BaseChatModel, question: Question) -> Runnable[Any, Any]:
    """Bind the schema in the provider's own way."""
    titled = {"title": schema_name(question.name), "description": "The verdict.", **question.schema}
    method = {"method": "function_calling"} if _openai(model) else {}
    return model.with_structured_output(titled, include_raw=True, **method)


def _native(model: BaseChatModel, question: Question) -> dict[str, Any]:
    """Give the arguments that make an OpenAI-compatible server keep to the schema."""
    named = {"name": schema_name(question.name), "schema": dict(question.schema), "strict": True}
    probabilities = {"logprobs": True} if question.confidence else {}
    if getattr(model, "use_responses_api", None):
        return {"text": {"format": {"type": "json_schema", **named}}}
    body = getattr(model, "extra_body", None) or {}
    return {"extra_body": {**body, "response_format": {"type": "json_schema", "json_schema": named}}, **probabilities}


def _reply(message: AIMessage) -> Reply:
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


def _deadline(judge: Judge) -> float | None:
    """Give the seconds after which a call is given up, its retries included: a trickle never times out itself."""
    patience = max(judge.timeout, LOCAL_TIMEOUT) if judge.local else judge.timeout
    return patience * (judge.max_retries + 1)


def _secrets(model: BaseChatModel) -> Iterator[str]:
    """Give what a model keeps secret, such as a key that came from no environment variable."""
    yield from (value.get_secret_value() for value in vars(model).values() if isinstance(value, SecretStr))


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
