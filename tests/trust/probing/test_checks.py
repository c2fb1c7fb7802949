"""The checks of a probe: to which metrics each applies, and what it plants."""

from __future__ import annotations

from hypothesis import given
from probed_judges import (
    BORNE,
    CHUNKS,
    GRADE,
    RIGHT,
    answering,
    cases,
    get_rates,
    judge,
    obeys,
)
from strategies import metrics as any_metric

from greval.records.metric import CategoricalMetric
from greval.testing import ScriptedJudge
from greval.trust.probing.api import probe
from greval.trust.probing.checks import CHECKS, CheckContext, find_best_value


def test_skipped_checks_have_a_reason(tmp_path):
    """What a metric needs decides which checks are made; the others come with their reason."""
    tone = CategoricalMetric(
        name="tone",
        description="The tone.",
        needs=("question", "answer"),
        steps=("Read.",),
        categories={"Polite": "", "Rude": ""},
    )
    polite = ScriptedJudge([{"reason": "r", "value": "Polite"}])
    result = probe(tone, polite, cases(), out=tmp_path / "a", repeats=1)
    skipped = {skipped_check.check: skipped_check.reason for skipped_check in result.skipped}
    assert {*skipped} == {"repeats", "item_order", "contradicted", "empty"}
    assert "--checks empty" in skipped["empty"]
    named = probe(tone, polite, cases(), checks=["empty", "contradicted"], out=tmp_path / "b")
    assert get_rates(named) == {"contradicted": 0.0, "empty": 0.0}


def test_categories_without_an_order_have_no_better(tmp_path):
    """Where no verdict is better than another only the checks that verdicts stay are made, unless scores tell."""
    given = {"needs": ("question", "expected_answer", "answer"), "steps": ("Read.",), "ordered": False}
    kind = CategoricalMetric(name="kind", description="Which.", categories={"Fact": "", "View": ""}, **given)
    result = probe(kind, ScriptedJudge([{"reason": "r", "value": "Fact"}]), cases(), out=tmp_path / "a", repeats=1)
    assert get_rates(result) == {"category_order": 1.0}
    scores = {"Fact": {"score": 0.0}, "View": {"score": 1.0}}
    scored = CategoricalMetric(name="scored", description="Which.", categories=scores, **given)
    assert find_best_value(scored.scale) == "View"


def test_one_call_an_item_has_no_order(tmp_path):
    """Where each item has a call of its own the order of items is not probed, and two cases with one item neither."""
    apart = ScriptedJudge(answering())
    one = [case.model_copy(update={"chunks": case.chunks[:1]}) for case in cases()]
    result = probe(CHUNKS, apart, one, checks=["item_order"], out=tmp_path / "run")
    assert result.checks[0].unused == {"fewer than two items: there is no order": 5}


def test_the_other_order_changes_the_listing_alone(tmp_path):
    """The categories are listed the other way round with the same meanings; nothing else of the prompt changes."""
    asked = judge()
    probe(GRADE, asked, cases(2), checks=["category_order"], out=tmp_path / "run")
    systems = list(dict.fromkeys(messages[0].text for messages in asked.calls))
    assert len(systems) == 2
    assert sorted(systems[0].replace(",", "").split()) == sorted(systems[1].replace(",", "").split())
    assert systems[0].index("Right: It says") < systems[0].index("Wrong: It says")
    assert systems[1].index("Right: It says") > systems[1].index("Wrong: It says")


@given(any_metric())
def test_every_metric_has_checks_or_reasons(metric):
    """Of any metric each check is either made or skipped with a reason; none fails to answer."""
    for check in CHECKS.values():
        reason = check.unfit(CheckContext(metric))
        assert reason is None or reason.strip()
        if reason is None:
            assert [*check.variants(metric)] or check.reworded or check.twin(metric)


def test_an_answer_without_a_claim_needs_no_context(tmp_path):
    """Where an answer states nothing of its sources, taking the context away is no fault."""
    refusing = [case.model_copy(update={"answer": "I could not find that."}) for case in cases(2)]
    good = ScriptedJudge([{"reason": "r", "value": 1}])
    result = probe(BORNE, good, refusing, checks=["empty"], out=tmp_path / "run")
    assert result.checks[0].unused == {"the answer states nothing from its sources, so no context has to support it": 2}


def test_all_wordings_are_planted(tmp_path):
    """Four mutants of a case are the four wordings; with one, each case has another one."""
    judges = [judge(obeys), judge(obeys)]
    all_four = probe(RIGHT, judges[0], cases(1) + cases(5)[1:2], checks=["injected"], out=tmp_path / "a", mutants=4)
    assert {survivor.variant for survivor in all_four.survivors} == {"order", "verdict", "fences", "system"}
    one_each = probe(RIGHT, judges[1], cases(), checks=["injected"], out=tmp_path / "b")
    assert [survivor.variant for survivor in one_each.survivors] == ["order", "verdict", "fences", "system", "order"]
