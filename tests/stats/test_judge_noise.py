"""The noise of a judge: by hand, and how often noise alone goes beyond its tolerance."""

import numpy as np
import pytest
from scipy import stats

from greval.records.scale import NumberRange
from greval.stats.judge_noise import compute_tolerance, estimate_noise

SHARE = NumberRange(0.0, 1.0)


def test_noise_by_hand():
    """The mean variance of the items with repeats, one flip more than was seen, and half of what one flip moves."""
    noise = estimate_noise([[1, 1, 0], [0, 0, 0], [1]], SHARE)
    assert noise.variance == pytest.approx((1 / 3 + 0 + 1 / 3) / 2)
    assert noise.degrees == 4
    tolerance = compute_tolerance(noise, [50, 50], error_rate=0.01)
    assert tolerance == pytest.approx(stats.t.ppf(0.99, 4) * (noise.variance * 2 / 50) ** 0.5 + 1 / 100)


@pytest.mark.parametrize("verdicts", [[], [[1], [0]]])
def test_without_repeats_there_is_no_noise(verdicts):
    """One verdict on each item says nothing of noise."""
    assert estimate_noise(verdicts, SHARE) is None
    assert estimate_noise([[1, 1]], NumberRange(0.0, None)) is None


@pytest.mark.nightly
@pytest.mark.parametrize("flip", [0.0, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("cases", [20, 100])
@pytest.mark.parametrize("rate", [0.05, 0.01])
@pytest.mark.parametrize(
    "judged", ["majorities", "means", "a mean and single verdicts", "single verdicts, and a probe"]
)
def test_noise_alone_is_beyond_its_tolerance_at_most_at_the_error_rate(flip, cases, rate, judged):
    """Two runs of a judge on the same cases, with repeats of their own or of a probe: 4,000 pairs of runs."""
    rng = np.random.default_rng(cases)
    truth = rng.random(cases) < 0.6
    beyond = 0
    for _ in range(4000):
        first, second = np.logical_xor(truth, rng.random((2, 3, cases)) < flip)
        match judged:
            case "majorities":
                means, counts, repeated = (
                    (np.median((first, second), axis=1).mean(axis=1)),
                    [cases, cases],
                    (first, second),
                )
            case "means":
                means, counts, repeated = (first.mean(), second.mean()), [3 * cases, 3 * cases], (first, second)
            case "a mean and single verdicts":
                means, counts, repeated = (first.mean(), second[0].mean()), [3 * cases, cases], (first,)
            case _:
                probe = np.logical_xor(truth, rng.random((3, cases)) < flip)[:, :20]
                means, counts, repeated = (first[0].mean(), second[0].mean()), [cases, cases], (probe,)
        verdicts = [item for repeats in repeated for item in repeats.T.astype(float).tolist()]
        beyond += means[1] < means[0] - compute_tolerance(estimate_noise(verdicts, SHARE), counts, error_rate=rate)
    assert beyond / 4000 <= rate
