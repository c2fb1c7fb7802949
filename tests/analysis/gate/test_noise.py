"""Conditions within noise: met only beyond what repeats explain, and never passed without a measurement."""

from __future__ import annotations

import pytest
from compared_runs import RIGHT

from greval.analysis.comparison.api import compare
from greval.analysis.gate.api import check_gate
from greval.errors import DataError
from greval.records.case import Case
from greval.records.metric import CategoricalMetric
from greval.records.result import Judgement, Result, Scored
from greval.records.scale import NumberRange
from greval.runs.store.writer import StoreWriter
from greval.stats.judge_noise import compute_tolerance, estimate_noise

FLIPPED = {"1": 2, "0": 1}
STEADY = {"1": 3}


def write_votes(folder, votes_by_method):
    """Write a run whose verdicts have these votes."""
    with StoreWriter.create(folder) as writer:
        writer.put_fact("metrics", [RIGHT.model_dump(mode="json")])
        for method, votes in votes_by_method.items():
            for n, counts in enumerate(votes):
                mean = sum(float(text) * count for text, count in counts.items()) / sum(counts.values())
                judgement = Judgement(
                    value=mean, number=mean, reason="r", votes=counts if sum(counts.values()) > 1 else None
                )
                result = Result(
                    sample_id=f"q{n}",
                    method=method,
                    metric=RIGHT.name,
                    fingerprint="f",
                    judge="j",
                    tier="schema",
                    outcome=Scored(judgements=(judgement,)),
                )
                case = Case(id=f"q{n}", method=method, question="?")
                writer.append(f"{method}{n}", result, case=case.model_dump_json(exclude_defaults=True))
    return folder


@pytest.fixture
def noisy(tmp_path):
    """Give a run of 20 cases, of which five flipped once in three repeats, and its tolerance."""
    votes = [FLIPPED] * 5 + [STEADY] * 15
    numbers = [[float(text) for text, count in counts.items() for _ in range(count)] for counts in votes]
    noise = estimate_noise(numbers, NumberRange(0.0, 1.0))
    return write_votes(tmp_path / "run", {"a": votes, "b": [STEADY] * 20}), compute_tolerance(noise, [60])


def test_a_figure_within_noise_of_its_limit_passes(noisy):
    """The mean is below the limit: without the words the gate fails, with them only beyond the tolerance."""
    run, tolerance = noisy
    mean = 55 / 60
    near, far = mean + 0.9 * tolerance, mean + 1.1 * tolerance
    conditions = [f"a: right < {near}", f"a: right < {near} within noise", f"a: right < {far} within noise"]
    assert [check.met for check in check_gate(run, conditions)] == [True, False, True]
    assert f"- {tolerance:.2g} for noise" in check_gate(run, conditions)[1].told[0]
    stricter = check_gate(run, [f"a: right < {far} within noise at 1 %"])
    assert not stricter[0].met


def test_noise_works_on_both_sides(noisy):
    """A figure that must not be too high may be higher by as much."""
    run, tolerance = noisy
    assert [
        check.met for check in check_gate(run, ["a: right > 0.9", f"a: right > {0.95 - tolerance} within noise"])
    ] == [
        True,
        False,
    ]


def test_a_baseline_has_noise_of_its_own(tmp_path):
    """The difference of two means has the noise of both."""
    run = write_votes(tmp_path / "pair", {"a": [FLIPPED] * 2 + [STEADY] * 18, "b": [STEADY] * 20})
    comparison = compare(run, baseline="b")
    met = [check.met for check in check_gate(comparison, ["right < baseline", "right < baseline within noise"])]
    assert met == [True, False]


def test_a_majority_is_not_compared_with_single_verdicts(tmp_path):
    """Flips move the share of single verdicts towards the middle, that of majorities less: it is undecided."""
    categories = {"good": {"means": "Good.", "score": 1}, "bad": {"means": "Bad.", "score": 0}}
    metric = CategoricalMetric(
        name="tone", description="Tone.", needs=["answer"], steps=["Look."], categories=categories
    )
    run = tmp_path / "run"
    with StoreWriter.create(run) as writer:
        writer.put_fact("metrics", [metric.model_dump(mode="json")])
        for method, votes in (("a", {"good": 2, "bad": 1}), ("b", None)):
            for n in range(10):
                outcome = Scored(judgements=(Judgement(value="good", number=1.0, reason="r", votes=votes),))
                key = {"sample_id": f"q{n}", "method": method, "metric": "tone"}
                result = Result(**key, fingerprint="f", judge="j", tier="schema", outcome=outcome)
                case = Case(id=f"q{n}", method=method, question="?")
                writer.append(f"{method}{n}", result, case=case.model_dump_json(exclude_defaults=True))
    (check,) = check_gate(compare(run, baseline="b"), ["tone < baseline within noise"])
    assert (check.met, check.undecided) == (True, True)
    assert "same number of --repeats" in check.told[0]


def test_without_repeats_nothing_passes_unless_a_probe_measured_them(noisy, tmp_path):
    """The reason says what to do; stages of a probe are repeats too."""
    run = write_votes(tmp_path / "once", {"a": [{"1": 1}] * 20})
    (check,) = check_gate(run, ["right < 0.5 within noise"])
    assert (check.met, check.undecided) == (True, True)
    assert "--repeats 3" in check.told[0]
    probe = tmp_path / "probe"
    write_votes(probe, {"": [{"1": 1}] * 30})
    for n in (2, 3):
        write_votes(probe / f"repeat-{n}", {"": [{"0": 1}] + [{"1": 1}] * 29})
    assert not check_gate(run, [f"right < 0.5 within noise of {probe}"])[0].met


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("right.low < 0.5 within noise", "noise moves means"),
        ("right < 0.5 within noise at 60 %", "expected a share from 0 to 50 %"),
    ],
)
def test_what_cannot_be_within_noise_is_refused(noisy, condition, message):
    """Only means move by noise, at an error rate that means something."""
    with pytest.raises(DataError, match=message):
        check_gate(noisy[0], [condition])
