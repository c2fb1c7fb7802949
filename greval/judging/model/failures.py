"""Classification of failed model calls (exceptions and truncated answers) by kind, and redaction of secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from pydantic import SecretStr

from greval._util.wording import redact_credentials
from greval.judging.model.judge_names import LOCAL, format_key_hint
from greval.judging.model.provider_errors import iterate_causes
from greval.records.record import replace_lone_surrogates
from greval.records.result import Failure, FailureKind, Usage

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage

Model = TypeVar("Model")
THOUGHT_KEYS = ("reasoning_content", "reasoning", "thinking")
"""Where servers put the thoughts of a model, beside the text of its answer."""
SETUP_FAILURES: frozenset[FailureKind] = frozenset({"authentication", "connection", "quota", "request"})
"""Failures that every call would repeat: the key, the address, the account or the model's name is wrong."""
FAILURE_HINTS: Mapping[FailureKind, str] = {
    "refusal": "look at the case; another judge may answer",
    "content_filter": "look at the case; another judge may answer",
    "length": "raise --max-tokens, or lower --max-items",
    "timeout": "raise --timeout, or lower --concurrency",
    "malformed": "greval judge check says what the judge can do",
    "off_scale": "describe the values of the metric's scale more clearly; if it is computed, fix its function",
    "missing_item": "lower --max-items",
    "no_majority": "take more --repeats, an odd number",
    "dependency": "fix the failures of the metric that it builds on",
    "data": "fix the case",
    "context_window": "lower --max-items, or shorten the case",
    "rate_limit": "lower --concurrency",
    "quota": "see the provider's billing page",
    "server": "see that the server is well",
    "request": "check the model's name and --base-url",
    "method": "fix the method and collect its responses again",
    "error": "see the message",
}
"""A hint for each kind of failure, except those that depend on the judge's own key or address."""


def format_failure_hint(kind: FailureKind, model: str) -> str:
    """Return what to do about a failure of a judge, which is named as in `openai:MODEL`."""
    if kind == "connection":
        is_own_server = model.partition(":")[0] in {"openai", LOCAL}
        return f"check {'--base-url, that the server runs there, and the network' if is_own_server else 'the network'}"
    return format_key_hint(model) if kind == "authentication" else FAILURE_HINTS[kind]


MAX_MESSAGE_CHARS = 500
MIN_SECRET_CHARS = 6
"""Shorter environment values are not redacted, because ordinary words may equal them."""

KIND_BY_CLASS_NAME: tuple[tuple[str, FailureKind], ...] = (
    ("LengthFinishReason", "length"),
    ("ContentFilter", "content_filter"),
    ("ContextOverflow", "context_window"),
    ("ReplyTooLarge", "malformed"),
    ("Timeout", "timeout"),
    ("RateLimit", "rate_limit"),
    ("Authentication", "authentication"),
    ("PermissionDenied", "authentication"),
    ("Connect", "connection"),
    ("ReadError", "connection"),
    ("ClientPayload", "connection"),
    ("ProtocolError", "connection"),
    ("ServerDisconnected", "connection"),
    ("ReplyNotPacked", "server"),
    ("JSONDecodeError", "server"),
    ("APIResponseValidation", "server"),
)
"""The failure kind by a part of the exception's class name; the first match counts. No vendor's class is imported."""

FINISH_REASONS: Mapping[FailureKind, str] = {
    "length": "length max_tokens max_output_tokens max_length model_length token_limit error_limit limit",
    "context_window": "model_context_window_exceeded context_window_exceeded context_length_exceeded",
    "content_filter": "content_filter content_filtered safety recitation language blocklist prohibited_content spii "
    "image_safety image_prohibited_content image_recitation model_armor jailbreak guardrail_intervened sensitive "
    "error_toxic data_inspection_failed blocked",
    "refusal": "refusal refused",
    "timeout": "time_limit",
    "server": "error network_error insufficient_system_resource abort aborted cancelled",
}
"""How providers say why an answer is incomplete, in lower case, by the kind of the failure."""
KIND_BY_FINISH_REASON: Mapping[str, FailureKind] = {
    reason: kind for kind, reasons in FINISH_REASONS.items() for reason in reasons.split()
}
FINISH_KEYS = ("finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason", "completionReason")

