"""Asking a judge for a case: one answer, or numbered items in batches; each part is asked again once.

What a first answer lacks (a readable verdict, single items) is asked again, with what was wrong, and
then fails alone. Everything that was spent is counted, in failures too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig

from greval.errors import MalformedVerdictError
from greval.judging.answer_schema import DETAILED_LENGTH, answer_schema, read_items, read_verdict
from greval.judging.model.answer_format import Question
from greval.judging.model.client import LETTERS_PER_TOKEN, JudgeClient
from greval.judging.model.judge import LOCAL_MAX_TOKENS, LOCAL_REASON_LENGTH
from greval.judging.model.reply import Reply
from greval.judging.prompt import case_text, example_texts, neutral, number_ids, system_text
from greval.judging.reply_json import Path, parse, probability
from greval.records.case import Case
from greval.records.metric import JudgedMetric
from greval.records.metric_input import Item, items
from greval.records.result import Failure, FailureKind, Judgement, Outcome, ShownIds, Usage, build_outcome

DEFAULT_MAX_ITEMS = 10
LOCAL_MAX_ITEMS = 1
"""A small model drops and permutes items of a list: it judges one at a time (benchmarks/chunks.py)."""

WORTH_AGAIN = frozenset({"malformed", "off_scale", "missing_item"})
"""What a second answer may mend; a refusal or a cut answer would come again."""

MAX_OBJECTION = 300
"""Letters of a fault that are told to the judge: an answer off the scale may be long."""

Batch = tuple[Item, ...]
T = TypeVar("T")


@dataclass(frozen=True)
class Round:
    """What asking gave: judgements and failures, by item where there are items, the cost, the last text."""

    judgements: tuple[Judgement, ...]
    failures: tuple[Failure, ...]
    usage: Usage
    text: str


@dataclass(frozen=True)
class Way:
    """How one judgement is asked for: LangChain's config, which repeat it is, whether it takes several calls."""

    config: RunnableConfig
    repeat: int
    one_of_many: bool


class Asking:
    """A judged metric with its judge: the messages and schemas that do not change are made once."""

    def __init__(self, metric: JudgedMetric, client: JudgeClient) -> None:
        """Make the system messages and answer schemas."""
        self.metric = metric
        self.client = client
        self.tier = client.tier
        self.max_items = client.judge.max_items or (LOCAL_MAX_ITEMS if client.judge.local else DEFAULT_MAX_ITEMS)
        self.many = metric.over is not None and self.max_items > 1
        reason = client.judge.reason
        examples = example_texts(metric, many=self.many, reason=reason)
        self.start = [
            SystemMessage(system_text(metric, many=self.many, example=self.tier == "text", reason=reason)),
            *(turn for case, answer in examples for turn in _turns(case, answer)),
        ]
        length = LOCAL_REASON_LENGTH if client.judge.local else None
        schema = answer_schema(metric, many=self.many, reason=reason, reason_length=length)
        most = answer_limit(metric, self.max_items if self.many else 1) if self._is_bounded() else None
        self.question = Question(metric.name, schema, self.tier, client.judge.confidence, max_tokens=most)

    def _is_bounded(self) -> bool:
        """Return whether answers have a longest length that depends on the metric: a deep reason of a small model."""
        judge = self.client.judge
        return judge.local and judge.max_tokens is None and self.metric.reason_depth != "brief"

    async def __call__(
        self, case: Case, config: RunnableConfig, *, repeat: int = 0, repeats: int = 1
    ) -> tuple[Outcome, Usage]:
        """Give the outcome for a case that lacks nothing, and what it cost."""
        batches = self.batches(case)
        way = Way(config, repeat, one_of_many=len(batches) > 1 or repeats > 1)
        if len(batches) == 1:  # a task of its own would cost as much as all the reading of the answer
            parts = [await self._settle(case, batches[0], way)]
        else:
            parts = await ended(self._settle(case, batch, way) for batch in batches)
        judgements = tuple(judgement for part in parts for judgement in part.judgements)
        failures = tuple(failure for part in parts for failure in part.failures)
        return build_outcome(judgements, failures), sum((part.usage for part in parts), Usage())

    def batches(self, case: Case) -> list[Batch]:
        """Give what is asked in one call each: batches of items, or the case as a whole."""
        return [*self._packed(items(self.metric, case))] if self.metric.over else [()]

    def messages(self, case: Case, batch: Batch = ()) -> list[BaseMessage]:
        """Give what is asked first for a case or for a batch of its items."""
        return [*self.start, HumanMessage(case_text(self.metric, case, batch))]

    def _packed(self, found: Sequence[Item]) -> Iterator[tuple[Item, ...]]:
        """Pack items into calls, by number and by their estimated tokens; a large item stands alone."""
        batch: list[Item] = []
        size = 0
        for item in found:
            tokens = sum(len(str(part)) for _, part in item) // LETTERS_PER_TOKEN
            if batch and (len(batch) == self.max_items or size + tokens > self.client.judge.item_tokens):
                yield tuple(batch)
                batch, size = [], 0
            batch.append(item)
            size += tokens
        if batch:
            yield tuple(batch)

    async def _settle(self, case: Case, batch: Batch, way: Way) -> Round:
        """Ask, and ask once more for what the first answer lacks and a second may hold."""
        first = await self._round(case, batch, way)
        left = tuple(item for item in batch if item.id in {f.item for f in first.failures})
        if not self.client.asks_again or not any(failure.kind in WORTH_AGAIN for failure in first.failures):
            return first
        tail = () if first.judgements else _objecting(first)
        again = await self._round(case, left, way, tail)
        place = {item.id: n for n, item in enumerate(batch)}
        judgements = sorted(first.judgements + again.judgements, key=lambda j: place.get(j.item or "", 0))
        raws = {failure.item: failure.raw for failure in first.failures}
        failures = (f if f.raw else f.model_copy(update={"raw": raws.get(f.item)}) for f in again.failures)
        return Round(tuple(judgements), tuple(failures), first.usage + again.usage, again.text)

    async def _round(self, case: Case, batch: Batch, way: Way, tail: tuple[BaseMessage, ...] = ()) -> Round:
        """Ask once, for the case or for a batch of its items, and read what came back."""
        messages = [*self.messages(case, batch), *tail]
        reply = await self.client.ask(
            self.question, messages, way.config, repeat=way.repeat, one_of_many=way.one_of_many
        )
        numbers = {number: item.id for number, item in enumerate(batch, 1)}
        try:
            verdicts = self._read(reply, numbers, number_ids(self.metric, case, batch))
        except MalformedVerdictError as error:
            verdicts = [_failure(error, reply, item) for item in numbers.values() or (None,)]
        judgements = tuple(verdict for verdict in verdicts if isinstance(verdict, Judgement))
        failures = tuple(verdict for verdict in verdicts if isinstance(verdict, Failure))
        if self.client.asks_again:  # not what came from a batch: it was paid for at once
            self.client.guard.note_answer(self.metric.name, None if judgements else failures[0])
        if failures:
            self.client.failed(messages, reply, failures)
        else:
            self.client.remember(reply, one_of_many=way.one_of_many)
        return Round(judgements, failures, reply.usage, reply.text)

    def _read(self, reply: Reply, numbers: Mapping[int, str], shown_ids: ShownIds) -> list[Judgement | Failure]:
        """Read an answer: the verdict on the case or its one item, or a verdict on each numbered item."""
        if reply.failure:
            raise MalformedVerdictError(reply.failure.kind, reply.failure.message)
        answer = parse(reply.text)
        if not self.many:
            judgement = read_verdict(self.metric, answer, item=numbers.get(1), shown_ids=shown_ids)
            return [_sure(judgement, reply, ("value",))]
        return [
            _failure(verdict, reply, numbers[number])
            if isinstance(verdict, MalformedVerdictError)
            else _sure(verdict, reply, ("judgements", place, "value"))
            for number, (place, verdict) in read_items(self.metric, answer, numbers, shown_ids=shown_ids).items()
        ]


