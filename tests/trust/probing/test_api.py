"""Probing: a judge that knows is right everywhere, one with a weakness is caught by its check and no other."""

from __future__ import annotations

from collections import Counter
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from probed_judges import (
    BORNE,
    CHUNKS,
    GRADE,
    METRICS,
    RIGHT,
    TRIPLES,
    USEFUL,
    Material,
    answering,
    believes_denials,
    cases,
    judge,
    likes_length,
    likes_the_first,
    looks_at_the_place,
    obeys,
    overlooks_emptiness,
    verdict,
)
from strategies import metrics as any_metric

from greval import load_metric
from greval.errors import DataError
from greval.metrics.computed import COMPUTED_METRICS
from greval.records.case import Case
from greval.records.metric import CategoricalMetric, ValueMetric
from greval.records.scale import CategoricalScale, ValueScale
from greval.runs.store import Store
from greval.stats.interval import wilson_interval
from greval.stats.measured import MeasuredValue, Undefined
from greval.testing import ScriptedJudge
from greval.trust.probing.api import forecast_probe, probe
from greval.trust.probing.checks import CHECKS, PROBE_CHECKS, CheckContext
from greval.trust.probing.mutations import PADDING, find_foreign_case
from greval.trust.probing.relations import Relation, compute_position, find_best_value, is_satisfied

pytestmark = pytest.mark.long

MANY = {"mutants": 4, "repeats": 1}


def rates(found):
    """Give the kill rate of each check; None where there is none."""
    return {one.name: one.rate.value if isinstance(one.rate, MeasuredValue) else None for one in found.checks}


def probed(metric, weakness, tmp_path, **wishes):
    """Probe a judge with a weakness on the small world."""
    return probe(metric, judge(weakness), cases(3), out=tmp_path / "run", **{**MANY, **wishes})


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_perfect_judge_kills_all(metric, tmp_path):
    """A judge that knows the world catches every mutant, and each check that fits the metric has some."""
    found = probed(metric, None, tmp_path)
    assert set(rates(found).values()) == {1.0}
    assert all(one.mutants == one.killed >= 3 and not one.failed and not one.missing for one in found.checks)
    assert found.survivors == ()
    assert {one.name for one in found.checks} | {one.check for one in found.skipped} == {*PROBE_CHECKS}


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
    found = rates(probed(metric, weakness, tmp_path))
    assert found[check] < 1
    assert {rate for name, rate in found.items() if name != check} == {1.0}


def test_all_wordings_are_planted(tmp_path):
    """Four mutants of a case are the four wordings; with one, each case has another one."""
    judges = [judge(obeys), judge(obeys)]
    all_four = probe(RIGHT, judges[0], cases(1) + cases(5)[1:2], checks=["injected"], out=tmp_path / "a", mutants=4)
    assert {one.variant for one in all_four.survivors} == {"order", "verdict", "fences", "system"}
    one_each = probe(RIGHT, judges[1], cases(), checks=["injected"], out=tmp_path / "b")
    assert [one.variant for one in one_each.survivors] == ["order", "verdict", "fences", "system", "order"]


def test_survivors_tell_what_got_through(tmp_path):
    """A survivor names its case, item and variant, with both verdicts and the judge's reason."""
    found = probed(CHUNKS, obeys, tmp_path, mutants=1)
    first = found.survivors[0]
    assert (first.check, first.variant, first.sample_id, first.item) == ("injected", "order", "q0", "c1")
    assert (first.before, first.after, first.reason) == ("Irrelevant", "Relevant", "r")


@pytest.mark.parametrize("failing", [{"reason": "r", "value": 7}, "no json", RuntimeError("server is down")])
def test_failures_are_no_kills(failing, tmp_path):
    """Mutants without a verdict are counted as failed: never as caught, and not in the rate."""

    def script(messages):
        return failing if any(PADDING in one.text for one in messages) else answering()(messages)

    found = probe(RIGHT, ScriptedJudge(script), cases(), out=tmp_path / "run", **MANY)
    padded = next(one for one in found.checks if one.name == "padded")
    assert (padded.killed, padded.mutants, padded.failed) == (0, 0, 10)
    assert isinstance(padded.rate, Undefined)
    assert sum(found.failures.values()) == 10
    assert all(one.rate.value == 1 for one in found.checks if one.name != "padded")


def test_cases_without_a_verdict_are_not_used(tmp_path):
    """A case whose unchanged form could not be judged is used by no check, and told."""

    def script(messages):
        seen = Material(messages)
        fails = "Aberlo is amber." in seen.answer and "false" not in seen.answer and PADDING not in seen.answer
        return "no json" if fails else answering()(messages)

    found = probe(RIGHT, ScriptedJudge(script), cases(), checks=["contradicted", "empty"], out=tmp_path / "run")
    assert [one.mutants for one in found.checks] == [8, 4]
    assert [sum(one.unused.values()) for one in found.checks] == [2, 1]


