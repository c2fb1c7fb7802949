"""Remarks on definitions: what is remarked on, and that good ones are left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies import metrics

from greval.metrics.library import predefined
from greval.metrics.lint import lint_metric
from greval.records.metric import build_metric

GOOD = {"Polite": {"means": "Courteous throughout.", "score": 1}, "Rude": {"means": "Insults someone.", "score": 0}}
LEVELS = {"range": [0, 1], "better": "higher", "levels": {"0": "Rude.", "1": "Polite."}}


def remarks(**changes):
    base = {"name": "tone", "description": "Whether it is polite.", "needs": ["answer"], "steps": ["Read the answer."]}
    return lint_metric(build_metric({**base, "scale": {"categories": GOOD}, **changes}))


def described(first, second):
    return remarks(scale={"categories": {"A": {"means": first, "score": 1}, "B": {"means": second, "score": 0}}})


@pytest.mark.parametrize("name", [*predefined()])
def test_predefined(name):
    """There is nothing to remark on a predefined metric."""
    assert lint_metric(predefined()[name]) == []


def test_good():
    """A definition that is clear gets no remark, on categories and on a range."""
    assert remarks() == []
    assert remarks(scale=LEVELS) == []


@given(metric=metrics())
def test_any_metric(metric):
    """Every definition, in any script, gets remarks that begin with a place."""
    assert all(": " in remark for remark in lint_metric(metric))


@pytest.mark.parametrize(
    ("text", "need"),
    [
        ("Compare it with the expected answer.", "expected_answer"),
        ("Look it up in the Reference.", "expected_answer"),
        ("Is it the ground truth?", "expected_answer"),
        ("Does it reply to the question?", "question"),
        ("Read each chunk.", "chunks"),
        ("Find the passage.", "chunks"),
        ("Read the triples.", "triples"),
        ("Check it against the context.", "context"),
        ("Follow the traversal.", "traversal"),
    ],
)
def test_unseen(text, need):
    """A step or an instruction that cites what the judge does not see is remarked on, until it is needed."""
    (step,) = remarks(steps=["Read.", text])
    (rule,) = remarks(instructions=text)
    assert step.startswith("steps.2: cites ")
    assert rule.startswith("instructions: cites ")
    assert step.endswith(f"which the judge does not see; add {need} to needs, or reword it")
    assert remarks(steps=["Read.", text], needs=["answer", need]) == []


@pytest.mark.parametrize("text", ["Find the chunk.", "Find the triple.", "Read the passages."])
def test_context_shows_both(text):
    """The context shows chunks and triples."""
    assert remarks(steps=[text], needs=["context"]) == []


@pytest.mark.parametrize("need", ["chunks", "triples"])
def test_context_is_either(need):
    """Who sees chunks or triples sees context."""
    assert remarks(steps=["Check it against the context."], needs=[need]) == []


@pytest.mark.parametrize("name", ["accuracy_and_tone", "accuracy-and-tone", "Kürze_und_Ton"])
def test_two_in_a_name(name):
    """A name of two qualities is remarked on."""
    assert remarks(name=name)[0].startswith(f"name: {name!r} names two qualities; make one metric of each")


@pytest.mark.parametrize("name", ["understanding", "brand_tone", "and_more", "sandbox"])
def test_one_in_a_name(name):
    """A name that only holds the letters of `and` is not."""
    assert remarks(name=name) == []


@pytest.mark.parametrize(
    "text",
    [
        "Whether it is polite and also true.",
        "Whether it is polite as well as whether it is true.",
        "How polite it is and how well it is sourced.",
        "Is it polite? Is it true?",
    ],
)
def test_two_questions(text):
    """A description, of the metric or of its scale, that asks for two things at once is remarked on."""
    assert remarks(description=text)[0].startswith("description: ")
    assert remarks(scale={**LEVELS, "levels": {"0": "Rude.", "1": text}})[0].startswith("scale.levels.1: ")
    assert described("Nothing of it.", text)[0].startswith("scale.categories.B: ")


def test_undescribed():
    """A category without a description is remarked on; levels between the ends need none."""
    (remark,) = remarks(scale={"categories": {**GOOD, "Silent": {"score": -1}}})
    assert remark.startswith("scale.categories.Silent: is not described; say when it applies")
    assert remarks(scale={**LEVELS, "range": [0, 5], "levels": {"0": "Rude.", "5": "Polite."}}) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The answer replies to what was asked.", "The answer replies to what was asked."),
        ("The answer replies to what was asked.", "To what was asked, the answer replies"),
        ("The answer replies well to what the user has asked.", "The answer replies to what the user has asked."),
    ],
)
def test_overlap(first, second):
    """Categories whose descriptions say nearly the same are remarked on."""
    (remark,) = described(first, second)
    assert remark.startswith("scale.categories.B: reads nearly like 'A'; say what is in the one")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The answer is supported by it.", "The answer is not supported by it."),
        ("Every claim of the answer is supported.", "Some claim of the answer is supported."),
        ("The answer is correct in all parts.", "The answer is incorrect in all parts."),
        ("At least 3 claims of it are supported.", "At least 2 claims of it are supported."),
        ("回答は正しい。", "回答は間違っている。"),
    ],
)
def test_told_apart(first, second):
    """A negation, an opposite, an amount or a number tells descriptions apart."""
    assert described(first, second) == []


def test_no_direction():
    """A range of which it is not said which end is better is remarked on, though there is a default."""
    unsaid = {key: part for key, part in LEVELS.items() if key != "better"}
    assert remarks(scale=unsaid) == ["scale: does not say which end is the good one; add better: higher (or lower)"]


def test_no_scores():
    """Ordered categories without scores, or with some, are remarked on; without an order none are missed."""
    bare = {"categories": {"A": "One thing.", "B": "Something else."}}
    assert remarks(scale=bare)[0].startswith("scale.categories: have no scores, so there will be no mean")
    partly_scored = {"categories": {**GOOD, "Silent": "It says nothing."}}
    assert remarks(scale=partly_scored)[0].startswith("scale.categories: Silent without a score")
    assert remarks(scale={**bare, "ordered": False}) == []


def test_many_categories():
    """A scale of 500 categories is looked through in a moment."""
    scores = {
        f"Topic {n}": {"means": f"It is about subject {n:x}-{n * n:x} of the list.", "score": 0} for n in range(500)
    }
    assert isinstance(remarks(scale={"categories": scores}), list)
