"""The figures of duels: win rates, tests, habits of the judge, lengths, and the ranking of methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp

import numpy as np

from greval.analysis.duel.records import JudgeHabits, MethodStrength, PairResult, PreferenceTest
from greval.analysis.duel.verdicts import PairVerdict, encode_clusters
from greval.records.scale import NumberRange
from greval.stats.interval import Measured, MeasuredValue, Undefined, mean_interval, sum_by_cluster
from greval.stats.likelihood import LogisticData, fit_logistic
from greval.stats.paired import mcnemar, min_sign_flip_p, sign_flip_test
from greval.stats.paired_comparisons import LOSS, TIE, WIN, PairedComparisons, estimate_strengths

SHARE = NumberRange(0.0, 1.0)
NOT_BOTH = "no pair was judged in both orders"


def build_pair_result(metric: str, verdicts: Sequence[PairVerdict], adjusted: Measured, *, level: float) -> PairResult:
    """Build the result of one pair of methods, without the correction of p and the verdict."""
    judged = [verdict for verdict in verdicts if verdict.outcome is not None]
    outcomes = [verdict.outcome for verdict in judged if verdict.outcome is not None]
    return PairResult(
        metric=metric,
        first=verdicts[0].first,
        second=verdicts[0].second,
        won=outcomes.count(WIN),
        tied=outcomes.count(TIE),
        lost=outcomes.count(LOSS),
        failed=len(verdicts) - len(judged),
        win_rate=_measure_mean(judged, outcomes, "no pair was judged", level=level),
        adjusted_win_rate=adjusted,
        flip_rate=_measure_flips(judged, level=level),
        test=compute_sign_test(judged),
        verdict="too few questions to tell",
    )


def compute_sign_test(judged: Sequence[PairVerdict]) -> PreferenceTest | None:
    """Test whether wins and losses are equally likely: exact, two-sided, without ties; None if nothing was judged.

    It is the sign test. If several questions form a cluster, the signs of whole clusters are flipped instead.

    Source:
        Dixon and Mood, "The statistical sign test", JASA 1946.
    """
    if not judged:
        return None
    codes = encode_clusters(judged)
    signs = np.asarray([verdict.outcome for verdict in judged], dtype=float) - TIE
    sums = sum_by_cluster(2 * signs, codes)
    # Each question is a cluster of its own: the exact sign test is that of McNemar.
    if len(sums.sums) == len(judged):
        won, lost = int((signs > 0).sum()), int((signs < 0).sum())
        p, least = mcnemar(won, lost).exact_p, mcnemar(won + lost, 0).exact_p
    else:
        p, least = sign_flip_test(sums.sums), min_sign_flip_p(sums.sums)
    return PreferenceTest(p=p, corrected=p, least=least)


def _measure_mean(verdicts: Sequence[PairVerdict], numbers: Iterable[float], reason: str, *, level: float) -> Measured:
    """Return the mean of a number from 0 to 1 of each verdict, with its interval over clusters of questions."""
    if not verdicts:
        return Undefined(n=0, reason=reason)
    cluster_sums = sum_by_cluster(np.asarray([*numbers], dtype=float), encode_clusters(verdicts))
    interval = mean_interval(cluster_sums.sums, cluster_sums.sizes, SHARE, level=level)
    return MeasuredValue(value=cluster_sums.mean, n=len(verdicts), interval=interval)


def measure_habits(verdicts: Sequence[PairVerdict], length_effect: Measured, *, level: float) -> JudgeHabits:
    """Measure the habits of a judge over all pairs that it judged in both orders."""
    judged = [verdict for verdict in verdicts if verdict.orders]
    shown = (sum(verdict.shown) / len(verdict.shown) for verdict in judged)
    ties = (verdict.orders.count(TIE) / len(verdict.orders) for verdict in judged)
    return JudgeHabits(
        flip_rate=_measure_flips(judged, level=level),
        first_shown=_measure_mean(judged, shown, NOT_BOTH, level=level),
        tie_share=_measure_mean(judged, ties, NOT_BOTH, level=level),
        length_effect=length_effect,
    )


def group_by_pair(verdicts: Iterable[PairVerdict]) -> dict[tuple[str, str], list[PairVerdict]]:
    """Group verdicts by their pair of methods."""
    groups: dict[tuple[str, str], list[PairVerdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.first, verdict.second), []).append(verdict)
    return groups


def adjust_for_length(
    groups: Sequence[Sequence[PairVerdict]], *, level: float
) -> tuple[tuple[Measured, ...], Measured]:
    """Compute the win rate of each pair of methods at equal length of the answers, and the effect of length.

    The log odds of a win of the first method are a + b log(length of its answer / length of the other one). Each pair
    of methods has its own a, and 1 / (1 + exp(-a)) is its win rate at equal length. All pairs share b. Ties count half.
    Without a judged pair whose lengths are known, or if the regression is undefined, so are the figures.

    Source:
        Dubois, Galambosi, Liang and Hashimoto, "Length-controlled AlpacaEval", 2024, arXiv 2404.04475, with the
        logarithm of the ratio in place of the squashed difference.
    """
    rows = [
        (number, verdict)
        for number, group in enumerate(groups)
        for verdict in group
        if verdict.outcome is not None and verdict.length_ratio is not None
    ]
    present = sorted({number for number, _ in rows})
    missing = Undefined(n=0, reason="no judged pair has two answers that are not empty")
    if not rows:
        return (missing,) * len(groups), missing
    design = np.zeros((len(rows), len(present) + 1))
    design[np.arange(len(rows)), [present.index(number) for number, _ in rows]] = 1.0
    design[:, -1] = [verdict.length_ratio for _, verdict in rows]
    outcomes = np.asarray([verdict.outcome for _, verdict in rows], dtype=float)
    *intercepts, effect = fit_logistic(
        LogisticData(design, outcomes, encode_clusters([verdict for _, verdict in rows])), level=level
    )
    rates = dict(zip(present, map(_convert_to_rate, intercepts), strict=True))
    return tuple(rates.get(number, missing) for number in range(len(groups))), effect


def rank_methods(verdicts: Sequence[PairVerdict], *, level: float) -> tuple[MethodStrength, ...]:
    """Rank the methods by their strengths, the strongest first; without ranks if they are undefined."""
    methods = [*dict.fromkeys(name for verdict in verdicts for name in (verdict.first, verdict.second))]
    judged = [verdict for verdict in verdicts if verdict.outcome is not None]
    comparisons = PairedComparisons(
        first=np.asarray([methods.index(verdict.first) for verdict in judged], dtype=np.int64),
        second=np.asarray([methods.index(verdict.second) for verdict in judged], dtype=np.int64),
        outcomes=np.asarray([verdict.outcome for verdict in judged], dtype=float),
        clusters=encode_clusters(judged),
        size=len(methods),
    )
    strengths = [*zip(methods, estimate_strengths(comparisons, level=level), strict=True)]
    order = sorted(strengths, key=lambda pair: -pair[1].value if isinstance(pair[1], MeasuredValue) else 0.0)
    return tuple(
        MethodStrength(method=name, rank=rank if isinstance(strength, MeasuredValue) else None, strength=strength)
        for rank, (name, strength) in enumerate(order, 1)
    )


def _convert_to_rate(intercept: Measured) -> Measured:
    """Convert log odds with their interval to a share."""
    if isinstance(intercept, Undefined):
        return intercept
    interval = intercept.interval and intercept.interval.model_copy(
        update={"low": _expit(intercept.interval.low), "high": _expit(intercept.interval.high)}
    )
    return intercept.model_copy(update={"value": _expit(intercept.value), "interval": interval})


def _expit(log_odds: float) -> float:
    return 1 / (1 + exp(-log_odds))


def _measure_flips(judged: Sequence[PairVerdict], *, level: float) -> Measured:
    both = [verdict for verdict in judged if verdict.orders]
    return _measure_mean(both, (float(verdict.is_flipped) for verdict in both), NOT_BOTH, level=level)
