"""How a judge is asked for its answers to a metric, and how the probabilities of an answer are read.

This is the strategy for all judges but the embedded one, which has its own in `greval.judging.model.local_answers`.
`JudgeClient.choose_strategy` chooses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from greval.judging.answer_schema import build_answer_schema
from greval.judging.model.answer_format import AnswerFormat
from greval.judging.model.judge import Judge
from greval.judging.reply_json import ValuePath, compute_probability
from greval.records.metric import JudgedMetric
from greval.records.result import Judgement, Tier

DEFAULT_MAX_ITEMS = 10


@dataclass(frozen=True, kw_only=True)
class AnswerStrategy:
    """How a judge is asked for its answers to a metric: in which format, and for the verdicts on how many items."""

    metric: JudgedMetric
    question: AnswerFormat
    max_items: int

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The settings that affect the verdicts beside those of the judge, as JSON."""
        return {"max_items": self.max_items} if self.metric.over else {}

    def read_probabilities(
        self, judgement: Judgement, tokens: Sequence[Mapping[str, Any]], path: ValuePath
    ) -> Judgement:
        """Add the probability of the value at a path of the answer as confidence, if the model returned it."""
        # A value that is counted was not written.
        if not tokens or self.metric.counts:
            return judgement
        return judgement.model_copy(update={"confidence": compute_probability(tokens, path)})


def build_strategy(metric: JudgedMetric, judge: Judge, tier: Tier) -> AnswerStrategy:
    """Build the strategy of a judge that answers as a whole."""
    max_items = judge.max_items or DEFAULT_MAX_ITEMS
    many = asks_for_many(metric, max_items)
    schema = build_answer_schema(metric, many=many, reason=judge.reason_position)
    question = AnswerFormat(metric.name, schema, tier, judge.confidence)
    return AnswerStrategy(metric=metric, question=question, max_items=max_items)


def asks_for_many(metric: JudgedMetric, max_items: int) -> bool:
    """Return whether an answer holds a list of verdicts with the numbers of their items."""
    return metric.over is not None and max_items > 1
