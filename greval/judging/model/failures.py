"""Classification of failed model calls (exceptions and truncated answers) by kind, and redaction of secrets."""

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
"""Shorter environment values are not redacted, because ordinary words may equal them."""

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
"""The failure kind by a part of the exception's class name; the first match counts. No vendor's class is imported.

The innermost exception is matched first, because a transport may report a lost connection as a timeout.
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
"""The failure kind by the finish reason of an incomplete answer, across providers."""

FINISH_MESSAGES: dict[FailureKind, str] = {
    "length": "the answer was cut by the length limit; raise max_tokens",
    "content_filter": "the provider's content filter withheld the answer",
    "refusal": "the model refused to judge",
}

_SECRETS = re.compile(r"sk-[\w*-]{6,}|(?<=Bearer )\S+")


def failure_of(error: BaseException, secrets: Iterable[str] = ()) -> Failure:
    """Classify an exception of a model call as a failure, with the secrets redacted.

    Args:
        error: The exception.
        secrets: Texts to redact, in addition to texts that are or look like a key of the environment.
    """
    causes = [*_causes(error)]
    told = ((kind, cause) for cause in causes if (kind := _told(cause)))
    named = ((kind, cause) for cause in reversed(causes) if (kind := _named(cause)))
    kind, telling = next(chain(told, named), ("error", error))
    message = f"{type(telling).__name__}: {telling}" if str(telling) else type(telling).__name__
    return Failure(kind=kind, message=redacted(message, secrets)[:MAX_MESSAGE])


def cut_short(message: AIMessage) -> Failure | None:
    """Return the failure of an incomplete answer (refused, filtered or truncated), or None if it is complete."""
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
    """List the secret values of a model, such as a key that is not in an environment variable."""
    return tuple(value.get_secret_value() for value in vars(model).values() if isinstance(value, SecretStr))


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Replace secrets, and all texts that are or look like a key of the environment, by a placeholder.

    Example:
        >>> redact_secrets("Incorrect API key provided: sk-abcdef123456.")
        'Incorrect API key provided: [key].'
    """
    kept = (value for name, value in os.environ.items() if any(word in name for word in ("KEY", "TOKEN", "SECRET")))
    for secret in (*secrets, *kept):
        if len(secret) > MIN_SECRET:
            text = text.replace(secret, "[key]")
    return _SECRETS.sub("[key]", whole(text))


def whole(text: str) -> str:
    r"""Replace lone surrogates, which cannot be encoded as UTF-8, by the replacement character.

    Example:
        >>> ascii(replace_lone_surrogates("half " + chr(0xD83D)))
        "'half \\ufffd'"
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Iterate over an exception and its causes, outermost first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _told(error: BaseException) -> FailureKind | None:
    """Find the failure kind by the provider's error code, the message or the HTTP status."""
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
    """Find the failure kind by the class name of the exception."""
    names = " ".join(cls.__name__ for cls in type(error).__mro__)
    return next((kind for part, kind in BY_CLASS if part in names), None)


def _blocks(message: AIMessage) -> Iterator[dict[str, object]]:
    content = message.content
    yield from (block for block in content if isinstance(block, dict)) if isinstance(content, list) else ()
