"""Corrections of the embedded model: for which metrics and judges they hold, and what they do to a call."""

from __future__ import annotations

import pytest

from greval import Judge, load_metric
from greval.judging.local.calibration import CALIBRATIONS, find_calibration
from greval.judging.local.models import DEFAULT_MODEL
from greval.judging.metric_judge import MetricJudge
from greval.judging.model.client import JudgeClient
from greval.records.metric_input import compute_fingerprint

LABEL = f"local:{DEFAULT_MODEL}"


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_a_correction_is_that_of_the_predefined_metric(name):
    """A metric whose text is edited needs a new correction: `python benchmarks/calibrate_local.py` prints it."""
    metric = load_metric(name)
    assert CALIBRATIONS[name].definition == compute_fingerprint(metric, {})
    assert {*CALIBRATIONS[name].shifts} <= {*metric.scale.names}
    assert find_calibration(metric, LABEL) is CALIBRATIONS[name]


def test_another_model_or_a_changed_metric_has_no_correction():
    """What was measured for one model and one text is not applied to others."""
    metric = load_metric("chunk_evaluation")
    assert find_calibration(metric, "local:own.gguf") is None
    assert find_calibration(metric, "openai:m") is None
    assert find_calibration(metric.model_copy(update={"description": "Another text."}), LABEL) is None
    assert find_calibration(load_metric("correctness"), LABEL) is None


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
