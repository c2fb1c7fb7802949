"""How honest the comparison is: two methods of equal true quality, compared again and again.

    python benchmarks/simulation.py --repeats 2000

Prints how often a family of tests gives a false alarm after its correction, also if most of the figures
are equal, and how often the 95 % intervals of a difference hold the true one, which is 0. Everything
goes through the functions that `greval compare` uses; the draws are seeded, so that the figures repeat.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from greval.analysis.comparison.contrast import PairKind, run_test
from greval.analysis.comparison.records import DifferenceTest
from greval.stats.correction import Correction, correct_discrete
from greval.stats.interval import ClusterSums, Interval, sum_by_cluster
from greval.stats.paired import compute_difference_intervals

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, NDArray[np.int64]], tuple[Floats, Floats]]

SEED = 7
GROUPS = 3
SHARE_RIGHT, SHARE_TOUCHED, SHARE_KEPT = 0.7, 0.1, 0.2
RESAMPLES = 2_399
"""What `compare` draws for a family of twelve tests: 200 each."""


def shares(rng: np.random.Generator, documents: NDArray[np.int64], *, rate: float = 0.0) -> tuple[Floats, Floats]:
    """Draw answers that are right or wrong: questions differ in difficulty, documents favour either method."""
    count = len(documents)
    easy = rng.normal(rate, 1.0, count)
    favour = rng.normal(0.0, 0.8, documents.max() + 1)[documents]
    method, baseline = (easy + sign * favour + rng.normal(0.0, 1.0, count) > 0 for sign in (1, -1))
    return method.astype(float), baseline.astype(float)


def rare(rng: np.random.Generator, documents: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Draw answers that are nearly always right."""
    return shares(rng, documents, rate=2.5)


