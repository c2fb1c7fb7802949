"""Hints on what to do when a judge cannot be used: its name, its key, its address and each kind of failure."""

from __future__ import annotations

from collections.abc import Mapping

from greval.errors import JudgeError
from greval.records.result import FailureKind

LOCAL = "local"
SETUP_FAILURES: frozenset[FailureKind] = frozenset({"authentication", "connection", "quota", "request"})
"""Failures that every call would repeat: the key, the address, the account or the model's name is wrong."""
FAILURE_HINTS: Mapping[FailureKind, str] = {
    "refusal": "look at the case; another judge may answer",
    "content_filter": "look at the case; another judge may answer",
    "length": "raise --max-tokens, or lower --max-items",
    "timeout": "raise --timeout, or lower --concurrency",
    "malformed": "greval judge check says what the judge can do",
    "off_scale": "describe the values of the metric's scale more clearly; if it is computed, mend its function",
    "missing_item": "lower --max-items",
    "no_majority": "take more --repeats, an odd number",
    "dependency": "mend the failures of the metric that it builds on",
    "data": "mend the case",
    "context_window": "lower --max-items, or shorten the case",
    "rate_limit": "lower --concurrency and run the same command again",
    "quota": "see the provider's billing page",
    "server": "see that the server is well, and run the same command again",
    "request": "check the model's name and --base-url",
    "method": "mend the method and collect its responses again",
    "error": "see the message",
}
"""A hint for each kind of failure, except those that depend on the judge's own key or address."""


def format_failure_hint(kind: FailureKind, model: str) -> str:
    """Return what to do about a failure of a judge.

    Args:
        kind: The kind of the failure.
        model: The name of the judge, such as `openai:MODEL`.

    Example:
        >>> format_failure_hint("connection", "openai:m")
        'check --base-url, that the server runs there, and the network'
        >>> format_failure_hint("authentication", "openai:m")
        'set OPENAI_API_KEY to a valid key'
    """
    if kind == "connection":
        own = model.partition(":")[0] in {"openai", LOCAL}
        return f"check {'--base-url, that the server runs there, and the network' if own else 'the network'}"
    return format_key_hint(model) if kind == "authentication" else FAILURE_HINTS[kind]


def format_key_hint(model: str) -> str:
    """Return which environment variable to set for the key of a judge.

    Example:
        >>> format_key_hint("openai:gpt-5.4-mini")
        'set OPENAI_API_KEY to a valid key'
    """
    provider = model.partition(":")[0].upper().partition("_")[0]
    return f"set {provider}_API_KEY to a valid key"


def parse_judge_name(model: str) -> tuple[str, str]:
    """Split the name of a judge into provider and model.

    Raises:
        JudgeError: If one of the two is missing.

    Example:
        >>> parse_judge_name("openai:gpt-5.4-mini")
        ('openai', 'gpt-5.4-mini')
    """
    provider, _, name = model.partition(":")
    if not provider or not (name or provider == LOCAL):
        given = model.strip(":")
        example = "openai:MODEL" if given in {"", "openai"} else f"openai:{given}"
        message = f"judge {model!r}: write PROVIDER:MODEL, such as {example}, or local"
        raise JudgeError(message)
    return provider, name
