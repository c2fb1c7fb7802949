"""Judgement of one case by a judge: one answer for the case, or numbered items in batches.

If a first answer cannot be read or lacks items, the judge is asked once more for those parts, with a description
of the error. A part that is still unreadable fails alone. The usage counts every call, including failed ones.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import JsonValue

from greval.errors import MalformedVerdictError
from greval.judging.answer_schema import parse_item_verdicts, parse_verdict
from greval.judging.injection import find_injection
from greval.judging.metric_runnable import CaseOutcome
from greval.judging.model.answer_format import AnswerFormat, asks_for_many
from greval.judging.model.call_context import CallContext, CallForm, CallRecord, list_messages
from greval.judging.model.client import CHARS_PER_TOKEN, JudgeClient
from greval.judging.model.reply_cache import Reply
from greval.judging.prompt import (
    SHARED_SYSTEM_TEXT,
    cut_request,
    format_case_before_metric,
    format_case_text,
    format_examples,
    format_metric_text,
    format_system_text,
    list_numbered_ids,
    neutralise_control_tokens,
    neutralise_fences,
    sort_shared_fields,
)
from greval.judging.reply_json import parse_reply_object
from greval.records.case import Case
from greval.records.metric import JudgedMetric
from greval.records.metric_input import Item, list_judged_items
from greval.records.result import INJECTION_NOTE, Failure, FailureKind, Judgement, ShownIds, Usage, build_outcome
from greval.records.scale import Value

REPAIRABLE_FAILURES = frozenset({"malformed", "off_scale", "missing_item"})
"""Failures that a second answer may repair. A refusal or a truncated answer would repeat itself."""

MAX_OBJECTION_CHARS = 300
"""The most characters of an error that are sent to the judge. It quotes the answer, which may be long."""

ItemBatch = tuple[Item, ...]
T = TypeVar("T")


class AttemptResult(NamedTuple):
    """The result of one attempt: judgements and failures (one for each item, if any), the usage and the last text."""

    judgements: tuple[Judgement, ...]
    failures: tuple[Failure, ...]
    usage: Usage
    text: str
    served_by: tuple[str, ...] = ()


class MetricJudge:
    """A judged metric bound to its judge. Messages and schemas that do not depend on the case are built once."""

    def __init__(self, metric: JudgedMetric, client: JudgeClient) -> None:
        """Build the system messages and the answer schema."""
        self.metric = metric
        self.client = client
        self.tier = client.tier
        self.strategy = client.choose_strategy(metric)
        self.question = self.strategy.question
        self.max_items = self.strategy.max_items
        self.many = asks_for_many(metric, self.max_items)
        self._values: tuple[Value, ...] = tuple(metric.scale.answer_schema().get("enum", ()))
        reason = client.judge.reason_position
        # Examples are turns of their own after the metric, so that it comes first.
        self._starts_with_case = client.judge.prompt_start == "case" and not metric.examples
        form: dict[str, Any] = {"many": self.many, "example": self.tier == "text", "reason": reason}
        self._metric_text = format_metric_text(metric, **form) if self._starts_with_case else ""
        examples = format_examples(metric, many=self.many, reason=reason)
        self.start = [
            SystemMessage(SHARED_SYSTEM_TEXT if self._starts_with_case else format_system_text(metric, **form)),
            *(turn for case, answer in examples for turn in (HumanMessage(case), AIMessage(answer))),
        ]

    @property
    def prompt_group(self) -> str:
        """The name of the prompts for a case that begin alike and are asked of the same judge; empty if none do."""
        if not self._starts_with_case:
            return ""
        needs = [need for need in sort_shared_fields(self.metric.needs) if need != self.metric.over or self.many]
        first = next(iter(needs), "")
        return json.dumps([*self.client.identity.items(), "chunks" if first == "context" else first], default=str)

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The settings that affect the verdicts, as JSON: those of the judge, and how it is asked for this metric."""
        return {**self.client.identity, **self.strategy.settings}

    @cached_property
    def form(self) -> CallForm:
        """Return what all calls of this metric to its judge share, for the record of calls."""
        return CallForm(
            metric=self.metric.model_dump(mode="json"),
            label=self.client.label,
            tier=self.tier,
            identity=dict(self.client.identity),
            judge=self.client.judge.model_dump(mode="json", exclude_defaults=True),
            messages=list_messages(self.start),
            answer_schema=self.question.schema,
        )

    async def __call__(self, case: Case, context: CallContext) -> CaseOutcome:
        """Judge a case that has all inputs, and return the outcome with its usage and who answered."""
        batches = self.split_batches(case)
        # A separate task would cost as much as reading the answer.
        if len(batches) == 1:
            parts = [await self._ask_with_repair(case, batches[0], context)]
        else:
            context = context._replace(one_of_many=True)
            parts = await gather_all(self._ask_with_repair(case, batch, context) for batch in batches)
        judgements = tuple(judgement for part in parts for judgement in part.judgements)
        failures = tuple(failure for part in parts for failure in part.failures)
        served_by = tuple(dict.fromkeys(model for part in parts for model in part.served_by))
        usage = sum((part.usage for part in parts[1:]), parts[0].usage)
        return CaseOutcome(build_outcome(judgements, failures), usage, served_by)

    def split_batches(self, case: Case) -> list[ItemBatch]:
        """Split a case into calls: batches of items, or one empty batch for the case as a whole."""
        return [*self._pack_items(list_judged_items(self.metric, case))] if self.metric.over else [()]

    def build_messages(self, case: Case, batch: ItemBatch = ()) -> list[BaseMessage]:
        """Build the messages of the first attempt for a case or for a batch of its items."""
        if self._starts_with_case:
            return [*self.start, HumanMessage(format_case_before_metric(self.metric, case, batch, self._metric_text))]
        return [*self.start, HumanMessage(format_case_text(self.metric, case, batch))]

    def _pack_items(self, items: Sequence[Item]) -> Iterator[tuple[Item, ...]]:
        """Pack items into calls by count and by estimated tokens. An item above the token limit gets its own call."""
        batch: list[Item] = []
        size = 0
        for item in items:
            tokens = sum(len(str(part)) for _, part in item) // CHARS_PER_TOKEN
            if batch and (len(batch) == self.max_items or size + tokens > self.client.judge.item_tokens):
                yield tuple(batch)
                batch, size = [], 0
            batch.append(item)
            size += tokens
        if batch:
            yield tuple(batch)

    async def _ask_with_repair(self, case: Case, batch: ItemBatch, context: CallContext) -> AttemptResult:
        """Ask, and ask once more for the parts whose failure a second answer may repair."""
        first = await self._ask_once(case, batch, context)
        if not self.client.asks_again or not any(failure.kind in REPAIRABLE_FAILURES for failure in first.failures):
            return first
        retried = tuple(item for item in batch if item.id in {f.item for f in first.failures})
        # If a part could be read, only what is missing is asked again, without an objection to the rest.
        tail = () if first.judgements else _build_objection(first)
        second = await self._ask_once(case, retried, context, tail)
        position = {item.id: n for n, item in enumerate(batch)}
        judgements = sorted(first.judgements + second.judgements, key=lambda j: position.get(j.item or "", 0))
        # A second reply may be empty; what the judge wrote at first is then worth keeping.
        raws = {failure.item: failure.raw for failure in first.failures}
        failures = (f if f.raw else f.model_copy(update={"raw": raws.get(f.item)}) for f in second.failures)
        served_by = (*first.served_by, *second.served_by)
        return AttemptResult(tuple(judgements), tuple(failures), first.usage + second.usage, second.text, served_by)

    async def _ask_once(
        self, case: Case, batch: ItemBatch, context: CallContext, tail: tuple[BaseMessage, ...] = ()
    ) -> AttemptResult:
        messages = [*self.build_messages(case, batch), *tail]
        question = self.strategy.build_question(case, batch)
        reply = await self.client.ask(question, messages, context)
        numbers = {number: item.id for number, item in enumerate(batch, 1)}
        try:
            verdicts = self._read_reply(reply, question, numbers, list_numbered_ids(self.metric, case, batch))
        except MalformedVerdictError as error:
            verdicts = [_build_failure(error, reply, item) for item in numbers.values() or (None,)]
        judgements = tuple(verdict for verdict in verdicts if isinstance(verdict, Judgement))
        if judgements:
            starts_with_metric = not self._starts_with_case
            text = messages[len(self.start)].text if starts_with_metric else format_case_text(self.metric, case, batch)
            judgements = _mark_injection(judgements, find_injection(cut_request(text, batch), self._values))
        failures = tuple(verdict for verdict in verdicts if isinstance(verdict, Failure))
        if context.recorder:
            case_messages = list_messages(messages[len(self.start) :])
            items = tuple(numbers.values())
            context.recorder.record_call(
                CallRecord(self.form, case_messages, reply, items, context.repeat, readable=not failures)
            )
        # Not for replies of a batch, which is paid for as a whole.
        if self.client.asks_again:
            context.guard.record_answer(self.metric.name, None if judgements else failures[0])
        if failures:
            self.client.forget(reply)
        else:
            self.client.remember(reply, one_of_many=context.one_of_many)
        served_by = (reply.served_by,) if reply.served_by else ()
        return AttemptResult(judgements, failures, reply.usage, reply.text, served_by)

    def _read_reply(
        self, reply: Reply, question: AnswerFormat, numbers: Mapping[int, str], shown_ids: ShownIds
    ) -> list[Judgement | Failure]:
        """Read a reply: the verdict on the case or its single item, or one verdict for each numbered item."""
        if reply.failure:
            raise MalformedVerdictError(reply.failure.kind, reply.failure.message)
        answer = parse_reply_object(reply.text, question.schema)
        if not self.many:
            judgement = parse_verdict(self.metric, answer, item=numbers.get(1), shown_ids=shown_ids)
            return [self.strategy.read_probabilities(judgement, reply.tokens, ("value",), question)]
        return [
            _build_failure(verdict, reply, numbers[number])
            if isinstance(verdict, MalformedVerdictError)
            else self.strategy.read_probabilities(verdict, reply.tokens, ("judgements", position, "value"), question)
            for number, (position, verdict) in parse_item_verdicts(
                self.metric, answer, numbers, shown_ids=shown_ids
            ).items()
        ]


