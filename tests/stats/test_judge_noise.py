"""The noise of a judge: by hand, and how often noise alone goes beyond its tolerance."""

import numpy as np
import pytest
from scipy import stats

from greval.records.scale import NumberRange
from greval.stats.judge_noise import compute_tolerance, estimate_noise

SHARE = NumberRange(0.0, 1.0)


def test_noise_by_hand():
    """The mean variance of the items with repeats, and one flip more than was seen."""
    noise = estimate_noise([[1, 1, 0], [0, 0, 0], [1]], SHARE)
    assert noise.variance == pytest.approx((1 / 3 + 0 + 1 / 3) / 2)
    assert noise.degrees == 4
    tolerance = compute_tolerance(noise, [50, 50], error_rate=0.01)
    assert tolerance == pytest.approx(stats.t.ppf(0.99, 4) * (noise.variance * 2 / 50) ** 0.5)


@pytest.mark.parametrize("verdicts", [[], [[1], [0]]])
def test_without_repeats_there_is_no_noise(verdicts):
    """One verdict on each item says nothing of noise."""
    assert estimate_noise(verdicts, SHARE) is None
    assert estimate_noise([[1, 1]], NumberRange(0.0, None)) is None


@pytest.mark.nightly
@pytest.mark.parametrize("flip", [0.0, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("cases", [20, 100])
@pytest.mark.parametrize("rate", [0.05, 0.01])
def test_noise_alone_is_beyond_its_tolerance_at_most_at_the_error_rate(flip, cases, rate):
    """Two runs of a judge on the same cases, the first judged three times: 4,000 pairs of runs."""
    rng = np.random.default_rng(cases)
    truth = rng.random(cases) < 0.6
    beyond = 0
    for _ in range(4000):
        repeats = np.logical_xor(truth, rng.random((3, cases)) < flip)
        again = np.logical_xor(truth, rng.random(cases) < flip)
        noise = estimate_noise(repeats.T.astype(float).tolist(), SHARE)
        earlier = (repeats.sum(axis=0) >= 2).mean()
        beyond += again.mean() < earlier - compute_tolerance(noise, [cases, cases], error_rate=rate)
    assert beyond / 4000 <= rate
