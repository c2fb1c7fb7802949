"""What a metric would be by chance, as a record."""

from __future__ import annotations

from greval.records.record import Record


class ChanceEstimate(Record):
    """A mean beside what it is by chance.

    `mean` is that of the `n` cases that have a value. In each of the `rounds`, every question gets what was retrieved
    for another one; `by_chance` is the mean over the rounds, and 95 % of them are from `low` to `high`. `p` is the
    probability of a mean at least as good by chance, by permutation; None if neither side of the scale is better.
    """

    metric: str
    method: str
    n: int
    mean: float
    by_chance: float
    low: float
    high: float
    rounds: int
    p: float | None
