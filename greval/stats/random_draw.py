"""An exact Monte Carlo test of whether selected rows look like a random sample."""

from __future__ import annotations

from math import ceil

import numpy as np

from greval.stats.bootstrap import Flags, Floats, Integers

TIE_FACTOR = 1 - 1e-9
"""The factor for ties: sums of the same numbers in another order differ by rounding and count as equal."""


def find_unlike_column(values: Floats, chosen: Flags, groups: Integers | None = None, *, level: float) -> int | None:
    """Return the column in which the selected rows differ from all rows; None if a random sample could look like them.

    The statistic is the largest deviation, over the columns, of the mean of the rows from that of all rows, in units of
    the column's standard deviation. The test draws as many rows 1 / level - 1 times, at random and without replacement.
    The selected rows differ if none of these draws has as large a statistic. The test is exact: a random sample is
    rejected with a probability of at most `level`, for any values and any number of columns.

    Args:
        values: The rows that could be selected, shape (rows, columns).
        chosen: The mask of the selected rows, shape (rows,).
        groups: The group of each row, if the number of selected rows was fixed by group; None for a single group.
        level: The probability of rejecting a random sample.

    Source:
        Dwass, Annals of Mathematical Statistics 1957; Phipson and Smyth, "Permutation p-values should never be zero",
        Statistical Applications in Genetics and Molecular Biology 2010.
    """
    off = _centre_values(values, groups)
    size = np.sqrt((off**2).sum(axis=0))
    off = off[:, size > 0] / size[size > 0]
    if not off.shape[1] or chosen.all() or not chosen.any():
        return None
    observed = abs(off[chosen].sum(axis=0))
    # Seeded by the selection, so that the same data give the same result.
    rng = np.random.default_rng(np.frombuffer(np.packbits(chosen).tobytes(), dtype=np.uint8))
    for _ in range(ceil(1 / level) - 1):
        # A single draw that is as extreme decides, so that the others need not be made.
        if abs(off[_redraw_rows(rng, chosen, groups)].sum(axis=0)).max() >= TIE_FACTOR * observed.max():
            return None
    return int(np.flatnonzero(size > 0)[observed.argmax()])


def _centre_values(values: Floats, groups: Integers | None) -> Floats:
    """Subtract the mean of each column, or its mean in the row's group."""
    middle: Floats = values.mean(axis=0)
    if groups is not None:
        counts = np.maximum(np.bincount(groups), 1)
        middle = np.stack([np.bincount(groups, column) / counts for column in values.T], axis=1)[groups]
    return np.subtract(values, middle)


def _redraw_rows(rng: np.random.Generator, chosen: Flags, groups: Integers | None) -> Integers:
    """Draw as many row indices as were selected, within each group if there are groups."""
    if groups is None:
        return rng.choice(len(chosen), int(chosen.sum()), replace=False, shuffle=False)
    # A random order within each group, of which the first rows are taken.
    order = np.lexsort((rng.random(len(chosen)), groups))
    counts, selected_counts = np.bincount(groups), np.bincount(groups, chosen)
    sorted_groups = groups[order]
    rank = np.arange(len(order)) - (np.cumsum(counts) - counts)[sorted_groups]
    return order[rank < selected_counts[sorted_groups]].astype(np.int64)
