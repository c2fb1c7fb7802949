"""A public fake judge for tests: scripted answers or a function, in each tier, with faults on demand.

It replaces only the chat model, so that tests run all of greval's own code.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import PrivateAttr

__all__ = ["ScriptedJudge"]

Answer = Mapping[str, Any] | str | AIMessage | BaseException
AnswerFunction = Callable[[Sequence[BaseMessage]], Answer]
USAGE = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}


class ScriptedJudge(BaseChatModel):
    """A chat model whose answers are scripted.

    Args:
        answers: The answers in order, or a function from the messages to an answer. An answer is a mapping (sent as
            JSON), a text (sent unchanged), a message, or an exception (raised). At its end the list starts again.
        tier: The supported answer format: `schema` for a native JSON schema as OpenAI-compatible servers,
            `tools` for tool calls, `text` for neither.

    `calls` holds the messages of every call.

    Example:
        >>> judge = ScriptedJudge([{"reason": "It fits.", "value": 1}], tier="text")
        >>> judge.invoke("Judge!").text
        '{"reason": "It fits.", "value": 1}'
    """

    tier: Literal["schema", "tools", "text"] = "schema"
    delay: float = 0.0
    _answers: Sequence[Answer] | AnswerFunction = PrivateAttr()
    _calls: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, answers: Sequence[Answer] | AnswerFunction, **settings: Any) -> None:  # noqa: ANN401
        """Create the judge; `tier` and `delay` (seconds per call) are keyword arguments."""
        super().__init__(**settings)
        self._answers = answers

    @property
    def calls(self) -> list[list[BaseMessage]]:
        """The messages of every call so far."""
        return self._calls

    @property
    def answer_tier(self) -> str:
        """The supported tier of structured answers."""
        return self.tier

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:  # noqa: ANN401
        """Bind tools, as a model with tool calls does."""
        return self.bind(tools=list(tools), **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ANN401
    ) -> ChatResult:
        answer = self._take_answer(messages)
        if isinstance(answer, BaseException):
            raise answer
        return ChatResult(generations=[ChatGeneration(message=_build_message(answer, kwargs.get("tools")))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,  # noqa: ANN401, ARG002
        **kwargs: Any,  # noqa: ANN401
    ) -> ChatResult:
        await asyncio.sleep(self.delay)
        return self._generate(messages, stop, None, **kwargs)

    def _take_answer(self, messages: list[BaseMessage]) -> Answer:
        # LangChain runs a batch in several threads.
        with self._lock:
            number = len(self._calls)
            self._calls.append(messages)
        if callable(self._answers):
            return self._answers(messages)
        return self._answers[number % len(self._answers)]


def _build_message(answer: Mapping[str, Any] | str | AIMessage, tools: Sequence[Any] | None) -> AIMessage:
    """Build the message of an answer: a tool call if tools are bound and the answer is a mapping."""
    if isinstance(answer, AIMessage):
        return answer
    if isinstance(answer, str):
        return AIMessage(answer, usage_metadata=USAGE)
    if tools:
        # A bound schema is a JSON schema, or wrapped as a function of OpenAI.
        name = tools[0].get("title") or tools[0].get("function", {}).get("name", "answer")
        call = {"name": name, "args": dict(answer), "id": "call-1"}
        return AIMessage("", tool_calls=[call], usage_metadata=USAGE)
    return AIMessage(json.dumps(answer, ensure_ascii=False), usage_metadata=USAGE)
