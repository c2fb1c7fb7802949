"""The kind of a failure by what the response of a provider says: its status, its code and its words."""

from __future__ import annotations

import re

from greval.judging.model.provider_errors import list_error_texts, read_status
from greval.judging.model.wait_times import MAX_PAUSE_SECONDS, read_wait
from greval.records.result import FailureKind

KIND_BY_STATUS: dict[int, FailureKind] = {
    400: "request",
    401: "authentication",
    402: "quota",
    403: "authentication",
    404: "request",
    405: "request",
    408: "timeout",
    409: "server",
    410: "request",
    413: "context_window",
    422: "request",
    425: "server",
    429: "rate_limit",
    498: "rate_limit",
    499: "timeout",
}
RATE_LIMIT_STATUSES = frozenset({402, 403, 413, 429, 498})
"""The statuses with which providers report a limit of requests or tokens, or an empty account."""
EMPTY_ACCOUNT = re.compile(
    r"insufficient[_ ](?:quota|balance|credit|fund)|billing_(?:hard_limit|not_active)|billing hard limit"
    r"|credit balance|out of credits|(?:requires more|used all|enough|purchase|any|no|add) (?:\w+ ){0,3}credits"
    r"|(?:spend|spending|budget)[_ ]limit(?:s)? (?:\w+ ){0,3}(?:reached|exceeded)|monthly (?:spend|usage|budget)"
    r"|(?:reached|exceeded) (?:\w+ ){0,4}(?:spend|spending|budget)|payment[_ ]required|in arrears|arrearage"
    r"|account (?:is |has been )?(?:suspended|overdue|not active)|exceeded_current_quota_error",
    re.IGNORECASE,
)
"""Words for an account without credit."""
LONG_QUOTA_ID = re.compile(r"Per(?:Day|Week|Month)(?![a-z])")
"""Google's names of quotas of a day. Its `retryDelay` for them is too short."""
LONG_LIMIT = re.compile(r"\b(?:per|a|each) (?:day|week|month)\b|\b(?:daily|weekly|monthly)\b|\b[RT]PD\b", re.IGNORECASE)
QUOTA_WORDS = re.compile(
    r"exceeded your (?:current|monthly|daily) quota|usage[_ ]limit|billing|quota (?:\w+ )?exhausted", re.IGNORECASE
)
MINUTE_LIMIT = re.compile(
    r"per[ _-]?min(?:ute)?\b|PerMinute|per[ _-]?second|PerSecond|\b[TR]PM\b|rate[ _-]?limit|too many requests|throttl"
    r"|slow ?down|RESOURCE_EXHAUSTED",
    re.IGNORECASE,
)
REQUESTED_TOKENS = re.compile(r"\bLimit:? ([\d,]+)\b.*?\bRequested:? ([\d,]+)\b", re.IGNORECASE | re.DOTALL)
"""A limit of tokens a minute and what one request asked for, as Groq and OpenAI write it."""

CONTEXT_WINDOW = re.compile(
    r"context[_ -]?(?:length|window|size|limit)"
    r"|(?:prompt|input|request|query|text|messages?|string)[\w`' ]{0,24} (?:is|are|was) too (?:long|large)"
    r"|string too long|string_above_max_length|input length|prompt length|too many (?:input |prompt )?tokens(?! per)"
    r"|maximum (?:prompt|model|sequence|input) length|max(?:imum)?[_ ]model[_ ]len|max[_ ]seq(?:uence)?[_ ]len"
    r"|max(?:imum)? input tokens|(?:input|prompt) token count|token count (?:\w+ ){0,3}exceed"
    r"|`?inputs`?(?: tokens)? (?:\+|must have)|max_new_tokens`? must be"
    r"|exceed\w* (?:\w+ ){0,4}(?:number of tokens|tokens? limit|token (?:limit|maximum))"
    r"|number of (?:input |prompt )?tokens .{0,60}(?:exceed|greater|larger|cannot)"
    r"|reduce the length|ContextOverflow|request payload size exceeds|tokens? in (?:the )?prompt cannot exceed",
    re.IGNORECASE,
)
"""Words for a prompt that is too long, of Anthropic, Bedrock, Cohere, Google, llama.cpp, Mistral, OpenAI, TGI, vLLM."""