def test_verdicts_that_leave_nothing_to_see_are_not_used(tmp_path):
    """Where no rise or no fall is possible there is no rate, but the reason."""
    always = probe(RIGHT, ScriptedJudge([{"reason": "r", "value": 1}]), cases(), out=tmp_path / "best", **MANY)
    assert rates(always) == {"padded": None, "contradicted": 0.0, "empty": 0.0, "injected": None}
    never = probe(RIGHT, ScriptedJudge([{"reason": "r", "value": 0}]), cases(), out=tmp_path / "worst", **MANY)
    assert rates(never) == {"padded": 1.0, "contradicted": None, "empty": None, "injected": 1.0}
    assert never.checks[1].unused == {"not judged good before: no fall can be seen": 10}
    assert not never.model_copy(update={"checks": never.checks[1:3]}).measured


def test_checks_that_say_nothing_are_told(tmp_path):
    """What a metric needs decides which checks are made; the others come with their reason."""
    tone = CategoricalMetric(
        name="tone",
        description="The tone.",
        needs=("question", "answer"),
        steps=("Read.",),
        categories={"Polite": "", "Rude": ""},
    )
    polite = ScriptedJudge([{"reason": "r", "value": "Polite"}])
    found = probe(tone, polite, cases(), out=tmp_path / "a", repeats=1)
    skipped = {one.check: one.reason for one in found.skipped}
    assert {*skipped} == {"repeats", "item_order", "contradicted", "empty"}
    assert "--checks empty" in skipped["empty"]
    named = probe(tone, polite, cases(), checks=["empty", "contradicted"], out=tmp_path / "b")
    assert rates(named) == {"contradicted": 0.0, "empty": 0.0}


def test_categories_without_an_order_have_no_better(tmp_path):
    """Where no verdict is better than another only the checks that verdicts stay are made, unless scores tell."""
    given = {"needs": ("question", "expected_answer", "answer"), "steps": ("Read.",), "ordered": False}
    kind = CategoricalMetric(name="kind", description="Which.", categories={"Fact": "", "View": ""}, **given)
    found = probe(kind, ScriptedJudge([{"reason": "r", "value": "Fact"}]), cases(), out=tmp_path / "a", repeats=1)
    assert rates(found) == {"category_order": 1.0}
    scores = {"Fact": {"score": 0.0}, "View": {"score": 1.0}}
    scored = CategoricalMetric(name="scored", description="Which.", categories=scores, **given)
    assert find_best_value(scored.scale) == "View"


def test_one_call_an_item_has_no_order(tmp_path):
    """Where each item has a call of its own the order of items is not probed, and two cases with one item neither."""
    apart = ScriptedJudge(answering())
    one = [case.model_copy(update={"chunks": case.chunks[:1]}) for case in cases()]
    found = probe(CHUNKS, apart, one, checks=["item_order"], out=tmp_path / "run")
    assert found.checks[0].unused == {"fewer than two items: there is no order": 5}


def test_the_other_order_changes_the_listing_alone(tmp_path):
    """The categories are listed the other way round with the same meanings; nothing else of the prompt changes."""
    asked = judge()
    probe(GRADE, asked, cases(2), checks=["category_order"], out=tmp_path / "run")
    systems = list(dict.fromkeys(messages[0].text for messages in asked.calls))
    assert len(systems) == 2
    assert sorted(systems[0].replace(",", "").split()) == sorted(systems[1].replace(",", "").split())
    assert systems[0].index("Right: It says") < systems[0].index("Wrong: It says")
    assert systems[1].index("Right: It says") > systems[1].index("Wrong: It says")


def test_repeats_tell_the_noise(tmp_path):
    """Flip rate, share that moves and standard deviation are those of the verdicts that were given."""
    turns = count()
    steady = ValueMetric(
        name="depth",
        description="How deep.",
        needs=("answer",),
        steps=("Read.",),
        range=(1, 5),
        levels={1: "Shallow.", 5: "Deep."},
    )

    def script(messages):
        moves = "Aberlo" in messages[-1].text
        return {"reason": "r", "value": (2, 3, 3, 4)[next(turns)] if moves else 3}

    found = probe(steady, ScriptedJudge(script), cases(2), checks=["repeats"], repeats=4, out=tmp_path / "run").noise
    assert (found.things, found.repeats, found.flip_rate) == (2, 4, 0.25)
    assert (found.unsteady.value, found.unsteady.n) == (0.5, 2)
    assert found.sd == pytest.approx(((2 / 3 + 0) / 2) ** 0.5)