CERTIFICATE_HINT = "; name the file of its certificate authority in SSL_CERT_FILE"
MINUTE_TOKENS_HINT = "; this request alone is above the limit of tokens a minute: lower --max-items or --max-tokens"

FINISH_MESSAGES: Mapping[FailureKind, str] = {
    "length": "the answer was cut by the length limit",
    "context_window": "the prompt and the answer exceed the model's context window",
    "content_filter": "the provider's content filter withheld the answer",
    "refusal": "the model refused to judge",
    "timeout": "the provider ended the answer at its time limit",
    "server": "the provider broke off the answer",
}
MAX_ANSWER_CHARS = 1_000_000
"""The most characters of an answer that are read as a verdict; one on a hundred items has some ten thousand."""
WORD_CHARS = 5
"""Where a token has fewer characters on average, a prompt cannot have more words than tokens."""
_WIDE_LETTERS = re.compile("[\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]")
MIN_CUT_TOKENS = 500
"""Fewer tokens of a long prompt are no count: servers that count at all do not cut prompts to less."""

_SECRETS = re.compile(r"sk-[\w*-]{6,}|(?<=Bearer )\S+")


def classify_error(error: BaseException, secrets: Iterable[str] = ()) -> Failure:
    """Classify an exception of a model call as a failure, with keys and the given secrets redacted."""
    from greval.judging.model.error_kinds import classify_response, is_refused_certificate, is_too_large_for_minute

    causes = [*iterate_causes(error)]
    # No retry helps then, whatever the exceptions around it say.
    if refused := next(filter(is_refused_certificate, causes), None):
        return _build_failure("connection", refused, secrets, CERTIFICATE_HINT)
    by_response = ((kind, cause) for cause in causes if (kind := classify_response(cause)))
    # The innermost first, because a transport may report a lost connection as a timeout.
    by_class = ((kind, cause) for cause in reversed(causes) if (kind := _classify_by_class_name(cause)))
    kind, telling = next(chain(by_response, by_class), ("error", error))
    hint = MINUTE_TOKENS_HINT if kind == "rate_limit" and is_too_large_for_minute(telling) else ""
    return _build_failure(kind, telling, secrets, hint)


def is_permanent(error: BaseException) -> bool:
    """Return whether an error that looks transient would meet every further attempt of the same call."""
    from greval.judging.model.error_kinds import is_refused_certificate, is_too_large_for_minute

    return any(is_refused_certificate(cause) or is_too_large_for_minute(cause) for cause in iterate_causes(error))


def _build_failure(kind: FailureKind, error: BaseException, secrets: Iterable[str], hint: str) -> Failure:
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    brief = redact_secrets(message, secrets)[: MAX_MESSAGE_CHARS - len(hint)]
    return Failure(kind=kind, message=f"{brief}{hint}")


def find_finish_failure(message: AIMessage) -> Failure | None:
    """Return the failure of an incomplete answer (refused, filtered or truncated), or None if it is complete."""
    refusals = [block.get("refusal") for block in _list_blocks(message) if block.get("type") == "refusal"]
    if refusal := message.additional_kwargs.get("refusal") or next(iter(refusals), None):
        return Failure(kind="refusal", message=FINISH_MESSAGES["refusal"], raw=replace_lone_surrogates(str(refusal)))
    ends = _list_ends(message)
    kind = next((KIND_BY_FINISH_REASON[end] for end in ends if end in KIND_BY_FINISH_REASON), None)
    if kind is None:
        return None
    words = ", ".join(dict.fromkeys(ends))
    return Failure(
        kind=kind, message=f"{FINISH_MESSAGES[kind]} ({words})", raw=replace_lone_surrogates(message.text) or None
    )


def _list_ends(message: AIMessage) -> list[str]:
    """List the words with which the provider says why the answer ended, in lower case."""
    metadata = message.response_metadata
    ends = [str(metadata[key]) for key in FINISH_KEYS if metadata.get(key)]
    details, feedback = metadata.get("incomplete_details"), metadata.get("prompt_feedback")
    if isinstance(details, dict) and details.get("reason"):
        ends.append(str(details["reason"]))
    if isinstance(feedback, dict) and feedback.get("block_reason"):
        ends.append("blocked")
    # Some packages give the name of an enum, such as FinishReason.MAX_TOKENS.
    return [end.rpartition(".")[2].lower().replace("-", "_").removeprefix("finish_reason_") for end in ends]


