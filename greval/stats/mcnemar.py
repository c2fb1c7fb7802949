"""McNemar's test of two methods on the same questions, each right or wrong."""

from __future__ import annotations

from greval.records.record import Record

EXACT_BELOW = 25
"""Below this number of discordant pairs the test is exact, otherwise chi-square with continuity correction."""


class McNemarTest(Record):
    """The result of McNemar's test.

    `exact_p` is the two-sided p of the binomial test, `mid_p` its less conservative form, `chi2` and `chi2_p`
    the statistic with continuity correction. `p` is the one to report: exact below `EXACT_BELOW`
    discordant pairs, otherwise chi-square.
    """

    discordant: int
    exact: bool
    p: float
    exact_p: float
    mid_p: float
    chi2: float
    chi2_p: float


def mcnemar(only_a: int, only_b: int) -> McNemarTest:
    """Test whether two shares of the same questions differ.

    Only the discordant pairs carry information: under the null hypothesis each falls on either side with probability
    one half. Without discordant pairs p is 1. The continuity correction never changes the sign of a difference.

    Args:
        only_a: The number of questions on which only the first is right.
        only_b: The number of questions on which only the second is right.

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
        return McNemarTest(discordant=0, exact=True, p=1.0, exact_p=1.0, mid_p=1.0, chi2=0.0, chi2_p=1.0)
    exact = float(stats.binomtest(only_a, n).pvalue)
    fewer = min(only_a, only_b)
    mid = min(exact, float(2 * stats.binom.cdf(fewer, n, 0.5) - stats.binom.pmf(fewer, n, 0.5)))
    chi2 = max(abs(only_a - only_b) - 1, 0) ** 2 / n
    chi2_p = float(stats.chi2.sf(chi2, 1))
    few = n < EXACT_BELOW
    p = exact if few else chi2_p
    return McNemarTest(discordant=n, exact=few, p=p, exact_p=exact, mid_p=mid, chi2=chi2, chi2_p=chi2_p)