def answer_limit(metric: JudgedMetric, verdicts: int = 1) -> int:
    """Return the most tokens of a small model's answer: those of a brief one, and what the reason's depth adds.

    What is added counts a token a letter, which no script exceeds by much.

    Args:
        metric: The definition.
        verdicts: How many verdicts stand in one answer.

    Example:
        >>> from greval.metrics.library import load
        >>> answer_limit(load("correctness"))
        1024
    """
    more = {"brief": 0, "detailed": DETAILED_LENGTH - 1, "steps": len(metric.steps)}[metric.reason_depth]
    return LOCAL_MAX_TOKENS + verdicts * more * LOCAL_REASON_LENGTH


async def ended(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Wait for all; where one is stopped, the others come to their end first, so that what they paid for is kept."""
    ends = await asyncio.gather(*work, return_exceptions=True)
    if stopped := next((end for end in ends if isinstance(end, BaseException)), None):
        raise stopped
    return cast("list[T]", ends)


def _turns(case: str, answer: str) -> tuple[BaseMessage, BaseMessage]:
    """Give an example as what was asked and answered before."""
    return HumanMessage(case), AIMessage(answer)


def _failure(error: MalformedVerdictError, reply: Reply, item: str | None) -> Failure:
    """Give the failure of an answer, with what the judge said word for word."""
    raw = (reply.failure.raw if reply.failure else None) or reply.text or None
    return Failure(kind=cast("FailureKind", error.kind), message=str(error), raw=raw, item=item)


def _sure(judgement: Judgement, reply: Reply, path: Path) -> Judgement:
    """Add the probability that the judge gave to its value, where the model told it."""
    if not reply.tokens:
        return judgement
    return judgement.model_copy(update={"confidence": probability(reply.tokens, path)})


def _objecting(first: Round) -> tuple[BaseMessage, ...]:
    """Give back an answer with what is wrong with it; what it cites of itself opens no fence."""
    fault = neutral(first.failures[0].message)[:MAX_OBJECTION]
    said = (AIMessage(first.text),) if first.text else ()
    return (
        *said,
        HumanMessage(f"That answer cannot be used: {fault}. Answer again with the JSON only, in the form asked for."),
    )
