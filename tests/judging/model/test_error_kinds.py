"""The kind of a failure by the words of providers: limits that pass, empty accounts, prompts that are too long."""

from __future__ import annotations

import json
import ssl
from pathlib import Path

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


ROWS = [json.loads(line) for line in Path(__file__).with_name("provider_errors.jsonl").read_text("utf-8").splitlines()]
"""Errors as providers document them or users report them, each with its kind and the seconds that it asks to wait."""
QUOTA = "You exceeded your current quota, please check your plan and billing details."
GOOGLE_MINUTE = next(row["body"] for row in ROWS if row["name"] == "Gemini, minute")


def build_error(row):
    """Build the error of a row as the client of the provider has it."""
    if row.get("client") != "botocore":
        return ProviderError(row["status"], row["body"], row.get("headers", ()))
    code, message = row["code"], row["message"]
    error = type(code, (Exception,), {})(f"An error occurred ({code}) when calling the Converse operation: {message}")
    headers = {"retry-after": "3"} if "wait 3" in message else {}
    metadata = {"HTTPStatusCode": row["status"], "HTTPHeaders": headers}
    error.response = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": metadata}
    return error


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_the_kind_of_each_error_and_its_wait(row):
    """A limit that passes is no empty account, and a prompt that is too long is neither, in the words of each."""
    error = build_error(row)
    assert (classify_error(error).kind, read_wait(error).seconds) == (row["kind"], row.get("wait"))


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
    begun, waits_shown = [], []

    def limit(body):
        begun[:] = [time for time in begun if now() - time < 6]
        if len(begun) >= 15:
            return fault.answers_with(429, [GOOGLE_MINUTE])
        begun.append(now())
        return fault.ok()

    async with fault.FaultServer(limit) as server:
        judge = Judge("openai:m", base_url=server.url)
        run = await evaluate_async(
            cases(60), [TONE], judge, out=tmp_path, on_progress=lambda p: waits_shown.append(p.waiting)
        )
        assert (run.why, run.progress.scored) == (None, 60)
        assert server.calls < 2 * 60
    waits = [text for text in waits_shown if text]
    assert waits
    assert all(text.startswith("waits ") and text.endswith(" s for the rate limit of openai:m") for text in waits)


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
