"""Requests of the chat completions API that greval builds and sends itself, and the replies to them.

A judge with usual settings needs neither the `openai` package nor `langchain-openai`, whose import takes longer than
most runs of a few cases, and which take most of the CPU time of a call: by callbacks, tracing, typed copies of request
and answer, and options that are the same for each call. The messages are LangChain's. What listens to calls, tool calls
and unusual settings need the chat model of `langchain-openai`, which is then built from the same settings.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pydantic import JsonValue, SecretStr

from greval.judging.model.failures import THOUGHT_KEYS
from greval.judging.model.rate_limit import get_rate_limiter
from greval.judging.model.reply_limit import read_content

if TYPE_CHECKING:
    from aiohttp import ClientSession
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_openai import ChatOpenAI

OPENAI_URL = "https://api.openai.com/v1"
FIRST_ERROR_STATUS = 300
"""A redirect is an error too: a request holds texts of cases, which go to the address that was named and no other."""
MAX_CONNECTIONS = 1_000
IDLE_SECONDS = 5.0
"""The seconds for which an idle connection is kept: servers close it after as many."""
_BODY_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
NOT_IN_BODY = frozenset({"extra_headers", "extra_query", "timeout"})
"""Arguments of a call that are not part of its body."""
ROLES: Mapping[str, str] = {"human": "user", "ai": "assistant", "system": "system"}
"""The role of a message by LangChain's type."""
USUAL_OPTIONS: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("top_p", "presence_penalty", "frequency_penalty"), (int, float)),
    **dict.fromkeys(("reasoning_effort", "verbosity"), str),
    **dict.fromkeys(("extra_body", "default_headers"), dict),
}
"""The options of a model that are sent as they are, with the types of their values."""
OTHER_SETTINGS = (
    *("OPENAI_API_BASE", "OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID", "OPENAI_PROXY"),
    *("OPENAI_CUSTOM_HEADERS", "LANGSMITH_GATEWAY", "LC_OUTPUT_VERSION"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"),
)
"""Variables of the environment that the packages of OpenAI and LangChain read; with one of them they are used."""
_OTHER_API = re.compile(r"^o\d|codex|-pro\b|-sol\b|deep-research|audio|realtime|search", re.IGNORECASE)
"""Names of models that are called by another API, or with messages of another form."""
_ONE_TEMPERATURE = re.compile(r"^gpt-5(?!.*chat)", re.IGNORECASE)
"""Names of models that take no temperature but 1, unless they do not reason."""
_USUAL_ADDRESS = re.compile(r"https?://[a-z0-9._-]+(?::(?!(?:80|443)/)\d+)?(?:/[\w.~-]+)+/?")
"""Addresses without credentials, a query, or letters that are written in several ways."""
STATUS_ERRORS: Mapping[int, str] = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
}
"""The names of the errors of a status, those of the `openai` package."""


