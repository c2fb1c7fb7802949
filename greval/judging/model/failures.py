"""What went wrong with a call, told apart: an exception or a cut answer becomes a failure kind."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from pydantic import SecretStr

from greval.records.result import Failure, FailureKind

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage

MAX_MESSAGE = 500
MIN_SECRET = 6
"""Shorter values of the environment are words that a message may hold."""

BY_STATUS: dict[int, FailureKind] = {
    400: "request",
    401: "authentication",
    403: "authentication",
    404: "request",
    408: "timeout",
    413: "context_window",
    422: "request",
    429: "rate_limit",
}

BY_CLASS: tuple[tuple[str, FailureKind], ...] = (
    ("LengthFinishReason", "length"),
    ("ContentFilter", "content_filter"),
    ("ContextOverflow", "context_window"),
    ("Timeout", "timeout"),
    ("RateLimit", "rate_limit"),
    ("Authentication", "authentication"),
    ("PermissionDenied", "authentication"),
    ("Connect", "connection"),
    ("ReadError", "connection"),
    ("ProtocolError", "connection"),
    ("ServerDisconnected", "connection"),
    ("JSONDecodeError", "server"),
    ("APIResponseValidation", "server"),
)
"""Parts of exception names, the first that fits counts; vendors' classes are never imported for it.

The innermost exception is named first: a transport calls a lost connection a timeout.
"""

BY_TEXT: tuple[tuple[str, FailureKind], ...] = (
    ("insufficient_quota", "quota"),
    ("exceeded your current quota", "quota"),
    ("context_length_exceeded", "context_window"),
    ("exceed_context_size", "context_window"),
    ("context window", "context_window"),
    ("maximum context length", "context_window"),
    ("content_filter", "content_filter"),
    ("content management policy", "content_filter"),
    ("Unexpected response type", "server"),
    ("null value for 'choices'", "server"),
)

BY_FINISH: dict[str, FailureKind] = {
    "length": "length",
    "max_tokens": "length",
    "MAX_TOKENS": "length",
    "max_output_tokens": "length",
    "content_filter": "content_filter",
    "SAFETY": "content_filter",
    "refusal": "refusal",
}
"""How models say that an answer ended early, across providers."""

FINISH_MESSAGES: dict[FailureKind, str] = {
    "length": "the answer was cut by the length limit; raise max_tokens",
    "content_filter": "the provider's content filter withheld the answer",
    "refusal": "the model refused to judge",
}

_SECRETS = re.compile(r"sk-[\w*-]{6,}|(?<=Bearer )\S+")


def failure_of(error: BaseException, secrets: Iterable[str] = ()) -> Failure:
    """Give the failure that an exception of a model call stands for, free of secrets.

    Args:
        error: What was raised.
        secrets: Texts that must not be told, beside what is or looks like a key of the environment.
    """
    causes = [*_causes(error)]
    told = ((kind, cause) for cause in causes if (kind := _told(cause)))
    named = ((kind, cause) for cause in reversed(causes) if (kind := _named(cause)))
    kind, telling = next(chain(told, named), ("error", error))
    message = f"{type(telling).__name__}: {telling}" if str(telling) else type(telling).__name__
    return Failure(kind=kind, message=redacted(message, secrets)[:MAX_MESSAGE])


def cut_short(message: AIMessage) -> Failure | None:
    """Give why a model's answer is no whole answer, or None where it is."""
    refusal = message.additional_kwargs.get("refusal") or next(
        (block.get("refusal") for block in _blocks(message) if block.get("type") == "refusal"), None
    )
    if refusal:
        return Failure(kind="refusal", message=FINISH_MESSAGES["refusal"], raw=whole(str(refusal)))
    told = message.response_metadata
    details = told.get("incomplete_details") or {}
    ends = (told.get("finish_reason"), told.get("stop_reason"), told.get("done_reason"), details.get("reason"))
    kind = next((BY_FINISH[str(end)] for end in ends if str(end) in BY_FINISH), None)
    return Failure(kind=kind, message=FINISH_MESSAGES[kind], raw=whole(message.text)) if kind else None


def secrets_of(model: BaseChatModel) -> tuple[str, ...]:
    """Give what a model keeps secret, such as a key that came from no environment variable."""
    return tuple(value.get_secret_value() for value in vars(model).values() if isinstance(value, SecretStr))


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Give the text without the secrets and anything that is or looks like a key of the environment.

    Example:
        >>> redacted("Incorrect API key provided: sk-abcdef123456.")
        'Incorrect API key provided: [key].'
    """
    kept = (value for name, value in os.environ.items() if any(word in name for word in ("KEY", "TOKEN", "SECRET")))
    for secret in (*secrets, *kept):
        if len(secret) > MIN_SECRET:
            text = text.replace(secret, "[key]")
    return _SECRETS.sub("[key]", whole(text))


def whole(text: str) -> str:
    r"""Give the text with what no file can hold, half of a surrogate pair, replaced.

    Example:
        >>> ascii(whole("half " + chr(0xD83D)))
        "'half \\ufffd'"
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Walk an exception and what caused it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _told(error: BaseException) -> FailureKind | None:
    """Give the kind that the provider told, by its code, its words or the HTTP status."""
    body = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    code = getattr(error, "code", None) or body.get("code")
    words = f"{error} {code}"
    if kind := next((kind for part, kind in BY_TEXT if part in words), None):
        return kind
    status = getattr(error, "status_code", None) or code
    if isinstance(status, int) and (status in BY_STATUS or status >= 500):  # noqa: PLR2004 - HTTP
        return BY_STATUS.get(status, "server")
    return None


def _named(error: BaseException) -> FailureKind | None:
    """Give the kind that the exception's own name stands for."""
    names = " ".join(cls.__name__ for cls in type(error).__mro__)
    return next((kind for part, kind in BY_CLASS if part in names), None)


def _blocks(message: AIMessage) -> Iterator[dict[str, object]]:
    content = message.content
    yield from (block for block in content if isinstance(block, dict)) if isinstance(content, list) else ()
