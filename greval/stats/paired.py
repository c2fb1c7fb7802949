"""Tests of paired differences: sign flips (permutation), and Wilcoxon's signed ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

RESAMPLES = 9_999
SEED = 20260102
MOST_OUTCOMES = 100_000
"""Up to so many different sums of flipped signs are counted out; beyond that they are drawn."""
ALIKE = 40
"""From so many differences of one size on, it is cheaper to draw how many of them are flipped than which."""
DRAWS_AT_ONCE = 2_000_000
DIGITS = 12
"""Differences are rounded to so many decimals: 0.3 - 0.1 ties with 0.2."""
BITS = 8


def sign_flips(differences: Sequence[float] | Floats, *, resamples: int = RESAMPLES) -> float:
    """Give the two-sided p of the paired permutation test of a mean of zero.

    With no difference between two methods each difference could as well have the other sign. p is the
    share of all ways to flip signs whose sum is as far from zero as the one found. It is counted out
    where there are few different sums, as with 0/1 or five levels; otherwise it is drawn, and is
    (1 + hits) / (1 + resamples), never 0. The order of the differences and their direction change
    nothing.

    Args:
        differences: One for each question, or the sum of each cluster of questions.
        resamples: How many ways to flip are drawn where they are not counted out.

    Source:
        Fisher, "The Design of Experiments", 1935, section 21; Phipson and Smyth, "Permutation p-values
        should never be zero", Statistical Applications in Genetics and Molecular Biology 2010.

    Example:
        >>> round(sign_flips([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]), 5)
        0.03125
    """
    import numpy as np

    found = np.round(np.asarray(differences, dtype=float), DIGITS)
    sizes, times = _sizes(found)
    if not len(sizes):
        return 1.0
    reached = abs(float(found.sum())) * (1 - 1e-9)
    if _is_counted(times):
        sums, weights = _all_sums(sizes, times)
        return min(1.0, float(weights[np.abs(sums) >= reached].sum()))
    draw = _by_kind if times.sum() >= ALIKE * len(sizes) else _by_bits
    hits = sum(int((np.abs(sums) >= reached).sum()) for sums in draw(sizes, times, resamples))
    return (1 + hits) / (1 + resamples)


def least_sign_flips(differences: Sequence[float] | Floats, *, resamples: int = RESAMPLES) -> float:
    """Return the smallest p that `sign_flips` could give for differences of these sizes, or less.

    With m differences that are not zero, two of the 2^m ways to flip signs put all on one side: 2^(1 - m).
    If flips are drawn, p may also be 1 / (1 + resamples).

    Args:
        differences: As for `sign_flips`.
        resamples: As for `sign_flips`.

    Example:
        >>> least_sign_flips([1.0, -1.0, 1.0, 0.0]), least_sign_flips([0.0])
        (0.25, 1.0)
    """
    times = _sizes(differences)[1]
    least = float(min(1.0, 2.0 ** (1 - int(times.sum()))))
    return least if _is_counted(times) else min(least, 1 / (1 + resamples))


def _sizes(differences: Sequence[float] | Floats) -> tuple[Floats, Integers]:
    """Return the different sizes of the differences that are not zero, and how many have each."""
    import numpy as np

    found = np.round(np.asarray(differences, dtype=float), DIGITS)
    sizes, times = np.unique(np.abs(found[found != 0]), return_counts=True)
    return sizes, times


def _is_counted(times: Integers) -> bool:
    """Say whether there are so few different sums that all of them are counted out."""
    import numpy as np

    return bool(np.log2(times + 1.0).sum() <= np.log2(MOST_OUTCOMES))


def _all_sums(sizes: Floats, times: Integers) -> tuple[Floats, Floats]:
    """Give every sum that flipped signs can have, and its probability."""
    import numpy as np
    from scipy import stats

    sums, weights = np.zeros(1), np.ones(1)
    for size, n in zip(sizes, times, strict=True):
        plus = np.arange(n + 1)
        sums = np.add.outer(sums, size * (2 * plus - n)).ravel()
        weights = np.multiply.outer(weights, stats.binom.pmf(plus, n, 0.5)).ravel()
    return sums, weights


def _by_kind(sizes: Floats, times: Integers, resamples: int) -> list[Floats]:
    """Draw how many differences of each size keep their sign."""
    import numpy as np

    plus = np.random.default_rng(SEED).binomial(times, 0.5, size=(resamples, len(sizes)))
    return [(2 * plus - times) @ sizes]


def _by_bits(sizes: Floats, times: Integers, resamples: int) -> list[Floats]:
    """Draw a sign for each difference, eight at a time: a random byte names one of their 256 sums."""
    import numpy as np

    each = np.repeat(sizes, times)
    blocks = np.pad(each, (0, -len(each) % BITS)).reshape(-1, BITS)
    signs = np.unpackbits(np.arange(2**BITS, dtype=np.uint8)[:, None], axis=1) * 2.0 - 1
    table = (blocks @ signs.T).ravel()
    places = np.arange(len(blocks)) * 2**BITS
    rng = np.random.default_rng(SEED)
    at_once = max(1, DRAWS_AT_ONCE // len(blocks))
    batches = [min(at_once, resamples - done) for done in range(0, resamples, at_once)]
    return [
        table[rng.integers(0, 2**BITS, size=(batch, len(blocks)), dtype=np.uint8) + places].sum(axis=1)
        for batch in batches
    ]


def wilcoxon(differences: Sequence[float] | Floats) -> float:
    """Give the two-sided p of Wilcoxon's signed-rank test, by scipy.

    Differences of zero are left out (Wilcoxon's own way), ties share their mean rank. With up to 50
    differences without ties the distribution is exact, else normal. Without any difference p is 1.

    Source:
        Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1945.

    Example:
        >>> wilcoxon([1.0, 2.0, 3.0, 4.0, 5.0, -0.5])
        0.0625
    """
    import numpy as np
    from scipy import stats

    found = np.sort(np.round(np.asarray(differences, dtype=float), DIGITS))
    found = found[found != 0]
    return float(stats.wilcoxon(found, zero_method="wilcox").pvalue) if len(found) else 1.0
