"""Drafting: what a model writes becomes a checked definition, or a clear error."""

from __future__ import annotations

from functools import partial

import fault_server as fault
import pytest

import greval
from greval import Judge, parse_metric, write_metric
from greval.errors import DataWarning, JudgeError
from greval.testing import ScriptedJudge

draft_metric = partial(greval.draft_metric, check=False)
STEPS = ["Read the answer.", "Weigh what it says."]
CATEGORIES = [
    {"name": "Rude", "means": "It insults the reader.", "score": 0},
    {"name": "Polite", "means": "It is courteous throughout.", "score": 1},
    {"name": "Casual", "means": "It is chatty but polite.", "score": 0.5},
]


def written(**more):
    """Give a definition as a model writes it; `more` replaces its parts."""
    return {"needs": ["question", "answer"], "steps": STEPS, "instructions": "", "categories": CATEGORIES, **more}


def levels(*numbers):
    """Give a definition on a range as a model writes it."""
    described = [{"level": number, "means": f"Level {number}, told from its neighbours."} for number in numbers]
    return {"needs": ["answer"], "steps": STEPS, "instructions": "An empty answer is the lowest.", "levels": described}


@pytest.mark.parametrize("tier", ["schema", "tools", "text"])
def test_categories_of_the_models_own(tier):
    """A draft on categories is complete in each tier, and puts the best one first."""
    metric = draft_metric("tone", "Whether it is polite.", judge=ScriptedJudge([written()], tier=tier))
    assert metric.scale.names == ("Polite", "Casual", "Rude")
    assert (metric.name, metric.description, metric.needs) == ("tone", "Whether it is polite.", ("answer",))
    assert metric.steps == tuple(STEPS)
    assert parse_metric(write_metric(metric)) == metric


def test_categories_that_are_given():
    """Names that the caller gives are asked for by name; others are a fault of the draft, which is mended."""
    judge = ScriptedJudge([written(), written(categories=CATEGORIES[:2])])
    assert draft_metric("tone", "d", scale=["Polite", "Rude"], judge=judge).scale.names == ("Polite", "Rude")
    assert "exactly Polite, Rude" in judge.calls[0][0].text
    assert "must be exactly Polite, Rude" in judge.calls[1][-1].text


def test_categories_without_scores_keep_their_order():
    """Where the model tells no scores, its order stands, and the remark that is left is a warning."""
    plain = [{"name": name, "means": f"What {name} means."} for name in ("Polite", "Casual", "Rude")]
    with pytest.warns(DataWarning, match=r"^tone: scale.categories: have no scores"):
        metric = draft_metric("tone", "d", judge=ScriptedJudge([written(categories=plain)]))
    assert metric.scale.names == ("Polite", "Casual", "Rude")


@pytest.mark.parametrize(
    ("scale", "told", "bounds"),
    [("value", (1, 2, 3, 4, 5), (1, 5)), ((0, 3), range(4), (0, 3)), ((0, 10), (0, 5, 10), (0, 10))],
)
def test_ranges(scale, told, bounds):
    """A short range is described level by level, a long one at its ends and its middle."""
    metric = draft_metric("depth", "How deep it goes.", scale=scale, judge=ScriptedJudge([levels(*told)]))
    assert metric.scale.range == bounds
    assert tuple(metric.scale.levels) == tuple(told)
    assert metric.scale.better == "higher"


@pytest.mark.parametrize("over", ["chunks", "triples", "claims", "expected_claims"])
def test_drafts_over_items(over):
    """A draft over items judges each of them, and needs them."""
    metric = draft_metric("use", "Whether it helps.", over=over, judge=ScriptedJudge([written(needs=["question"])]))
    assert metric.over == over
    assert over in metric.needs


FAULTY = {
    "a category twice": written(categories=[CATEGORIES[0], CATEGORIES[0]]),
    "one category": written(categories=CATEGORIES[:1]),
    "a field that is none": written(needs=["anser"]),
    "no steps": written(steps=[]),
    "steps that are no list": written(steps=None),
    "no JSON": "I would rather not.",
    "categories that are texts": written(categories=["Polite", "Rude"]),
    "categories that are no list": written(categories=None),
    "needs that are no list": written(needs=None),
    "a score that is a word": written(categories=[{**CATEGORIES[0], "score": "high"}, CATEGORIES[1]]),
}


@pytest.mark.parametrize("first", [pytest.param(answer, id=name) for name, answer in FAULTY.items()])
def test_a_faulty_draft_is_mended(first):
    """A faulty first answer is given back with what is wrong, and the second one counts."""
    judge = ScriptedJudge([first, written()])
    assert draft_metric("tone", "Whether it is polite.", judge=judge).scale.names == ("Polite", "Casual", "Rude")
    assert len(judge.calls) == 2
    assert judge.calls[1][-1].text.startswith("That cannot be used: ")


@pytest.mark.parametrize(
    "levelled", [[{"level": 1}], [{"means": "It."}], [{"level": [1], "means": "It."}], ["low"], None]
)
def test_faulty_levels_are_mended(levelled):
    """Levels that lack a part are a fault of the draft, not of the program."""
    judge = ScriptedJudge([{**levels(), "levels": levelled}, levels(*range(1, 6))])
    assert draft_metric("depth", "How deep it goes.", scale="value", judge=judge).scale.range == (1, 5)


def test_three_bad_tries_are_an_error():
    """After three bad answers an error names the judge and the fault."""
    judge = ScriptedJudge([written(needs=["anser"])])
    with pytest.raises(JudgeError, match=r"(?s)^ScriptedJudge gave no valid definition in 3 tries: .*anser"):
        draft_metric("tone", "Whether it is polite.", judge=judge)
    assert len(judge.calls) == 3


def test_a_call_that_fails_is_tried_again():
    """A call that fails counts as a try; where all fail, the error says why."""
    assert draft_metric("tone", "d", judge=ScriptedJudge([TimeoutError("late"), written()])).name == "tone"
    with pytest.raises(JudgeError, match=r"3 tries: .*late"):
        draft_metric("tone", "d", judge=ScriptedJudge([TimeoutError("late")]))


@pytest.mark.parametrize(
    ("plan", "calls"), [(fault.resets(), 1), (fault.error(500), 1 + 2 * 2)], ids=["no connection", "a server's error"]
)
def test_a_server_that_is_down_is_told_at_once(fault_server, monkeypatch, plan, calls):
    """A model that cannot be reached is asked once; what may pass is asked again in the next tries."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    fault_server.plan = plan
    judge = Judge("openai:m", base_url=fault_server.url, max_retries=1)
    with pytest.raises(JudgeError):
        draft_metric("tone", "Whether it is polite.", judge=judge)
    assert fault_server.calls == calls


def test_what_the_caller_gave_stays():
    """The name and the description are the caller's, whatever the model writes."""
    metric = draft_metric("tone", "Whether it is polite.", judge=ScriptedJudge([written(name="x", description="y")]))
    assert (metric.name, metric.description) == ("tone", "Whether it is polite.")