async def gather_all(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Wait for all coroutines, and then raise the first error, if there is one."""
    # Calls in flight are paid for, and their replies are kept before an error is raised.
    ends = await asyncio.gather(*work, return_exceptions=True)
    if stopped := next((end for end in ends if isinstance(end, BaseException)), None):
        raise stopped
    return cast("list[T]", ends)


def _build_failure(error: MalformedVerdictError, reply: Reply, item: str | None) -> Failure:
    raw = (reply.failure.raw if reply.failure else None) or reply.text or None
    return Failure(kind=cast("FailureKind", error.kind), message=str(error), raw=raw, item=item)


def _mark_injection(judgements: tuple[Judgement, ...], phrase: str) -> tuple[Judgement, ...]:
    """Add a note with a phrase that speaks to the judge to the judgements of its call; there may be no phrase."""
    if not phrase:
        return judgements
    # A note of the metric with this name stays.
    return tuple(
        judgement.model_copy(update={"notes": {INJECTION_NOTE: phrase, **judgement.notes}}) for judgement in judgements
    )


def _build_objection(first: AttemptResult) -> tuple[BaseMessage, ...]:
    """Build the messages that return an answer with its error. Quoted text opens no fence and ends no turn."""
    fault = neutralise_fences(first.failures[0].message)[:MAX_OBJECTION_CHARS]
    answer = (AIMessage(neutralise_control_tokens(first.text)),) if first.text else ()
    return (
        *answer,
        HumanMessage(f"That answer cannot be used: {fault}. Answer again with the JSON only, in the form asked for."),
    )
