"""How a model is asked for an answer of a fixed form: by native schema, by a tool call, or in plain text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from greval.judging.answer_schema import schema_name
from greval.judging.model import openai_direct as direct
from greval.records.result import Tier

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable, RunnableConfig
    from langchain_openai import ChatOpenAI

OPENAI_BASE = "BaseChatOpenAI"
MAX_MODELS = 8
"""As many models are kept ready; those of loops that ended go with the next ones."""


@dataclass(frozen=True)
class Question:
    """The form of the answer that is asked for: a JSON schema under a name, in the way of a tier.

    `max_tokens` is the longest answer if it differs from the model's own; a model that is asked by tools keeps its own.
    """

    name: str
    schema: Mapping[str, Any]
    tier: Tier
    confidence: bool = False
    max_tokens: int | None = None
    form: str = field(init=False, default="")
    _made: dict[int, tuple[BaseChatModel, Any]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Write the form down once, for the keys of remembered replies."""
        parts = [self.name, dict(self.schema), self.tier, self.confidence]
        object.__setattr__(self, "form", json.dumps(parts, sort_keys=False))

    async def ask(
        self, model: BaseChatModel, messages: list[BaseMessage], config: RunnableConfig, *, plain: bool = False
    ) -> AIMessage:
        """Send messages to a model and give its message, whatever it holds.

        Args:
            model: The model.
            messages: What is asked.
            config: LangChain's.
            plain: Whether the model can be asked without LangChain's way to it (`greval.judging.model.openai_direct`).
        """
        if plain and self.tier != "tools" and not config.get("callbacks"):
            arguments = self._once(model, native) if self.tier == "schema" else limits(self)
            return await direct.ask(cast("ChatOpenAI", model), messages, arguments)
        if self.tier == "tools":
            answer = await self._once(model, _structured).ainvoke(messages, config)
            raw = answer["raw"]
        else:
            arguments = self._once(model, native) if self.tier == "schema" else limits(self)
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


def native(model: BaseChatModel, question: Question) -> dict[str, Any]:
    """Give the arguments that make an OpenAI-compatible server keep to the schema."""
    named = {"name": schema_name(question.name), "schema": dict(question.schema), "strict": True}
    probabilities = {"logprobs": True} if question.confidence else {}
    further = {**probabilities, **limits(question)}
    if getattr(model, "use_responses_api", None):
        return {"text": {"format": {"type": "json_schema", **named}}, **limits(question)}
    body = getattr(model, "extra_body", None) or {}
    return {"extra_body": {**body, "response_format": {"type": "json_schema", "json_schema": named}}, **further}


def limits(question: Question) -> dict[str, Any]:
    """Return the arguments that bound an answer; none if the model's own bound holds."""
    return {} if question.max_tokens is None else {"max_completion_tokens": question.max_tokens}
