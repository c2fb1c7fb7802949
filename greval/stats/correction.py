"""Corrections of p values for multiple tests."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

Correction = Literal["bonferroni", "holm"]
ALPHA = 0.05
ROUNDING = 1e-9
"""The relative rounding error of a p value."""


class CorrectedP(NamedTuple):
    """A corrected p value, the factor it was multiplied by, and whether its test could have been rejected."""

    p: float
    tests: int
    capable: bool


def correct_discrete(
    ps: Sequence[float], least: Sequence[float], how: Correction = "bonferroni", *, alpha: float = ALPHA
) -> tuple[CorrectedP, ...]:
    """Return the p values of a family of discrete tests, corrected only for those that could be rejected (Tarone).

    A test with few differing questions cannot have a p below some minimum. Let K be the smallest
    number for which at most K tests have a minimum p of alpha / K or less. The others cannot be rejected
    at alpha / K, so that the probability of any false rejection is at most K alpha / K = alpha. Each p is multiplied by
    K instead of the number of tests. With Holm's correction K is computed from the tests from the k-th
    smallest p on. If every test can be rejected, K is their number and the correction is the usual one.

    K depends on alpha, so a corrected p may be compared with that alpha only. The minimum p values must be
    determined by what the tests condition on, such as the sizes of the differences in a sign-flip test. `least` has a
    lower bound of the p value of each test.

    Source:
        Tarone, "A modified Bonferroni method for discrete data", Biometrics 1990; step-down: Hommel and
        Krummenauer, "Improvements and modifications of Tarone's multiple test procedure for discrete data",
        Biometrics 1998.
    """
    corrected = [CorrectedP(1.0, 1, capable=False)] * len(ps)
    order = sorted(range(len(ps)), key=ps.__getitem__)
    tests, reached = count_capable(least, alpha), 0.0
    for rank, which in enumerate(order):
        if how == "holm":
            # Holm's procedure steps down: K is that of the tests from this one on.
            tests = count_capable((least[test] for test in order[rank:]), alpha)
        p = min(1.0, ps[which] * tests)
        reached = p if how == "bonferroni" else max(reached, p)
        corrected[which] = CorrectedP(reached, tests, capable=least[which] * tests <= alpha * (1 + ROUNDING))
    return tuple(corrected)


def count_capable(least: Iterable[float], alpha: float) -> int:
    """Return Tarone's K: the smallest K for which at most K tests have a `least` possible p of alpha / K or less."""
    levels = sorted(least)
    return next(k for k in range(1, len(levels) + 2) if bisect_right(levels, alpha / k * (1 + ROUNDING)) <= k)
