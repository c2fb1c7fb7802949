"""What the function of a computed metric may return, and what becomes of everything else."""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from greval import Case, CategoricalScale, ComputedMetric, Judgement, MeasureScale, Skipped, ValueScale
from greval.metrics.computed.outcomes import compute_outcome, describe_function
from greval.records.result import Failed, Outcome, Scored
from greval.records.scale import OffScaleError

CASE = Case(id="q1", question="Who?", answer="Ada.", chunks=["Ada wrote it.", "Tea is a drink."])
SHARE = MeasureScale(low=0.0, high=1.0)
COUNT = MeasureScale(unit="words")
LEVELS = ValueScale(range=(1, 5), levels={1: "Poor.", 5: "Good."})
YES_NO = ValueScale(range=(0, 1), levels={0: "No.", 1: "Yes."})
TONE = CategoricalScale.model_validate(
    {"categories": {"Polite": {"means": "Courteous.", "score": 1.0}, "Plain": "Neither.", "Rude": {"score": 0.0}}}
)


def computed(compute, scale=SHARE, **more):
    """Give the outcome of a function for the case."""
    metric = ComputedMetric(name="made", description="d", needs=("answer",), scale=scale, compute=compute, **more)
    return compute_outcome(metric, CASE)


def returning(returned, scale=SHARE, **more):
    return computed(lambda _: returned, scale, **more)


@pytest.mark.parametrize(
    ("returned", "scale", "value", "number"),
    [
        (0.5, SHARE, 0.5, 0.5),
        (3, COUNT, 3, 3.0),
        (True, YES_NO, 1, 1.0),
        (False, SHARE, 0, 0.0),
        (4, LEVELS, 4, 4.0),
        (4.0, LEVELS, 4, 4.0),
        ("Polite", TONE, "Polite", 1.0),
        ("Plain", TONE, "Plain", None),
        (np.float32(0.5), SHARE, 0.5, 0.5),
        (np.int64(3), COUNT, 3, 3.0),
        (np.bool_(True), YES_NO, 1, 1.0),
        (np.array(0.25), SHARE, 0.25, 0.25),
        (Fraction(1, 4), SHARE, 0.25, 0.25),
        (Decimal("0.25"), SHARE, 0.25, 0.25),
    ],
)
def test_a_bare_value_is_a_judgement(returned, scale, value, number):
    """Numbers, bools and categories are verdicts, with the number that the scale gives them."""
    outcome = returning(returned, scale)
    assert isinstance(outcome, Scored)
    [judgement] = outcome.judgements
    assert (judgement.value, type(judgement.value), judgement.number) == (value, type(value), number)
    assert "<lambda>" in judgement.reason


def test_a_pair_is_a_value_with_its_reason():
    """What stands second is the reason, also where both are texts."""
    assert returning((0.5, "half")).judgements == (Judgement(value=0.5, number=0.5, reason="half"),)
    assert returning(("Rude", "Polite"), TONE).judgements[0].reason == "Polite"


def test_judgements_are_taken_as_they_are():
    """One, a tuple, a list or a generator; a number that is missing is filled from the scale."""
    judgement = Judgement(value=0.5, reason="half")
    filled = Judgement(value=0.5, number=0.5, reason="half")
    for returned in (judgement, (judgement,), [judgement], iter([judgement])):
        assert returning(returned).judgements == (filled,)
    assert returning(filled).judgements[0] is filled
    assert returning(Skipped(reason="no words")) == Skipped(reason="no words")


async def later(case):
    return 1.0


@pytest.mark.parametrize(
    "returned",
    [None, (), [], {}, {"value": 1, "reason": "r"}, [0.5, 0.6], (0.5, None), object(), np.zeros(3), b"Polite", 1j],
)
def test_anything_else_is_a_failure_that_names_the_function(returned):
    """No exception leaves it, and no number stands in for it."""
    outcome = returning(returned)
    assert isinstance(outcome, Failed)
    assert outcome.error.kind == "error"
    assert "returning.<locals>.<lambda> (test_outcomes.py, line " in outcome.error.message
    assert "return a number, a bool, a category, (value, reason), judgements, or Skipped" in outcome.error.message


def test_an_exception_names_the_function():
    """Also one that a generator raises, and one of a function behind `partial`."""

    def walk(case, by):
        yield Judgement(value=1 / by, reason="r")

    for function in (partial(walk, by=0), lambda case: next(walk(case, 0))):
        message = computed(function).error.message
        assert "test_outcomes.py, line" in message
        assert message.endswith("raised ZeroDivisionError: division by zero")
    assert "walk (test_outcomes.py" in computed(partial(walk, by=0)).error.message


def test_a_function_that_ends_the_program_fails_its_case():
    """What `sys.exit` raises is a failure of the case; Ctrl-C in the main thread is not."""
    message = computed(lambda _: sys.exit(3)).error.message
    assert message.endswith("raised SystemExit: 3")

    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        computed(interrupt)


def test_an_object_that_is_called_is_named_by_its_class():
    """A callable object has no name of its own."""

    class Ratio:
        def __call__(self, case):
            return 7

    assert computed(Ratio()).error.message.startswith(
        "test_an_object_that_is_called_is_named_by_its_class.<locals>.Ratio"
    )
    assert describe_function(len) == "len"


