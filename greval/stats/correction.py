"""Corrections of p for how many tests were made."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

Correction = Literal["bonferroni", "holm"]
ALPHA = 0.05
SAME = 1e-9
"""By so much of itself may a p be off by rounding."""


class Corrected(NamedTuple):
    """A corrected p, by how many tests its p was multiplied, and whether its test could have been rejected."""

    p: float
    tests: int
    capable: bool


def corrected(ps: Sequence[float], how: Correction = "bonferroni") -> tuple[float, ...]:
    """Return the p values of a family of tests, corrected: below a they keep all false alarms together below a.

    Args:
        ps: The p values of all tests of the family.
        how: Bonferroni's, each times their number; or Holm's, which finds at least as much: the k-th
            smallest times the number of those from it on, and never below a smaller one.

    Source:
        Dunn, "Multiple comparisons among means", JASA 1961; Holm, "A simple sequentially rejective multiple
        test procedure", Scandinavian Journal of Statistics 1979.

    Example:
        >>> corrected([0.01, 0.03, 0.04]), corrected([0.01, 0.03, 0.04], "holm")
        ((0.03, 0.09, 0.12), (0.03, 0.06, 0.06))
    """
    return tuple(one.p for one in correct_discrete(ps, [0.0] * len(ps), how))


def correct_discrete(
    ps: Sequence[float], least: Sequence[float], how: Correction = "bonferroni", *, alpha: float = ALPHA
) -> tuple[Corrected, ...]:
    """Return the p values of a family of discrete tests, corrected for those that could be rejected (Tarone).

    A test with few differing questions cannot give a p below some least one. Let K be the smallest
    number for which at most K tests have a least p of alpha / K or less. The others cannot be rejected
    at alpha / K, so that the chance of any false alarm is at most K alpha / K: each p is multiplied by
    K in place of the number of tests. With Holm's correction K is that of the tests from the k-th
    smallest p on. If every test can be rejected, K is their number and the correction is the usual one.

    K depends on alpha: a corrected p is to be held against that alpha alone. The least p values must be
    fixed by what the tests hold fixed, such as the sizes of the differences when their signs are flipped.

    Args:
        ps: The p values of all tests of the family.
        least: The smallest p that each test could have given, or less.
        how: The correction that is so modified.
        alpha: The level of the family.

    Source:
        Tarone, "A modified Bonferroni method for discrete data", Biometrics 1990; step-down: Hommel and
        Krummenauer, "Improvements and modifications of Tarone's multiple test procedure for discrete data",
        Biometrics 1998.

    Example:
        >>> correct_discrete([0.015625, 0.25, 1.0, 1.0], [0.015625, 0.25, 1.0, 1.0])[0]
        Corrected(p=0.015625, tests=1, capable=True)
    """
    found = [Corrected(1.0, 1, capable=False)] * len(ps)
    order = sorted(range(len(ps)), key=ps.__getitem__)
    tests, reached = count_capable(least, alpha), 0.0
    for place, which in enumerate(order):
        if how == "holm":
            tests = count_capable((least[other] for other in order[place:]), alpha)
        p = min(1.0, ps[which] * tests)
        reached = p if how == "bonferroni" else max(reached, p)
        found[which] = Corrected(reached, tests, capable=least[which] * tests <= alpha * (1 + SAME))
    return tuple(found)


def count_capable(least: Iterable[float], alpha: float) -> int:
    """Return Tarone's K: the smallest number for which at most so many tests could give a p of alpha / K or less.

    Args:
        least: The smallest p that each test could give.
        alpha: The level of the family.

    Example:
        >>> count_capable([0.001, 0.015625, 0.25, 1.0, 1.0], 0.05)
        2
    """
    levels = sorted(least)
    return next(k for k in range(1, len(levels) + 2) if bisect_right(levels, alpha / k * (1 + SAME)) <= k)
