"""LangChain retrievers, chains, agents and models as methods."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import LLMResult
from langchain_core.runnables import Runnable

from greval.datasets.conversations import HISTORY_NAMES
from greval.errors import MethodError
from greval.methods.responses import as_response, build_response, read_response_fields
from greval.records.case import Response, ResponseUsage, Role, Sample

INPUT_KEYS = ("question", "input", "query", "user_input", "text")
MESSAGES = "messages"


class LangChainMethod:
    """A LangChain runnable as a method: a retriever, a chain, an agent, a LangGraph graph, a chat model.

    Args:
        runnable: Returns documents, a text, a message, or a mapping with an answer (`answer`, `result`, `output`,
            ..., or the last of `messages`) and documents (`context`, `source_documents`, `documents`, ...).
        make_input: Builds the input from a sample. By default it is the question as text, or a mapping with the
            question if the input schema of the runnable is a mapping.

    Raises:
        MethodError: If the runnable takes a mapping and the key of the question is ambiguous.

    Example:
        >>> import asyncio
        >>> from langchain_core.runnables import RunnableLambda
        >>> method = LangChainMethod(RunnableLambda(lambda question: f"You asked: {question}"))
        >>> asyncio.run(method(Sample(question="Who?"))).answer
        'You asked: Who?'
    """

    def __init__(self, runnable: Runnable[Any, Any], make_input: Callable[[Sample], Any] | None = None) -> None:
        self._runnable = runnable
        self._make_input = make_input or _choose_input(runnable)

    async def __call__(self, sample: Sample) -> Response:
        """Call the runnable, and count the model calls that it makes.

        Raises:
            MethodError: If the result contains neither an answer nor documents.
        """
        counter = CallCounter()
        result = await self._runnable.ainvoke(self._make_input(sample), {"callbacks": [counter]})
        parsed = None if isinstance(result, Response) else read_response_fields(result)
        # Chains return much besides, which is no fault: only the values of what is known are taken.
        response = as_response(result) if parsed is None else build_response(parsed[0])
        return response.model_copy(update={"usage": merge_usage(response.usage, counter.usage)})


def merge_usage(reported: ResponseUsage | None, counted: ResponseUsage | None) -> ResponseUsage | None:
    """Return the reported usage, with missing figures filled in from the counted usage."""
    if reported is None or counted is None:
        return reported or counted
    return counted.model_copy(update=reported.model_dump(exclude_none=True))


def _choose_input(runnable: Runnable[Any, Any]) -> Callable[[Sample], Any]:
    """Choose how to pass the question, from the input schema of the runnable."""
    names = _list_input_names(runnable)
    if not names:
        return attrgetter("question")
    if MESSAGES in names:
        return lambda sample: {MESSAGES: [*_list_turns(sample), ("user", sample.question)]}
    history = next((name for name in HISTORY_NAMES if name in names), None)
    names = tuple(name for name in names if name != history)
    key = next((name for name in INPUT_KEYS if name in names), names[0] if len(names) == 1 else None)
    if key is None:
        raise MethodError(
            f"the chain takes {', '.join(names)}, and none of these is called {' or '.join(INPUT_KEYS)}; "
            "wrap it: LangChainMethod(chain, lambda sample: {...})"
        )
    if history is None:
        return lambda sample: {key: sample.question}
    return lambda sample: {key: sample.question, history: _list_turns(sample)}


def _list_turns(sample: Sample) -> list[tuple[Role, str]]:
    """List the turns before the question in LangChain's short form of messages; those of tools have no such form."""
    return [(turn.role, turn.text) for turn in sample.history or () if turn.role != "tool"]


def _list_input_names(runnable: Runnable[Any, Any]) -> tuple[str, ...]:
    """Return the keys of the runnable's input mapping; none if it takes a text or has no usable schema."""
    try:
        schema = runnable.get_input_jsonschema()
    except Exception:  # noqa: BLE001 - a user-defined runnable whose types have no schema
        return ()
    if "$ref" in schema:
        schema = schema.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {})
    return tuple(schema.get("properties", ()))


class CallCounter(BaseCallbackHandler):
    """A callback that counts the model calls and tokens of one call of a chain.

    Tokens are returned only if every finished call reported its own, because a partial sum would be misleading.
    """

    # Otherwise LangChain runs the callbacks of asynchronous calls in threads.
    run_inline = True
    raise_error = False

    def __init__(self) -> None:
        """Start with no calls."""
        # Parts of a chain may run in threads, from which a list can be appended to without a lock.
        self._started: list[str] = []
        self._token_counts: list[tuple[int, int] | None] = []

    @property
    def usage(self) -> ResponseUsage | None:
        """The usage so far; None if no model call was seen, because then the usage is unknown."""
        if not self._started:
            return None
        reported = [counts for counts in self._token_counts if counts is not None]
        if not reported or len(reported) < len(self._token_counts):
            return ResponseUsage(llm_calls=len(self._started))
        return ResponseUsage(
            llm_calls=len(self._started),
            prompt_tokens=sum(counts[0] for counts in reported),
            output_tokens=sum(counts[1] for counts in reported),
        )

    def on_chat_model_start(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 - LangChain's signature
        """Count a call of a chat model."""
        self._started.append("chat")

    def on_llm_start(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 - LangChain's signature
        """Count a call of a completion model."""
        self._started.append("completion")

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:  # noqa: ANN401 - LangChain's signature
        """Record the tokens of a call."""
        self._token_counts.append(_read_tokens(response))


def _read_tokens(response: LLMResult) -> tuple[int, int] | None:
    """Return prompt and output tokens of a call from its message or the provider's field, None if neither has them."""
    for generations in response.generations:
        for generation in generations:
            usage = getattr(getattr(generation, "message", None), "usage_metadata", None)
            if usage:
                return int(usage["input_tokens"]), int(usage["output_tokens"])
    token_usage = (response.llm_output or {}).get("token_usage") or {}
    if isinstance(token_usage, dict) and "prompt_tokens" in token_usage and "completion_tokens" in token_usage:
        return int(token_usage["prompt_tokens"]), int(token_usage["completion_tokens"])
    return None
