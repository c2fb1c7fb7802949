"""One comparison: from the pairs of two methods to their difference, how sure it is and what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from greval.comparison.pairs import Pairs
from greval.comparison.records import Contrast, Effect, Test, TestName, Verdict
from greval.comparison.scales import Direction
from greval.stats.difference import clustered, intervals
from greval.stats.effect import cohens_dz, cohens_g, odds_ratio, rank_biserial
from greval.stats.mcnemar import mcnemar
from greval.stats.paired import DIGITS, sign_flips, wilcoxon
from greval.stats.power import detectable_mean, detectable_share

if TYPE_CHECKING:
    from greval.stats.bootstrap import Floats
    from greval.stats.difference import Clusters


Kind = Literal["shares", "means", "clusters"]


class Names(NamedTuple):
    """What is compared, as it is told."""

    metric: str
    group: str
    method: str
    baseline: str


class Rules(NamedTuple):
    """How sure each comparison must be: the level of intervals, the alpha of one test, how much is drawn."""

    level: float
    alpha: float
    resamples: int


def contrast(pairs: Pairs, names: Names, scale: Direction, rules: Rules) -> Contrast:
    """Compare a method with the baseline over their pairs; p is not corrected yet, and there is no verdict."""
    import numpy as np  # noqa: PLC0415 - a tenth of a second

    both = pairs.both
    told = {
        **names._asdict(),
        "better": scale.better,
        "questions": len(both),
        "n": int(both.sum()),
        "method_left_out": pairs.method.left_out,
        "baseline_left_out": pairs.baseline.left_out,
    }
    if not both.any():
        return Contrast(**told)
    method, baseline = pairs.method.values[both], pairs.baseline.values[both]
    differences = np.round(method - baseline, DIGITS)
    codes = None if pairs.clusters is None else pairs.clusters[both]
    found = clustered(differences, codes)
    drawn = intervals(found, level=rules.level, ends=scale.differences)
    higher, lower = int((differences > 0).sum()), int((differences < 0).sum())
    won, lost = (higher, lower) if scale.better == "higher" else (lower, higher)
    binary = bool((np.isin(method, (0.0, 1.0)) & np.isin(baseline, (0.0, 1.0))).all())
    kind = _kind(binary=binary, alone=codes is None)
    test = tested(found, higher, lower, rules.resamples, kind=kind)
    return Contrast(
        **told,
        **drawn._asdict(),
        clusters=None if codes is None else len(found.sums),
        method_mean=float(method.mean()),
        baseline_mean=float(baseline.mean()),
        difference=float(differences.mean()),
        won=won,
        tied=len(differences) - higher - lower,
        lost=lost,
        effect=_effect(differences, higher, lower, binary=binary),
        test=test if kind == "shares" else test.model_copy(update={"wilcoxon_p": wilcoxon(found.sums)}),
        detectable=_detectable(found, higher + lower, rules, shares=kind == "shares"),
        bounds=pairs.bounds(scale) if not both.all() else None,
    )


def settled(found: Contrast, corrected: float, alpha: float) -> Contrast:
    """Give a comparison with the corrected p and the verdict."""
    if found.test is None:
        return found
    verdict: Verdict = "no difference seen"
    if corrected <= alpha and found.difference:
        verdict = "better" if (found.difference > 0) == (found.better == "higher") else "worse"
    test = found.test.model_copy(update={"corrected": corrected})
    return found.model_copy(update={"test": test, "verdict": verdict})


def _kind(*, binary: bool, alone: bool) -> Kind:
    """Say which test fits: pairs of 0/1, other pairs, or clusters of them."""
    if not alone:
        return "clusters"
    return "shares" if binary else "means"


def tested(found: Clusters, higher: int, lower: int, resamples: int, *, kind: Kind) -> Test:
    """Test a difference; p stands as its own correction until all tests are made.

    Args:
        found: The differences, by cluster.
        higher: On how many questions the method's figure is higher.
        lower: On how many it is lower.
        resamples: How many sign flips are drawn where they are not counted out.
        kind: What is compared: 0/1 figures, others, or clusters of either.
    """
    if kind == "shares":
        table = mcnemar(higher, lower)
        name: TestName = "mcnemar exact" if table.exact else "mcnemar chi-square"
        return Test(name=name, p=table.p, corrected=table.p, mid_p=table.mid_p)
    p = sign_flips(found.sums, resamples=resamples)
    return Test(name="paired permutation" if kind == "means" else "cluster permutation", p=p, corrected=p)


def _effect(differences: Floats, higher: int, lower: int, *, binary: bool) -> Effect:
    if binary:
        return Effect(cohens_g=cohens_g(higher, lower), odds_ratio=odds_ratio(higher, lower))
    return Effect(cohens_dz=cohens_dz(differences), rank_biserial=rank_biserial(differences))


def _detectable(found: Clusters, discordant: int, rules: Rules, *, shares: bool) -> float | None:
    """Give the smallest difference that would probably have been seen, None where no difference can be.

    With n pairs the smallest p of any such test is 2^(1 - n), that of all differences on one side.
    """
    n = len(found.sums)
    if 2.0 ** (1 - n) > rules.alpha:
        return None
    if shares:
        return detectable_share(discordant, n, alpha=rules.alpha)
    return detectable_mean(found.error, n, alpha=rules.alpha)
