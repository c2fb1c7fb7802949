"""A check of what a judge supports, by test calls: reachability, schema, tools, probabilities, repeatability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from greval.errors import MalformedVerdictError
from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.client import JudgeClient, read_clock
from greval.judging.model.judge import Judge
from greval.judging.model.reply_cache import Reply
from greval.judging.reply_json import compute_probability, parse_reply_object
from greval.records.record import Record
from greval.records.result import Failure, FailureKind, Tier, Usage

CheckFinding = Literal["yes", "no", "not told"]
UNKNOWN: CheckFinding = "not told"
CHECK_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "value": {"type": "string", "enum": ["Violet", "Umber"]}},
    "required": ["reason", "value"],
    "additionalProperties": False,
}
CHECK_MESSAGES: list[BaseMessage] = [
    SystemMessage("Answer with JSON only, holding reason (a short text), then value."),
    HumanMessage("Which of the two colours is darker? Value: one of violet, umber. Name it in lower case."),
]
"""The prompt asks for lower case, the schema for title case. Only an enforced schema results in title case."""
ANSWER_TOKEN_WORK = 4
"""A token of an answer takes a model on a CPU about as long as four of a prompt (`benchmarks/embedded_speed.py`)."""


REFUSED = Reply("", Usage(), Failure(kind="request", message="the judge refuses such requests"))


class JudgeCapabilities(Record):
    """The findings of `check_judge`.

    `tier` is the way in which greval asks for structured answers, `answers` whether the judge answered at all,
    `message` the error of the first call, and `adaptations` say what it refuses and how it is asked instead.
    """

    judge: str
    tier: Tier
    reachable: bool
    seconds: float
    schema_enforced: CheckFinding = UNKNOWN
    tool_calls: CheckFinding = UNKNOWN
    probabilities: CheckFinding = UNKNOWN
    repeatable: CheckFinding = UNKNOWN
    token_counts: CheckFinding = UNKNOWN
    usage: Usage
    message: str = ""
    failure: FailureKind | None = None
    answers: bool = True
    adaptations: tuple[str, ...] = ()


async def check_judge(model: Judge | BaseChatModel | str) -> JudgeCapabilities:
    """Check in four calls what a judge supports: settings, or a chat model. The replies are not cached.

    `repeatable` is "yes" if the same question at the same settings got an identical text twice.

    Raises:
        JudgeError: If the judge cannot be used at all.
    """
    # A check reports a failure at once.
    client = JudgeClient(model.model_copy(update={"max_retries": 0}) if isinstance(model, Judge) else model)
    await client.ready()
    start = read_clock()
    first = await _ask_question(client, client.tier, confidence=client.tier == "schema")
    seconds = read_clock() - start
    # The first call may have changed how the judge is asked.
    tier = client.select_tier(client.tier)
    if first.failure and first.failure.kind in {"connection", "timeout", "authentication", "server"}:
        return JudgeCapabilities(
            judge=client.label,
            tier=client.tier,
            reachable=False,
            seconds=seconds,
            usage=first.usage,
            message=first.failure.message,
            failure=first.failure.kind,
            answers=False,
        )
    second = await _ask_question(client, client.tier, confidence=client.tier == "schema")
    schema = await _ask_question(client, "schema") if client.select_tier("schema") == "schema" else REFUSED
    tools = await _ask_question(client, "tools") if client.select_tier("tools") == "tools" else REFUSED
    return JudgeCapabilities(
        judge=client.label,
        tier=tier,
        reachable=True,
        seconds=seconds,
        schema_enforced=_check_schema(schema),
        tool_calls=_check_schema(tools),
        probabilities="yes" if compute_probability(first.tokens, ("value",)) is not None else "no",
        repeatable=UNKNOWN if first.failure or second.failure else _format_yes_no(first.text == second.text),
        token_counts=_format_yes_no(first.usage.input_tokens is not None),
        usage=first.usage + second.usage + schema.usage + tools.usage,
        message=first.failure.message if first.failure else "",
        failure=first.failure.kind if first.failure else None,
        answers=not all(reply.failure for reply in (first, second, schema, tools)),
        adaptations=client.adaptation.describe(client.label),
    )


async def measure_token_seconds(judge: Judge) -> float | None:
    """Measure by one call how long a model takes for a token of a prompt; None if the call fails or counts no tokens.

    A token of its answer counts as `ANSWER_TOKEN_WORK` of them.
    """
    client = JudgeClient(judge)
    await client.ready()
    start = read_clock()
    reply = await _ask_question(client, client.tier)
    seconds = read_clock() - start
    work = (reply.usage.input_tokens or 0) + ANSWER_TOKEN_WORK * (reply.usage.output_tokens or 0)
    return seconds / work if work and not reply.failure else None


async def _ask_question(client: JudgeClient, tier: Tier, *, confidence: bool = False) -> Reply:
    return await client.ask(AnswerFormat("check", CHECK_SCHEMA, tier, confidence), CHECK_MESSAGES)


def _check_schema(reply: Reply) -> CheckFinding:
    """Check whether an answer conforms to the schema, including the spelling of the allowed values."""
    if reply.failure:
        return "no"
    try:
        answer = parse_reply_object(reply.text, CHECK_SCHEMA)
    except MalformedVerdictError:
        return "no"
    return _format_yes_no(answer.get("value") in {"Violet", "Umber"} and isinstance(answer.get("reason"), str))


def _format_yes_no(holds: bool) -> CheckFinding:  # noqa: FBT001 - a predicate's answer
    return "yes" if holds else "no"
