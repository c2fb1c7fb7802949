"""Corrections for multiple tests: against statsmodels, and that they keep their level."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from greval.stats.correction import correct_discrete, count_capable
from greval.stats.paired import mcnemar


def correct_plainly(ps, how="bonferroni"):
    """Return the p values, corrected as if every test could have any."""
    return [corrected.p for corrected in correct_discrete(ps, [0.0] * len(ps), how)]


@pytest.mark.nightly
@settings(max_examples=12)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_corrections_are_statsmodels(ps):
    """Bonferroni's and Holm's corrected p equal statsmodels', in the order given."""
    for how in ("bonferroni", "holm"):
        assert correct_plainly(ps, how) == pytest.approx(multipletests(ps, method=how)[1])


discordant = st.lists(st.integers(0, 14), min_size=1, max_size=12)


alphas = st.sampled_from([0.01, 0.05, 0.1, 0.2])


@cache
def attainable(n):
    """Give the p values of McNemar's exact test of n discordant pairs, each with its probability."""
    return [(mcnemar(k, n - k).exact_p, stats.binom.pmf(k, n, 0.5)) for k in range(n + 1)]


@given(discordant, alphas)
def test_discrete_corrections_keep_the_level(counts, alpha):
    """The chances of all false alarms, counted out over every result of every test, add up to the level at most."""
    least = [mcnemar(n, 0).exact_p for n in counts]
    total = 0.0
    for place, n in enumerate(counts):
        for p, chance in attainable(n):
            ps = [p if other == place else one for other, one in enumerate(least)]
            total += chance * (correct_discrete(ps, least, alpha=alpha)[place].p <= alpha)
    assert total <= alpha + 1e-12


@given(discordant, st.randoms(use_true_random=False), alphas)
def test_discrete_corrections_reject_what_tarone_rejects(counts, random, alpha):
    """Bonferroni's correction so modified is Tarone's method, written out here; the usual ones reject no more."""
    won = [random.randint(0, n) for n in counts]
    ps = [mcnemar(k, n - k).exact_p for k, n in zip(won, counts, strict=True)]
    least = [mcnemar(n, 0).exact_p for n in counts]
    k = 1
    while len([one for one in least if one <= alpha / k * (1 + 1e-9)]) > k:
        k += 1
    assert count_capable(least, alpha) == k
    tarone = [p <= alpha / k for p in ps]
    plain, holm = ([one.p for one in correct_discrete(ps, least, how, alpha=alpha)] for how in ("bonferroni", "holm"))
    for n, p in enumerate(ps):
        assert tarone[n] == (plain[n] <= alpha)
        assert p <= holm[n] + 1e-12 <= plain[n] + 2e-12
        assert plain[n] <= correct_plainly(ps)[n] + 1e-12
        assert holm[n] <= correct_plainly(ps, "holm")[n] + 1e-12


@given(discordant, st.randoms(use_true_random=False), st.sampled_from(["bonferroni", "holm"]), alphas)
def test_fewer_tests_are_corrected_for_less(counts, random, how, alpha):
    """Without one of the tests no corrected p of another rises: so Holm's keeps the level whichever tests differ."""
    ps = [mcnemar(k, n - k).exact_p for n in counts for k in [random.randint(0, n)]]
    least = [mcnemar(n, 0).exact_p for n in counts]
    whole = correct_discrete(ps, least, how, alpha=alpha)
    for out in range(len(ps)):
        rest = [n for n in range(len(ps)) if n != out]
        fewer = correct_discrete([ps[n] for n in rest], [least[n] for n in rest], how, alpha=alpha)
        assert all(one.p <= whole[n].p + 1e-12 for n, one in zip(rest, fewer, strict=True))


@given(discordant, alphas)
def test_capable_tests_are_those_that_could_be_seen(counts, alpha):
    """If every test gives its least p, those that are rejected are capable; without steps, all that are capable."""
    least = [mcnemar(n, 0).exact_p for n in counts]
    for how in ("bonferroni", "holm"):
        for corrected in correct_discrete(least, least, how, alpha=alpha):
            rejected = corrected.p <= alpha * (1 + 1e-9)
            assert corrected.capable or not rejected
            assert rejected or not corrected.capable or how == "holm"
