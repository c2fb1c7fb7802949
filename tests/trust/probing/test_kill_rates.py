"""Kill rates, survivors and noise from the verdicts of a probe."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from probed_judges import (
    ALL_MUTANTS,
    CHUNKS,
    RIGHT,
    TRIPLES,
    Material,
    answering,
    cases,
    get_rates,
    obeys,
    probe_world,
)

from greval.records.result import Failed, Failure, Judgement, Result, Scored
from greval.report.probe import describe_rule
from greval.stats.interval import Undefined, wilson_interval
from greval.testing import ScriptedJudge
from greval.trust.probing.api import probe
from greval.trust.probing.kill_rates import compute_share, measure_noise
from greval.trust.probing.mutations import PADDING
from greval.trust.probing.plan import ReferenceCases


def test_survivors_have_their_case_and_verdicts(tmp_path):
    """A survivor names its case, item and variant, with both verdicts and the judge's reason."""
    result = probe_world(CHUNKS, obeys, tmp_path, mutants=1)
    first = result.survivors[0]
    assert (first.check, first.variant, first.sample_id, first.item) == ("injected", "order", "q0", "c1")
    assert (first.before, first.after, first.reason) == ("Irrelevant", "Relevant", "r")


@pytest.mark.parametrize("failing", [{"reason": "r", "value": 7}, "no json", RuntimeError("server is down")])
def test_failures_are_no_kills(failing, tmp_path):
    """Mutants without a verdict are counted as failed: never as caught, and not in the rate."""

    def script(messages):
        return failing if any(PADDING in one.text for one in messages) else answering()(messages)

    result = probe(RIGHT, ScriptedJudge(script), cases(), out=tmp_path / "run", **ALL_MUTANTS)
    padded = next(check for check in result.checks if check.name == "padded")
    assert (padded.killed, padded.mutants, padded.failed) == (0, 0, 10)
    assert isinstance(padded.rate, Undefined)
    assert sum(result.failures.values()) == 10
    assert all(check.rate.value == 1 for check in result.checks if check.name != "padded")


def test_cases_without_a_verdict_are_not_used(tmp_path):
    """A case whose unchanged form could not be judged is used by no check, and told."""

    def script(messages):
        seen = Material(messages)
        fails = "Aberlo is amber." in seen.answer and "false" not in seen.answer and PADDING not in seen.answer
        return "no json" if fails else answering()(messages)

    result = probe(RIGHT, ScriptedJudge(script), cases(), checks=["contradicted", "empty"], out=tmp_path / "run")
    assert [check.mutants for check in result.checks] == [8, 4]
    assert [sum(check.unused.values()) for check in result.checks] == [2, 1]


def test_verdicts_that_leave_nothing_to_see_are_not_used(tmp_path):
    """Where no rise or no fall is possible there is no rate, but the reason."""
    always = probe(RIGHT, ScriptedJudge([{"reason": "r", "value": 1}]), cases(), out=tmp_path / "best", **ALL_MUTANTS)
    assert get_rates(always) == {"padded": None, "contradicted": 0.0, "empty": 0.0, "injected": None}
    never = probe(RIGHT, ScriptedJudge([{"reason": "r", "value": 0}]), cases(), out=tmp_path / "worst", **ALL_MUTANTS)
    assert get_rates(never) == {"padded": 1.0, "contradicted": None, "empty": None, "injected": 1.0}
    assert never.checks[1].unused == {"not judged good before: no fall can be seen": 10}
    assert not never.model_copy(update={"checks": never.checks[1:3]}).measured


def test_a_rule_of_one_line_is_tried_on_the_same_mutants(tmp_path):
    """Shared words fall with another question's answer and an empty one; a judge that always says yes is told so."""
    always = probe(RIGHT, ScriptedJudge([{"reason": "r", "value": 1}]), cases(), out=tmp_path / "best", **ALL_MUTANTS)
    assert always.rule == "words of the expected answer in the answer"
    checks = {check.name: check for check in always.checks}
    assert checks["empty"].rule_killed == checks["empty"].rule_mutants == checks["empty"].mutants
    assert 0 < checks["contradicted"].rule_killed < checks["contradicted"].rule_mutants
    lines = [*describe_rule(always)]
    assert lines[-1] == "the judge catches no more than a rule of one line: contradicted, empty"


def test_nothing_deserves_the_worst(tmp_path):
    """For an empty item a bad verdict is not enough, where there is a worse one; another question's may have it."""

    def lenient(seen, _, text, value):
        bare = "predicate: \n" in text
        return 4 if bare or (value == 5 and "rain" not in text) else value

    result = probe_world(TRIPLES, lenient, tmp_path, checks=["empty"])
    assert {survivor.variant for survivor in result.survivors} == {"nothing"}
    assert 0 < result.checks[0].killed < result.checks[0].mutants


def build_result(value):
    """Build the result of one verdict, a failed one for None."""
    outcome = (
        Failed(error=Failure(kind="malformed", message="no JSON"))
        if value is None
        else Scored(judgements=(Judgement(value=value, number=float(value), reason="r"),))
    )
    return Result(metric="m", fingerprint="f", judge="j", tier="schema", outcome=outcome)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 30))
def test_a_share_has_wilsons_interval_or_a_reason(count, more, questions):
    """No observation gives the reason; fewer questions than observations give a second, wider interval."""
    n = count + more
    share = compute_share(count, n, min(questions, n), "nothing was judged")
    if n == 0:
        assert share == Undefined(n=0, reason="nothing was judged")
        return
    assert share.value == count / n
    assert share.interval == wilson_interval(count / n, n)
    assert (share.clustered is None) == (questions >= n)
    if share.clustered:
        assert share.clustered.low <= share.interval.low <= share.interval.high <= share.clustered.high


@given(st.lists(st.lists(st.none() | st.integers(1, 5), min_size=3, max_size=3), min_size=1, max_size=8))
def test_noise_is_that_of_numpy(rows):
    """Flip rate, standard deviation and share of unsteady items are those of the verdicts that are there."""
    source = cases(1)
    bases = [ReferenceCases(n, f"s{n}", {"unchanged": source[0].model_copy(update={"id": f"s{n}"})})
             for n in range(len(rows))]  # fmt: skip
    stages = ("a", "b", "c")
    verdicts = {
        (stage, f"s{n}", ""): build_result(value)
        for n, row in enumerate(rows)
        for stage, value in zip(stages, row, strict=True)
    }
    noise = measure_noise(bases, verdicts, stages)
    known = [[value for value in row if value is not None] for row in rows]
    several = [row for row in known if len(row) > 1]
    assert (noise.repeats, noise.things, noise.failed) == (3, len(several), 3 * len(rows) - sum(map(len, known)))
    if not several:
        assert (noise.flip_rate, noise.sd) == (None, None)
        assert noise.unsteady.reason == "nothing was judged twice"
        return
    assert noise.unsteady.value == pytest.approx(np.mean([len(set(row)) > 1 for row in several]))
    flips = [1 - np.bincount(row).max() / len(row) for row in several]
    assert noise.flip_rate == pytest.approx(np.mean(flips))
    assert noise.sd == pytest.approx(np.sqrt(np.mean([np.var(row, ddof=1) for row in several])))
