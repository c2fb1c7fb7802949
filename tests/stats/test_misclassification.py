"""The Rogan-Gladen estimate: by hand, by the jackknife, and when it is undefined."""

import numpy as np
import pytest
from small_population import jackknife_variance

from greval.stats.misclassification import rogan_gladen
from greval.stats.prediction_powered import (
    EstimateTerm,
)
from greval.stats.sampling import build_weighted_sample


def test_variance_of_rogan_gladen_is_that_of_the_jackknife():
    """The variance is about that of rates whose sensitivity and specificity leave out a question each time."""
    rng = np.random.default_rng(8)
    n, judged = 60, 0.5
    labels = (rng.random((n, 4)) < 0.5).astype(float)
    verdicts = np.where(rng.random((n, 4)) < 0.15, 1 - labels, labels)
    sample = build_weighted_sample(np.ones(4 * n), units=np.repeat(np.arange(n), 4), population=10**7)

    def estimate(kept):
        y, f = labels[kept > 0].ravel(), verdicts[kept > 0].ravel()
        yes, no = f[y == 1].mean(), f[y == 0].mean()
        return (judged - no) / (yes - no)

    sides = [EstimateTerm(np.ones(4 * n), judged), EstimateTerm(np.ones(4 * n), 0.0, -1.0)]
    estimated = rogan_gladen(sample, sides[:1], labels.ravel(), verdicts.ravel(), level=0.95)
    expected = jackknife_variance(estimate, np.zeros(n, dtype=int), {0: 1.0})
    assert estimated.value == pytest.approx(estimate(np.ones(n)))
    assert (estimated.high - estimated.low) / 2 == pytest.approx(2.0 * expected**0.5, rel=0.05)


def rates(labels, verdicts, judged, level=0.95):
    """Give Rogan and Gladen's estimate of a random sample of a large whole."""
    label_values = np.array(labels, dtype=float)
    sides = [EstimateTerm(np.ones(len(label_values)), judged)]
    return rogan_gladen(
        build_weighted_sample(np.ones(len(label_values)), population=10**7),
        sides,
        label_values,
        np.array(verdicts, dtype=float),
        level=level,
    )


def test_rogan_gladen_by_hand():
    """Sensitivity 0.9, specificity 0.8 and 48 % judged yes give (0.48 - 0.2) / 0.7 = 40 %."""
    labels = [1] * 100 + [0] * 100
    estimated = rates(labels, [1] * 90 + [0] * 10 + [1] * 20 + [0] * 80, 0.48)
    assert estimated.value == pytest.approx(0.4)
    assert tuple(estimated.rates[0]) == (pytest.approx(0.9), pytest.approx(0.8))
    assert estimated.low < 0.4 < estimated.high
    error = (0.36 * 0.16 + 0.16 * 0.09) / 100 / 0.49
    assert (estimated.high - estimated.low) / 2 == pytest.approx(1.96 * error**0.5, rel=0.08)


def test_rogan_gladen_of_a_difference_by_hand():
    """Of two methods each is corrected by its own rates; the errors of both are in the difference."""
    labels = np.array(([1] * 100 + [0] * 100) * 2, dtype=float)
    verdicts = np.array(
        [1] * 90 + [0] * 10 + [1] * 20 + [0] * 80 + [1] * 80 + [0] * 20 + [1] * 10 + [0] * 90, dtype=float
    )
    method = (np.arange(400) < 200).astype(float)
    sides = [EstimateTerm(method, 0.48), EstimateTerm(1 - method, 0.24, -1.0)]
    estimated = rogan_gladen(build_weighted_sample(np.ones(400), population=10**7), sides, labels, verdicts, level=0.95)
    assert estimated.value == pytest.approx(0.4 - 0.2)
    one = (0.36 * 0.16 + 0.16 * 0.09) / 100 / 0.49
    other = (0.64 * 0.09 + 0.04 * 0.16) / 100 / 0.49
    assert (estimated.high - estimated.low) / 2 == pytest.approx(1.96 * (one + other) ** 0.5, rel=0.03)


@pytest.mark.parametrize(
    ("labels", "verdicts", "told"),
    [
        ([1] * 20, [1] * 20, "people gave only 1"),
        ([0] * 20, [1] * 20, "people gave only 0"),
        ([0, 1] * 10, [1, 0] * 10, "no better than chance"),
        ([0, 1] * 10, [1] * 20, "no better than chance"),
        ([0, 0, 1, 1] * 5, [0, 1] * 9 + [1, 1], "may be no better than chance"),
    ],
)
def test_rogan_gladen_says_where_it_is_undefined(labels, verdicts, told):
    """One class only, or a judge that may be no better than chance: a reason, not a number."""
    assert told in rates(labels, verdicts, 0.5).reason
