"""Agreement of categories: figures against scikit-learn and statsmodels."""

from math import isnan, nan

import numpy as np
import pytest
from choice_columns import build_choices
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from greval.stats import confusion
from greval.stats.interval import Undefined

LEVEL = 0.95


tables = st.integers(2, 5).flatmap(
    lambda size: st.tuples(
        st.just(size),
        st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1), st.sampled_from([1, 2, 5])), min_size=1),
    )
)


def compute_by_scikit_learn(choices):
    """Compute all figures but AC1 by scikit-learn, in the order in which they are listed."""
    sides = (choices.truth, choices.given)
    how = {"labels": [*range(choices.size)], "sample_weight": choices.weights}
    kappas = {"kappa": None, "kappa linear": "linear", "kappa quadratic": "quadratic"}
    figures = {"accuracy": metrics.accuracy_score(*sides, sample_weight=choices.weights)}
    for name in kappas if choices.size > 2 else ["kappa"]:
        single = len({*choices.truth, *choices.given}) < 2
        figures[name] = nan if single else metrics.cohen_kappa_score(*sides, weights=kappas[name], **how)
    for average in ("macro", "weighted", None):
        scores = metrics.precision_recall_fscore_support(*sides, average=average, zero_division=np.nan, **how)
        for part, score in zip(confusion.PARTS, scores, strict=False):
            figures |= (
                {f"{average} {part}": score} if average else {f"{part} {at}": one for at, one in enumerate(score)}
            )
    return figures


@given(tables)
def test_figures_equal_scikit_learns(drawn):
    """Matrix, report, averages and all kappas are scikit-learn's, with weights."""
    size, rows = drawn
    columns = build_choices([row[:2] for row in rows], size, weights=[row[2] for row in rows])
    theirs, ours = compute_by_scikit_learn(columns), confusion.compute_figures(columns)
    assert [name for name in ours if name != "ac1"] == [*theirs]
    for name, value in theirs.items():
        assert ours[name] == pytest.approx(value, abs=1e-12, nan_ok=True), name
    matrix = metrics.confusion_matrix(
        columns.truth, columns.given, labels=[*range(size)], sample_weight=columns.weights
    )
    assert (confusion.confusion_matrix(columns) == matrix).all()


def test_the_order_of_things_changes_no_interval():
    """The same things in another order have the same figures and intervals."""
    pairs = [(n * 7 % 3, n * 5 % 3) for n in range(60)]
    one = confusion.compare_choices(build_choices(pairs, 3), level=LEVEL)
    assert one == confusion.compare_choices(build_choices(pairs[::-1], 3), level=LEVEL)


def test_one_category_leaves_kappa_undefined():
    """Two sides that only ever say one thing: kappa says why it cannot tell, a share still has an interval."""
    figures = confusion.compare_choices(build_choices([(0, 0)] * 20, 3), level=LEVEL)
    assert figures["accuracy"].value == 1
    assert 0.8 < figures["accuracy"].interval.low < 0.9
    for name in ("kappa", "kappa linear", "kappa quadratic"):
        assert figures[name].reason == "both sides use one and the same category only"
    assert figures["precision 1"].reason == "the judge never chose it"
    assert figures["recall 1"].reason == "people never chose it"
    assert figures["f1 1"].reason == "neither side chose it"


@given(tables)
@settings(max_examples=25)
def test_nothing_is_ever_nan(drawn):
    """Whatever the data, a figure is a finite number or says why it is none."""
    size, rows = drawn
    for figure in confusion.compare_choices(build_choices([row[:2] for row in rows], size), level=LEVEL).values():
        assert isinstance(figure, Undefined) or not isnan(figure.value)


@given(tables, st.integers(0, 9))
def test_the_difference_of_two_kappas_is_that_of_scikit_learn(drawn, seed):
    """Both sides are compared with one truth, with weights; without a kappa of both there is no difference."""
    size, rows = drawn
    columns = build_choices([row[:2] for row in rows], size, weights=[row[2] for row in rows])
    other = np.random.default_rng(seed).integers(0, size, len(rows))
    sides = [columns, columns._replace(given=other)]
    kappas = [compute_by_scikit_learn(side)["kappa"] for side in sides]
    found = confusion.compare_kappas(columns, other, level=LEVEL)
    if any(map(isnan, kappas)):
        assert isinstance(found, Undefined)
    else:
        assert found.value == pytest.approx(kappas[0] - kappas[1], abs=1e-12)


@pytest.mark.nightly
def test_the_interval_of_two_kappas_covers_their_difference():
    """Of 400 samples of 120 items, 95 % intervals of the difference of two dependent sides cover it."""
    rng = np.random.default_rng(11)
    population = rng.integers(0, 2, 200_000)
    hard = rng.random(len(population)) < 0.3
    first, second = (np.where(rng.random(len(hard)) < hard * error, 1 - population, population) for error in (0.5, 0.8))
    kappas = [metrics.cohen_kappa_score(population, side) for side in (first, second)]
    covered = 0
    for _ in range(400):
        drawn = rng.integers(0, len(population), 120)
        columns = build_choices([*zip(population[drawn], first[drawn], strict=True)], 2)
        found = confusion.compare_kappas(columns, second[drawn], level=LEVEL)
        covered += found.interval.low <= kappas[0] - kappas[1] <= found.interval.high
    assert 0.92 <= covered / 400 <= 0.98
