"""Calibrations of the embedded model: for which metrics and judges they hold, and what they do to a call."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from greval import Case, Judge, load_metric
from greval.judging.local.models import DEFAULT_MODEL
from greval.judging.metric_judge import MetricJudge
from greval.judging.model.calibrations import find_calibration, read_calibrations
from greval.judging.model.call_context import NO_RUN
from greval.judging.model.client import JudgeClient
from greval.judging.model.reply_cache import Reply
from greval.records.metric_input import compute_fingerprint
from greval.records.result import Usage

LABEL = f"local:{DEFAULT_MODEL}"
CASE = Case(
    id="q",
    question="Who built the harbour of Ada?",
    expected_answer="Bo Smith",
    answer="Bo Smith built it.",
    chunks=["Ada is a town.", "Bo Smith built a harbour."],
    triples=[["Bo Smith", "built", "harbour"]],
)


@pytest.mark.parametrize("calibration", read_calibrations().values(), ids=lambda calibration: calibration.metric)
def test_a_calibration_is_that_of_the_predefined_metric(calibration):
    """A metric whose text is edited needs a new calibration: `python benchmarks/calibrate_local.py` fits it."""
    metric = load_metric(calibration.metric)
    assert calibration.definition == compute_fingerprint(metric, {})
    assert calibration.value in metric.scale.answer_schema()["enum"]
    assert find_calibration(metric, LABEL) == calibration


def test_another_model_or_a_changed_metric_has_no_calibration():
    """What was measured for one model and one text is not applied to others."""
    metric = load_metric("chunk_evaluation")
    assert find_calibration(metric, "local:own.gguf") is find_calibration(metric, "openai:m") is None
    assert find_calibration(metric.model_copy(update={"description": "Another text."}), LABEL) is None
    assert find_calibration(load_metric("completeness"), LABEL) is None


@pytest.mark.parametrize(
    ("judge", "is_calibrated"),
    [
        (Judge("local"), True),
        (Judge("local", calibration=False), False),
        (Judge("local", reason="before"), False),
        (Judge("local", max_items=5), False),
        (Judge("local", prompt_start="case"), False),
        (Judge("local", structured="text"), False),
    ],
)
def test_a_calibration_is_sent_with_each_call_and_is_part_of_the_fingerprint(judge, is_calibrated):
    """It holds for prompts in the form in which it was fitted; other prompts have another fingerprint anyway."""
    judging = MetricJudge(load_metric("chunk_evaluation"), JudgeClient(judge))
    shifts = [judging.strategy.build_question(CASE, batch).logit_bias for batch in judging.split_batches(CASE)]
    assert all(map(bool, shifts)) == is_calibrated
    assert ("calibration" in judging.settings) == is_calibrated


def test_where_no_calibration_is_better_the_model_decides_alone():
    """Only the rule that is as good as the model on claims is stored, to be told before a run."""
    judging = MetricJudge(load_metric("faithfulness"), JudgeClient(Judge("local")))
    assert judging.strategy.build_question(CASE, ()).logit_bias == {}
    assert "calibration" not in judging.settings
    assert read_calibrations()["faithfulness"].equal_rule


def test_each_item_has_a_shift_of_its_own():
    """A passage with rare words of the question is called irrelevant less easily than one without."""
    calibration = read_calibrations()["chunk_evaluation"]
    town, builder = (calibration.compute_shift(CASE, chunk) for chunk in CASE.chunks)
    judging = MetricJudge(load_metric("chunk_evaluation"), JudgeClient(Judge("local")))
    first, second = (judging.strategy.build_question(CASE, (chunk,)) for chunk in CASE.chunks)
    assert first.logit_bias == dict.fromkeys(calibration.tokens, town)
    assert town != builder
    # replies to other shifts are other replies
    assert first.form != second.form


@given(st.lists(st.floats(0.001, 0.999), min_size=3, max_size=3), st.floats(-5, 5))
def test_the_shift_decides_as_the_logistic_model(shares, limit):
    """The shifted probabilities prefer the worst value exactly if the log-odds are below the limit."""
    shares = dict(zip(("Relevant", "Indirectly relevant", "Irrelevant"), shares, strict=True))
    calibration = read_calibrations()["chunk_evaluation"]
    calibrated = calibration.calibrate(shares, limit)
    odds = math.log(max(shares["Relevant"], shares["Indirectly relevant"]) / shares["Irrelevant"])
    assume(abs(odds - limit) > 1e-6)
    assert (max(calibrated, key=calibrated.get) == "Irrelevant") == (odds < limit)
    assert sum(calibrated.values()) == pytest.approx(1)


class OneReply:
    """A cache that holds the same reply for every request."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    def get(self, key: str) -> Reply:
        return self.reply


def build_reply(value: str, shares: dict[str, float]) -> Reply:
    """Build the reply of a model that wrote a value, with the shares of the tokens that begin all of them."""
    start = next(token for token in shares if value.startswith(token))
    chosen = {
        "token": start,
        "logprob": math.log(shares[start]),
        "top_logprobs": [{"token": token, "logprob": math.log(share)} for token, share in shares.items()],
    }
    pieces = ('{"value": ', '"', chosen, f'{value.removeprefix(start)}"', ', "reason": "No."}')
    tokens = [
        piece if isinstance(piece, dict) else {"token": piece, "logprob": 0.0, "top_logprobs": [{"token": piece}]}
        for piece in pieces
    ]
    return Reply(f'{{"value": "{value}", "reason": "No."}}', Usage(), tokens=tokens, known=True)


@pytest.mark.parametrize(("value", "notes"), [("Irrelevant", {"uncalibrated": "Relevant"}), ("Relevant", {})])
async def test_numbers_and_confidence_are_those_of_the_corrected_probabilities(value, notes):
    """The model returns what it would have chosen without the calibration: 0.7, 0.1 and 0.2."""
    reply = build_reply(value, {"Rel": 0.7, "Ind": 0.1, "Ir": 0.2})
    client = JudgeClient(Judge("local", confidence=True), cache=OneReply(reply))
    case = Case(question="Who?", chunks=["Tea is a drink."])
    outcome = (await MetricJudge(load_metric("chunk_evaluation"), client)(case, NO_RUN)).outcome
    (judgement,) = outcome.judgements
    calibration = read_calibrations()["chunk_evaluation"]
    shift = calibration.compute_shift(case, case.chunks[0])
    weights = [share**calibration.slope for share in (0.7, 0.1, 0.2 * math.exp(shift))]
    assert (judgement.value, judgement.notes) == (value, notes)
    assert judgement.number == pytest.approx((weights[0] + 0.5 * weights[1]) / sum(weights), abs=0.001)
    assert judgement.confidence == pytest.approx(weights[2 if notes else 0] / sum(weights))
