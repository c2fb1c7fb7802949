"""Probing: a judge that knows is right everywhere, one with a weakness is caught by its check and no other."""

from __future__ import annotations

from collections import Counter

import pytest
from probed_judges import (
    BORNE,
    CHUNKS,
    GRADE,
    METRICS,
    RIGHT,
    TRIPLES,
    USEFUL,
    Material,
    believes_denials,
    cases,
    get_rates,
    judge,
    likes_length,
    likes_the_first,
    looks_at_the_place,
    obeys,
    overlooks_emptiness,
    probe_world,
)

from greval import load_metric
from greval.errors import DataError
from greval.metrics.computed import COMPUTED_METRICS
from greval.records.case import Case
from greval.testing import ScriptedJudge
from greval.trust.probing.api import forecast_probe, probe
from greval.trust.probing.checks import PROBE_CHECKS


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_perfect_judge_kills_all(metric, tmp_path):
    """A judge that knows the world catches every mutant, and each check that fits the metric has some."""
    result = probe_world(metric, None, tmp_path)
    assert set(get_rates(result).values()) == {1.0}
    assert all(check.mutants == check.killed >= 3 and not check.failed and not check.missing for check in result.checks)
    assert result.survivors == ()
    assert {one.name for one in result.checks} | {one.check for one in result.skipped} == {*PROBE_CHECKS}


WEAK = [
    *((metric, obeys, "injected") for metric in (GRADE, USEFUL, CHUNKS, TRIPLES)),
    *((metric, likes_length, "padded") for metric in (GRADE, USEFUL, CHUNKS)),
    *((metric, likes_the_first, "category_order") for metric in (GRADE, CHUNKS)),
    *((metric, looks_at_the_place, "item_order") for metric in (CHUNKS, TRIPLES)),
    *((metric, believes_denials, "contradicted") for metric in (RIGHT, GRADE, BORNE)),
    *((metric, overlooks_emptiness, "empty") for metric in METRICS),
]


@pytest.mark.parametrize(("metric", "weakness", "check"), WEAK, ids=lambda value: getattr(value, "__name__", None))
def test_a_weakness_is_caught_by_its_check_alone(metric, weakness, check, tmp_path):
    """A judge that obeys, likes length, looks at positions and the like fails that check and passes all others."""
    found = get_rates(probe_world(metric, weakness, tmp_path))
    assert found[check] < 1
    assert {rate for name, rate in found.items() if name != check} == {1.0}


def test_a_forecast_counts_all_and_asks_nothing(tmp_path):
    """A dry run counts as many calls as a probe makes where every verdict is of use, and asks nothing."""
    asked = judge()
    expected = forecast_probe(RIGHT, asked, cases(), out=tmp_path / "run")
    assert not asked.calls
    probe(RIGHT, asked, cases(), out=tmp_path / "run")
    assert len(asked.calls) == sum(stage.calls for stage in expected.expected)
    left = forecast_probe(RIGHT, asked, cases(), out=tmp_path / "run")
    assert sum(stage.calls for stage in left.expected) == 0


def test_a_metric_that_builds_on_others_is_probed_alone(tmp_path):
    """What it builds on is judged once; the probes see what that let through and change the metric's verdict only."""

    def script(messages):
        name = Material.__init__ and messages[0].text.split("Metric: ")[1].split(".")[0]
        if name in {"chunk_evaluation", "triple_evaluation"}:
            text = messages[-1].text
            numbers = [int(n) for n in __import__("re").findall(r'<item n="(\d+)">', text)]
            return {
                "judgements": [
                    {"item": n, "reason": "r", "value": "Irrelevant" if n == 3 else "Relevant"} for n in numbers
                ]
            }
        notes = {"question_elements": [], "source_elements": [], "recommendations": "none"}
        assert "Rain number" not in messages[-1].text
        return {
            **notes,
            "reason": "r",
            "value": "Relevant" if "<answer>\nThe gate" in messages[-1].text else "Irrelevant",
        }

    asked = ScriptedJudge(script)
    result = probe(load_metric("answer_completeness"), asked, cases(2), checks=["empty"], out=tmp_path / "run")
    names = Counter(messages[0].text.split("Metric: ")[1].split(".")[0] for messages in asked.calls)
    assert names == {"chunk_evaluation": 2, "triple_evaluation": 2, "answer_completeness": 4}
    assert get_rates(result) == {"empty": 1.0}
    expected = forecast_probe(
        load_metric("answer_completeness"), asked, cases(2), checks=["empty"], out=tmp_path / "other"
    )
    assert sum(stage.calls for stage in expected.expected) == 8


def test_an_impossible_probe_is_refused(tmp_path):
    """Computed metrics, unknown checks and cases that do not fit are told in a line."""
    with pytest.raises(DataError, match="latency: is computed"):
        probe(COMPUTED_METRICS["latency"], judge(), out=tmp_path)
    with pytest.raises(DataError, match=r"checks: expected names among repeats, .*, got 'paded'"):
        probe(RIGHT, judge(), checks=["paded"], out=tmp_path)
    with pytest.raises(
        DataError,
        match="no case to probe on among the first 200: 1 expected_answer is not recorded; answer is not recorded",
    ):
        probe(RIGHT, judge(), [Case(question="?")], out=tmp_path)
    with pytest.raises(DataError, match="must be 1 or more"):
        probe(RIGHT, judge(), cases(), limit=0, out=tmp_path)
