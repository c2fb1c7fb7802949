"""McNemar's test: two methods on the same questions, each right or wrong."""

from __future__ import annotations

from greval.records.record import Record

FEW = 25
"""Below so many discordant pairs the test is exact; from there on chi-square with continuity correction."""


class McNemar(Record):
    """McNemar's test of one table.

    `exact_p` is the two-sided binomial test, `mid_p` its less conservative form, `chi2` and `chi2_p`
    the statistic with continuity correction. `p` is the one that counts: exact below `FEW`
    discordant pairs, else chi-square.
    """

    discordant: int
    exact: bool
    p: float
    exact_p: float
    mid_p: float
    chi2: float
    chi2_p: float


def mcnemar(only_a: int, only_b: int) -> McNemar:
    """Test whether two shares differ that were found on the same questions.

    Only the discordant pairs tell: with no difference, each falls to either side with probability
    one half. Without any of them p is 1. The correction never turns the sign of a difference.

    Args:
        only_a: On how many questions only the first is right.
        only_b: On how many questions only the second is right.

    Source:
        McNemar, Psychometrika 1947; continuity correction: Edwards, Psychometrika 1948; mid-p:
        Fagerland, Lydersen and Laake, BMC Medical Research Methodology 2013, 13:91.

    Example:
        >>> found = mcnemar(16, 6)
        >>> found.exact, round(found.p, 4), round(found.mid_p, 4)
        (True, 0.0525, 0.0347)
    """
    from scipy import stats

    n = only_a + only_b
    if n == 0:
        return McNemar(discordant=0, exact=True, p=1.0, exact_p=1.0, mid_p=1.0, chi2=0.0, chi2_p=1.0)
    exact = float(stats.binomtest(only_a, n).pvalue)
    fewer = min(only_a, only_b)
    mid = min(exact, float(2 * stats.binom.cdf(fewer, n, 0.5) - stats.binom.pmf(fewer, n, 0.5)))
    chi2 = max(abs(only_a - only_b) - 1, 0) ** 2 / n
    chi2_p = float(stats.chi2.sf(chi2, 1))
    few = n < FEW
    p = exact if few else chi2_p
    return McNemar(discordant=n, exact=few, p=p, exact_p=exact, mid_p=mid, chi2=chi2, chi2_p=chi2_p)
