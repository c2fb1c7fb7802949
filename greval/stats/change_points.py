"""Change points of a figure that is measured again and again, with an error rate that holds over all looks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod, sqrt
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from greval.stats.interval import LEVEL, Interval, find_student_quantile

Floats = NDArray[np.float64]

ALPHA = 0.05
"""The probability of a false alarm in a whole history without a change."""
FIRST_LOOKS, FIRST_SHARE = 4, 0.02
"""The first looks, and the share of `ALPHA` that they have: so few runs before say too little to show a change."""
MAIN_LOOKS = 24
"""Up to this look, shares fall with its number, so that most looks find a change about equally well: with more runs
before, the same difference is clearer. Later shares fall with the fourth power, so that they have a sum."""
LATER_SUM = (MAIN_LOOKS - 1) / 3 / MAIN_LOOKS
SHARE_UNIT = (1 - FIRST_SHARE) / (sum(1 / look for look in range(FIRST_LOOKS + 1, MAIN_LOOKS + 1)) + LATER_SUM)
OVERLAP = 1.4
"""The sum of the errors of all tests, in units of the probability that any of them errs: they share runs, so that one
false alarm is often several. In `benchmarks/history_simulation.py` it is at least 1.5."""
WINDOWS: Mapping[int, float] = {1: 0.12, 2: 0.85, 4: 0.03}
"""How many of the newest runs are compared with those before, and which share of a look each number has."""
WORSE_SHARE = 0.95
"""The share of the error that tests of a change for the worse have."""
MIN_QUESTIONS = 8
"""The number of questions from which a change is tested; fewer show too little of a distribution."""
MIN_SHARED = 0.5
"""The share of the questions from which two sides are compared question by question."""


class LevelContrast(NamedTuple):
    """The difference between the means of two groups of runs, its standard error, and how it was found.

    `n` is the number of questions that both sides have if they are compared question by question (`paired`), else that
    of the side with fewer.
    """

    difference: float
    error: float
    degrees: int
    n: int
    paired: bool
    before_mean: float
    after_mean: float

    def compute_interval(self, level: float = LEVEL) -> Interval:
        """Return Student's interval of the difference."""
        reach = -find_student_quantile(self.degrees, (1 - level) / 2) * self.error
        return Interval(low=self.difference - reach, high=self.difference + reach, level=level, method="t")

    def exceeds(self, share: float) -> bool:
        """Return whether the difference is further from zero than chance is with this probability, on its side."""
        if self.n < MIN_QUESTIONS or not self.difference:
            return False
        return abs(self.difference) > -find_student_quantile(self.degrees, share) * self.error


class ChangePoint(NamedTuple):
    """A change: the position of the first run after it, of the run at whose look it was found, and the difference."""

    first: int
    found: int
    contrast: LevelContrast


def contrast_levels(before: Floats, after: Floats) -> LevelContrast | None:
    """Compare the means of two groups of runs, each a row of figures by question, NaN if a question has none.

    A question counts by the mean of its figures on each side. If at least half of the questions of the side with fewer
    are shared, their differences have a standard error, sd / sqrt(n). Otherwise the questions are taken as independent
    samples (Welch 1947). None if a side has fewer than two questions.

    Either error follows the noise of a few new runs, and is far too small after a lucky one, such as 50 right answers
    of 50. Therefore it is at least that of the noise of all runs: of figures around the mean of their question on their
    side, or of questions around the mean of their side.

    Example:
        >>> runs = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
        >>> contrast = contrast_levels(runs[:1], runs[1:])
        >>> round(contrast.difference, 3), round(contrast.error, 3), contrast.paired
        (0.333, 0.333, True)
    """
    old, new = _average_questions(before), _average_questions(after)
    has_old, has_new = np.isfinite(old), np.isfinite(new)
    has_both = has_old & has_new
    shared, fewer = int(has_both.sum()), int(min(has_old.sum(), has_new.sum()))
    if fewer < 2:  # noqa: PLR2004 - a variance needs two
        return None
    if shared >= max(2, MIN_SHARED * fewer):
        differences = new[has_both] - old[has_both]
        paired = float(differences.std(ddof=1)) / sqrt(shared), shared - 1
        error, degrees = max(paired, _pool_within_questions(before[:, has_both], after[:, has_both]))
        means = float(old[has_both].mean()), float(new[has_both].mean())
        return LevelContrast(float(differences.mean()), error, degrees, shared, True, *means)  # noqa: FBT003 - paired
    old, new = old[has_old], new[has_new]
    error, degrees = max(_add_variances(old, new), _pool_variances(old, new))
    means = float(old.mean()), float(new.mean())
    return LevelContrast(means[1] - means[0], error, degrees, fewer, False, *means)  # noqa: FBT003 - not paired


def _pool_within_questions(before: Floats, after: Floats) -> tuple[float, int]:
    """Return the standard error from the noise of the figures of a question on one side, and its degrees of freedom."""
    squares, counts = zip(*map(_sum_squares, (before, after)), strict=True)
    questions = before.shape[1]
    degrees = int(sum(count.sum() for count in counts)) - 2 * questions
    if not degrees:
        return 0.0, 0
    per_question = float(sum((1 / count).mean() for count in counts))
    return sqrt(float(sum(squares)) / degrees * per_question / questions), degrees