class ServerReply(NamedTuple):
    """The response of a server, with the names of its headers in lower case."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes


class StatusError(Exception):
    """A response with the status of an error: its status, its headers, and what its body says of the error."""

    def __init__(self, message: str, response: ServerReply, body: Any) -> None:  # noqa: ANN401 - JSON
        super().__init__(message)
        self.response = response
        self.status_code = response.status_code
        self.body = body
        self.code = body.get("code") if isinstance(body, dict) else None


def is_usual(name: str, base_url: str | None, options: Mapping[str, JsonValue]) -> bool:
    """Return whether a model is called by plain requests: by its name, its server, its options and the environment."""
    return (
        _OTHER_API.search(name) is None
        and (base_url is None or _USUAL_ADDRESS.fullmatch(base_url) is not None)
        and not any(os.environ.get(variable) for variable in OTHER_SETTINGS)
        and all(
            isinstance(value, USUAL_OPTIONS.get(option, ())) and not isinstance(value, bool)
            for option, value in options.items()
        )
    )


@dataclass(eq=False)
class DirectModel:
    """A model whose requests greval sends itself.

    The fields that are named as those of `ChatOpenAI` have the same meaning, so that both models are described alike.
    `load_model` builds the chat model of the same settings. It is created in the event loop in which it is used.
    """

    model_name: str
    openai_api_base: str | None
    openai_api_key: SecretStr = field(repr=False)
    request_timeout: float
    temperature: float | None
    max_tokens: int | None
    seed: int | None
    options: Mapping[str, Any]
    load_model: Callable[[], Awaitable[BaseChatModel]]

    def __post_init__(self) -> None:
        """Open the connections, and compute what all requests share."""
        is_reasoning = self.options.get("reasoning_effort") != "none"
        if _ONE_TEMPERATURE.search(self.model_name) and is_reasoning and self.temperature != 1:
            self.temperature = None
        self.extra_body: Mapping[str, Any] | None = self.options.get("extra_body")
        settings = {
            "temperature": self.temperature,
            "max_completion_tokens": self.max_tokens,
            "seed": self.seed,
            **{name: value for name, value in self.options.items() if name not in {"extra_body", "default_headers"}},
        }
        self._shared: dict[str, Any] = {"model": self.model_name, "stream": False}
        self._shared |= {name: value for name, value in settings.items() if value is not None}
        self._url = f"{(self.openai_api_base or OPENAI_URL).rstrip('/')}/chat/completions"
        self._session = _open_session(self._url, self.request_timeout)
        headers = {
            "Authorization": f"Bearer {self.openai_api_key.get_secret_value()}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "gzip, deflate",
            "User-Agent": "greval",
        }
        added = self.options.get("default_headers") or {}
        replaced = {name.lower() for name in added}
        self._headers = {**{name: text for name, text in headers.items() if name.lower() not in replaced}, **added}
        self._pace = get_rate_limiter(self)

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def ask(self, messages: Sequence[BaseMessage], extra: Mapping[str, Any]) -> AIMessage:
        """Send the request of `ChatOpenAI.ainvoke(messages, **extra)`, and return the same message."""
        answer = _read_json(await self._send(self.build_body(messages, extra)))
        if isinstance(answer, dict) and answer.get("error"):
            raise ValueError(answer["error"])
        choices = answer.get("choices") if isinstance(answer, dict) else None
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise TypeError(f"Unexpected response type: no chat completion but {str(answer)[:200]!r}")
        # A filtered choice may have none.
        message = choices[0].get("message") or {}
        if isinstance(message, dict) and not message.get("tool_calls"):
            content = message.get("content") or ""
            content = json.dumps(content, ensure_ascii=False) if isinstance(content, dict) else content
            if isinstance(content, str):
                return _read_text_message(answer, choices[0], message, content)
        return read_completion(answer, cast("ChatOpenAI", await self.load_model()))

    def build_body(self, messages: Sequence[BaseMessage], extra: Mapping[str, Any]) -> dict[str, Any]:
        """Build the body of a request; `extra` are the arguments of the call."""
        body = {**self._shared, **extra}
        added = body.pop("extra_body", None) or self.extra_body or {}
        body["messages"] = [{"content": message.content, "role": ROLES[message.type]} for message in messages]
        return {**body, **added}

    async def _send(self, body: Mapping[str, Any]) -> ServerReply:
        """Send a body, and return the response, or raise the error that its status stands for."""
        content = _BODY_JSON.encode(body).encode()
        async with self._session.post(
            self._url, data=content, headers=self._headers, allow_redirects=False
        ) as response:
            headers = {name.lower(): value for name, value in response.headers.items()}
            reply = ServerReply(response.status, headers, await read_content(response))
        self._pace.read_headers(headers)
        if reply.status_code >= FIRST_ERROR_STATUS:
            raise _build_status_error(reply)
        return reply


def _open_session(url: str, seconds: float) -> ClientSession:
    """Open a session for a server in the running event loop; each of its calls waits so long for each of its steps."""
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

    certificates: Any = True
    if url.startswith("https:"):
        from httpx2 import create_ssl_context

        # those that the client of openai trusts, also in SSL_CERT_FILE
        certificates = create_ssl_context()
    return ClientSession(
        connector=TCPConnector(limit=MAX_CONNECTIONS, keepalive_timeout=IDLE_SECONDS, ssl=certificates),
        timeout=ClientTimeout(total=None, sock_connect=seconds, sock_read=seconds),
        cookie_jar=DummyCookieJar(),
        # Unpacked within a limit, when all of it is there.
        auto_decompress=False,
    )


def _build_status_error(reply: ServerReply) -> StatusError:
    """Build the error of a refused request, with the name and the message that it has in the `openai` package."""
    body: Any = reply.content.decode(errors="replace").strip()
    with suppress(ValueError):
        body = json.loads(body)
    if reply.status_code in range(300, 400):
        body = {"message": "the server redirects requests, which are not sent on; name its final address (--base-url)"}
    error = body.get("error", body) if isinstance(body, dict) else body
    text = error.get("message") if isinstance(error, dict) else None
    message = f"Error code: {reply.status_code}" + (f" - {text}" if text and isinstance(text, str) else "")
    default = "InternalServerError" if reply.status_code >= 500 else "APIStatusError"  # noqa: PLR2004 - HTTP
    name = STATUS_ERRORS.get(reply.status_code, default)
    kind: type[StatusError] = type(name, (StatusError,), {})
    return kind(message, reply, error)


def build_body(model: ChatOpenAI, messages: Sequence[BaseMessage], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Build the request body that `model.ainvoke(messages, **extra)` sends."""
    payload = model._get_request_payload(list(messages), **extra)  # noqa: SLF001 - LangChain has no public way
    added = payload.pop("extra_body", None) or {}
    return payload | added


def _read_json(reply: ServerReply) -> Any:  # noqa: ANN401 - JSON
    """Return the content of a response: JSON, also if it is called something else, or else its text."""
    content_type = reply.headers.get("content-type", "").partition(";")[0].strip()
    if content_type.endswith("json"):
        return json.loads(reply.content)
    with suppress(ValueError):
        return json.loads(reply.content)
    return reply.content.decode(errors="replace")


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
    from langchain_core.messages import AIMessage

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
