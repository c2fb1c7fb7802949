"""A call of a judge as a run stores it: what the judge was sent, and what it replied."""

from __future__ import annotations

from operator import not_
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from greval.records.case import Count
from greval.records.record import Record
from greval.records.result import Failure, Tier, Usage


class CallMessage(Record):
    """A message to the judge, or in later attempts its own earlier reply."""

    role: Literal["system", "user", "assistant"]
    text: str


class JudgeCall(Record):
    """One call for a judgement: the messages, the schema of the answer, and the reply, also if it could not be read.

    `fingerprint` is that of the definition by which the judge was asked; it differs from that of a replayed result.
    `items` are the ids of the judged items in the order of their numbers, empty if the case was judged as a whole.
    `usage` is that of the call with its retries; a cached reply has only `hits`. `latency` is that of the last attempt.
    `served_by` is the model that the reply names, with its fingerprint; JSON omits it if the reply names none.
    """

    sample_id: str
    method: str
    metric: str
    fingerprint: str
    judge: str
    tier: Tier
    repeat: Count = 0
    items: tuple[str, ...] = ()
    messages: tuple[CallMessage, ...]
    answer_schema: dict[str, JsonValue]
    reply: str
    failure: Failure | None = None
    usage: Usage
    latency: Annotated[float, Field(ge=0)] = 0.0
    served_by: Annotated[str, Field(exclude_if=not_)] = ""
