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
        ("At least 3 claims of it are supported.", "At most 2 claims of it are supported."),
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


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        ("The answer names a source.", "The answer names a source with its date and page.", "B: includes all of 'A'"),
        ("It replies to the question with a reason.", "It replies to the question.", "A: includes all of 'B'"),
        ("Names at least 2 sources.", "Names at least 3 sources.", "B: reads nearly like 'A'"),
        ("More than two claims are supported.", "More than five claims are supported.", "B: reads nearly like 'A'"),
    ],
)
def test_not_exclusive(first, second, place):
    """A text that holds whenever another one does, and numbers that may fit both, are remarked on."""
    (remark,) = described(first, second)
    assert remark.startswith(f"scale.categories.{place}")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The answer names a source.", "The answer names a source, but without its date."),
        ("It replies to the question.", "It replies to the question only in part."),
        ("Rude.", "Rude and loud."),
        ("Names at least 3 sources.", "Names at most 2 sources."),
        ("Names 1 to 2 sources.", "Names 3 to 5 sources."),
        ("More than 5 claims are supported.", "Up to 5 claims are supported."),
        ("Names 2 sources.", "Names 3 sources."),
        ("Names 2 sources in 3 lines.", "Names 2 sources in 4 lines."),
    ],
)
def test_exclusive(first, second):
    """A limit tells a text from one that it contains, and so do numbers that do not fit both."""
    assert described(first, second) == []


def test_a_middle_that_is_both_ends():
    """What lies between says more than both ends together."""
    levels = {
        "0": "The answer insults the reader.",
        "1": "The answer thanks and greets the reader, but insults the reader.",
        "2": "The answer greets and thanks the reader.",
    }
    (remark,) = remarks(scale={"range": [0, 2], "better": "higher", "levels": levels})
    assert remark == "scale.levels.1: says all that both ends say; say which flaw it has, or which merit"


GOOD_WORSTS = [
    "The answer is clear and polite.",
    "The answer explains every step well.",
    "It gives accurate details of the product.",
    "The chunk is relevant to the question.",
    "The answer is concise.",
    "Each claim is consistent with it.",
    "The answer keeps a professional style.",
]


@pytest.mark.parametrize("worst", GOOD_WORSTS)
def test_a_worst_that_is_good(worst):
    """A worst category or level that describes good behaviour is remarked on, whichever end of the range it is."""
    assert described("It greets the reader with kindness.", worst) == [
        "scale.categories.B: is the worst, but describes what is good; say what is missing or wrong"
    ]
    levels = {"0": "It greets the reader with kindness.", "1": worst}
    scale = {"range": [0, 1], "better": "lower", "levels": levels}
    assert remarks(scale=scale)[0].startswith("scale.levels.1: is the worst, but describes what is good")


def test_ends_that_read_alike_have_one_remark():
    """A worst that repeats a best which praises is not said to be good as well."""
    (remark,) = described("The answer is clear and polite.", "It is polite and clear, the answer.")
    assert "reads nearly like 'A'" in remark


@pytest.mark.parametrize(
    "worst",
    [
        "The answer is unclear.",
        "The answer is not polite.",
        "It is clear but rude.",
        "It gives accurate details of another product.",
        "The chunk is relevant to a different question.",
        "It is polite to the point of flattery.",
        "Clear errors in each sentence.",
        "It sounds professional instead of warm.",
        "The answer is less helpful than it seems.",
        "Too concise to be understood.",
        "Insults the reader.",
        "It has long sentences.",
    ],
)
def test_a_worst_that_is_bad(worst):
    """A worst that denies, limits or blames is left alone, and so is one without a word of praise."""
    assert described("It greets the reader with kindness.", worst) == []


def test_a_worst_that_is_what_the_metric_asks_for():
    """A worst that says what the description of the metric says is remarked on, unless the best denies it."""
    description = "Whether the answer begins with a summary of its content."
    worst = "The answer begins with a short summary of its content."

    def judged(best):
        categories = {"A": {"means": best, "score": 1}, "B": {"means": worst, "score": 0}}
        return remarks(description=description, scale={"categories": categories})

    assert judged("The answer opens with its main point.")[0].startswith("scale.categories.B: is the worst, but")
    assert judged("The answer goes straight into details without an introduction.") == []


UNSEEN_THINGS = [
    "Search the web for each claim.",
    "Read it, then look it up.",
    "Look up each name in an encyclopedia.",
    "Compare it with other sources.",
    "Verify each number against reliable external sources.",
    "Consult an expert on the subject.",
    "Ask the user whether it helped.",
    "Open each link of the answer.",
    "Run the code of the answer.",
    "Compare the date with today's date.",
    "Check whether the claims are true.",
    "Check whether it is factually correct.",
    "Compare it with other answers.",
    "Check whether it is better than earlier responses.",
    "Rank it among all other systems.",
    "Look at the retrieval scores.",
    "Read the system prompt.",
    "Weigh the model's confidence.",
    "Note how long the system took.",
    "Consider how the answer was generated.",
    "Read the rest of the document.",
    "Compare it with the surrounding text.",
    "Weigh the user's satisfaction.",
]


@pytest.mark.parametrize("text", UNSEEN_THINGS)
def test_unseen_things(text):
    """A step, an instruction or a level that needs the world, other answers or the system is remarked on."""
    (step,) = remarks(steps=["Read the answer.", text])
    assert step.startswith("steps.2: relies on ")
    assert "which the judge does not see; " in step
    (rule,) = remarks(instructions=text)
    assert rule.startswith("instructions: relies on ")
    assert described("It is kind.", text)[0].startswith("scale.categories.B: relies on ")


@pytest.mark.parametrize(
    "text",
    [
        "Do not search the web.",
        "Judge it without the surrounding text.",
        "Do not compare it with other answers.",
        "Never ask the user.",
        "Search the answer for dates.",
        "Check whether it advises to consult a doctor.",
        "Check whether it tells the reader to look up the opening hours.",
        "Check whether it names a reliable source.",
        "In other cases, choose Rude.",
        "Ask what a reader could explain after it.",
        "Follow each link from its first node to its last.",
        "Note the response time that it states.",
        "Check whether other words mean the same.",
        "Say whether the claim is open.",
    ],
)
def test_seen_things(text):
    """A rule that forbids it is left alone, and so is one on what an answer says."""
    assert remarks(steps=["Read the answer.", text]) == []


def test_truth_can_be_judged_by_a_source():
    """Whether claims are true can be judged if there is something to compare them with."""
    assert remarks(steps=["Check whether the claims are true."], needs=["answer", "context"]) == []
