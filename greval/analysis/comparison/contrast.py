"""One contrast: from the pairs of two methods to their difference, its interval, test and verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, Literal, NamedTuple

import numpy as np

from greval.analysis.comparison.pairs import QuestionPairs
from greval.analysis.comparison.records import Contrast, ContrastVerdict, DifferenceTest, EffectSizes, TestName
from greval.records.scale import ScaleDirection
from greval.stats.bootstrap import Floats
from greval.stats.correction import CorrectedP
from greval.stats.interval import ClusterSums, sum_by_cluster
from greval.stats.paired import (
    DIGITS,
    cohens_dz,
    cohens_g,
    compute_difference_intervals,
    detectable_mean,
    detectable_share,
    mcnemar,
    min_sign_flip_p,
    odds_ratio,
    rank_biserial,
    relative_difference_interval,
    sign_flip_test,
    wilcoxon,
)

PairKind = Literal["shares", "means", "clusters"]


class PairDifferences(NamedTuple):
    """The differences of the pairs, by question and by cluster, the numbers above and below 0, and the kind of test."""

    each: Floats
    clusters: ClusterSums
    higher: int
    lower: int
    binary: bool
    kind: PairKind


class ContrastSettings(NamedTuple):
    """The confidence level of intervals, the alpha of one test, and the number of resamples."""

    level: float
    alpha: float
    resamples: int


def compute_differences(pairs: QuestionPairs) -> PairDifferences:
    """Return the differences of the questions for which both sides have a figure."""
    method, baseline = pairs.method.values[pairs.has_both], pairs.baseline.values[pairs.has_both]
    # 0.3 - 0.2 and 0.2 - 0.1 are one size of difference, and a rounding error is a tie.
    differences = np.round(method - baseline, DIGITS)
    codes = None if pairs.clusters is None else pairs.clusters[pairs.has_both]
    binary = bool((np.isin(method, (0.0, 1.0)) & np.isin(baseline, (0.0, 1.0))).all())
    higher, lower = int((differences > 0).sum()), int((differences < 0).sum())
    # McNemar's test takes questions as independent, so that clusters are tested by sign flips even if binary.
    kind: PairKind = "clusters" if codes is not None else "shares" if binary else "means"
    return PairDifferences(differences, sum_by_cluster(differences, codes), higher, lower, binary, kind)


def compute_contrast(
    pairs: QuestionPairs, ids: Sequence[str], about: Mapping[str, Any], scale: ScaleDirection, rules: ContrastSettings
) -> Contrast:
    """Compare a method with the baseline over their pairs, without the correction of p and the verdict.

    `ids` are those of all questions. `about` has the fields of the contrast that say what is compared.
    """
    both = pairs.has_both
    fields = {
        **about,
        "better": scale.better,
        "questions": len(both),
        "n": int(both.sum()),
        "method_left_out": pairs.method.left_out,
        "baseline_left_out": pairs.baseline.left_out,
    }
    if not both.any():
        return Contrast(**fields)
    differences, cluster_sums, higher, lower, binary, kind = compute_differences(pairs)
    drawn = compute_difference_intervals(cluster_sums, level=rules.level, ends=scale.difference_ends)
    names = [ids[number] for number in pairs.questions[both].tolist()]
    won, lost = _list_won_and_lost(differences if scale.better == "higher" else -differences, names)
    test = run_test(cluster_sums, higher, lower, rules.resamples, kind=kind)
    return Contrast(
        **fields,
        **drawn._asdict(),
        **_compute_relative(pairs, scale, rules.level),
        clusters=None if pairs.clusters is None else len(cluster_sums.sums),
        method_mean=float(pairs.method.values[both].mean()),
        baseline_mean=float(pairs.baseline.values[both].mean()),
        difference=float(differences.mean()),
        won=len(won),
        tied=len(differences) - higher - lower,
        lost=len(lost),
        won_questions=won,
        lost_questions=lost,
        effect=_compute_effect(differences, higher, lower, binary=binary),
        test=test if kind == "shares" else test.model_copy(update={"wilcoxon_p": wilcoxon(cluster_sums.sums)}),
        detectable=_compute_detectable(cluster_sums, higher + lower, rules, shares=kind == "shares"),
        bounds=pairs.compute_bounds(scale) if not both.all() else None,
    )


def _compute_relative(pairs: QuestionPairs, scale: ScaleDirection, level: float) -> dict[str, Any]:
    """Return the difference in relation to the baseline's mean with its interval, as fields of a contrast."""
    both = pairs.has_both
    codes = None if pairs.clusters is None else pairs.clusters[both]
    method, baseline = (sum_by_cluster(side.values[both], codes) for side in (pairs.method, pairs.baseline))
    if scale.low != 0 or baseline.mean <= 0:
        return {}
    interval = relative_difference_interval(method, baseline, level=level)
    return {
        "relative_difference": (method.mean - baseline.mean) / baseline.mean,
        # No figure is below 0.
        "relative_interval": interval and interval.clip((-1.0, inf)),
    }


