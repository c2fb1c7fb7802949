"""The gain in agreement, and when it is believed."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from greval.records.scale import CategoricalScale, ValueScale
from greval.trust.alignment.gain import VerdictPair, compute_gain, explain_rejection

YES_NO = CategoricalScale.model_validate({"categories": {"Yes": "", "No": ""}})
GRADED = CategoricalScale.model_validate({"categories": dict.fromkeys(("Good", "Fair", "Poor"), "")})
UNORDERED = CategoricalScale.model_validate({"categories": dict.fromkeys(("A", "B", "C"), ""), "ordered": False})
NUMBERS = ValueScale(range=(0, 10), levels={0: "None.", 10: "All."})


@pytest.mark.parametrize(("scale", "weights"), [(YES_NO, None), (GRADED, "linear"), (UNORDERED, None)])
@pytest.mark.parametrize("seed", range(3))
def test_the_gain_of_categories_is_the_difference_of_scikit_learns_kappas(scale, weights, seed):
    """Before and after are Cohen's kappas, with linear weights where an order of three or more counts."""
    draw = random.Random(seed)
    sides = [[draw.choice(scale.names) for _ in range(50)] for _ in range(3)]
    pairs = [VerdictPair(number % 20, *values) for number, values in enumerate(zip(*sides, strict=True))]
    gain = compute_gain(pairs, scale, level=0.95)
    labels = [*scale.names]
    before, after = (cohen_kappa_score(sides[0], side, labels=labels, weights=weights) for side in sides[1:])
    assert gain.before == pytest.approx(before)
    assert gain.after == pytest.approx(after)
    assert gain.gain == pytest.approx(after - before)
    assert gain.interval.low < gain.gain < gain.interval.high
    assert (gain.things, gain.questions) == (50, 20)
    assert gain.changed == sum(one != other for one, other in zip(*sides[1:], strict=True))


def test_the_gain_of_numbers_is_the_fall_of_the_error():
    """Of numbers the mean absolute error counts; a fall is a gain, and ranks are told beside it."""
    draw = np.random.default_rng(1)
    people = draw.integers(0, 11, 40).astype(float)
    before, after = people + draw.integers(1, 4, 40), people + draw.integers(0, 2, 40)
    pairs = [VerdictPair(n, *map(float, each)) for n, each in enumerate(zip(people, before, after, strict=True))]
    gain = compute_gain(pairs, NUMBERS, level=0.95)
    assert gain.figure == "mae"
    assert gain.gain == pytest.approx(np.abs(before - people).mean() - np.abs(after - people).mean())
    assert gain.interval.low > 0
    assert explain_rejection(gain, level=0.95) is None
    assert 0.9 < gain.ranks[1] <= 1


def test_a_gain_that_is_known_to_be_none_is_doubted():
    """No change, an undefined figure and an interval that holds 0 are each told as what they are."""
    same = [
        VerdictPair(n, "Yes" if n % 2 else "No", "Yes" if n % 3 else "No", "Yes" if n % 3 else "No") for n in range(30)
    ]
    assert "does not exclude 0" in explain_rejection(compute_gain(same, YES_NO, level=0.95), level=0.95)
    constant = [VerdictPair(n, "Yes", "Yes", "Yes") for n in range(30)]
    assert "undefined" in explain_rejection(compute_gain(constant, YES_NO, level=0.95), level=0.95)
    assert "undefined" in explain_rejection(compute_gain([], YES_NO, level=0.95), level=0.95)


def test_a_loss_is_reported_as_a_loss():
    """Where what was chosen is worse beyond noise, that is said, and not that the interval holds 0."""
    wrong = {"Yes": "No", "No": "Yes"}
    truth = ["Yes" if n % 2 else "No" for n in range(60)]
    pairs = [VerdictPair(n, one, one, wrong[one] if n < 12 else one) for n, one in enumerate(truth)]
    gain = compute_gain(pairs, YES_NO, level=0.95)
    assert gain.interval.high < 0
    reason = "the chosen definitions are significantly worse than the original metric"
    assert explain_rejection(gain, level=0.95) == reason