def _sum_squares(runs: Floats) -> tuple[float, NDArray[np.int_]]:
    """Return the sum of the squares of figures around the mean of their question, and the number of each question."""
    return float(np.nansum((runs - _average_questions(runs)) ** 2)), np.isfinite(runs).sum(axis=0)


def _add_variances(old: Floats, new: Floats) -> tuple[float, int]:
    """Return the standard error of the difference of two means, and Satterthwaite's degrees of freedom."""
    parts = old.var(ddof=1) / len(old), new.var(ddof=1) / len(new)
    variance = float(sum(parts))
    spread = parts[0] ** 2 / (len(old) - 1) + parts[1] ** 2 / (len(new) - 1)
    return sqrt(variance), max(1, int(variance**2 / spread)) if spread else min(len(old), len(new)) - 1


def _pool_variances(old: Floats, new: Floats) -> tuple[float, int]:
    """Return the standard error of the difference of two means of the same variance, and its degrees of freedom."""
    degrees = len(old) + len(new) - 2
    variance = (old.var(ddof=1) * (len(old) - 1) + new.var(ddof=1) * (len(new) - 1)) / degrees
    return sqrt(float(variance) * (1 / len(old) + 1 / len(new))), degrees


def _average_questions(runs: Floats) -> Floats:
    """Return the mean figure of each question, NaN if it has none."""
    counts = np.isfinite(runs).sum(axis=0)
    return np.where(counts, np.nansum(runs, axis=0) / np.maximum(counts, 1), np.nan)


def spend_error(look: int) -> float:
    """Return the share of the error of a whole history that one look has, the first being number 1.

    The shares of all looks, however many, sum to 1.

    Example:
        >>> round(sum(map(spend_error, range(1, 100_000))), 3)
        1.0
    """
    if look <= FIRST_LOOKS:
        return FIRST_SHARE / FIRST_LOOKS
    if look <= MAIN_LOOKS:
        return SHARE_UNIT / look
    # A telescoping product in place of the power: the sum over all later looks is a fraction.
    decline = prod(range(MAIN_LOOKS - 1, MAIN_LOOKS + 3)) / prod(range(look - 1, look + 3))
    return SHARE_UNIT / MAIN_LOOKS * decline


def find_change_points(
    runs: Floats,
    *,
    breaks: Collection[int] = (),
    better: Literal["higher", "lower"] = "higher",
    alpha: float = ALPHA,
) -> list[ChangePoint]:
    """Find the runs at which the level of a figure changed, as somebody does who looks after each run.

    At each look the newest run, the newest two and the newest four are compared with all runs since the last change.
    Each look may spend a part of the error (`spend_error`), so that a history without a change has a false alarm at any
    of its looks with a probability of at most `alpha`: by Bonferroni's inequality at most `OVERLAP` times as much, and
    by simulation less than `alpha`. Most of it is for changes for the worse (`WORSE_SHARE`).

    Args:
        runs: The figures, shape (runs, questions), in the order of time; NaN if a question has none in a run.
        breaks: The positions of runs that cannot be compared with those before them.
        better: Which direction of a change is for the better.
        alpha: The probability of a false alarm.

    Source:
        Pocock, "Group sequential methods in the design and analysis of clinical trials", Biometrika 1977; Lan and
        DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 1983 (error spending).

    Example:
        >>> rng = np.random.default_rng(1)
        >>> runs = rng.normal(0.8, 0.1, size=(8, 50))
        >>> runs[5:] -= 0.2
        >>> [(change.first, change.found) for change in find_change_points(runs)]
        [(5, 5)]
    """
    start, changes = 0, list[ChangePoint]()
    for newest in range(1, len(runs)):
        if newest in breaks:
            start = newest
            continue
        change = _look(runs[start : newest + 1], better, OVERLAP * alpha * spend_error(newest))
        if change is not None:
            changes.append(ChangePoint(start + change.first, newest, change.contrast))
            start = changes[-1].first
    return changes


def _look(runs: Floats, better: str, share: float) -> ChangePoint | None:
    """Return the change before the newest runs, None if no test exceeds its share of the error.

    Of several, it is the one by which the means of the runs are split best.
    """
    matches = []
    for window, part in WINDOWS.items():
        first = len(runs) - window
        contrast = contrast_levels(runs[:first], runs[first:]) if first >= 1 else None
        if contrast is None:
            continue
        is_worse = (contrast.difference < 0) == (better == "higher")
        if contrast.exceeds(share * part * (WORSE_SHARE if is_worse else 1 - WORSE_SHARE)):
            matches.append(ChangePoint(first, len(runs) - 1, contrast))
    return max(matches, key=_measure_split) if matches else None


def _measure_split(change: ChangePoint) -> float:
    """Return the size of a change in units of the noise of a run, but for a factor (Page's CUSUM)."""
    before, after = change.first, change.found + 1 - change.first
    return abs(change.contrast.difference) * sqrt(before * after / (before + after))
