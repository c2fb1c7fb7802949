"""The kind of a failure by the words of providers: limits that pass, empty accounts, prompts that are too long."""

from __future__ import annotations

import ssl

import fault_server as fault
import pytest
from tone_metrics import TONE, cases
from virtual_time import in_virtual_time, now

from greval import Judge, compile_metric, evaluate_async
from greval.judging.model.failures import classify_error, is_permanent
from greval.judging.model.wait_times import read_wait


class ProviderError(Exception):
    """An error as clients of providers have it."""

    def __init__(self, status, body, headers=()):
        """Store status, body and headers under the names that most clients use."""
        super().__init__(f"Error code: {status} - {body}")
        self.status_code = status
        self.body = body
        self.response = type("Response", (), {"headers": dict(headers), "status_code": status})()


def build_throttling(code, message, status=400):
    """Build an error of Amazon's client."""
    error = type(code, (Exception,), {})(f"An error occurred ({code}) when calling the Converse operation: {message}")
    error.response = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {
            "HTTPStatusCode": status,
            "HTTPHeaders": {"retry-after": "3"} if "wait 3" in message else {},
        },
    }
    return error


QUOTA = "You exceeded your current quota, please check your plan and billing details."
GOOGLE_MINUTE = {
    "error": {
        "code": 429,
        "message": f"{QUOTA}\n* Quota exceeded for metric: free_tier_requests, limit: 15\nPlease retry in 5.9s.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"quotaId": "GenerateRequestsPerMinutePerProject-FreeTier"}, {"retryDelay": "5s"}],
    }
}
GOOGLE_DAY = {
    "error": {
        "code": 429,
        "message": f"{QUOTA} Please retry in 34.07s.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProject-FreeTier"}]}, {"retryDelay": "34s"}],
    }
}
GROQ = (
    "Rate limit reached for model `m` in organization `o` on tokens per {unit}: Limit 6000, Used 5900, Requested 821."
)
LIMITS = [
    ("OpenAI, empty", ProviderError(429, {"message": QUOTA, "code": "insufficient_quota"}), "quota", None),
    ("OpenAI, empty, no code", ProviderError(429, {"message": QUOTA}), "quota", None),
    ("OpenAI, billing", ProviderError(429, {"message": "Not active.", "code": "billing_not_active"}), "quota", None),
    (
        "OpenAI, minute",
        ProviderError(429, {"message": "Rate limit reached on requests per min (RPM). Please try again in 120ms."}),
        "rate_limit",
        0.12,
    ),
    (
        "OpenAI, header",
        ProviderError(429, {"message": "Slow."}, {"x-ratelimit-reset-tokens": "6m0s"}),
        "rate_limit",
        360,
    ),
    ("Azure", ProviderError(429, {"code": "429", "message": "Please retry after 9 seconds."}), "rate_limit", 9),
    ("Azure, header", ProviderError(429, {"code": "429"}, {"x-ms-retry-after-ms": "800"}), "rate_limit", 0.8),
    ("Gemini, minute", ProviderError(429, GOOGLE_MINUTE), "rate_limit", 5),
    ("Gemini, list", ProviderError(429, [GOOGLE_MINUTE]), "rate_limit", 5),
    ("Gemini, day", ProviderError(429, GOOGLE_DAY), "quota", 34),
    (
        "Anthropic, minute",
        ProviderError(429, {"type": "error", "error": {"type": "rate_limit_error"}}, {"retry-after": "12"}),
        "rate_limit",
        12,
    ),
    (
        "Anthropic, empty",
        ProviderError(400, {"error": {"message": "Your credit balance is too low to access the Anthropic API."}}),
        "quota",
        None,
    ),
    ("Anthropic, overloaded", ProviderError(529, {"error": {"type": "overloaded_error"}}), "server", None),
    (
        "Groq, minute",
        ProviderError(429, {"error": {"message": f"{GROQ.format(unit='minute (TPM)')} Please try again in 1m2.5s."}}),
        "rate_limit",
        62.5,
    ),
    (
        "Groq, day",
        ProviderError(429, {"error": {"message": f"{GROQ.format(unit='day (TPD)')} Please try again in 7h12m."}}),
        "quota",
        25920,
    ),
    ("DeepSeek, empty", ProviderError(402, {"error": {"message": "Insufficient Balance"}}), "quota", None),
    (
        "OpenRouter, empty",
        ProviderError(402, {"error": {"message": "Add more using the page.", "code": 402}}),
        "quota",
        None,
    ),
    (
        "OpenRouter, minute",
        ProviderError(429, {"message": "Rate limit", "metadata": {"headers": {"X-RateLimit-Reset": "7"}}}),
        "rate_limit",
        7,
    ),
    ("xAI, empty", ProviderError(403, {"error": "Your team has used all available credits."}), "quota", None),
    ("Mistral", ProviderError(429, {"message": "Requests rate limit exceeded"}), "rate_limit", None),
    ("Groq, capacity", ProviderError(498, {"error": {"message": "Over capacity."}}), "rate_limit", None),
    ("Bedrock", build_throttling("ThrottlingException", "Too many requests, wait 3"), "rate_limit", 3),
    ("Bedrock, tokens", build_throttling("ThrottlingException", "Too many tokens, please wait."), "rate_limit", None),
    ("Bedrock, day", build_throttling("ThrottlingException", "Too many tokens per day, please wait."), "quota", None),
    ("wrong key", ProviderError(401, {"error": {"message": "Incorrect API key provided."}}), "authentication", None),
    ("Gemini, key", ProviderError(400, {"error": {"message": "API key not valid."}}), "authentication", None),
    (
        "Bedrock, key",
        build_throttling("UnrecognizedClientException", "The security token is invalid."),
        "authentication",
        None,
    ),
]


