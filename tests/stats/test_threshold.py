"""The best single threshold on a number, and the folds that it is tried on."""

import numpy as np

from greval.stats.threshold import find_best_threshold, split_folds


def test_the_threshold_is_found_and_folds_keep_clusters_whole():
    """A category that follows a number is told by its threshold; no cluster is in two folds."""
    size = np.arange(100.0)
    found = find_best_threshold(size, (size > 41).astype(np.int64), 2)
    assert (found.below, found.above) == (0, 1)
    assert 40 <= found.at <= 42
    clusters = np.arange(100) // 7
    held = split_folds(clusters)
    assert np.array(held).sum(axis=0).tolist() == [1] * 100
    assert all(len(set(clusters[fold]) & set(clusters[~fold])) == 0 for fold in held)
    assert split_folds(np.zeros(5, dtype=np.int64)) == []
