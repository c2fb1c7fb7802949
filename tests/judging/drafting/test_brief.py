"""What follows from a name and a description without a model: the judged thing and the fields to show."""

from __future__ import annotations

import pytest

from greval.judging.drafting.brief import DraftBrief


def brief(description, scale="categorical", over=None):
    return DraftBrief.parse("m", description, scale, over)


@pytest.mark.parametrize(
    ("description", "over", "thing", "needs"),
    [
        ("Whether the answer is polite.", None, "answer", ("answer",)),
        ("How well the answer fits the question.", None, "answer", ("question", "answer")),
        ("Whether the answer means the same as the expected answer.", None, "answer", ("expected_answer", "answer")),
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
    found = brief(description, over=over)
    assert (found.thing, found.needs) == (thing, needs)


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