def apply_correction(contrast: Contrast, corrected: CorrectedP, alpha: float, *, facts: bool = False) -> Contrast:
    """Return a comparison with the corrected p and the verdict; with `facts`, any difference is a change."""
    if contrast.test is None:
        return contrast
    test = {"corrected": corrected.p, "tests": corrected.tests, "capable": corrected.capable}
    verdict = _decide_verdict(contrast, corrected.p, alpha, facts=facts)
    return contrast.model_copy(update={"test": contrast.test.model_copy(update=test), "verdict": verdict})


def _decide_verdict(contrast: Contrast, corrected: float, alpha: float, *, facts: bool) -> ContrastVerdict:
    if corrected <= alpha and contrast.difference:
        return "better" if (contrast.difference > 0) == (contrast.better == "higher") else "worse"
    if not contrast.won and not contrast.lost:
        return "equal on every question"
    # Figures without noise need no test: any difference is a change.
    if facts:
        return "changed"
    return "too few questions to tell" if contrast.detectable is None else "no difference seen"


def _list_won_and_lost(gains: Floats, ids: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of the questions that the method won, and of those that it lost, the largest differences first."""
    # Equal differences are in the order of their ids, so that the same run always names the same questions.
    changed = sorted((-abs(gain), name, gain > 0) for gain, name in zip(gains.tolist(), ids, strict=True) if gain)
    won, lost = (tuple(name for _, name, is_won in changed if is_won is outcome) for outcome in (True, False))
    return won, lost


def run_test(cluster_sums: ClusterSums, higher: int, lower: int, resamples: int, *, kind: PairKind) -> DifferenceTest:
    """Test a difference, with `resamples` sign flips if too many to enumerate; `corrected` is p itself for now."""
    least = find_least_p(cluster_sums, higher + lower, resamples, kind=kind)
    if kind == "shares":
        table = mcnemar(higher, lower)
        name: TestName = "mcnemar exact" if table.exact else "mcnemar chi-square"
        return DifferenceTest(name=name, p=table.p, corrected=table.p, least=least, mid_p=table.mid_p)
    p = sign_flip_test(cluster_sums.sums, resamples=resamples)
    name = "paired permutation" if kind == "means" else "cluster permutation"
    return DifferenceTest(name=name, p=p, corrected=p, least=least)


def find_least_p(cluster_sums: ClusterSums, differing: int, resamples: int, *, kind: PairKind) -> float:
    """Return the smallest p that `run_test` could give for differences of these sizes, or a lower bound of it."""
    if kind == "shares":
        # All of the differing questions on one side.
        return mcnemar(differing, 0).p
    return min_sign_flip_p(cluster_sums.sums, resamples=resamples)


def _compute_effect(differences: Floats, higher: int, lower: int, *, binary: bool) -> EffectSizes:
    if binary:
        return EffectSizes(cohens_g=cohens_g(higher, lower), odds_ratio=odds_ratio(higher, lower))
    return EffectSizes(cohens_dz=cohens_dz(differences), rank_biserial=rank_biserial(differences))


def _compute_detectable(
    cluster_sums: ClusterSums, discordant: int, rules: ContrastSettings, *, shares: bool
) -> float | None:
    """Compute the smallest difference that would probably be detected, or None if no difference can be."""
    n = len(cluster_sums.sums)
    # The smallest p of any such test with n pairs is 2^(1 - n), reached when all differences have one sign.
    if 2.0 ** (1 - n) > rules.alpha:
        return None
    if shares:
        return detectable_share(discordant, n, alpha=rules.alpha)
    return detectable_mean(cluster_sums.error, n, alpha=rules.alpha)
