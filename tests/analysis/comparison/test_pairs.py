"""Pairs of questions: which count, and the bounds of those that are missing."""

import pytest
from compared_runs import FAILED, MISSING, SKIPPED, UNSCORED, write
from contrast_data import only

from greval.analysis.comparison.api import compare
from greval.analysis.comparison.records import DifferenceBounds, LeftOutCounts


def test_pairs_are_of_the_same_question(tmp_path):
    """Only questions that both have a figure of count; the others are told by why, for each side."""
    walk = [1, 1, 0, 1, FAILED, SKIPPED, MISSING, UNSCORED, 1]
    local = [0, 1, 0, 0, 1, 1, 1, 1, FAILED]
    contrast = only(compare(write(tmp_path, {("walk", "right"): walk, ("local", "right"): local}), baseline="local"))
    assert (contrast.questions, contrast.n, contrast.won, contrast.tied, contrast.lost) == (9, 4, 2, 2, 0)
    assert (contrast.method_mean, contrast.baseline_mean, contrast.difference) == (0.75, 0.25, 0.5)
    assert contrast.method_left_out == LeftOutCounts(skipped=1, failed=1, missing=1, without_number=1)
    assert contrast.baseline_left_out == LeftOutCounts(failed=1)
    assert contrast.test.name == "mcnemar exact"
    assert (contrast.test.p, contrast.test.mid_p) == (0.5, 0.25)
    assert (contrast.effect.cohens_g, contrast.effect.odds_ratio) == (0.5, None)


def test_several_items_count_as_their_mean(tmp_path):
    """The figure of a case with several judgements is their mean."""
    figures = {("a", "depth"): [(1, 4), (5, 5, 2), 3], ("b", "depth"): [3, 3, 3]}
    contrast = only(compare(write(tmp_path, figures), baseline="b"), "depth")
    assert contrast.method_mean == pytest.approx((2.5 + 4 + 3) / 3)
    assert (contrast.won, contrast.tied, contrast.lost) == (1, 1, 1)
    assert contrast.test.name == "paired permutation"
    assert contrast.test.wilcoxon_p is not None


def test_methods_that_fail_more_often_are_told_with_bounds(tmp_path):
    """Where one side lacks figures more often, the difference is bounded by the worst and the best of the missing."""
    figures = {("a", "right"): [1] * 15 + [FAILED] * 5, ("b", "right"): [1] * 10 + [0] * 10}
    comparison = compare(write(tmp_path, figures), baseline="b")
    assert only(comparison).bounds == DifferenceBounds(worst=0.25, best=0.5)
    (told,) = comparison.warnings
    assert told == (
        "right (all questions): of 20 questions no figure for 5 of a (5 failed), 0 of b; "
        "were these the worst for a, the difference would be +0.25, the best +0.5"
    )


def test_a_scale_without_an_end_has_no_bounds(tmp_path):
    """For latency nobody can say how bad the missing could be, and that is told."""
    figures = {("a", "latency"): [1.5] * 15 + [SKIPPED] * 5, ("b", "latency"): [1.0] * 20}
    comparison = compare(write(tmp_path, figures), baseline="b")
    assert only(comparison, "latency").bounds is None
    assert "the scale has no upper bound" in comparison.warnings[0]
