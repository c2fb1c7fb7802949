"""What follows from a name and a description without a model, and what is doubtful in a draft."""

from __future__ import annotations

from typing import get_args

import pytest

from greval.judging.drafting.brief import MAX_TEXT_CHARS, DraftBrief, find_draft_remarks, select_writer_remarks
from greval.records.case import Over
from greval.records.metric import build_metric


def brief(description, scale="categorical", over=None):
    return DraftBrief.parse("m", description, scale, over)


@pytest.mark.parametrize(
    ("description", "over", "thing", "needs"),
    [
        ("Whether the answer is polite.", None, "answer", ("answer",)),
        ("How well the answer fits the question.", None, "answer", ("question", "answer")),
        ("Whether the answer means the same as the expected answer.", None, "answer", ("expected_answer", "answer")),
        ("How helpful the answer is.", None, "answer", ("question", "answer")),
        (
            "How complete the answer is compared with the expected answer.",
            None,
            "answer",
            ("expected_answer", "answer"),
        ),
        ("Whether the context holds what the question asks for.", None, "context", ("question", "context")),
        ("Whether the passages are up to date.", None, "context", ("context",)),
        ("How direct the walk through the graph is.", None, "walk", ("traversal",)),
        ("Whether the question is ambiguous.", None, "question", ("question",)),
        ("How well it replies to the question.", None, "answer", ("question",)),
        ("Whether it is up to date.", "chunks", "chunk", ("chunks",)),
        ("Whether the triple helps with the question.", "triples", "triple", ("question", "triples")),
        ("Ob sie höflich ist.", None, "answer", ("answer",)),
    ],
)
def test_thing_and_needs(description, over, thing, needs):
    """The judged thing and the needs follow from what the description cites, and from `over`."""
    draft_brief = brief(description, over=over)
    assert (draft_brief.thing, draft_brief.needs) == (thing, needs)


def test_needs_follow_from_the_steps():
    """A field that a step cites is needed; one that the writer lists and no text cites is not."""
    steps = ["Read the question.", "Compare it with the expected answer."]
    chosen = brief("Whether the answer is right.").select_needs(steps, ["context"])
    assert chosen == ("question", "expected_answer", "answer")


def test_listed_needs_count_in_other_languages():
    """Where no English word cites a field, the writer's list stands."""
    assert brief("Ob sie höflich ist.").select_needs(["Lies die Antwort."], ["question", "answer"]) == (
        "question",
        "answer",
    )


def test_steps_on_items_do_not_add_fields():
    """A step on chunks that speaks of the answer in general does not make the metric need an answer."""
    assert brief("Whether the chunk helps.", over="chunks").select_needs(
        ["Does the chunk hold the answer to the question, or the context of it?"]
    ) == ("question", "chunks")


@pytest.mark.parametrize(("scale", "levels"), [("value", (1, 2, 3, 4, 5)), ((0, 10), (0, 5, 10)), ((0, 1), (0, 1))])
def test_described_levels(scale, levels):
    """A short range is described level by level, a long one at its ends and its middle."""
    assert tuple(brief("d", scale).levels) == levels


def remarks(worst="The answer is rude.", step="Read the answer.", description="Whether the answer is polite.", **more):
    """Find the remarks on a draft with this description of the lowest level."""
    scale = {"range": (0, 1), "better": "higher", "levels": {0: worst, 1: "The answer is polite."}}
    definition = {
        "name": "tone",
        "description": description,
        "needs": ["answer"],
        "scale": scale,
        "steps": [step],
        **more,
    }
    return find_draft_remarks(DraftBrief.parse("tone", description, (0, 1), None), build_metric(definition))


def test_a_good_draft_has_none():
    """Whole sentences about the judged thing get no remark."""
    assert remarks() == []
    assert remarks(worst="It insults (or belittles) the reader, or its reply is “no”!") == []


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"worst": "The answer is rude and"}, "scale.levels.0: does not end as a sentence"),
        ({"worst": "The answer is rude,"}, "scale.levels.0: does not end as a sentence"),
        ({"step": "Read the answer and then"}, "steps.1: does not end as a sentence"),
        ({"instructions": "If the answer,"}, "instructions: does not end as a sentence"),
        ({"worst": f"The answer is {'very ' * 80}rude."}, "scale.levels.0: has 419 characters; say it in at most 40"),
        ({"worst": "Insults somebody."}, "scale.levels.0: does not say what the answer is like"),
        ({"worst": "The answer fails the criteria."}, "scale.levels.0: speaks of the metric"),
        ({"worst": "The answer is polite."}, "scale.levels.1: reads nearly like '0'"),
        ({"step": "Read the expected answer."}, "steps.1: cites 'expected answer', which the judge does not see"),
    ],
)
def test_remarks(change, place):
    """Each fault of a small writer has its place and what to do."""
    (remark,) = remarks(**change)
    assert remark.startswith(place)
    assert MAX_TEXT_CHARS < 419


def test_other_languages_are_not_measured_by_english_words():
    """A description that cites nothing in English may be followed by levels without English words."""
    assert remarks(worst="Sie beleidigt.", description="Ob sie höflich ist.") == []


def test_remarks_for_the_caller():
    """What the caller wrote is not sent back to the writer."""
    draft_remarks = remarks(description="Whether the answer is polite and also short.")
    assert len(draft_remarks) == 1
    assert select_writer_remarks(draft_remarks) == []


@pytest.mark.parametrize("over", get_args(Over))
def test_items_of_each_kind_have_words(over):
    """A description of an item must mention it, whatever the items are."""
    levels = {0: "It is vague.", 1: "Precise."}
    scale = {"range": (0, 1), "better": "higher", "levels": levels}
    description = "How precise it is."
    definition = {"name": "precision", "description": description, "over": over, "needs": [over], "steps": ["Read it."]}
    draft_remarks = find_draft_remarks(
        DraftBrief.parse("precision", description, (0, 1), over), build_metric({**definition, "scale": scale})
    )
    thing = "claim" if "claim" in over else over.removesuffix("s")
    assert f"scale.levels.1: does not say what the {thing} is like; begin with 'The {thing}'" in draft_remarks
    assert not any(remark.startswith("scale.levels.0") for remark in draft_remarks)
