"""Definitions written in one call: remarks are sent back, calls are bounded, and the best definition is kept."""

from __future__ import annotations

import asyncio

from greval.judging.drafting.brief import DraftBrief
from greval.judging.metric_draft import draft_async
from greval.judging.model.client import JudgeClient
from greval.testing import ScriptedJudge

GOOD = [
    {"name": "Polite", "means": "The answer is courteous.", "score": 1},
    {"name": "Rude", "means": "The answer insults.", "score": 0},
]
CUT = [GOOD[0], {**GOOD[1], "means": "The answer insults and"}]
WORSE = [{**GOOD[0], "means": "Courteous and"}, {**GOOD[1], "means": "The answer insults and"}]


def written(categories, **more):
    steps = ["Read the question and the answer.", "Weigh the tone of the answer."]
    return {"needs": ["answer"], "steps": steps, "instructions": "", "categories": categories, **more}


def drafted(*answers, description="Whether the answer is polite.", scale="categorical"):
    judge = ScriptedJudge(answers)
    brief = DraftBrief.parse("tone", description, scale, None)
    return asyncio.run(draft_async(brief, JudgeClient(judge), check=False)), judge


def test_a_draft_without_remarks_takes_one_call():
    """A good definition is asked for once, and its needs follow from its steps."""
    draft, judge = drafted(written(GOOD))
    assert (len(judge.calls), draft.usage.calls, draft.usage.input_tokens, draft.remarks) == (1, 1, 100, ())
    assert draft.metric.needs == ("question", "answer")


def test_remarks_are_sent_back():
    """The writer sees its definition and the remarks, and its second definition counts."""
    draft, judge = drafted(written(CUT), written(GOOD))
    assert draft.remarks == ()
    assert [category.means for category in draft.metric.scale.categories][1] == "The answer insults."
    assert "scale.categories.Rude: does not end as a sentence" in judge.calls[1][-1].text
    assert (len(judge.calls), draft.usage.calls) == (2, 2)


def test_the_calls_are_bounded():
    """After two rounds the definition with the fewest remarks stands, and the remarks are there."""
    draft, judge = drafted(written(WORSE), written(CUT), written(WORSE))
    assert len(judge.calls) == 3
    assert [remark.partition(":")[0] for remark in draft.remarks] == ["scale.categories.Rude"]


def test_the_same_reply_ends_it():
    """A writer that repeats itself is not asked again."""
    assert len(drafted(written(CUT))[1].calls) == 2


def test_an_invalid_second_definition_does_no_harm():
    """Where the definition that was to be better cannot be used, the first one stands."""
    draft, judge = drafted(written(CUT), "no JSON", TimeoutError("late"))
    assert len(judge.calls) == 3
    assert len(draft.remarks) == 1


def test_remarks_on_the_callers_words_cost_nothing():
    """A description with two questions is remarked on, and no writer is asked to mend it."""
    draft, judge = drafted(written(GOOD), description="Whether the answer is polite and also short.")
    assert len(judge.calls) == 1
    assert draft.remarks[0].startswith("description: 'and also' joins two questions")


def test_given_categories_keep_their_order():
    """Names are given best first; a writer that scores them the other way round is asked again."""
    turned = [{**GOOD[0], "score": 0}, {**GOOD[1], "score": 1}]
    draft, judge = drafted(written(turned), written(GOOD), scale=["Polite", "Rude"])
    assert [(category.name, category.score) for category in draft.metric.scale.categories] == [
        ("Polite", 1),
        ("Rude", 0),
    ]
    assert "scores must not rise" in judge.calls[1][-1].text
