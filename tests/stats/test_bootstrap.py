"""The bootstrap: its coverage, its clusters, and what makes an interval undefined."""

import numpy as np

from greval.stats import confusion
from greval.stats.bootstrap import build_sparse, compute_intervals

LEVEL = 0.95


def choices(pairs, size, *, weights=None, questions=None, ordered=True):
    """Give two columns of categories."""
    truth, judged = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    places = np.arange(len(pairs))
    weight = np.ones(len(pairs)) if weights is None else np.array(weights, dtype=float)
    return confusion.Choices(truth, judged, weight, places, places if questions is None else questions, size, ordered)


def test_a_bootstrap_holds_the_truth():
    """The 95 % interval of kappa holds the true kappa in about 95 of 100 samples of 100."""
    rng = np.random.default_rng(3)
    shares = np.array([[0.4, 0.1], [0.15, 0.35]])
    true = float(confusion.compute_resampled_figures(shares[None], ordered=False)["kappa"][0])
    hits = 0
    for _ in range(200):
        cells = rng.choice(4, size=100, p=shares.ravel())
        rows = build_sparse((np.arange(100), cells), np.ones(100), (100, 4))
        found = compute_intervals(
            rows,
            lambda s: confusion.compute_resampled_figures(s.reshape(-1, 2, 2), ordered=False),
            np.arange(100),
            level=LEVEL,
        )["kappa"]
        hits += found.low <= true <= found.high
    assert 180 <= hits <= 200


def test_clusters_widen_the_interval():
    """Where the things of a question are copies of each other, the interval by question is wider by far."""
    pairs = [(n % 2, (n % 2) ^ (n % 5 == 0)) for n in range(30) for _ in range(10)]
    columns = choices(pairs, 2, questions=np.repeat(np.arange(30), 10))
    found = confusion.compare_choices(columns, level=LEVEL)["kappa"]
    width = found.interval.high - found.interval.low
    assert found.clustered.high - found.clustered.low > 2.5 * width
