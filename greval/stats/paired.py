"""Tests of paired differences: the sign-flip permutation test, and Wilcoxon's signed-rank test."""

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
MAX_ENUMERATED = 100_000
"""Up to this number of different sums the test enumerates all sign flips; beyond it they are sampled."""
MIN_REPEATS = 40
"""From this mean number of differences per size on, it is cheaper to sample how many are flipped than which."""
DRAWS_AT_ONCE = 2_000_000
DIGITS = 12
"""Differences are rounded to this number of decimals, so that 0.3 - 0.1 ties with 0.2."""
BITS = 8


def sign_flip_test(differences: Sequence[float] | Floats, *, resamples: int = RESAMPLES) -> float:
    """Compute the two-sided p of the paired permutation test of a mean of zero.

    Under the null hypothesis of no difference, each difference is as likely with the other sign. p is the
    share of all sign flips whose sum is at least as far from zero as the observed one. All flips are enumerated
    if there are few different sums, as with 0/1 or five levels. Otherwise they are sampled, and p is
    (1 + hits) / (1 + resamples), never 0. p does not depend on the order or the direction of the differences.

    Args:
        differences: The difference of each question, or the sum of each cluster of questions.
        resamples: The number of flips to sample if they are not enumerated.

    Source:
        Fisher, "The Design of Experiments", 1935, section 21; Phipson and Smyth, "Permutation p-values
        should never be zero", Statistical Applications in Genetics and Molecular Biology 2010.

    Example:
        >>> round(sign_flip_test([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]), 5)
        0.03125
    """
    import numpy as np

    found = np.round(np.asarray(differences, dtype=float), DIGITS)
    sizes, times = _count_sizes(found)
    if not len(sizes):
        return 1.0
    reached = abs(float(found.sum())) * (1 - 1e-9)
    if _is_enumerable(times):
        sums, weights = _enumerate_sums(sizes, times)
        return min(1.0, float(weights[np.abs(sums) >= reached].sum()))
    draw = _draw_by_size if times.sum() >= MIN_REPEATS * len(sizes) else _draw_by_byte
    hits = sum(int((np.abs(sums) >= reached).sum()) for sums in draw(sizes, times, resamples))
    return (1 + hits) / (1 + resamples)


def min_sign_flip_p(differences: Sequence[float] | Floats, *, resamples: int = RESAMPLES) -> float:
    """Return a lower bound of the p of `sign_flip_test` for differences of these sizes.

    With m differences other than zero, two of the 2^m sign flips put all on one side: 2^(1 - m).
    If flips are sampled, p may also be 1 / (1 + resamples).

    Args:
        differences: As for `sign_flip_test`.
        resamples: As for `sign_flip_test`.

    Example:
        >>> min_sign_flip_p([1.0, -1.0, 1.0, 0.0]), min_sign_flip_p([0.0])
        (0.25, 1.0)
    """
    times = _count_sizes(differences)[1]
    least = float(min(1.0, 2.0 ** (1 - int(times.sum()))))
    return least if _is_enumerable(times) else min(least, 1 / (1 + resamples))


def _count_sizes(differences: Sequence[float] | Floats) -> tuple[Floats, Integers]:
    """Return the distinct sizes of the differences other than zero, and the count of each."""
    import numpy as np

    found = np.round(np.asarray(differences, dtype=float), DIGITS)
    sizes, times = np.unique(np.abs(found[found != 0]), return_counts=True)
    return sizes, times


def _is_enumerable(times: Integers) -> bool:
    """Return whether there are few enough different sums to enumerate them."""
    import numpy as np

    return bool(np.log2(times + 1.0).sum() <= np.log2(MAX_ENUMERATED))


def _enumerate_sums(sizes: Floats, times: Integers) -> tuple[Floats, Floats]:
    """Return every sum that sign flips can have, and its probability."""
    import numpy as np
    from scipy import stats

    sums, weights = np.zeros(1), np.ones(1)
    for size, n in zip(sizes, times, strict=True):
        plus = np.arange(n + 1)
        sums = np.add.outer(sums, size * (2 * plus - n)).ravel()
        weights = np.multiply.outer(weights, stats.binom.pmf(plus, n, 0.5)).ravel()
    return sums, weights


def _draw_by_size(sizes: Floats, times: Integers, resamples: int) -> list[Floats]:
    """Sample the number of differences of each size that keep their sign."""
    import numpy as np

    plus = np.random.default_rng(SEED).binomial(times, 0.5, size=(resamples, len(sizes)))
    return [(2 * plus - times) @ sizes]


def _draw_by_byte(sizes: Floats, times: Integers, resamples: int) -> list[Floats]:
    """Sample a sign for each difference, eight at a time: a random byte selects one of their 256 sums."""
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
    """Compute the two-sided p of Wilcoxon's signed-rank test, with scipy.

    Differences of zero are dropped (Wilcoxon's own method), ties get their mean rank. With up to 50
    differences without ties the distribution is exact, otherwise normal. Without any difference p is 1.

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