@pytest.mark.long
@pytest.mark.parametrize("cap", [3, 8, 20])
def test_nothing_is_asked_twice(cap, tmp_path):
    """The same command asks nothing again; one that was stopped goes on and ends as an unbroken one."""
    whole, parts = judge(obeys), judge(obeys)
    unbroken = probe(RIGHT, whole, cases(3), out=tmp_path / "whole")
    stopped = probe(RIGHT, parts, cases(3), out=tmp_path / "parts", max_calls=cap)
    assert stopped.why
    assert cap == 20 or any(  # after so many calls only repeats are left
        one.missing or "not judged yet: run the same command again to go on" in one.unused for one in stopped.checks
    )
    assert len(parts.calls) == cap == stopped.usage.calls
    found = probe(RIGHT, parts, cases(3), out=tmp_path / "parts")
    assert len(parts.calls) == len(whole.calls) == unbroken.usage.calls
    for name in ("checks", "noise", "survivors"):
        assert getattr(found, name) == getattr(unbroken, name)
    again = probe(RIGHT, parts, cases(3), out=tmp_path / "parts")
    assert len(parts.calls) == len(whole.calls)
    assert again.usage.calls == 0
    assert again.checks == unbroken.checks


def test_the_run_can_be_read(tmp_path):
    """The folder is a run like any other: each row tells which probe of which case it is, and none is pending."""
    probed(RIGHT, None, tmp_path, mutants=1)
    with Store.open(tmp_path / "run") as store:
        rows = [*store.results()]
        assert store.count_planned() == {"right": len(rows)}
    assert Counter(row.tags["probe"] for row in rows) == {
        **dict.fromkeys(("unchanged", "other", "contradicted", "padded", "empty", "injected"), 3)
    }
    assert {row.tags["of"] for row in rows} == {f"q{n}" for n in range(3)}


def test_a_forecast_counts_all_and_asks_nothing(tmp_path):
    """A dry run counts as many calls as a probe makes where every verdict is of use, and asks nothing."""
    asked = judge()
    expected = forecast_probe(RIGHT, asked, cases(), out=tmp_path / "run")
    assert not asked.calls
    probe(RIGHT, asked, cases(), out=tmp_path / "run")
    assert len(asked.calls) == sum(one.calls for one in expected.expected)
    left = forecast_probe(RIGHT, asked, cases(), out=tmp_path / "run")
    assert sum(one.calls for one in left.expected) == 0


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
    found = probe(load_metric("answer_completeness"), asked, cases(2), checks=["empty"], out=tmp_path / "run")
    names = Counter(messages[0].text.split("Metric: ")[1].split(".")[0] for messages in asked.calls)
    assert names == {"chunk_evaluation": 2, "triple_evaluation": 2, "answer_completeness": 4}
    assert rates(found) == {"empty": 1.0}
    expected = forecast_probe(
        load_metric("answer_completeness"), asked, cases(2), checks=["empty"], out=tmp_path / "other"
    )
    assert sum(one.calls for one in expected.expected) == 8


def test_intervals_are_wilsons(tmp_path):
    """The interval of a kill rate is Wilson's of the verdicts, and of the questions where these are fewer."""
    found = probed(CHUNKS, looks_at_the_place, tmp_path, mutants=2)
    one = next(one for one in found.checks if one.name == "item_order")
    assert one.rate.interval == wilson_interval(one.killed / one.mutants, one.mutants)
    assert one.questions == 3
    assert one.rate.clustered == wilson_interval(one.killed / one.mutants, 3)


def test_what_cannot_be_probed_is_refused(tmp_path):
    """Computed metrics, unknown checks and cases that do not fit are told in a line."""
    with pytest.raises(DataError, match="latency: is computed"):
        probe(COMPUTED_METRICS["latency"], judge(), out=tmp_path)
    with pytest.raises(DataError, match="no check 'paded'; there are: repeats"):
        probe(RIGHT, judge(), checks=["paded"], out=tmp_path)
    with pytest.raises(
        DataError,
        match="no case to probe on among the first 200: 1 expected_answer is not recorded; answer is not recorded",
    ):
        probe(RIGHT, judge(), [Case(question="?")], out=tmp_path)
    with pytest.raises(DataError, match="must be 1 or more"):
        probe(RIGHT, judge(), cases(), limit=0, out=tmp_path)


