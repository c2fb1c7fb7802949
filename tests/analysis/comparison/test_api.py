"""Comparison of the methods of a run, or of two runs."""

import numpy as np
import pytest
from compared_runs import FAILED, MISSING, write
from contrast_data import edited, only, write_documents

from greval.analysis.comparison.api import compare
from greval.analysis.comparison.records import Comparison
from greval.errors import DataError
from greval.records.result import Judgement
from greval.report.comparison import format_comparison_legend
from greval.stats.paired import MIN_BOOTSTRAP_CLUSTERS


@pytest.mark.parametrize(
    ("n", "told"),
    [
        (5, "by Student's t, as fewer than 8 are too few to draw from. MDD: "),
        (12, "by bootstrap. MDD: "),
    ],
)
def test_the_interval_is_named_as_it_was_computed(tmp_path, n, told):
    """Few questions have Student's interval, and the line below the table says so; it says bootstrap if it is one."""
    figures = {("a", "ndcg@10"): [k / 16 for k in range(n)], ("b", "ndcg@10"): [0.0] * n}
    comparison = compare(write(tmp_path, figures), baseline="b")
    assert comparison.contrasts[0].interval.method == ("t" if n < MIN_BOOTSTRAP_CLUSTERS else "expanded percentile")
    assert f"Confidence intervals: 95%, uncorrected, {told}" in " ".join(format_comparison_legend(comparison))


def test_intervals_of_several_kinds_are_named_by_metric_and_group(tmp_path):
    """Each kind names the metrics and groups that it is of; what has no interval is under none of them."""
    figures = {
        ("a", "ndcg@10"): [k / 16 for k in range(12)],
        ("b", "ndcg@10"): [0.0] * 12,
        ("a", "depth"): [3] * 12,
        ("b", "depth"): [2] * 12,
        ("a", "latency"): [1.0] * 12,
        ("b", "latency"): [2.0] * 12,
    }
    tags = [{"kind": "few" if k < 4 else "many", "film": str(k)} for k in range(12)]
    run = write(tmp_path, figures, tags=tags)
    told = " ".join(format_comparison_legend(compare(run, baseline="b", by="kind")))
    assert "95%, uncorrected, by bootstrap (ndcg@10, ndcg@10 (many)); " in told
    assert "Student's t, as fewer than 8 are too few to draw from (ndcg@10 (few)); " in told
    assert "an exact bound, as all differences are equal (depth, depth (few), depth (many)). MDD: " in told
    of_clusters = " ".join(format_comparison_legend(compare(run, baseline="b", metrics=["ndcg@10"], cluster_by="film")))
    assert "uncorrected, by bootstrap, over whole clusters of film. MDD: " in of_clusters


def test_means_weighted_by_probability_have_the_means_of_the_values(tmp_path):
    """The mean of the values is there for the side and the group whose numbers are weighted, and only for these."""
    weighted = [Judgement(value=value, number=value + 0.25, reason="r") for value in (1, 2, 3)]
    figures = {("a", "depth"): weighted, ("b", "depth"): [1, 2, 2], ("b", "latency"): [1.0, 2.0, 3.0]}
    comparison = compare(write(tmp_path, figures | {("a", "latency"): [1.0, 1.5, 2.0]}))
    means = {(level.metric, level.method): (level.mean, level.plain_mean) for level in comparison.levels}
    assert means["depth", "a"] == (2.25, 2)
    assert means["depth", "b"] == (pytest.approx(5 / 3), None)
    assert means["latency", "a"] == (1.5, None)


def test_lower_can_be_better(tmp_path):
    """A method that takes less time has won, though its figure is lower."""
    figures = {("fast", "latency"): [1.0 + n / 10 for n in range(12)], ("slow", "latency"): [3.0] * 12}
    contrast = only(compare(write(tmp_path, figures), baseline="slow"), "latency")
    assert (contrast.better, contrast.won, contrast.lost, contrast.verdict) == ("lower", 12, 0, "better")
    assert contrast.difference < 0
    assert contrast.effect.rank_biserial == -1


