"""How a judge is asked for its answers to a metric: by native schema, by tool call or in plain text, item by item."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import JsonValue

from greval.judging.answer_schema import build_answer_schema, format_schema_name
from greval.judging.model.failures import list_models
from greval.judging.model.openai_direct import DirectModel
from greval.judging.reply_json import ValuePath, compute_probability
from greval.records.metric import JudgedMetric
from greval.records.result import Judgement, Tier

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable, RunnableConfig

    from greval.judging.model.judge import Judge
    from greval.judging.model.value_first import ValueFirst
    from greval.records.case import Case
    from greval.records.metric_input import Item

OPENAI_BASE_CLASS = "BaseChatOpenAI"
TIER_ORDER: Sequence[Tier] = ("schema", "tools", "text")
"""The tiers by which a model may be asked, the best first."""
DEFAULT_MAX_ITEMS = 10
MAX_CACHED_MODELS = 8
"""The most models whose bound schema is cached. Models of closed event loops are dropped when the limit is reached."""


@dataclass(frozen=True)
class AnswerFormat:
    """The format of an answer: a named JSON schema, and the tier by which it is requested.

    `confidence` requests the probability of each token, and `alternatives` the number of other tokens in its place
    whose probability is requested too. `logit_bias` are added to the log-probabilities of tokens, by their numbers,
    before one is chosen. `value_first` requests the value before the reason, in the tier `schema`. `max_tokens` limits
    the answer in other tiers than `tools`.
    """

    name: str
    schema: Mapping[str, Any]
    tier: Tier
    confidence: bool = False
    max_tokens: int | None = None
    alternatives: int = 0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    value_first: ValueFirst | None = None
    form: str = field(init=False, default="")
    _made: dict[int, tuple[BaseChatModel | DirectModel, Any]] = field(default_factory=dict, repr=False, compare=False)
    _adapted: dict[tuple[Tier, bool], AnswerFormat] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Serialise the format once, for the keys of cached replies."""
        parts = [
            self.name,
            dict(self.schema),
            self.tier,
            self.confidence,
            # What is not set is left out, so that the keys of cached replies stay as they are.
            *([self.alternatives] * bool(self.alternatives)),
            *([[*self.logit_bias.items()]] if self.logit_bias else []),
            *(["value_first"] if self.value_first else []),
        ]
        object.__setattr__(self, "form", json.dumps(parts, sort_keys=False))

    async def ask(
        self, model: BaseChatModel | DirectModel, messages: list[BaseMessage], config: RunnableConfig
    ) -> AIMessage:
        """Send messages to a model, and return its message."""
        # Plain requests have no tools and call nobody back.
        if isinstance(model, DirectModel) and (self.tier == "tools" or config.get("callbacks")):
            model = await model.load_model()
        if self.tier == "tools":
            return _check_message((await self._build_once(model, _bind_schema).ainvoke(messages, config))["raw"])
        send = partial(_send, model, config)
        if self.value_first:
            body = getattr(model, "extra_body", None) or {}
            probabilities = _build_probability_arguments(self)
            return await self.value_first.ask(send, messages, probabilities=probabilities, body=body)
        has_schema = self.tier == "schema"
        arguments = self._build_once(model, build_schema_arguments) if has_schema else build_limit_arguments(self)
        return await send(messages, arguments)

    def adapt(self, tier: Tier, *, confidence: bool) -> AnswerFormat:
        """Return the format for a judge that cannot be asked as it is: by another tier, or without probabilities."""
        if (tier, confidence) == (self.tier, self.confidence):
            return self
        if (tier, confidence) not in self._adapted:
            changed = replace(self, tier=tier, confidence=confidence, _made={}, _adapted={})
            self._adapted[tier, confidence] = changed
        return self._adapted[tier, confidence]

    def _build_once(self, model: BaseChatModel | DirectModel, make: Callable[[Any, AnswerFormat], Any]) -> Any:  # noqa: ANN401
        """Return what `make` builds from the format for a model, cached by model. Each event loop has its own model."""
        cached = self._made.get(id(model))
        if cached is None:
            if len(self._made) == MAX_CACHED_MODELS:
                self._made.clear()
            # The model is kept with it, so that its `id` is not given to another one.
            cached = self._made[id(model)] = model, make(model, self)
        return cached[1]


