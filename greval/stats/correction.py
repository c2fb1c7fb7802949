"""Corrections of p for how many tests were made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Correction = Literal["bonferroni", "holm"]


def corrected(ps: Sequence[float], how: Correction = "bonferroni") -> tuple[float, ...]:
    """Give the p values of a family of tests, corrected: below a they keep all false alarms together below a.

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
    if how == "bonferroni":
        return tuple(min(1.0, p * len(ps)) for p in ps)
    found = [0.0] * len(ps)
    reached = 0.0
    for place, which in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        reached = max(reached, min(1.0, ps[which] * (len(ps) - place)))
        found[which] = reached
    return tuple(found)