def test_tests_that_can_show_nothing_count_for_no_other(tmp_path):
    """Of 15 tests ten are on equal figures: p is multiplied by four, and those that could show nothing are told."""
    run, earlier_run = edited(tmp_path)
    comparison = compare(run, against=earlier_run, by="kind")
    family = comparison.family
    assert (family.tests, family.counted) == (15, 4)  # three can come below 0.05 / 4, five below 0.05 / 3
    broken = only(comparison, "coherence", "x")
    assert (broken.test.p, broken.test.tests, broken.test.corrected) == (2**-6, 4, 4 * 2**-6)
    equal = [one for one in comparison.contrasts if one.verdict == "equal on every question"]
    assert len(equal) == 10
    assert not any(one.test.capable for one in (*equal, broken))
    assert all(one.test.capable for one in comparison.contrasts if one.metric == "latency")


def test_holm_finds_at_least_as_much(tmp_path):
    """With Holm's correction no p is above Bonferroni's, and the least is the same."""
    rng = np.random.default_rng(1)
    figures = {(name, "right"): list(rng.integers(0, 2, 60) | (name == "a")) for name in ("a", "b", "c")}
    run = write(tmp_path, {key: [int(value) for value in column] for key, column in figures.items()})
    plain, holm = compare(run), compare(run, correction="holm")
    ps = [(one.test.corrected, two.test.corrected) for one, two in zip(plain.contrasts, holm.contrasts, strict=True)]
    assert all(two <= one for one, two in ps)
    assert min(one for one, _ in ps) == min(two for _, two in ps)
    assert any(two < one for one, two in ps)


def test_identical_methods_are_equal(tmp_path):
    """Two methods that never differ have p = 1 and an interval from the scale, not one of width 0."""
    contrast = only(compare(write(tmp_path, {("a", "right"): [1] * 30, ("b", "right"): [1] * 30}), baseline="b"))
    assert (contrast.test.p, contrast.test.mid_p, contrast.verdict) == (1, 1, "equal on every question")
    assert contrast.interval.method == "bounded"
    assert contrast.interval.low < 0 < contrast.interval.high


def test_nothing_in_common_is_told(tmp_path):
    """Where no question has both figures, a metric has no test and no verdict, and the family counts it out."""
    figures = {("a", "right"): [1, 1, MISSING], ("b", "right"): [FAILED, FAILED, 1]}
    others = {("a", "clear"): [1, 1, 1], ("b", "clear"): [1, 0, 1]}
    comparison = compare(write(tmp_path, figures | others), baseline="b")
    (one,) = (one for one in comparison.contrasts if one.metric == "right")
    assert (one.n, one.questions, one.test, one.difference, one.verdict) == (0, 3, None, None, "nothing to compare")
    assert comparison.family.told == "1 test: 1 method x 2 metrics x 1 group, 1 of them without a pair"
    with pytest.raises(DataError, match="no question has a figure of both a and b: b: 2 failed; record or judge"):
        compare(write(tmp_path / "alone", figures), baseline="b")


def test_questions_of_a_document_are_not_independent(tmp_path):
    """By cluster the interval is wider, and the test flips whole documents in place of McNemar's."""
    run = write_documents(tmp_path, [{"doc": f"d{n // 4}"} for n in range(40)])
    alone, by_doc = only(compare(run, baseline="b")), only(compare(run, baseline="b", cluster_by="doc"))
    assert (alone.clusters, by_doc.clusters) == (None, 10)
    assert (alone.test.name, by_doc.test.name) == ("mcnemar chi-square", "cluster permutation")
    assert by_doc.test.p == pytest.approx(2 * (1 + 10 + 45) / 2**10)
    assert by_doc.test.p > 10 * alone.test.p
    assert by_doc.interval.high - by_doc.interval.low > 1.8 * (alone.interval.high - alone.interval.low)
    assert by_doc.detectable > alone.detectable


def test_a_comparison_is_data(tmp_path):
    """JSON holds all of it: reading it back gives an equal comparison."""
    run = write(tmp_path, {(name, "depth"): [1, 2, 5, 4] for name in "ab"} | {("a", "right"): [1]})
    comparison = compare(run, baseline="b")
    assert Comparison.model_validate_json(comparison.model_dump_json()) == comparison
