"""One contrast: its verdict, its tests, and its mirror image."""

import numpy as np
import pytest
from compared_runs import write
from contrast_data import alike, edited, figures, mirrored, only
from hypothesis import given
from hypothesis import strategies as st

from greval.analysis.comparison.api import compare
from greval.analysis.comparison.contrast import ContrastSettings, apply_correction, compute_contrast
from greval.analysis.comparison.pairs import QuestionPairs, SideFigures
from greval.records.scale import ScaleDirection
from greval.runs.score_columns import SCORED
from greval.stats.correction import CorrectedP


def test_the_corrected_p_decides(tmp_path):
    """A difference that one test would find is none among several tests."""
    figures = {(name, metric): [int(name == "a")] * 6 for name in "ab" for metric in ("right", "ndcg@10")}
    run = write(tmp_path, figures)
    alone, among = only(compare(run, baseline="b", metrics=["right"])), only(compare(run, baseline="b"))
    assert (alone.test.p, alone.test.corrected, alone.verdict) == (0.03125, 0.03125, "better")
    assert (among.test.p, among.test.corrected, among.verdict) == (0.03125, 0.0625, "too few questions to tell")


def test_what_changed_is_named(tmp_path):
    """A computed metric that fell on seven questions has changed, whatever p is; the questions are named."""
    run, earlier_run = edited(tmp_path)
    for how in ("bonferroni", "holm"):
        broken = only(compare(run, against=earlier_run, by="kind", correction=how), "coherence", "x")
        assert (broken.verdict, broken.won, broken.lost, broken.n) == ("changed", 0, 7, 40)
        assert broken.lost_questions == ("q13", "q18", "q23", "q28", "q3", "q33", "q8")
        assert broken.won_questions == ()
    alone = only(compare(run, against=earlier_run, metrics=["coherence"]), "coherence")
    assert (alone.verdict, alone.test.corrected) == ("worse", 2**-6)


def test_judges_and_times_are_noisy(tmp_path):
    """A judged metric, a time, another judge and another method have no facts: the test decides."""
    run, earlier_run = edited(tmp_path, judged=True)
    comparison = compare(run, against=earlier_run, by="kind")
    assert only(comparison, "coherence", "x").verdict == "no difference seen"
    assert only(comparison, "latency").verdict == "no difference seen"
    assert len(only(comparison, "latency").won_questions) == 30
    figures = {("a", "right"): [1] * 39 + [0], ("b", "right"): [1] * 40}
    assert only(compare(write(tmp_path / "two", figures), baseline="b")).verdict == "no difference seen"
    mine, other = ({("a", "right"): [1] * 39 + [end]} for end in (0, 1))
    runs = write(tmp_path / "mine", mine), write(tmp_path / "other", other, judge="another")
    assert only(compare(runs[0], against=runs[1])).verdict == "no difference seen"


def test_the_largest_differences_come_first(tmp_path):
    """Won and lost questions stand in the order of their differences; lower can be better."""
    figures = {("a", "latency"): [3.0, 1.0, 2.0, 9.0, 2.5], ("b", "latency"): [2.0, 2.0, 2.0, 2.0, 2.0]}
    run = compare(write(tmp_path, figures), baseline="b")
    contrast = only(run, "latency")
    assert (contrast.won_questions, contrast.lost_questions) == (("q1",), ("q3", "q0", "q4"))
    first = only(run.name_first(1), "latency")
    assert (first.won_questions, first.lost_questions, first.lost) == (("q1",), ("q3",), 3)


def test_a_few_questions_can_show_no_difference(tmp_path):
    """With so few questions that no p could be low enough, no detectable difference is named."""
    figures = {("a", "right"): [1] * 5, ("b", "right"): [0] * 5}
    contrast = only(compare(write(tmp_path, figures), baseline="b"))
    assert (contrast.test.p, contrast.verdict, contrast.detectable) == (0.0625, "too few questions to tell", None)


def test_a_relative_difference_needs_a_scale_that_begins_at_0(tmp_path):
    """30 of 40 right instead of 20 are half as many again; levels from 1 to 5 have no ratio, nor has a mean of 0."""
    right = {("a", "right"): [1] * 30 + [0] * 10, ("b", "right"): [1] * 20 + [0] * 20}
    levels = {("a", "coherence"): [5, 4, 4, 2, 1] * 8, ("b", "coherence"): [4, 4, 3, 2, 2] * 8}
    nothing = {("a", "ndcg@10"): [0.5] * 20 + [0] * 20, ("b", "ndcg@10"): [0] * 40}
    contrasts = compare(write(tmp_path, right | levels | nothing), baseline="b")
    shown = only(contrasts, "right")
    assert (shown.relative_difference, shown.relative_interval.method) == (0.5, "fieller")
    assert 0 < shown.relative_interval.low < 0.5 < shown.relative_interval.high
    for name in ("coherence", "ndcg@10"):
        contrast = only(contrasts, name)
        assert (contrast.relative_difference, contrast.relative_interval) == (None, None)


def test_more_questions_show_smaller_differences(tmp_path):
    """The detectable difference shrinks with the root of the number of questions."""
    found = []
    for times in (10, 40):
        figures = {("a", "right"): [1, 1, 0, 0, 1] * times, ("b", "right"): [1, 0, 1, 0, 1] * times}
        found.append(only(compare(write(tmp_path / str(times), figures), baseline="b")).detectable)
    assert found[1] == pytest.approx(found[0] / 2, rel=0.02)


states = st.sampled_from([SCORED] * 4 + [1, 2, 3, 4])
rows = st.tuples(figures, states, figures, states, st.integers(0, 5))
RULES = ContrastSettings(level=0.95, alpha=0.05 / 3, resamples=999)


def compared(given_rows, *, by_cluster, swapped=False):
    """Compare made-up figures without a run folder; each row ends with the id of its question."""
    *columns, ids = zip(*given_rows, strict=True)
    first, first_states, second, second_states, codes = map(np.array, columns)
    sides = SideFigures(first, first_states), SideFigures(second, second_states)
    method, baseline = reversed(sides) if swapped else sides
    names = {"metric": "depth", "group": "", "method": "a", "baseline": "b"}
    scale = ScaleDirection("lower" if len(given_rows) % 2 else "higher", 0.0, 9.0)
    pairs = QuestionPairs(method, baseline, codes if by_cluster else None, np.arange(len(codes)))
    contrast = compute_contrast(pairs, ids, names, scale, RULES)
    return apply_correction(
        contrast, CorrectedP(contrast.test.p if contrast.test else 1.0, 1, capable=True), RULES.alpha
    )


@given(st.lists(rows, min_size=1, max_size=14), st.booleans(), st.randoms(use_true_random=False))
def test_comparisons_mirror_and_know_no_order(given_rows, by_cluster, shuffler):
    """Swapping the methods mirrors every figure, and another order of the questions changes none."""
    named_rows = [(*row, f"q{number}") for number, row in enumerate(given_rows)]
    contrast = compared(named_rows, by_cluster=by_cluster)
    mirrored(contrast, compared(named_rows, by_cluster=by_cluster, swapped=True))
    mixed = [*named_rows]
    shuffler.shuffle(mixed)
    alike(contrast, compared(mixed, by_cluster=by_cluster))
