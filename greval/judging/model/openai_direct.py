"""A fast path for calls of OpenAI-compatible servers, used when no LangChain callback listens.

LangChain formats the messages and the client of `openai` sends them, as usual. The fast path omits callbacks,
tracing and typed copies of request and answer, which cost two thirds of a call's CPU time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

COMPLETIONS_PATH = "/chat/completions"
NOT_IN_BODY = frozenset({"extra_headers", "extra_query", "timeout"})
"""Arguments of a call that are not part of its body."""


def build_body(model: ChatOpenAI, messages: Sequence[BaseMessage], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Build the request body that `model.ainvoke(messages, **extra)` sends."""
    payload = model._get_request_payload(list(messages), **extra)  # noqa: SLF001 - LangChain has no public way
    added = payload.pop("extra_body", None) or {}
    return payload | added


def can_ask_directly(model: BaseChatModel) -> bool:
    """Return whether a model's calls are plain requests of the chat completions API."""
    if type(model).__name__ != "ChatOpenAI":
        return False
    body = build_body(model, [], {})  # type: ignore[arg-type]
    return "messages" in body and not body.get("stream") and not NOT_IN_BODY & {*body}


async def ask(model: ChatOpenAI, messages: Sequence[BaseMessage], extra: Mapping[str, Any]) -> AIMessage:
    """Send the request of `model.ainvoke(messages, **extra)`, and return the same message.

    Raises:
        openai.OpenAIError: If the call fails.
        TypeError: If the response is not a chat completion.
        ValueError: If the response holds an error instead of a chat completion.
    """
    answer = await model.root_async_client.post(
        COMPLETIONS_PATH, cast_to=object, body=build_body(model, messages, extra)
    )
    if isinstance(answer, dict) and answer.get("error"):
        raise ValueError(answer["error"])
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise TypeError(f"Unexpected response type: no chat completion but {str(answer)[:200]!r}")
    message = choices[0].get("message")
    if isinstance(message, dict) and isinstance(message.get("content") or "", str) and not message.get("tool_calls"):
        return _read_text_message(answer, choices[0], message)
    return read_completion(answer, model)


def read_completion(body: object, model: ChatOpenAI) -> AIMessage:
    """Convert a chat completion to a message with LangChain's own code."""
    from openai.types.chat import ChatCompletion

    completion: Any = ChatCompletion.construct(**body) if isinstance(body, dict) else body
    result = model._create_chat_result(completion)  # noqa: SLF001 - LangChain has no public way
    message: Any = result.generations[0].message
    sources = result.llm_output, result.generations[0].generation_info, message.response_metadata
    message.response_metadata = {name: value for part in sources for name, value in (part or {}).items()}
    return cast("AIMessage", message)


def _read_text_message(body: Mapping[str, Any], choice: Mapping[str, Any], message: Mapping[str, Any]) -> AIMessage:
    """Read a text message: its content, usage, finish reason and log-probabilities."""
    return AIMessage(
        content=message.get("content") or "",
        additional_kwargs={"refusal": message["refusal"]} if message.get("refusal") else {},
        response_metadata={"finish_reason": choice.get("finish_reason"), "logprobs": choice.get("logprobs")},
        usage_metadata=_read_usage(body.get("usage")),
    )


def _read_usage(reported: object) -> Any:  # noqa: ANN401 - LangChain's typed dict
    """Return the usage in LangChain's form, or None if the server did not report it."""
    if not isinstance(reported, dict):
        return None
    read, written = reported.get("prompt_tokens") or 0, reported.get("completion_tokens") or 0
    cached = (reported.get("prompt_tokens_details") or {}).get("cached_tokens")
    details = {"input_token_details": {"cache_read": cached}} if cached is not None else {}
    return {"input_tokens": read, "output_tokens": written, "total_tokens": read + written, **details}
