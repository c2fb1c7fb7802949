"""Minimum detectable effects: the smallest difference that the test of a comparison finds with a given power."""

from __future__ import annotations

from math import sqrt

POWER = 0.8


def detectable_mean(error: float, clusters: int, *, alpha: float, power: float = POWER) -> float | None:
    """Compute the smallest difference of paired means that a two-sided test at `alpha` finds with `power`.

    (t(1 - alpha/2) + t(power)) x standard error, t with `clusters` - 1 degrees of freedom. Undefined
    (None) for fewer than two clusters or an error of 0, because equal differences do not determine a variance.

    Args:
        error: The standard error of the mean difference; sd / sqrt(n) if the questions are independent.
        clusters: The number of independent observations.
        alpha: The level of the test, after the correction for multiple tests.
        power: The probability of finding the difference.

    Source:
        Cohen, "Statistical Power Analysis for the Behavioral Sciences", 1988, section 2.3; Bloom, "Minimum
        detectable effects", Evaluation Review 1995.

    Example:
        >>> round(detectable_mean(0.4 / 51**0.5, 51, alpha=0.05), 3)
        0.16
    """
    from scipy.special import stdtrit

    if clusters < 2 or error <= 0:  # noqa: PLR2004 - a variance needs two
        return None
    return float(stdtrit(clusters - 1, 1 - alpha / 2) + stdtrit(clusters - 1, power)) * error


def detectable_share(discordant: int, n: int, *, alpha: float, power: float = POWER) -> float | None:
    """Compute the smallest difference of two paired shares that McNemar's test at `alpha` finds with `power`.

    It is the d that solves d sqrt(n) = z(1 - alpha/2) sqrt(r) + z(power) sqrt(r - d^2). r is the share
    of discordant pairs, but at least d. The formula is for the test without
    continuity correction; the exact test needs a slightly larger difference. Undefined (None) if even a difference on
    every question would not be found.

    Args:
        discordant: The number of pairs that differ.
        n: The number of pairs.
        alpha: The level of the test, after the correction for multiple tests.
        power: The probability of finding the difference.

    Source:
        Connor, "Sample size for testing differences in proportions for the paired-sample design",
        Biometrics 1987.

    Example:
        >>> round(detectable_share(21, 51, alpha=0.05), 3)
        0.246
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    z_alpha, z_power = float(ndtri(1 - alpha / 2)), float(ndtri(power))

    def surplus(d: float) -> float:
        rate = max(discordant / n, d)
        return d * sqrt(n) - z_alpha * sqrt(rate) - z_power * sqrt(max(rate - d * d, 0.0))

    if n < 1 or surplus(1.0) < 0:
        return None
    return float(brentq(surplus, 1e-9, 1.0))