def find_thoughts(message: AIMessage) -> str:
    """Return the thoughts that a server puts beside the text of an answer, or an empty text."""
    places: list[Mapping[str, object]] = [message.additional_kwargs, *_list_blocks(message)]
    texts = [holder.get(key) for holder in places for key in THOUGHT_KEYS]
    return replace_lone_surrogates("\n".join(text for text in texts if isinstance(text, str)).strip())


def find_empty_failure(message: AIMessage, text: str) -> Failure | None:
    """Return the failure of an answer whose text is empty because all of it is thoughts, or None."""
    thoughts = "" if text.strip() else find_thoughts(message)
    written = message.usage_metadata["output_tokens"] if message.usage_metadata else 0
    if not thoughts:
        return None
    counted = f", {written:,} tokens" if written else ""
    return Failure(
        kind="malformed",
        message=f"an empty text: all that the model wrote ({len(thoughts):,} characters{counted}) is in "
        "reasoning_content; start the server without its reasoning parser (vLLM, SGLang: --reasoning-parser), turn the "
        'thoughts off (chat_template_kwargs: {"enable_thinking": false}), or raise --max-tokens',
        raw=thoughts,
    )


def find_long_failure(text: str) -> Failure | None:
    """Find an answer that no verdict can be; reading it as one would take seconds and many times its size."""
    if len(text) <= MAX_ANSWER_CHARS:
        return None
    message = f"the answer has {len(text):,} characters, at most {MAX_ANSWER_CHARS:,} are read; look at the judge"
    return Failure(kind="malformed", message=message)


def find_prompt_cut(messages: Sequence[BaseMessage], usage: Usage) -> Failure | None:
    """Return the failure of a verdict on a prompt that the server cut, or None."""
    read = (usage.input_tokens or 0) + (usage.cached_tokens or 0)
    if read < MIN_CUT_TOKENS:
        return None
    if read * WORD_CHARS > sum(len(message.text) for message in messages) + len(messages) - 1:
        # As almost always, and the words need not be counted.
        return None
    text = "\n".join(message.text for message in messages)
    # No tokenizer makes fewer tokens of a text than it has words, or four Chinese or Japanese characters one token.
    least = len(text.split()) + (0 if text.isascii() else len(_WIDE_LETTERS.findall(text)) // 4)
    if read >= least:
        return None
    return Failure(
        kind="context_window",
        message=f"the server cut the prompt: it read {read:,} tokens of at least {least:,}; give the server a longer "
        "context (Ollama: num_ctx or OLLAMA_CONTEXT_LENGTH)",
    )


def list_models(model: Model) -> list[Model]:
    """List the chat models inside a wrapped chat model (see `WrappedModel`), or the model itself."""
    return getattr(model, "inner_models", None) or [model]


def list_secrets(model: object) -> tuple[str, ...]:
    """List the secret values of a model, such as a key that is not in an environment variable."""
    values = (value for inner in list_models(model) for value in vars(inner).values())
    return tuple(value.get_secret_value() for value in values if isinstance(value, SecretStr))


def redact_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """Replace secrets, keys of the environment, texts that look like a key, and credentials of URLs by placeholders.

    Example:
        >>> redact_secrets("Incorrect API key provided: sk-abcdef123456.")
        'Incorrect API key provided: [key].'
        >>> redact_secrets("http://admin:hunter2@host/ does not answer")
        'http://[credentials]@host/ does not answer'
    """
    environment_secrets = (
        value for name, value in os.environ.items() if any(word in name for word in ("KEY", "TOKEN", "SECRET"))
    )
    # A message may quote a key without the blanks around it.
    for secret in (part for value in (*secrets, *environment_secrets) for part in (value, value.strip())):
        if len(secret) > MIN_SECRET_CHARS:
            text = text.replace(secret, "[key]")
    return redact_credentials(_SECRETS.sub("[key]", replace_lone_surrogates(text)))


def _classify_by_class_name(error: BaseException) -> FailureKind | None:
    names = " ".join(cls.__name__ for cls in type(error).__mro__)
    return next((kind for part, kind in KIND_BY_CLASS_NAME if part in names), None)


def _list_blocks(message: AIMessage) -> list[dict[str, object]]:
    content = message.content
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