@pytest.mark.parametrize(
    ("returned", "scale", "told"),
    [
        (7, LEVELS, "7 is not an integer from 1 to 5"),
        (2.5, LEVELS, "2.5 is not an integer from 1 to 5"),
        ("Kind", TONE, '\'Kind\' is not one of the categories "Polite", "Plain", "Rude"'),
        (True, TONE, "1 is not one of the categories"),
        (1.5, SHARE, "1.5 is not a number from 0.0 to 1.0"),
        (float("nan"), SHARE, "nan is not a number"),
        (float("inf"), COUNT, "inf is not a number"),
        (-1, COUNT, "-1 is not a number from 0.0 without an upper end"),
        ("0.5", SHARE, "'0.5' is not a number"),
        (Judgement(value=7, number=7.0, reason="r"), LEVELS, "7 is not an integer from 1 to 5"),
    ],
)
def test_a_value_off_its_scale_fails_and_names_function_value_and_scale(returned, scale, told):
    """It is neither scored nor moved onto the scale."""
    error = returning(returned, scale).error
    assert error.kind == "off_scale"
    assert "<lambda> (test_outcomes.py" in error.message
    assert told in error.message


@pytest.mark.parametrize(
    ("value", "number", "scale"),
    [(4, 0.75, LEVELS), (0.5, 50.0, SHARE), ("Polite", 0.5, TONE), ("Plain", float("nan"), TONE)],
)
def test_a_number_that_contradicts_its_value_fails(value, number, scale):
    """Means are of numbers: one that is not the value's would stand in figures and nowhere else."""
    error = returning(Judgement(value=value, number=number, reason="r"), scale).error
    assert "leave number out" in error.message
    assert "<lambda>" in error.message


def test_a_category_without_a_score_may_bring_a_number():
    """Where the scale gives none, the function's own counts."""
    assert returning(Judgement(value="Plain", number=0.4, reason="r"), TONE).judgements[0].number == 0.4


def about(*items):
    return tuple(Judgement(value=1.0, number=1.0, reason="r", item=item) for item in items)


def test_items_are_those_of_the_case_and_stand_once():
    """What is wrong with an item is the failure of that item alone."""
    first, second = (chunk.id for chunk in CASE.chunks)
    assert returning(about(first, second), over="chunks").failures == ()
    assert len(returning(about(second), over="chunks").judgements) == 1
    outcome = returning(about(first, "c99"), over="chunks")
    assert [part.item for part in outcome.judgements] == [first]
    assert [(part.item, part.kind) for part in outcome.failures] == [("c99", "error")]
    assert "named the item 'c99', which is not among the chunks of the case" in outcome.failures[0].message
    repeated = returning(about(first, second, first), over="chunks")
    assert [part.item for part in repeated.judgements] == [second]
    assert [part.item for part in repeated.failures] == [first]
    assert "in 2 judgements" in repeated.failures[0].message
    off = returning((*about(first), Judgement(value=7, reason="r", item=second)), over="chunks")
    assert ([part.item for part in off.judgements], [part.item for part in off.failures]) == ([first], [second])


def test_a_metric_without_items_has_one_verdict_without_an_item():
    """An item of a metric that has none, no item of one that has them, and two verdicts on one case all fail."""
    assert "made is not over items of a case" in returning(about("c1")).error.message
    assert "named no item, but made is over chunks" in returning(0.5, over="chunks").error.message
    assert "returned 2 judgements; return one" in returning(about(None, None)).error.message


SCALES = st.sampled_from([SHARE, COUNT, LEVELS, YES_NO, TONE, ValueScale(range=(-2, 2), levels={-2: "a", 2: "b"})])
VALUES = st.one_of(st.integers(-9, 9), st.floats(), st.text(max_size=3), st.sampled_from(TONE.names), st.booleans())


@given(SCALES, VALUES, st.none() | st.floats())
def test_what_is_scored_is_on_the_scale(scale, value, number):
    """Whatever a function returns, a scored value is read by its scale, and its number is the scale's."""
    returned = Judgement.model_construct(value=value, reason="r", number=number)
    outcome = returning(returned, scale)
    if isinstance(outcome, Failed):
        try:
            counts = scale.number(scale.read(value))
        except OffScaleError:
            return
        assert number != counts
        return
    [judgement] = outcome.judgements
    assert scale.read(judgement.value) == judgement.value
    if scale.number(judgement.value) is not None:
        assert judgement.number == pytest.approx(scale.number(judgement.value))


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_a_coroutine_is_no_verdict():
    """A computed metric is a plain function."""
    assert "later (test_outcomes.py" in computed(later).error.message


HALF = chr(0xD83D)
"""Half of a surrogate pair, as from a text that was cut in the middle of a character."""


def raise_half(case):
    raise ValueError(f"bad {HALF}")


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda case: (1, f"half {HALF}"), "half \ufffd"),
        (lambda case: Judgement(value=1, reason=f"half {HALF}"), "half \ufffd"),
        (lambda case: Skipped(reason=f"half {HALF}"), "half \ufffd"),
        (raise_half, "bad \ufffd"),
        (lambda case: Judgement(value=1, reason="whole", notes={"a": [HALF]}), "returned notes that cannot be stored"),
        (lambda case: 10**5000, "returned a value that cannot be read"),
    ],
)
def test_every_outcome_can_be_stored(function, text):
    """A text of a function that is not UTF-8, or a number that cannot be shown, does not end a run."""
    metric = ComputedMetric(name="m", description="d", needs=("answer",), scale=MeasureScale(high=9), compute=function)
    outcome = compute_outcome(metric, Case(question="Who?", answer="Ada."))
    stored = TypeAdapter(Outcome).dump_json(outcome)
    assert text in stored.decode()
    assert TypeAdapter(Outcome).validate_json(stored) == outcome
