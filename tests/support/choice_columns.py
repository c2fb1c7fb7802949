"""Two columns of categories, as figures of agreement take them."""

from __future__ import annotations

import numpy as np

from greval.stats.confusion import Choices


def build_choices(pairs, size, *, weights=None, questions=None):
    """Return the columns of pairs of ordered categories: by default each its own question, of weight 1."""
    truth, judged = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    places = np.arange(len(pairs))
    weight = np.ones(len(pairs)) if weights is None else np.array(weights, dtype=float)
    return Choices(truth, judged, weight, places, places if questions is None else questions, size, ordered=True)
