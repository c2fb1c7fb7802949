"""Correctness of answers: by a verdict, by a computed metric, or by what the answer says."""

from __future__ import annotations

import pytest
from diagnosed_cases import GOLD, INDEX, case, cause

from greval import Store, ValueMetric, evaluate
from greval.analysis.diagnosis.api import diagnose_run
from greval.analysis.diagnosis.correctness import find_threshold
from greval.errors import DataError, DefinitionError
from greval.records.scale import CategoricalScale, ValueScale
from greval.testing import ScriptedJudge


@pytest.mark.parametrize(
    ("expected", "answer", "right"),
    [
        ("Turin", "Turin", True),
        ("Turin", "It is Turin, as the records say.", True),
        ("no", "There is no such place.", False),
        ("no", "No, it is not.", True),
        ("Silver Boat", "The director of Silver Boat is not known.", False),
        ("Silver Boat", "Silver Boat", True),
        ("7", "It is 17.", False),
    ],
)
def test_an_answer_is_right_for_what_it_says(expected, answer, right):
    """A repeated word of the question, a short word by the way, or a part of a number makes no right answer."""
    assert (cause(expected_answer=expected, answer=answer) == "judged wrong") == right


def test_other_right_answers_count():
    """Each of the gold's answers and each line of the expected answer is right."""
    assert cause(gold={**GOLD, "answers": ["Augusta Taurinorum"]}, answer="Augusta Taurinorum") == "judged wrong"
    assert cause(expected_answer="Torino\nLa Turin", answer="It was Torino.") == "judged wrong"


def test_a_metric_that_the_run_lacks_is_computed(run):
    """A computed metric can tell right from wrong although the run does not hold it; a judged one cannot."""
    with Store.open(run) as store:
        causes = {row.sample_id: row.cause for row in diagnose_run(store, metric="exact_match", inventory=INDEX)}
        assert causes["q1"] == "not used"  # the words of the answer are not the expected ones
        with pytest.raises(DataError, match="relevance is not in the run, which holds correctness"):
            diagnose_run(store, metric="relevance")
        with pytest.raises(DataError, match="corectness: no such metric"):
            diagnose_run(store, metric="corectness")


def test_a_metric_without_a_middle_cannot_tell(run):
    """A scale without an end, and categories without scores, cannot tell right from wrong."""
    with Store.open(run) as store, pytest.raises(DefinitionError, match="latency: its scale has no middle"):
        diagnose_run(store, metric="latency")
    scored = CategoricalScale.model_validate({"categories": {"x": {"score": 1}, "y": {"score": 0.2}}})
    assert find_threshold("a", scored).middle == pytest.approx(0.6)
    falling = ValueScale(range=(1, 5), levels={1: "None.", 5: "Many."}, better="lower")
    assert find_threshold("b", falling).lower_is_better


def test_skipped_and_failed_verdicts_are_not_judged(tmp_path):
    """A verdict that was skipped or failed is no verdict; the reason says why."""
    depth = ValueMetric(
        name="depth", description="d", needs=["answer"], range=(1, 5), levels={1: "a", 5: "b"}, steps=["Read."]
    )
    judge = ScriptedJudge(
        lambda messages: ValueError("late") if "BAD" in messages[-1].text else {"reason": "r", "value": 3}
    )
    cases = [case(id="skipped", answer=None), case(id="failed", answer="BAD"), case(id="middle")]
    evaluate(cases, [depth], judge, out=tmp_path / "run")
    with Store.open(tmp_path / "run") as store:
        causes = {row.sample_id: row for row in diagnose_run(store, metric="depth")}
    assert {name: row.cause for name, row in causes.items()} == {
        "skipped": "not judged",
        "failed": "not judged",
        "middle": "answered rightly",
    }
    assert "answer is not recorded" in causes["skipped"].reason
    assert "late" in causes["failed"].reason