def test_few_changes_are_not_believed_however_they_fall():
    """Five things that became right and none wrong are not enough; ten are."""

    def pairs(better):
        truth = ["Yes" if n % 2 else "No" for n in range(60)]
        wrong = {"Yes": "No", "No": "Yes"}
        return [VerdictPair(n, one, wrong[one] if n < 12 else one, wrong[one] if better <= n < 12 else one)
                for n, one in enumerate(truth)]  # fmt: skip

    five, ten = (compute_gain(pairs(better), YES_NO, level=0.95) for better in (5, 10))
    assert five.interval.low > 0
    assert "too few items changed: the sign-flip test gives p = 0.062" in explain_rejection(five, level=0.95)
    assert explain_rejection(ten, level=0.95) is None


def test_a_constant_is_no_gain_of_numbers():
    """A judge that always gives the middle has less error than a poor one, but orders nothing: it is refused."""
    draw = np.random.default_rng(2)
    people = draw.integers(0, 11, 200).astype(float)
    poor = np.clip(people + draw.integers(-9, 10, 200), 0, 10)
    pairs = [VerdictPair(n, one, other, 5.0) for n, (one, other) in enumerate(zip(people, poor, strict=True))]
    gain = compute_gain(pairs, NUMBERS, level=0.95)
    assert gain.interval.low > 0
    assert gain.ranks[1] is None
    assert "orders items less" in explain_rejection(gain, level=0.95)


@pytest.mark.nightly
def test_false_alarms_are_rarer_than_the_level_tells():
    """Two definitions that are right equally often: a gain is believed in at most 5 % of 200 samples."""
    draw = np.random.default_rng(3)
    believed = 0
    for _ in range(200):
        truth = draw.random(60) < 0.5
        sides = [np.where(draw.random(60) < 0.75, truth, ~truth) for _ in range(2)]
        pairs = [
            VerdictPair(n, *("Yes" if value else "No" for value in each))
            for n, each in enumerate(zip(truth, *sides, strict=True))
        ]
        believed += explain_rejection(compute_gain(pairs, YES_NO, level=0.95), level=0.95) is None
    assert believed <= 10


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from("ABC"), st.sampled_from("ABC"), st.sampled_from("ABC")),
        min_size=1,
        max_size=40,
    )
)
def test_exchanged_definitions_exchange_their_figures(rows):
    """If before and after change places, so do their figures, the gain changes its sign, and p stays."""
    gain = compute_gain([VerdictPair(*row) for row in rows], UNORDERED, level=0.95)
    swapped = compute_gain([VerdictPair(n, people, b, a) for n, people, a, b in rows], UNORDERED, level=0.95)
    assert (gain.before, gain.after) == (swapped.after, swapped.before)
    assert gain.gain == (None if swapped.gain is None else pytest.approx(-swapped.gain))
    assert gain.p == pytest.approx(swapped.p)
    assert gain.changed == swapped.changed


def test_no_pairs_have_a_reason_and_no_p():
    """Without an item that has both verdicts all figures and p are undefined, and the gain is rejected for that."""
    gain = compute_gain([], NUMBERS, level=0.95)
    assert (gain.things, gain.before, gain.after, gain.gain, gain.p, gain.interval) == (0, None, None, None, None, None)
    assert explain_rejection(gain, level=0.95) == gain.why_undefined
    assert "no labelled item has a verdict of both definitions" in gain.why_undefined


def test_without_a_level_only_the_figures_are_computed():
    """The choice among definitions needs no interval and no test, and its figures are the same."""
    pairs = [VerdictPair(n, n % 5, (n + 1) % 5, n % 5) for n in range(20)]
    figures, whole = compute_gain(pairs, NUMBERS), compute_gain(pairs, NUMBERS, level=0.9)
    assert (figures.interval, figures.p, figures.ranks) == (None, None, None)
    assert whole.interval
    assert whole.p < 0.01
    assert (figures.before, figures.after, figures.gain) == (whole.before, whole.after, whole.gain)


def test_near_misses_count_less_on_an_ordered_scale():
    """P of an ordered scale counts how far a verdict is off; for two or unordered categories only whether it is."""
    off = [VerdictPair(n, "Good", "Poor", "Fair") for n in range(12)] + [VerdictPair(12, "Poor", "Poor", "Poor")]
    assert compute_gain(off, GRADED, level=0.95).p < 0.01
    unordered = CategoricalScale.model_validate({"categories": dict.fromkeys(GRADED.names, ""), "ordered": False})
    assert compute_gain(off, unordered, level=0.95).p == 1.0
