"""A fast path for calls of OpenAI-compatible servers, used when no LangChain callback listens.

LangChain formats the messages. The client of `openai` builds one request of a model; all calls repeat its address and
headers over the same HTTP client. The fast path omits callbacks, tracing, typed copies of request and answer, and
options that are the same for each call: together most of a call's CPU time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from greval.judging.model.failures import THOUGHT_KEYS

if TYPE_CHECKING:
    from httpx2 import Request, Response
    from langchain_openai import ChatOpenAI
    from openai import AsyncOpenAI

COMPLETIONS_PATH = "/chat/completions"
FIRST_ERROR_STATUS = 400
_BODY_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
NOT_IN_BODY = frozenset({"extra_headers", "extra_query", "timeout"})
"""Arguments of a call that are not part of its body."""


def build_body(model: ChatOpenAI, messages: Sequence[BaseMessage], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Build the request body that `model.ainvoke(messages, **extra)` sends."""
    payload = model._get_request_payload(list(messages), **extra)  # noqa: SLF001 - LangChain has no public way
    added = payload.pop("extra_body", None) or {}
    return payload | added


def select_direct_model(model: BaseChatModel) -> DirectModel | None:
    """Return the model for direct calls if its calls are plain requests of the chat completions API, else None."""
    # A subclass may send something else.
    if type(model).__name__ != "ChatOpenAI":
        return None
    plain = cast("ChatOpenAI", model)
    body = build_body(plain, [], {})
    is_plain = "messages" in body and not body.get("stream") and not NOT_IN_BODY & {*body}
    return DirectModel(plain) if is_plain else None


class DirectModel:
    """A model whose calls are plain requests of the chat completions API; see `select_direct_model`."""

    def __init__(self, model: ChatOpenAI) -> None:
        """Store the model. Its HTTP client must be greval's own, which belongs to one event loop."""
        self._model = model
        self._built: Request | None = None

    async def ask(self, messages: Sequence[BaseMessage], extra: Mapping[str, Any]) -> AIMessage:
        """Send the request of `model.ainvoke(messages, **extra)`, and return the same message."""
        answer = _read_json(await self._send(build_body(self._model, messages, extra)))
        if isinstance(answer, dict) and answer.get("error"):
            raise ValueError(answer["error"])
        choices = answer.get("choices") if isinstance(answer, dict) else None
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise TypeError(f"Unexpected response type: no chat completion but {str(answer)[:200]!r}")
        message = choices[0].get("message")
        if isinstance(message, dict) and not message.get("tool_calls"):
            content = message.get("content") or ""
            if isinstance(content, str):
                return _read_text_message(answer, choices[0], message, content)
        return read_completion(answer, self._model)

    async def _send(self, body: Mapping[str, Any]) -> Response:
        """Send a body, as `openai` does, and return the response, or raise the error that it makes of a refusal."""
        client = self._model.root_async_client
        built = self._built = self._built or await _build_request(client)
        content = _BODY_JSON.encode(body).encode()
        headers = built.headers.copy()
        headers["Content-Length"] = str(len(content))
        # The classes are those of the HTTP package that the client was built with.
        stream: Any = type(built.stream)
        request = type(built)("POST", built.url, headers=headers, stream=stream(content), extensions=built.extensions)
        request.read()
        sender: Any = self._model.http_async_client
        response: Response = await sender.send(request)
        if response.status_code >= FIRST_ERROR_STATUS:
            raise client._make_status_error_from_response(response)  # noqa: SLF001 - openai has no public way
        return response


async def _build_request(client: AsyncOpenAI) -> Request:
    """Build a request as `client.post` does, with its address, headers and timeout; openai has no public way."""
    from openai._models import FinalRequestOptions

    options = FinalRequestOptions.construct(method="post", url=COMPLETIONS_PATH, json_data={})
    return client._build_request(await client._prepare_options(options))  # noqa: SLF001


def _read_json(response: Response) -> Any:  # noqa: ANN401 - JSON
    """Return the content of a response: JSON, or the text if it says that it is no JSON."""
    content_type = response.headers.get("content-type", "").partition(";")[0].strip()
    return json.loads(response.content) if content_type.endswith("json") else response.text


def read_completion(body: object, model: ChatOpenAI) -> AIMessage:
    """Convert a chat completion to a message with LangChain's own code."""
    from openai.types.chat import ChatCompletion

    completion: Any = ChatCompletion.construct(**body) if isinstance(body, dict) else body
    result = model._create_chat_result(completion)  # noqa: SLF001 - LangChain has no public way
    message: Any = result.generations[0].message
    sources = result.llm_output, result.generations[0].generation_info, message.response_metadata
    message.response_metadata = {name: value for part in sources for name, value in (part or {}).items()}
    if isinstance(body, dict) and not message.text:
        message.additional_kwargs |= _keep_thoughts(body["choices"][0].get("message") or {})
    return cast("AIMessage", message)


def _read_text_message(
    body: Mapping[str, Any], choice: Mapping[str, Any], message: Mapping[str, Any], content: str
) -> AIMessage:
    """Read a text message: its content, and under LangChain's names what the response says of it."""
    return AIMessage(
        content=content,
        additional_kwargs={
            **({"refusal": message["refusal"]} if message.get("refusal") else {}),
            **({} if content.strip() else _keep_thoughts(message)),
        },
        response_metadata={
            "finish_reason": choice.get("finish_reason"),
            "logprobs": choice.get("logprobs"),
            "token_usage": body.get("usage"),
            "model_name": body.get("model"),
            "system_fingerprint": body.get("system_fingerprint"),
        },
    )


def _keep_thoughts(message: Mapping[str, Any]) -> dict[str, str]:
    """Return the thoughts of a message without text, which may hold its answer."""
    return {key: message[key] for key in THOUGHT_KEYS if isinstance(message.get(key), str)}