def few(rng: np.random.Generator, documents: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Draw answers of an edit that changes few of them: on a question in ten both sides are drawn anew."""
    same = (rng.random(len(documents)) < SHARE_RIGHT).astype(float)
    touched = rng.random(len(documents)) < SHARE_TOUCHED
    method, baseline = (np.where(touched, rng.integers(0, 2, len(documents)), same) for _ in range(2))
    return method, baseline


def unchanged(rng: np.random.Generator, documents: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Draw answers that are the same on both sides, but for a question in fifty."""
    method, baseline = few(rng, documents)
    return np.where(rng.random(len(documents)) < SHARE_KEPT, method, baseline), baseline


def levels(rng: np.random.Generator, documents: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Draw scores from 1 to 5."""
    easy = rng.normal(3.5, 0.8, len(documents))
    favour = rng.normal(0.0, 0.5, documents.max() + 1)[documents]
    noise = rng.normal(0.0, 0.8, (2, len(documents)))
    method, baseline = (np.clip(np.round(easy + sign * favour + noise[row]), 1, 5) for row, sign in ((0, 1), (1, -1)))
    return method, baseline


def skewed(rng: np.random.Generator, documents: NDArray[np.int64], *, spread: float = 0.6) -> tuple[Floats, Floats]:
    """Draw times with long tails: log-normal for the method, gamma for the baseline, both of mean 1."""
    favour = rng.normal(0.0, 0.3, documents.max() + 1)[documents]
    method = np.exp(rng.normal(-0.5 * spread**2, spread, len(documents)) + favour)
    baseline = rng.gamma(1 / spread**2, spread**2, len(documents)) * np.exp(-favour)
    return method, baseline


def very_skewed(rng: np.random.Generator, documents: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Draw times of which a few are many times the usual."""
    return skewed(rng, documents, spread=0.9)


FEW_CHANGE: tuple[Draw, ...] = (few, unchanged, unchanged)
"""Metrics of runs that hardly differ: many tests cannot give a p below the level."""


class Layout(NamedTuple):
    """How questions lie in documents: the size of each."""

    told: str
    sizes: tuple[int, ...]

    @property
    def documents(self) -> NDArray[np.int64]:
        """Give the document of each question."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def clustered(self) -> bool:
        """Whether documents hold several questions."""
        return max(self.sizes) > 1


ALONE = Layout("100 questions", (1,) * 100)
TWENTY = Layout("100 questions in 20 documents", (5,) * 20)
UNEQUAL = Layout("100 questions in 20 documents of 1 to 9", (1, 2, 3, 4, 5, 5, 6, 7, 8, 9) * 2)
HUNDRED = Layout("100 documents of 5 questions", (5,) * 100)
LAYOUTS = (ALONE, TWENTY, UNEQUAL, HUNDRED)
DATA: dict[str, Draw] = {
    "0/1": shares,
    "0/1, nearly all right": rare,
    "1 to 5": levels,
    "long tails": skewed,
    "very long tails": very_skewed,
}


def differences(draw: Draw, layout: Layout, repeats: int) -> Iterator[ClusterSums]:
    """Give the differences of so many comparisons, by document where documents hold several questions."""
    rng = np.random.default_rng(SEED)
    for _ in range(repeats):
        method, baseline = draw(rng, layout.documents)
        yield sum_by_cluster(method - baseline, layout.documents if layout.clustered else None)


class Coverage(NamedTuple):
    """How often each interval held the true difference; None where it is never given."""

    shown: float | None
    bca: float | None
    plain: float | None
    width: float


def coverage(draw: Draw, layout: Layout, repeats: int) -> Coverage:
    """Count how often the intervals of a difference hold 0, which is the true one."""
    found = [
        compute_difference_intervals(one, level=0.95, ends=(-1.0, 1.0)) for one in differences(draw, layout, repeats)
    ]
    width = np.mean([one.interval.high - one.interval.low for one in found if one.interval])
    shown, bca, plain = map(_held, zip(*found, strict=True))
    return Coverage(shown, bca, plain, float(width))


def _held(found: tuple[Interval | None, ...]) -> float | None:
    """Give the share of intervals that hold 0, of those that are given."""
    held = [one.low <= 0 <= one.high for one in found if one]
    return float(np.mean(held)) if held else None


def alarms(
    layout: Layout, repeats: int, *, level: float = 0.95, draws: tuple[Draw, ...] = ()
) -> dict[Correction, float]:
    """Give how often any of twelve tests gives a false alarm: three metrics, over all questions and three groups."""
    rng = np.random.default_rng(SEED)
    hits: dict[Correction, int] = {"bonferroni": 0, "holm": 0}
    for _ in range(repeats):
        drawn = draws or (shares, levels, skewed_alike)
        tests = [test for draw in drawn for test in _family(*draw(rng, layout.documents), layout)]
        ps, least = [test.p for test in tests], [test.least for test in tests]
        for how in hits:
            hits[how] += min(one.p for one in correct_discrete(ps, least, how, alpha=1 - level)) <= 1 - level
    return {how: count / repeats for how, count in hits.items()}


def skewed_alike(rng: np.random.Generator, documents: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Draw times with long tails, the same for both methods."""
    favour = rng.normal(0.0, 0.4, documents.max() + 1)[documents]
    method, baseline = (np.exp(rng.normal(0.0, 0.8, len(documents)) + sign * favour) for sign in (1, -1))
    return method, baseline


def _family(method: Floats, baseline: Floats, layout: Layout) -> Iterator[DifferenceTest]:
    """Give the test of one metric over all questions and over each group; documents lie within a group."""
    groups = layout.documents % GROUPS
    for which in (np.ones(len(groups), dtype=bool), *(groups == group for group in range(GROUPS))):
        found = method[which] - baseline[which]
        codes = layout.documents[which] if layout.clustered else None
        binary = bool(np.isin([method, baseline], (0.0, 1.0)).all())
        kind: PairKind = "clusters" if layout.clustered else "shares" if binary else "means"
        higher, lower = int((found > 0).sum()), int((found < 0).sum())
        yield run_test(sum_by_cluster(found, codes), higher, lower, RESAMPLES, kind=kind)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=2000, help="how many comparisons each figure is of")
    repeats = parser.parse_args().repeats
    begun = time.process_time()
    print(f"share of {repeats} intervals of 95 % that hold the true difference")
    print(f"{'data':24}{'layout':44}{'shown':>8}{'BCa':>8}{'plain':>8}{'width':>8}")
    for layout in LAYOUTS:
        for name, draw in DATA.items():
            if layout is ALONE or draw is not very_skewed:
                *shares_held, width = coverage(draw, layout, repeats)
                held = "".join(f"{'-':>8}" if share is None else f"{share:8.3f}" for share in shares_held)
                print(f"{name:24}{layout.told:44}{held}{width:8.3f}", flush=True)
    print(f"\nshare of {repeats} families of 12 tests at 5 % with a false alarm")
    print(f"{'layout':68}{'Bonferroni':>12}{'Holm':>12}")
    for layout in LAYOUTS:
        found = alarms(layout, repeats)
        print(f"{layout.told:68}{found['bonferroni']:12.3f}{found['holm']:12.3f}", flush=True)
    print("\nthe same, of metrics that few questions change in")
    for layout in LAYOUTS:
        found = alarms(layout, repeats, draws=FEW_CHANGE)
        print(f"{layout.told:68}{found['bonferroni']:12.3f}{found['holm']:12.3f}", flush=True)
    print(f"\n{time.process_time() - begun:.0f} s of CPU")


if __name__ == "__main__":
    main()
