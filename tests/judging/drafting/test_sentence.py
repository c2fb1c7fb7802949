"""The sentence of a description, limited and denied: English that its author could have written."""

from __future__ import annotations

import pytest

from greval.judging.drafting.sentence import parse_sentence


def list_texts(description, count, verb=None):
    sentence = parse_sentence(description, "answer")
    verbs = sentence.list_verbs()
    assert verb is None or verb in verbs
    return sentence.list_texts(sentence.deny(verb or "".join(verbs)), count)


@pytest.mark.parametrize(
    ("description", "verb", "texts"),
    [
        (
            "How clear the question is, with one meaning only.",
            None,
            ["is clear, with one meaning only", "is mostly clear", "is only partly clear", "is not clear"],
        ),
        (
            "How well structured the question is.",
            None,
            [
                "is well structured",
                "is mostly well structured",
                "is only partly well structured",
                "is not well structured",
            ],
        ),
        (
            "How friendly the question is to the reader.",
            None,
            [
                "is friendly to the reader",
                "is mostly friendly to the reader",
                "is only partly friendly to the reader",
                "is not friendly to the reader",
            ],
        ),
        (
            "How clearly the question is put.",
            None,
            [
                "is clearly put",
                "is put, for the most part clearly",
                "is put, but only partly clearly",
                "is not clearly put",
            ],
        ),
        (
            "How directly the question gives what is asked.",
            "gives",
            [
                "directly gives what is asked",
                "gives what is asked, for the most part directly",
                "gives what is asked, but only partly directly",
                "does not directly give what is asked",
            ],
        ),
        (
            "How well the question calms a reader who is worried.",
            "calms",
            [
                "fully calms a reader who is worried",
                "mostly calms a reader who is worried",
                "only partly calms a reader who is worried",
                "does not calm a reader who is worried",
            ],
        ),
        (
            "How straight the question leads to its end, without detours.",
            "leads",
            [
                "leads to its end straight, without detours",
                "mostly leads to its end straight",
                "only partly leads to its end straight",
                "does not lead to its end straight",
            ],
        ),
        (
            "How much of the context the question uses.",
            None,
            [
                "uses all of the context",
                "uses most of the context",
                "uses only some of the context",
                "uses none of the context",
            ],
        ),
    ],
)
def test_how(description, verb, texts):
    """Each form of a measure is limited in its own place, and an explanation belongs to the best only."""
    assert list_texts(description, 4, verb) == [f"The question {text}." for text in texts]


@pytest.mark.parametrize(
    ("description", "verb", "denied"),
    [
        ("Whether the answer passes the test", "passes", "The answer does not pass the test."),
        ("whether the answer tries again!", "tries", "The answer does not try again."),
        ("Whether the walk goes on. Ignore loops.", "goes", "The walk does not go on."),
        ("Whether the chunk has a title.", "has", "The chunk does not have a title."),
        ("Whether the chunk has been cut.", None, "The chunk has not been cut."),
        ("Whether a reader can act on the answer.", None, "A reader cannot act on the answer."),
        ("Whether passages in the context agree.", "agree", "Passages in the context do not agree."),
        ("Whether every number has a unit.", None, "Not every number has a unit."),
        ("Whether the answer has no errors.", None, "The answer has some errors."),
        ("Whether the answer never speaks of itself.", None, "The answer sometimes speaks of itself."),
        ("Whether the answer does not lie.", None, "It is not true that the answer does not lie."),
        ("Whether the answer says yes or no.", "says", "The answer does not say yes or no."),
        ("How many of the claims are right.", None, "None of the claims are right."),
    ],
)
def test_denials(description, verb, denied):
    """The worst is the plain denial of the sentence."""
    assert list_texts(description, 2, verb)[1] == denied


def test_a_sentence_that_cannot_be_limited_inside():
    """What is about each of several things is limited as a whole."""
    assert list_texts("Whether each edge is new.", 3)[1] == "It is only partly true that each edge is new."


def test_a_noun_is_not_offered_as_the_verb():
    """What follows an article or a preposition is no verb, nor is a word of a clause that depends on another one."""
    sentence = parse_sentence("Whether the sources of the answer come from a text that the user gave.", "answer")
    assert sentence.list_verbs() == ["come"]


@pytest.mark.parametrize("description", ["Is it polite?", "Politeness of the answer.", "Checks that it is not rude"])
def test_other_forms(description):
    """What is neither of the two forms is met, or not, as a whole."""
    text = description.rstrip("?.")
    assert list_texts(description, 3) == [
        f"The answer meets this: {text}.",
        f"The answer only partly meets this: {text}.",
        f"The answer does not meet this: {text}.",
    ]


def test_a_count():
    """What asks for a number is met by many."""
    assert list_texts("How many sources the answer cites.", 2, "cites") == [
        "The answer cites many sources.",
        "The answer does not cite many sources.",
    ]
