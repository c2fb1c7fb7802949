"""A threshold of a judge's certainty, chosen on labels so that verdicts above it agree with people often enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, log
from typing import NamedTuple

ERROR = 0.05
"""The probability with which a chosen threshold may miss the agreement that was asked for."""
START_SHARE, START_FACTOR = 0.3, 1.2
"""The share of all verdicts above the first threshold; it has 1.2 times the labels that can pass at all, if not more.

With a smaller share, a single disagreement ends the sequence; with a larger one, a judge that is only good at its
surest verdicts decides nothing (docs/design/decisions/0109-two-judges-are-two-runs.md).
"""
STEP = 0.05
"""The share of all verdicts that each further threshold adds."""
MAX_LABELS = 100_000
"""The largest number of labels that is ever said to be needed."""


class TriedThreshold(NamedTuple):
    """A threshold that was tested: the labels at or above it, those that agree, and the p value."""

    threshold: float
    labels: int
    agreeing: int
    p: float


class ThresholdChoice(NamedTuple):
    """The lowest threshold that passed, None if none did, and all that were tested, the highest first.

    `labels_needed` is the estimated number of labels with which one would have passed: None if one did, or if no number
    of labels is enough because people disagree with the judge too often even if it is sure.
    """

    threshold: float | None
    tried: tuple[TriedThreshold, ...]
    labels_needed: int | None = None


def choose_threshold(
    certainties: Sequence[float], labelled: Sequence[tuple[float, bool]], agreement: float, error: float = ERROR
) -> ThresholdChoice:
    """Choose the lowest threshold above which verdicts agree with people at least as often as asked for.

    Thresholds at fixed shares of all verdicts are tested from the highest to the lowest, each with the exact binomial
    test of the hypothesis that the agreement is lower, until the first one fails. Each has the whole `error`, because a
    false threshold is chosen only if the first false one of a fixed sequence passes. The thresholds depend on no label,
    so this holds for any judge, also if its certainty says nothing. The labels have to be a random sample of
    independent verdicts.

    Args:
        certainties: The certainty of every verdict, with and without a label.
        labelled: For each label, the certainty of the verdict and whether they agree.
        agreement: The agreement to reach, between 0 and 1.
        error: The probability with which it may be missed.

    Source:
        Jung, Brahman and Choi, "Trust or Escalate: LLM judges with provable guarantees for human agreement", ICLR 2025;
        Bauer, "Multiple testing in clinical trials", Statistics in Medicine 1991.

    Example:
        >>> labelled = [(0.9, True)] * 80 + [(0.5, False)] * 20
        >>> choose_threshold([certainty for certainty, _ in labelled], labelled, 0.9).threshold
        0.9
    """
    smallest = count_labels_needed(agreement, error) or MAX_LABELS
    start = min(1.0, max(START_SHARE, START_FACTOR * smallest / max(len(labelled), 1)))
    tried: list[TriedThreshold] = []
    for threshold in _list_thresholds(certainties, start):
        outcomes = [agrees for certainty, agrees in labelled if certainty >= threshold]
        p = _compute_tail(len(outcomes) - sum(outcomes), len(outcomes), agreement)
        tried.append(TriedThreshold(threshold, len(outcomes), sum(outcomes), p))
        if p > error:
            break
    passed = [test.threshold for test in tried if test.p <= error]
    if passed or not tried:
        return ThresholdChoice(passed[-1] if passed else None, tuple(tried), None if tried else smallest)
    (first,) = tried
    disagreement = 1 - first.agreeing / first.labels if first.labels else 0.0
    needed = count_labels_needed(agreement, error, disagreement)
    share = (first.labels or 1) / max(len(labelled), 1)
    return ThresholdChoice(None, tuple(tried), needed and ceil(needed / share))


def count_labels_needed(agreement: float, error: float = ERROR, disagreement: float = 0.0) -> int | None:
    """Count the labels with which a test can pass if people disagree with this share; None if no number is enough.

    Example:
        >>> count_labels_needed(0.9), count_labels_needed(0.9, disagreement=0.05), count_labels_needed(0.9, 0.05, 0.2)
        (29, 116, None)
    """
    if disagreement >= 1 - agreement:
        return None
    if not disagreement:
        return ceil(log(error) / log(agreement))
    count, step = 1, 1
    # The test passes for all larger numbers but a few, which rounding makes worse, so that a coarse search is enough.
    while _compute_tail(ceil(disagreement * count), count, agreement) > error:
        count += step
        step = max(1, count // 100)
        if count > MAX_LABELS:
            return None
    return count


def _compute_tail(disagreeing: int, count: int, agreement: float) -> float:
    """Compute the probability of at most this number of disagreements if people agree with this share."""
    # Its import takes longer than all that names this module.
    from scipy.special import bdtr

    return float(bdtr(disagreeing, count, 1 - agreement)) if count else 1.0


def _list_thresholds(certainties: Sequence[float], start: float) -> Iterator[float]:
    """Yield the certainty that each share of all verdicts reaches, from the first share to all, each once."""
    ranked = sorted(certainties, reverse=True)
    last: float | None = None
    for step in range(ceil((1 - start) / STEP) + 1) if ranked else ():
        share = min(1.0, start + step * STEP)
        threshold = ranked[ceil(share * len(ranked)) - 1]
        if threshold != last:
            yield threshold
        last = threshold
