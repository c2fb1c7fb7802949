"""The best single threshold on a number."""

import numpy as np

from greval.stats.threshold import find_best_threshold


def test_the_threshold_is_found():
    """A category that follows a number is told by its threshold."""
    size = np.arange(100.0)
    found = find_best_threshold(size, (size > 41).astype(np.int64), 2)
    assert (found.below, found.above) == (0, 1)
    assert 40 <= found.at <= 42
