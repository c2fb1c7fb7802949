"""The context of a judgement, passed down to each of its calls, and the record of a call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, get_async_callback_manager_for_config
from pydantic import JsonValue

from greval.judging.model.budget import CallMeter, RunGuard
from greval.records.metric import Verdicts
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


NO_CONFIG = RunnableConfig()
NO_VERDICTS: Verdicts = {}
NO_GUARD = RunGuard(watchful=False)
"""The guard of calls that belong to no run: it admits all of them."""


class CallContext(NamedTuple):
    """The context in which a metric judges a case.

    The first four parts are those of the run or the request. `guard` decides whether calls may be made. `meter` counts
    the calls of several runs and requests, and may refuse further ones. `config` is LangChain's, and `has_callbacks` is
    true if any of its callbacks listens.

    The others are those of a judgement. `verdicts` are what a metric that is derived from others is computed from.
    `recorder` receives the calls, None if they are not recorded. `repeat` is the number of the repeat: it is part of
    the cache key, so that each repeat is a call of its own. `one_of_many` is true if the judgement takes several calls,
    so that their replies are kept in the journal.
    """

    guard: RunGuard = NO_GUARD
    meter: CallMeter | None = None
    config: RunnableConfig = NO_CONFIG
    has_callbacks: bool = False
    verdicts: Verdicts = NO_VERDICTS
    recorder: CallRecorder | None = None
    repeat: int = 0
    one_of_many: bool = False


NO_RUN = CallContext()
"""The context of calls that belong to no run."""


def build_context(
    config: RunnableConfig | None, *, guard: RunGuard = NO_GUARD, meter: CallMeter | None = None
) -> CallContext:
    """Build the context of all judgements with a config of LangChain."""
    # LangChain looks up callbacks in the environment and in context variables, which takes longer than most computed
    # metrics.
    complete = ensure_config(config)
    if get_async_callback_manager_for_config(complete).handlers:
        return CallContext(guard, meter, complete, has_callbacks=True)
    # no run of LangChain is begun, and the calls of the judge must not take its name and its id
    inherited = {key: setting for key, setting in complete.items() if key not in {"run_name", "run_id"}}
    return CallContext(guard, meter, cast("RunnableConfig", inherited))