def test_odd_cases_do_no_harm(tmp_path):
    """Rows that are no cases, doubles, broken responses and a lone case are told, and none is left out quietly."""
    rows = [
        {"nothing": 1},
        cases(1)[0],
        cases(1)[0],
        Case(id="e", question="?", error="down"),
        Case(id="n", question="?"),
    ]
    found = probe(RIGHT, judge(), rows, out=tmp_path / "run", repeats=1)
    assert found.cases == 1
    assert len(found.unread) == 2
    assert "q0 is at cases, row 2 already" in found.unread[1]
    assert found.left_out == {
        "its method gave no response": 1,
        "expected_answer is not recorded; answer is not recorded": 1,
    }
    by_name = {one.name: one for one in found.checks}
    assert by_name["contradicted"].unused == {"no other question to take something from": 1}
    assert by_name["empty"].killed == 1


def test_a_refusal_is_nobodys_answer():
    """What is taken from another question states something of its sources; of such the most different one."""
    own, near, *_ = cases()
    refusal = near.model_copy(update={"answer": "I could not find that."})
    same = own.model_copy(update={"id": "other", "method": "m"})
    assert find_foreign_case(own, [own, same, refusal, near], "answer") is near
    assert find_foreign_case(own, [own, same], "answer") is None
    far = near.model_copy(update={"id": "far", "answer": "In Brindle it is black."})
    assert find_foreign_case(own, [near, far], "answer") is far


def test_an_answer_without_a_claim_needs_no_context(tmp_path):
    """Where an answer states nothing of its sources, taking the context away is no fault."""
    refusing = [case.model_copy(update={"answer": "I could not find that."}) for case in cases(2)]
    good = ScriptedJudge([{"reason": "r", "value": 1}])
    found = probe(BORNE, good, refusing, checks=["empty"], out=tmp_path / "run")
    assert found.checks[0].unused == {"the answer states nothing of its sources: nothing has to bear it out": 2}


SCALES = st.one_of(
    st.builds(
        lambda names, ordered: CategoricalScale.model_validate(
            {"categories": dict.fromkeys(names, ""), "ordered": ordered}
        ),
        st.lists(st.sampled_from("abcdefg"), min_size=2, max_size=7, unique=True),
        st.just(True),
    ),
    st.builds(
        lambda low, wide, better: ValueScale(
            range=(low, low + wide), levels={low: "l", low + wide: "h"}, better=better
        ),
        st.integers(-5, 5),
        st.integers(1, 9),
        st.sampled_from(["higher", "lower"]),
    ),
)


def values_of(scale):
    """Give all values of a scale."""
    return scale.names if isinstance(scale, CategoricalScale) else range(scale.range[0], scale.range[1] + 1)


@given(SCALES)
def test_the_order_of_a_scale_is_that_of_its_values(scale):
    """Values stand from 0 to 1 in the scale's order, the best at 1; a verdict is never better than itself."""
    places = [compute_position(scale, value) for value in values_of(scale)]
    rising = isinstance(scale, ValueScale) and scale.better == "higher"
    assert places == sorted(places, reverse=not rising)
    assert {0.0, 1.0} <= {*places}
    assert compute_position(scale, find_best_value(scale)) == 1
    for one in values_of(scale):
        assert is_satisfied(Relation.not_better, scale, one, one)
        assert is_satisfied(Relation.same, scale, one, one)
        for other in values_of(scale):
            both = is_satisfied(Relation.not_better, scale, one, other) and is_satisfied(
                Relation.not_better, scale, other, one
            )
            assert both == (one == other)
            assert not is_satisfied(Relation.worst, scale, one, other) or is_satisfied(Relation.bad, scale, one, other)


@given(any_metric())
def test_every_metric_has_checks_or_reasons(metric):
    """Of any metric each check is either made or skipped with a reason; none fails to answer."""
    for check in CHECKS.values():
        reason = check.unfit(CheckContext(metric))
        assert reason is None or reason.strip()
        if reason is None:
            assert [*check.variants(metric)] or check.reworded or check.twin(metric)


def test_nothing_deserves_the_worst(tmp_path):
    """For an empty item a bad verdict is not enough, where there is a worse one; another question's may have it."""

    def lenient(seen, _, text, value):
        bare = "predicate: \n" in text
        return 4 if bare or (value == 5 and "rain" not in text) else value

    found = probed(TRIPLES, lenient, tmp_path, checks=["empty"])
    assert {one.variant for one in found.survivors} == {"nothing"}
    assert 0 < found.checks[0].killed < found.checks[0].mutants


def test_verdicts_of_the_world_are_on_their_scales():
    """The made-up judge answers with the best and the worst of each scale."""
    for metric in (RIGHT, GRADE, BORNE, USEFUL, CHUNKS, TRIPLES):
        seen = type("Seen", (), {"metric": metric.name})()
        assert compute_position(metric.scale, verdict(seen, good=True)) == 1
        assert compute_position(metric.scale, verdict(seen, good=False)) == 0