@dataclass(frozen=True, kw_only=True)
class AnswerStrategy:
    """How a judge is asked for its answers to a metric: in which format, and for the verdicts on how many items."""

    metric: JudgedMetric
    question: AnswerFormat
    max_items: int

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The settings that affect the verdicts beside those of the judge, as JSON."""
        return {"max_items": self.max_items} if self.metric.over else {}

    def build_question(self, case: Case, batch: Sequence[Item]) -> AnswerFormat:  # noqa: ARG002 - others read them
        """Return the format of the answer on a case, or on a batch of its items."""
        return self.question

    def read_probabilities(
        self,
        judgement: Judgement,
        tokens: Sequence[Mapping[str, Any]],
        path: ValuePath,
        question: AnswerFormat,  # noqa: ARG002 - the embedded judge reads it
    ) -> Judgement:
        """Add the probability of the value at a path of the answer as confidence, if the model returned it."""
        # A value that is counted was not written.
        if not tokens or self.metric.counts:
            return judgement
        return judgement.model_copy(update={"confidence": compute_probability(tokens, path)})


def build_strategy(metric: JudgedMetric, judge: Judge, tier: Tier) -> AnswerStrategy:
    """Build the strategy of a judge that is not embedded."""
    max_items = judge.max_items or DEFAULT_MAX_ITEMS
    many = asks_for_many(metric, max_items)
    schema = build_answer_schema(metric, many=many, reason=judge.reason_position)
    question = AnswerFormat(metric.name, schema, tier, judge.confidence)
    return AnswerStrategy(metric=metric, question=question, max_items=max_items)


def asks_for_many(metric: JudgedMetric, max_items: int) -> bool:
    """Return whether an answer holds a list of verdicts with the numbers of their items."""
    return metric.over is not None and max_items > 1


async def _send(
    model: BaseChatModel | DirectModel,
    config: RunnableConfig,
    messages: list[BaseMessage],
    arguments: Mapping[str, Any],
) -> AIMessage:
    if isinstance(model, DirectModel):
        return await model.ask(messages, arguments)
    return _check_message(await model.ainvoke(messages, config, **arguments))


def _check_message(raw: object) -> AIMessage:
    if not isinstance(raw, AIMessage):
        raise TypeError(f"the model gave a {type(raw).__name__} instead of a message")
    return raw


def select_tier(model: BaseChatModel) -> Tier:
    """Select the best tier that a model supports; a custom class of model can name it in an attribute `answer_tier`."""
    from greval.judging.model.wrapped_model import WrappedModel

    if isinstance(model, WrappedModel):
        # The least of the tiers, which all models inside support.
        return max(map(select_tier, model.inner_models), key=TIER_ORDER.index)
    tier: Tier | None = getattr(model, "answer_tier", None)
    if tier:
        return tier
    if _is_openai(model):
        return "schema"
    # A class that keeps this method cannot bind tools.
    return "text" if type(model).bind_tools is BaseChatModel.bind_tools else "tools"


def _is_openai(model: BaseChatModel) -> bool:
    """Return whether a model calls an OpenAI-compatible server, without importing its class."""
    return all(OPENAI_BASE_CLASS in {cls.__name__ for cls in type(inner).__mro__} for inner in list_models(model))


def _bind_schema(model: BaseChatModel, question: AnswerFormat) -> Runnable[Any, Any]:
    """Bind the schema to a model by LangChain's `with_structured_output`."""
    from greval.judging.model.wrapped_model import WrappedModel

    titled = {"title": format_schema_name(question.name), "description": "The verdict.", **question.schema}
    # With the default method, an answer that cannot be read raises, and its usage is lost.
    method = {"method": "function_calling"} if _is_openai(model) and not isinstance(model, WrappedModel) else {}
    return model.with_structured_output(titled, include_raw=True, **method)


def build_schema_arguments(model: BaseChatModel | DirectModel, question: AnswerFormat) -> dict[str, Any]:
    """Build the call arguments that make an OpenAI-compatible server enforce the schema."""
    named_schema = {"name": format_schema_name(question.name), "schema": dict(question.schema), "strict": True}
    further = {**_build_probability_arguments(question), **build_limit_arguments(question)}
    if getattr(model, "use_responses_api", None):
        return {"text": {"format": {"type": "json_schema", **named_schema}}, **build_limit_arguments(question)}
    body = getattr(model, "extra_body", None) or {}
    return {"extra_body": {**body, "response_format": {"type": "json_schema", "json_schema": named_schema}}, **further}


def _build_probability_arguments(question: AnswerFormat) -> dict[str, Any]:
    """Build the call arguments that request and change the log-probabilities of tokens."""
    probabilities = {"logprobs": True} if question.confidence or question.alternatives else {}
    alternatives = {"top_logprobs": question.alternatives} if question.alternatives else {}
    shifts = {"logit_bias": dict(question.logit_bias)} if question.logit_bias else {}
    return {**probabilities, **alternatives, **shifts}


def build_limit_arguments(question: AnswerFormat) -> dict[str, Any]:
    """Build the call arguments that limit the answer's length; empty if the model's own limit holds."""
    return {} if question.max_tokens is None else {"max_completion_tokens": question.max_tokens}