@pytest.mark.parametrize(("error", "kind", "wait"), [row[1:] for row in LIMITS], ids=[row[0] for row in LIMITS])
def test_a_limit_that_passes_is_no_empty_account(error, kind, wait):
    """The code decides, then what the body names, then whether it says how long to wait."""
    assert (classify_error(error).kind, read_wait(error).seconds) == (kind, wait)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "prompt is too long: 204521 tokens > 200000 maximum"),
        (400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length"),
        (400, "Input is too long for requested model."),
        (400, "Too many input tokens. Max input tokens: 8192, request input token count: 9000"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        (
            422,
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
        ),
        (422, "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000"),
        (400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
        (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5200."),
        (400, "too many tokens: size limit exceeded by 123 tokens. Try using shorter or fewer inputs."),
        (400, "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"),
        (400, "This model's maximum prompt length is 131072 but the request contains 200000 tokens."),
        (
            400,
            "Trying to keep the first 5000 tokens when context the overflows. The context length is only 4096 tokens",
        ),
        (400, "the request exceeds the available context size, try increasing it"),
        (400, "Please reduce the length of the messages or completion."),
        (400, "prompt token count of 70000 exceeds the limit of 64000"),
        (400, "Range of input length should be [1, 30720]"),
        (500, "the input length exceeds the context length"),
        (413, "Request Entity Too Large"),
    ],
)
def test_a_prompt_that_is_too_long(status, message):
    """The words of each provider for a prompt that does not fit mean the kind `context_window`."""
    assert classify_error(ProviderError(status, {"error": {"message": message}})).kind == "context_window"


def test_a_limit_of_tokens_a_minute_is_no_context_window():
    """Groq answers 413 to a request above the limit of a minute; no wait helps, and the message says what does."""
    message = "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7500, please reduce"
    error = ProviderError(413, {"error": {"message": message, "type": "tokens", "code": "rate_limit_exceeded"}})
    failure = classify_error(error)
    assert (failure.kind, is_permanent(error)) == ("rate_limit", True)
    assert "--max-items" in failure.message


def test_what_a_judge_wrote_decides_no_kind():
    """A reply that an error repeats, and judged text, are no words of the provider."""
    body = {
        "error": {"message": "Failed to generate JSON.", "code": "json_validate_failed", "failed_generation": QUOTA}
    }
    assert classify_error(ProviderError(400, body)).kind == "malformed"


def test_a_refused_certificate_names_the_variable():
    """A certificate that is not trusted is not asked again, and the message names the variable for the authority."""
    error = ConnectionError("Cannot connect")
    error.__cause__ = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate")
    failure = classify_error(error)
    assert (failure.kind, is_permanent(error)) == ("connection", True)
    assert "SSL_CERT_FILE" in failure.message


@in_virtual_time
async def test_a_limit_of_a_minute_is_waited_for(tmp_path):
    """A limit in words that also mention billing is waited for; the progress says for what and for how long."""
    begun, shown = [], []

    def limit(body):
        begun[:] = [time for time in begun if now() - time < 6]
        if len(begun) >= 15:
            return fault.answers_with(429, [GOOGLE_MINUTE])
        begun.append(now())
        return fault.ok()

    async with fault.FaultServer(limit) as server:
        judge = Judge("openai:m", base_url=server.url)
        run = await evaluate_async(
            cases(60), [TONE], judge, out=tmp_path, on_progress=lambda p: shown.append(p.waiting)
        )
        assert (run.why, run.progress.scored) == (None, 60)
        assert server.calls < 2 * 60
    waits = [text for text in shown if text]
    assert waits
    assert all(text.startswith("waits ") and text.endswith(" s for the rate limit of openai:m") for text in waits)


@in_virtual_time
async def test_an_empty_account_is_no_refused_key(tmp_path):
    """A run of an empty account ends after the first calls in a line on the account, not on the key."""
    async with fault.FaultServer(fault.answers_with(402, {"error": {"message": "Insufficient Balance"}})) as server:
        run = await evaluate_async(cases(60), [TONE], Judge("openai:m", base_url=server.url), out=tmp_path)
        assert server.calls == 1
    assert run.fatal
    assert run.why.startswith("the account of the judge is empty or at its limit: ")
    assert "billing page" in run.why
    assert "key" not in run.why


@pytest.mark.parametrize("wait", ["-5", "NaN", "864000", "infinity"])
@in_virtual_time
async def test_a_wait_that_cannot_be_meant_is_said(caplog, wait):
    """A waiting time of days, a negative one or no number is not obeyed, in one warning for all calls."""
    plan = [fault.error(429, Retry_After=wait), fault.error(429, Retry_After=wait), fault.ok()]
    async with fault.FaultServer(plan) as server:
        start = now()
        result = await compile_metric(TONE, Judge("openai:m", base_url=server.url)).ainvoke(cases(1)[0])
        assert result.judgements
        assert now() - start < 60
    lines = [record.message for record in caplog.records if "cannot be meant" in record.message]
    assert lines == [f"openai:m asks to wait {wait!r}, which cannot be meant"]
