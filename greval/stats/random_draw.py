"""Whether what was drawn looks like a random draw: an exact test by drawing again."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

TIED = 1 - 1e-9
"""Sums of the same numbers in another order differ by rounding: they count as equal."""


def find_unlike_column(values: Floats, chosen: Flags, groups: Integers | None = None, *, level: float) -> int | None:
    """Return the column in which the drawn rows are unlike all rows; None if a random draw could look like them.

    As many rows are drawn again, 1 / level - 1 times, at random and without replacement. The drawn rows are unlike the
    others if none of these draws lies as far off the mean of all in any column (in units of the column's spread). A
    random draw is called unlike with a probability of at most `level`, whatever the values are, in however many columns
    (a Monte Carlo test is exact). The draws follow from which rows were drawn: the same data give the same answer.

    Args:
        values: One row for each of what could be drawn; (rows, columns).
        chosen: Which rows were drawn.
        groups: The group of each row, if it was fixed how many of each group are drawn; None if all are one group.
        level: How often a random draw may be called unlike.

    Source:
        Dwass, Annals of Mathematical Statistics 1957; Phipson and Smyth, "Permutation p-values should never be zero",
        Statistical Applications in Genetics and Molecular Biology 2010.

    Example:
        >>> import numpy as np
        >>> values = np.repeat([0.0, 1.0], 50)[:, None]
        >>> find_unlike_column(values, np.arange(100) % 5 == 0, level=0.001)
        >>> find_unlike_column(values, np.arange(100) >= 85, level=0.001)
        0
    """
    import numpy as np

    off = _centred(values, groups)
    size = np.sqrt((off**2).sum(axis=0))
    off = off[:, size > 0] / size[size > 0]
    if not off.shape[1] or chosen.all() or not chosen.any():
        return None
    seen = abs(off[chosen].sum(axis=0))
    rng = np.random.default_rng(np.frombuffer(np.packbits(chosen).tobytes(), dtype=np.uint8))
    for _ in range(ceil(1 / level) - 1):
        if abs(off[_drawn_again(rng, chosen, groups)].sum(axis=0)).max() >= TIED * seen.max():
            return None
    return int(np.flatnonzero(size > 0)[seen.argmax()])


def _centred(values: Floats, groups: Integers | None) -> Floats:
    """Return the values less their mean, or less that of their group."""
    import numpy as np

    middle: Floats = values.mean(axis=0)
    if groups is not None:
        counts = np.maximum(np.bincount(groups), 1)
        middle = np.stack([np.bincount(groups, column) / counts for column in values.T], axis=1)[groups]
    found: Floats = values - middle
    return found


def _drawn_again(rng: np.random.Generator, chosen: Flags, groups: Integers | None) -> Integers:
    """Return the places of as many rows as were drawn, of each group if there are some."""
    import numpy as np

    if groups is None:
        return rng.choice(len(chosen), int(chosen.sum()), replace=False, shuffle=False)
    order = np.lexsort((rng.random(len(chosen)), groups))
    counts, wanted = np.bincount(groups), np.bincount(groups, chosen)
    sorted_groups = groups[order]
    rank = np.arange(len(order)) - (np.cumsum(counts) - counts)[sorted_groups]
    return order[rank < wanted[sorted_groups]].astype(np.int64)
