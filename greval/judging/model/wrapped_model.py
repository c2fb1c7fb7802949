"""A judge that is a chat model wrapped by LangChain's `with_retry`, `bind`, `with_fallbacks` or `with_config`.

The wrapped model is called as a chat model. What it is asked for, such as tools, is bound to the chat models inside, so
that the wrappers stay around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase
from pydantic import ConfigDict, JsonValue

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForLLMRun
    from langchain_core.runnables import RunnableConfig


class WrappedModel(BaseChatModel):
    """A chat model with the wrappers around it, as one chat model."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    runnable: Any

    @property
    def inner_models(self) -> list[BaseChatModel]:
        """The chat models inside: the first one, and its fallbacks."""
        return [model for model, _ in _iterate_models(self.runnable)]

    @property
    def extra_body(self) -> dict[str, Any] | None:
        """The body that the first chat model adds to each request, or what is bound in its place."""
        model, bound = next(_iterate_models(self.runnable))
        body: dict[str, Any] | None = bound.get("extra_body", getattr(model, "extra_body", None))
        return body

    @property
    def use_responses_api(self) -> bool | None:
        """Return whether the first chat model calls OpenAI's Responses API."""
        return getattr(self.inner_models[0], "use_responses_api", None)

    @property
    def identity(self) -> dict[str, JsonValue]:
        """The bound arguments that affect the verdicts, by the position of the chat model."""
        bound = [arguments for _, arguments in _iterate_models(self.runnable)]
        plain = [{key: value for key, value in bound_arguments.items() if _is_json(value)} for bound_arguments in bound]
        return {"bound": list(plain)} if any(plain) else {}

    def change_models(self, change: Callable[[BaseChatModel], Runnable[Any, Any]]) -> WrappedModel:
        """Return the same wrappers around changed chat models."""
        return WrappedModel(runnable=_change_models(self.runnable, change))

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Runnable[Any, AIMessage]:  # noqa: ANN401
        """Bind tools to the chat models inside, each in the form of its provider."""
        return self.change_models(lambda model: model.bind_tools(tools, **options))

    @property
    def _llm_type(self) -> str:
        return "wrapped"

    async def ainvoke(
        self,
        input: Any,  # noqa: A002, ANN401 - LangChain's name, and the input of any model
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **arguments: Any,  # noqa: ANN401 - those of any model
    ) -> AIMessage:
        """Call the runnable, whose chat model reports the call to the callbacks of `config`."""
        message: AIMessage = await self.runnable.ainvoke(input, config, **_add_stop(arguments, stop))
        return message

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - the chat model inside has its own
        **arguments: Any,  # noqa: ANN401 - those of any model
    ) -> ChatResult:
        message = self.runnable.invoke(messages, **_add_stop(arguments, stop))
        return ChatResult(generations=[ChatGeneration(message=message)])


def read_chat_model(runnable: object) -> BaseChatModel | None:
    """Return a chat model, or a wrapped one as a chat model; None if it is neither."""
    if isinstance(runnable, BaseChatModel):
        return runnable
    return WrappedModel(runnable=runnable) if _is_wrapped(runnable) else None


def _is_wrapped(runnable: object) -> bool:
    """Return whether a runnable is a chat model with wrappers around it."""
    if isinstance(runnable, RunnableWithFallbacks):
        return all(map(_is_wrapped, runnable.runnables))
    if isinstance(runnable, RunnableBindingBase):
        return _is_wrapped(runnable.bound)
    return isinstance(runnable, BaseChatModel)


def _iterate_models(
    runnable: Runnable[Any, Any], bound: Mapping[str, Any] | None = None
) -> Iterator[tuple[BaseChatModel, dict[str, Any]]]:
    """Iterate over the chat models inside, with the arguments that are bound to each."""
    if isinstance(runnable, RunnableWithFallbacks):
        for part in runnable.runnables:
            yield from _iterate_models(part, bound)
    elif isinstance(runnable, RunnableBindingBase):
        yield from _iterate_models(runnable.bound, {**runnable.kwargs, **(bound or {})})
    elif isinstance(runnable, BaseChatModel):
        yield runnable, {**(bound or {})}


def _change_models(
    runnable: Runnable[Any, Any], change: Callable[[BaseChatModel], Runnable[Any, Any]]
) -> Runnable[Any, Any]:
    if isinstance(runnable, RunnableWithFallbacks):
        fallbacks = [_change_models(part, change) for part in runnable.fallbacks]
        first = _change_models(runnable.runnable, change)
        return runnable.model_copy(update={"runnable": first, "fallbacks": fallbacks})
    if isinstance(runnable, RunnableBindingBase):
        return runnable.model_copy(update={"bound": _change_models(runnable.bound, change)})
    return change(runnable) if isinstance(runnable, BaseChatModel) else runnable


def _add_stop(arguments: dict[str, Any], stop: list[str] | None) -> dict[str, Any]:
    return arguments if stop is None else {**arguments, "stop": stop}


def _is_json(value: object) -> bool:
    """Return whether a bound argument is plain JSON, so that it can be part of an identity."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, str | int | float | list | dict | None) and all(map(_is_json, parts))
