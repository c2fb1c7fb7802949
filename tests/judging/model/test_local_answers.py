"""Corrections of the embedded model: for which metrics and judges they hold, and what they do to a call."""

from __future__ import annotations

import math

import pytest

from greval import Case, Judge, load_metric
from greval.judging.local.models import DEFAULT_MODEL
from greval.judging.metric_judge import MetricJudge
from greval.judging.model.call_context import NO_RUN
from greval.judging.model.client import JudgeClient
from greval.judging.model.local_answers import CALIBRATIONS, FIRST_TOKENS, find_shifts
from greval.judging.model.reply_cache import Reply
from greval.records.metric_input import compute_fingerprint
from greval.records.result import Usage

LABEL = f"local:{DEFAULT_MODEL}"


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_a_correction_is_that_of_the_predefined_metric(name):
    """A metric whose text is edited needs a new correction: `python benchmarks/calibrate_local.py` prints it."""
    metric = load_metric(name)
    definition, shifts = CALIBRATIONS[name]
    assert definition == compute_fingerprint(metric, {})
    assert {*shifts} <= {*metric.scale.names} & {*FIRST_TOKENS}
    assert find_shifts(metric, LABEL) == shifts


def test_another_model_or_a_changed_metric_has_no_correction():
    """What was measured for one model and one text is not applied to others."""
    metric = load_metric("chunk_evaluation")
    assert find_shifts(metric, "local:own.gguf") == find_shifts(metric, "openai:m") == {}
    assert find_shifts(metric.model_copy(update={"description": "Another text."}), LABEL) == {}
    assert find_shifts(load_metric("correctness"), LABEL) == {}


@pytest.mark.parametrize(
    ("judge", "is_corrected"),
    [
        (Judge("local"), True),
        (Judge("local", reason="before"), False),
        (Judge("local", max_items=5), False),
        (Judge("local", prompt_start="case"), False),
        (Judge("local", structured="text"), False),
    ],
)
def test_a_correction_is_sent_with_each_call_and_is_part_of_the_fingerprint(judge, is_corrected):
    """It holds for prompts in the form in which it was chosen; other prompts have another fingerprint anyway."""
    judging = MetricJudge(load_metric("chunk_evaluation"), JudgeClient(judge))
    assert bool(judging.question.logit_bias) == is_corrected
    assert ("shifts" in judging.settings) == is_corrected


class OneReply:
    """A cache that holds the same reply for every request."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    def get(self, key: str) -> Reply:
        return self.reply


async def test_numbers_and_confidence_are_those_of_the_corrected_probabilities():
    """The model returns what it would have chosen without the correction: 0.7, 0.1 and 0.2."""
    shares = {"Rel": 0.7, "Ind": 0.1, "Ir": 0.2}
    chosen = {
        "token": "Ir",
        "logprob": math.log(0.2),
        "top_logprobs": [{"token": token, "logprob": math.log(share)} for token, share in shares.items()],
    }
    pieces = ('{"value": ', '"', chosen, 'relevant"', ', "reason": "No."}')
    tokens = [
        piece if isinstance(piece, dict) else {"token": piece, "logprob": 0.0, "top_logprobs": [{"token": piece}]}
        for piece in pieces
    ]
    reply = Reply('{"value": "Irrelevant", "reason": "No."}', Usage(), tokens=tokens, known=True)
    client = JudgeClient(Judge("local", confidence=True), cache=OneReply(reply))
    case = Case(question="Who?", chunks=["Tea is a drink."])
    outcome = (await MetricJudge(load_metric("chunk_evaluation"), client)(case, NO_RUN)).outcome
    (judgement,) = outcome.judgements
    irrelevant = 0.2 * math.exp(CALIBRATIONS["chunk_evaluation"][1]["Irrelevant"])
    total = 0.7 + 0.1 + irrelevant
    assert judgement.value == "Irrelevant"
    assert judgement.number == pytest.approx((0.7 + 0.5 * 0.1) / total, abs=0.001)
    assert judgement.confidence == pytest.approx(irrelevant / total)