_KIND_BY_WORDS: tuple[tuple[str, FailureKind], ...] = (
    (r"content[_ ]filter|content management policy|ResponsibleAIPolicy|data_inspection_failed", "content_filter"),
    (r"Content Exists Risk|flagged by (?:\w+ ){0,3}moderation|requires moderation", "content_filter"),
    (r"api[_ ]key not valid|API_KEY_INVALID|(?:invalid|incorrect)[_ ](?:x-)?api[_ -]key", "authentication"),
    (r"UnrecognizedClient|ExpiredToken|InvalidSignature|security token|AccessDenied", "authentication"),
    (r"json_validate_failed|tool_use_failed|failed to (?:generate JSON|call a function)", "malformed"),
    (r"Unexpected response type|null value for 'choices'", "server"),
    (r"ServiceUnavailable|InternalServerException|ModelNotReady|overloaded|\bserver_error\b", "server"),
    (r"ModelTimeout|DEADLINE_EXCEEDED", "timeout"),
)
KIND_BY_TEXT = tuple((re.compile(words, re.IGNORECASE), kind) for words, kind in _KIND_BY_WORDS)
REFUSED_CERTIFICATE = re.compile(
    r"CERTIFICATE_VERIFY_FAILED|CertificateVerif|CertVerification|CertificateError", re.IGNORECASE
)


def classify_response(error: BaseException) -> FailureKind | None:
    """Find the kind of a failure by the response of a provider; None if the exception does not hold one."""
    status = read_status(error)
    text = "\n".join([*list_error_texts(error), str(getattr(error, "code", "") or "")])
    if kind := _classify_limit(error, status, text):
        return kind
    if status not in {401, 403} and CONTEXT_WINDOW.search(text):
        return "context_window"
    if kind := next((kind for words, kind in KIND_BY_TEXT if words.search(text)), None):
        return kind
    if status is not None and (status in KIND_BY_STATUS or status >= 500):  # noqa: PLR2004 - HTTP
        return KIND_BY_STATUS.get(status, "server")
    return None


def is_too_large_for_minute(error: BaseException) -> bool:
    """Return whether one request asks for more tokens than its limit of a minute allows, so that no wait helps."""
    numbers = REQUESTED_TOKENS.search("\n".join(list_error_texts(error)))
    return numbers is not None and int(numbers[2].replace(",", "")) > int(numbers[1].replace(",", ""))


def is_refused_certificate(error: BaseException) -> bool:
    """Return whether an exception says that the certificate of a server is not trusted."""
    return REFUSED_CERTIFICATE.search(f"{type(error).__name__} {error}") is not None


def _classify_limit(error: BaseException, status: int | None, text: str) -> FailureKind | None:
    """Distinguish a rate limit, which passes, from an empty account or a limit of a day; None if neither is named."""
    if status == 402 or EMPTY_ACCOUNT.search(text):  # noqa: PLR2004 - HTTP
        return "quota"
    is_limit = status in RATE_LIMIT_STATUSES - {403, 413} or (
        status != 401 and MINUTE_LIMIT.search(text)  # noqa: PLR2004 - HTTP
    )
    is_quota = QUOTA_WORDS.search(text) is not None and status in {None, 403, 429}
    if not is_limit and not is_quota:
        return None
    if LONG_QUOTA_ID.search(text):
        return "quota"
    wait = read_wait(error).seconds
    if LONG_LIMIT.search(text):
        # A limit of a day with a short time to wait is one that passes.
        return "rate_limit" if wait is not None and wait <= MAX_PAUSE_SECONDS else "quota"
    # Gemini says of a limit of a minute that the quota is exceeded, and names a time to wait.
    return "quota" if is_quota and wait is None and not re.search(r"PerMinute|per minute", text) else "rate_limit"
