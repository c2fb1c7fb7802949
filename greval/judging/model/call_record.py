"""What a judge was sent and what it replied, for each call of a judgement.

The part of a prompt that all calls of a metric share is in `CallForm`, so that it is stored once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pydantic import JsonValue

from greval.records.result import Tier

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from greval.judging.model.reply_cache import Reply

Message = tuple[str, str]
"""The role of a message and its text."""
ROLES: Mapping[str, str] = {"human": "user", "ai": "assistant"}
"""The role of a message by LangChain's type, if it is called otherwise."""


@dataclass(frozen=True)
class CallForm:
    """What all calls of a metric to a judge share: the definition, the judge, the first messages and the answer schema.

    `identity` holds the settings of the judge that affect the verdicts, `judge` all of them. Neither holds a secret.
    """

    metric: Mapping[str, Any]
    label: str
    tier: Tier
    identity: Mapping[str, JsonValue]
    judge: Mapping[str, JsonValue]
    messages: tuple[Message, ...]
    answer_schema: Mapping[str, Any]

    @cached_property
    def text(self) -> str:
        """The form as JSON."""
        return json.dumps({name: getattr(self, name) for name in self.__dataclass_fields__}, ensure_ascii=False)

    @staticmethod
    def from_text(text: str) -> CallForm:
        """Build a form from its JSON."""
        fields = json.loads(text)
        return CallForm(**{**fields, "messages": tuple((role, content) for role, content in fields["messages"])})


class CallRecord(NamedTuple):
    """One call: its form, the messages after those of the form, and the reply.

    `items` are the ids of the items that it judges, in the order of their numbers; `repeat` is the number of the
    repeat. `readable` is true if every verdict that was asked for could be read from the reply.
    """

    form: CallForm
    messages: tuple[Message, ...]
    reply: Reply
    items: tuple[str, ...] = ()
    repeat: int = 0
    readable: bool = True


class CallRecorder(Protocol):
    """Receives the calls of a judgement in the order of their replies."""

    def record_call(self, call: CallRecord) -> None:
        """Store a call, or keep it until the result of the judgement is stored."""


def list_messages(messages: Sequence[BaseMessage]) -> tuple[Message, ...]:
    """Return the role and the text of each message."""
    return tuple((ROLES.get(message.type, message.type), message.text) for message in messages)
