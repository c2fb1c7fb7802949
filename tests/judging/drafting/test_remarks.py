"""Remarks on drafts: cut texts, long texts, and descriptions of something else than what is judged."""

from __future__ import annotations

from typing import get_args

import pytest

from greval.judging.drafting.brief import MAX_TEXT_CHARS, DraftBrief, find_draft_remarks, select_writer_remarks
from greval.records.case import Over
from greval.records.metric import build_metric


def remarks(worst="The answer is rude.", step="Read the answer.", description="Whether the answer is polite.", **more):
    """Find the remarks on a draft with this description of the lowest level."""
    scale = {"range": (0, 1), "better": "higher", "levels": {0: worst, 1: "The answer is polite."}}
    given = {"name": "tone", "description": description, "needs": ["answer"], "scale": scale, "steps": [step], **more}
    return find_draft_remarks(DraftBrief.parse("tone", description, (0, 1), None), build_metric(given))


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
    found = remarks(description="Whether the answer is polite and also short.")
    assert len(found) == 1
    assert select_writer_remarks(found) == []


@pytest.mark.parametrize("over", get_args(Over))
def test_items_of_each_kind_have_words(over):
    """A description of an item must mention it, whatever the items are."""
    levels = {0: "It is vague.", 1: "Precise."}
    scale = {"range": (0, 1), "better": "higher", "levels": levels}
    description = "How precise it is."
    given = {"name": "precision", "description": description, "over": over, "needs": [over], "steps": ["Read it."]}
    found = find_draft_remarks(
        DraftBrief.parse("precision", description, (0, 1), over), build_metric({**given, "scale": scale})
    )
    thing = "claim" if "claim" in over else over.removesuffix("s")
    assert f"scale.levels.1: does not say what the {thing} is like; begin with 'The {thing}'" in found
    assert not any(remark.startswith("scale.levels.0") for remark in found)
