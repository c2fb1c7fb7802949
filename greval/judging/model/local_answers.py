"""How the embedded judge is asked for its answers to a metric, and how their probabilities are read.

It is a small model, so that it is asked about one item a call and for a short reason. It chooses its value before it
writes a reason, so that the probabilities of all values are known: they are calibrated and weighed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import JsonValue

from greval.errors import MalformedVerdictError
from greval.judging.answer_schema import DETAILED_FACTOR, build_answer_schema
from greval.judging.local.models import MODELS
from greval.judging.model.answer_format import AnswerFormat, AnswerStrategy, asks_for_many
from greval.judging.model.calibrations import Calibration, find_calibration
from greval.judging.model.judge import LOCAL_MAX_TOKENS, LOCAL_REASON_LENGTH, Judge
from greval.judging.model.value_first import ValueFirst
from greval.judging.reply_json import ValuePath, compute_value_probabilities
from greval.records.case import Case
from greval.records.metric import JudgedMetric
from greval.records.metric_input import Item
from greval.records.result import CALIBRATION_NOTE, Judgement, Tier
from greval.records.scale import Value

LOCAL_MAX_ITEMS = 1
"""The embedded model judges one item a call: small models drop and permute items of a list (benchmarks/chunks.py)."""
WEIGHED_ALTERNATIVES = 20
"""The alternatives of each token that are requested to weigh values: the most that OpenAI-compatible servers give."""
MEAN_DIGITS = 3
"""The digits to which a weighted mean is rounded."""


@dataclass(frozen=True, kw_only=True)
class LocalAnswers(AnswerStrategy):
    """The strategy of the embedded judge: values are weighed by their probabilities, which a calibration may change."""

    weighed_values: Sequence[Value]
    calibration: Calibration | None

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The settings that affect the verdicts beside those of the judge, as JSON."""
        reading: dict[str, JsonValue] = {"number": "weighted"} if self.weighed_values else {}
        if self.question.value_first:
            reading["answer"] = "value first"
        if self.calibration:
            reading["calibration"] = self.calibration.coefficients
        return {**super().settings, **reading}

    def build_question(self, case: Case, batch: Sequence[Item]) -> AnswerFormat:
        """Build the format of an answer, in which the worst value is made more or less likely for this item."""
        if not self.calibration:
            return self.question
        shift = self.calibration.compute_shift(case, batch[0] if batch else None)
        logit_bias = dict.fromkeys(self.calibration.tokens, shift)
        return replace(self.question, logit_bias=logit_bias, _made={}, _adapted={})

    def read_probabilities(
        self, judgement: Judgement, tokens: Sequence[Mapping[str, Any]], path: ValuePath, question: AnswerFormat
    ) -> Judgement:
        """Make the mean of the values, weighed by their probabilities, the number of a judgement.

        If the model alone would have chosen another value than the calibrated one, a note holds it.
        """
        if self.metric.counts or not self.weighed_values:
            return super().read_probabilities(judgement, tokens, path, question)
        if question.confidence:
            judgement = super().read_probabilities(judgement, tokens, path, question)
        probabilities = compute_value_probabilities(tokens, path, self.weighed_values)
        if probabilities is None:
            raise MalformedVerdictError("malformed", "the reply has no probabilities, with which its value is weighed")
        changes: dict[str, Any] = {}
        if self.calibration:
            uncalibrated = max(probabilities, key=probabilities.__getitem__)
            probabilities = self.calibration.calibrate(probabilities, next(iter(question.logit_bias.values())))
            if question.confidence:
                changes["confidence"] = probabilities.get(judgement.value, 0.0)
            if uncalibrated != judgement.value:
                changes["notes"] = {CALIBRATION_NOTE: uncalibrated, **judgement.notes}
        total = sum(probabilities.values())
        mean = sum((self.metric.scale.number(value) or 0.0) * share for value, share in probabilities.items()) / total
        return judgement.model_copy(update={**changes, "number": round(mean, MEAN_DIGITS)})


def build_local_strategy(metric: JudgedMetric, judge: Judge, label: str, tier: Tier) -> LocalAnswers:
    """Build the strategy of the embedded judge, whose name in results is `label`."""
    max_items = judge.max_items or LOCAL_MAX_ITEMS
    many = asks_for_many(metric, max_items)
    first_values = _list_first_values(metric, judge, tier)
    weighed_values = _list_weighed_values(metric, first_values)
    value_first = None if many else _build_value_first(metric, first_values, label)
    # calibrations were fitted for prompts in this form, and must not change the tokens of a reason
    is_measured = weighed_values and value_first and judge.prompt_start != "case" and not metric.examples
    calibration = find_calibration(metric, label) if is_measured and judge.calibration else None
    calibration = calibration if calibration and calibration.weights else None
    has_limit = judge.max_tokens is None and metric.reason_depth != "brief"
    question = AnswerFormat(
        metric.name,
        build_answer_schema(metric, many=many, reason=judge.reason_position, reason_length=LOCAL_REASON_LENGTH),
        tier,
        judge.confidence,
        max_tokens=compute_answer_limit(metric, max_items if many else 1) if has_limit else None,
        alternatives=WEIGHED_ALTERNATIVES if weighed_values else 0,
        value_first=value_first,
    )
    return LocalAnswers(
        metric=metric, question=question, max_items=max_items, weighed_values=weighed_values, calibration=calibration
    )


def _list_first_values(metric: JudgedMetric, judge: Judge, tier: Tier) -> Sequence[Value]:
    """List the values that the model chooses between before it writes a reason; empty if it writes that first."""
    if tier != "schema" or judge.reason_position != "after" or metric.counts:
        return ()
    values: Sequence[Value] = metric.scale.answer_schema().get("enum", ())
    return values


def _list_weighed_values(metric: JudgedMetric, first_values: Sequence[Value]) -> Sequence[Value]:
    """List the values that are weighed: after a reason was written, one value would have nearly all probability."""
    # Values without a number have no mean, and both orders of a pair are merged by their values.
    is_weighable = not metric.preference and all(metric.scale.number(value) is not None for value in first_values)
    return first_values if is_weighable else ()


def _build_value_first(metric: JudgedMetric, first_values: Sequence[Value], label: str) -> ValueFirst | None:
    """Return how value and reason are requested one after the other, if they are all that an answer holds."""
    is_plain = not metric.notes and metric.reason_depth == "brief"
    # Not every chat template of a user's own model can continue an answer.
    is_shipped = label.partition(":")[2] in MODELS
    # A token may hold a part of a letter beyond ASCII, which a server does not return by itself.
    if not (first_values and is_plain and is_shipped and all(str(value).isascii() for value in first_values)):
        return None
    return ValueFirst(tuple(first_values), LOCAL_REASON_LENGTH)


def compute_answer_limit(metric: JudgedMetric, verdicts: int = 1) -> int:
    """Compute the token limit of an answer: that of a brief answer plus an allowance for the depth of the reason.

    The allowance assumes one token a character, which no script exceeds by much.
    """
    more = {"brief": 0, "detailed": DETAILED_FACTOR - 1, "steps": len(metric.steps)}[metric.reason_depth]
    return LOCAL_MAX_TOKENS + verdicts * more * LOCAL_REASON_LENGTH
