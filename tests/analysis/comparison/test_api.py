"""Comparisons: pairing by question, what is left out, the family of tests, and what a reader must be told."""

import numpy as np
import pytest
from compared_runs import FAILED, LATENCY, MISSING, SKIPPED, UNSCORED, defined, write
from hypothesis import given, settings
from hypothesis import strategies as st

from greval.analysis.comparison.api import compare
from greval.analysis.comparison.contrast import ContrastNames, ContrastSettings, apply_correction, compute_contrast
from greval.analysis.comparison.pairs import QuestionPairs, SideFigures
from greval.analysis.comparison.records import Comparison, DifferenceBounds, LeftOutCounts
from greval.errors import DataError, StoreError
from greval.records.metric import ValueMetric
from greval.records.scale import MeasureScale
from greval.records.scale_direction import ScaleDirection
from greval.report.comparison import format_legend
from greval.runs.score_columns import SCORED
from greval.stats.correction import CorrectedP
from greval.stats.paired import MIN_BOOTSTRAP_CLUSTERS


def only(comparison, metric="right", group="", method=None):
    """Give the one comparison of a metric and a group."""
    (found,) = [
        one
        for one in comparison.contrasts
        if (one.metric, one.group) == (metric, group) and method in {None, one.method}
    ]
    return found


def test_pairs_are_of_the_same_question(tmp_path):
    """Only questions that both have a figure of count; the others are told by why, for each side."""
    walk = [1, 1, 0, 1, FAILED, SKIPPED, MISSING, UNSCORED, 1]
    local = [0, 1, 0, 0, 1, 1, 1, 1, FAILED]
    found = only(compare(write(tmp_path, {("walk", "right"): walk, ("local", "right"): local}), baseline="local"))
    assert (found.questions, found.n, found.won, found.tied, found.lost) == (9, 4, 2, 2, 0)
    assert (found.method_mean, found.baseline_mean, found.difference) == (0.75, 0.25, 0.5)
    assert found.method_left_out == LeftOutCounts(skipped=1, failed=1, missing=1, without_number=1)
    assert found.baseline_left_out == LeftOutCounts(failed=1)
    assert found.test.name == "mcnemar exact"
    assert (found.test.p, found.test.mid_p) == (0.5, 0.25)
    assert (found.effect.cohens_g, found.effect.odds_ratio) == (0.5, None)


def test_several_items_count_as_their_mean(tmp_path):
    """The figure of a case with several judgements is their mean."""
    figures = {("a", "depth"): [(1, 4), (5, 5, 2), 3], ("b", "depth"): [3, 3, 3]}
    found = only(compare(write(tmp_path, figures), baseline="b"), "depth")
    assert found.method_mean == pytest.approx((2.5 + 4 + 3) / 3)
    assert (found.won, found.tied, found.lost) == (1, 1, 1)
    assert found.test.name == "paired permutation"
    assert found.test.wilcoxon_p is not None


@pytest.mark.parametrize(
    ("n", "told"),
    [
        (5, "95%, by Student's t, as fewer than 8 are too few to draw from. Could miss"),
        (12, "95%, by bootstrap. Could miss"),
    ],
)
def test_the_interval_is_named_as_it_was_computed(tmp_path, n, told):
    """Few questions have Student's interval, and the line below the table says so; it says bootstrap if it is one."""
    figures = {("a", "ndcg@10"): [k / 16 for k in range(n)], ("b", "ndcg@10"): [0.0] * n}
    found = compare(write(tmp_path, figures), baseline="b")
    assert found.contrasts[0].interval.method == ("t" if n < MIN_BOOTSTRAP_CLUSTERS else "expanded percentile")
    assert f"Each interval is of its difference alone, {told}" in " ".join(format_legend(found))


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
    told = " ".join(format_legend(compare(run, baseline="b", by="kind")))
    assert "95%, by bootstrap (ndcg@10, ndcg@10 (many)); " in told
    assert "Student's t, as fewer than 8 are too few to draw from (ndcg@10 (few)); " in told
    assert "an exact bound, as all differences are equal (depth, depth (few), depth (many)). Could miss" in told
    of_clusters = " ".join(format_legend(compare(run, baseline="b", metrics=["ndcg@10"], cluster_by="film")))
    assert "95%, by bootstrap, over whole clusters of film. Could miss" in of_clusters


def test_lower_can_be_better(tmp_path):
    """A method that takes less time has won, though its figure is lower."""
    figures = {("fast", "latency"): [1.0 + n / 10 for n in range(12)], ("slow", "latency"): [3.0] * 12}
    found = only(compare(write(tmp_path, figures), baseline="slow"), "latency")
    assert (found.better, found.won, found.lost, found.verdict) == ("lower", 12, 0, "better")
    assert found.difference < 0
    assert found.effect.rank_biserial == -1


def test_groups_and_all_questions_are_one_family(tmp_path):
    """The overall test and that of each value of a tag are corrected together, and told so."""
    tags = [{"kind": "x"}] * 10 + [{"kind": "y"}] * 10 + [{}]
    figures = {
        (name, metric): [n % 2 * shift for n in range(21)]
        for name, shift in (("a", 1), ("b", 0))
        for metric in ("right", "ndcg@10")
    }
    found = compare(write(tmp_path, figures, tags=tags), baseline="b", by="kind")
    assert [one.group for one in found.contrasts] == ["", "(none)", "x", "y"] * 2
    assert found.family.told == "8 tests: 1 method x 2 metrics x 4 groups (all questions and each group by itself)"
    assert found.family.tests == 8
    assert {(one.group, one.test.p, one.test.tests, one.test.capable) for one in found.contrasts} == {
        ("", 2**-9, 2, True),
        ("x", 2**-4, 2, False),  # five differing questions cannot give a p below the level
        ("y", 2**-4, 2, False),
        ("(none)", 1, 2, False),
    }
    for one in found.contrasts:
        assert one.test.corrected == min(1, one.test.tests * one.test.p)
    assert found.family.counted == 2
    assert only(found).n == 21
    assert only(found, group="x").n == 10


def test_the_corrected_p_decides(tmp_path):
    """A difference that one test would find is none among several tests."""
    figures = {(name, metric): [int(name == "a")] * 6 for name in "ab" for metric in ("right", "ndcg@10")}
    run = write(tmp_path, figures)
    alone, among = only(compare(run, baseline="b", metrics=["right"])), only(compare(run, baseline="b"))
    assert (alone.test.p, alone.test.corrected, alone.verdict) == (0.03125, 0.03125, "better")
    assert (among.test.p, among.test.corrected, among.verdict) == (0.03125, 0.0625, "too few questions to tell")


def edited(tmp_path, *, judged=False):
    """Write a run and one before it: of five metrics in two groups, one broke on seven of 40 questions of a group."""
    kinds = [{"kind": "x"}] * 40 + [{"kind": "y"}] * 20
    metrics = [defined(name, MeasureScale(high=1.0, unit="")) for name in ("coherence", "b", "c", "d")]
    if judged:
        metrics[0] = ValueMetric(name="coherence", description="It holds.", needs=["answer"], steps=["Read."],
                                 range=(0, 1), levels={0: "No.", 1: "Yes."})  # fmt: skip
    broken = dict.fromkeys(range(3, 38, 5), 0)
    figures = {("", metric.name): [1] * 60 for metric in metrics} | {("", "latency"): [1.0] * 60}
    before = write(tmp_path / "old", figures, tags=kinds, metrics=[*metrics, LATENCY])
    after = figures | {("", "coherence"): [broken.get(n, 1) for n in range(60)],
                       ("", "latency"): [1.5 - n % 2 for n in range(60)]}  # fmt: skip
    return write(tmp_path / "new", after, tags=kinds, metrics=[*metrics, LATENCY]), before


def test_tests_that_can_show_nothing_count_for_no_other(tmp_path):
    """Of 15 tests ten are on equal figures: p is multiplied by four, and those that could show nothing are told."""
    run, before = edited(tmp_path)
    found = compare(run, against=before, by="kind")
    assert (found.family.tests, found.family.counted) == (15, 4)  # three can come below 0.05 / 4, five below 0.05 / 3
    broken = only(found, "coherence", "x")
    assert (broken.test.p, broken.test.tests, broken.test.corrected) == (2**-6, 4, 4 * 2**-6)
    equal = [one for one in found.contrasts if one.verdict == "equal on every question"]
    assert len(equal) == 10
    assert not any(one.test.capable for one in (*equal, broken))
    assert all(one.test.capable for one in found.contrasts if one.metric == "latency")


def test_what_changed_is_named(tmp_path):
    """A computed metric that fell on seven questions has changed, whatever p is; the questions are named."""
    run, before = edited(tmp_path)
    for how in ("bonferroni", "holm"):
        broken = only(compare(run, against=before, by="kind", correction=how), "coherence", "x")
        assert (broken.verdict, broken.won, broken.lost, broken.n) == ("changed", 0, 7, 40)
        assert broken.lost_questions == ("q13", "q18", "q23", "q28", "q3", "q33", "q8")
        assert broken.won_questions == ()
    alone = only(compare(run, against=before, metrics=["coherence"]), "coherence")
    assert (alone.verdict, alone.test.corrected) == ("worse", 2**-6)


def test_judges_and_times_are_noisy(tmp_path):
    """A judged metric, a time, another judge and another method have no facts: the test decides."""
    run, before = edited(tmp_path, judged=True)
    found = compare(run, against=before, by="kind")
    assert only(found, "coherence", "x").verdict == "no difference seen"
    assert only(found, "latency").verdict == "no difference seen"
    assert len(only(found, "latency").won_questions) == 30
    figures = {("a", "right"): [1] * 39 + [0], ("b", "right"): [1] * 40}
    assert only(compare(write(tmp_path / "two", figures), baseline="b")).verdict == "no difference seen"
    mine, other = ({("a", "right"): [1] * 39 + [end]} for end in (0, 1))
    runs = write(tmp_path / "mine", mine), write(tmp_path / "other", other, judge="another")
    assert only(compare(runs[0], against=runs[1])).verdict == "no difference seen"


def test_the_largest_differences_come_first(tmp_path):
    """Won and lost questions stand in the order of their differences; lower can be better."""
    figures = {("a", "latency"): [3.0, 1.0, 2.0, 9.0, 2.5], ("b", "latency"): [2.0, 2.0, 2.0, 2.0, 2.0]}
    run = compare(write(tmp_path, figures), baseline="b")
    found = only(run, "latency")
    assert (found.won_questions, found.lost_questions) == (("q1",), ("q3", "q0", "q4"))
    first = only(run.name_first(1), "latency")
    assert (first.won_questions, first.lost_questions, first.lost) == (("q1",), ("q3",), 3)


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


def test_without_a_baseline_all_pairs_are_compared(tmp_path):
    """Three methods make three pairs, each once."""
    found = compare(write(tmp_path, {(name, "right"): [1, 0, 1] for name in "abc"}))
    assert [(one.method, one.baseline) for one in found.contrasts] == [("b", "a"), ("c", "a"), ("c", "b")]
    assert found.family.told == "3 tests: 3 pairs of methods x 1 metric x 1 group"


def test_identical_methods_are_equal(tmp_path):
    """Two methods that never differ have p = 1 and an interval from the scale, not one of width 0."""
    found = only(compare(write(tmp_path, {("a", "right"): [1] * 30, ("b", "right"): [1] * 30}), baseline="b"))
    assert (found.test.p, found.test.mid_p, found.verdict) == (1, 1, "equal on every question")
    assert found.interval.method == "bounded"
    assert found.interval.low < 0 < found.interval.high


def test_values_without_numbers_are_not_compared(tmp_path):
    """Categories without scores are told as not comparable, and make no test."""
    figures = {(name, metric): [value] * 4 for name in "ab" for metric, value in (("right", 1), ("tone", UNSCORED))}
    found = compare(write(tmp_path, figures), baseline="a")
    assert found.without_numbers == ("tone",)
    assert {one.metric for one in found.contrasts} == {"right"}


def test_nothing_in_common_is_told(tmp_path):
    """Where no question has both figures there is no test and no verdict, and the family counts it out."""
    figures = {("a", "right"): [1, 1, MISSING], ("b", "right"): [FAILED, FAILED, 1]}
    found = compare(write(tmp_path, figures), baseline="b")
    one = only(found)
    assert (one.n, one.questions, one.test, one.difference, one.verdict) == (0, 3, None, None, "nothing to compare")
    assert found.family.told == "0 tests: 1 method x 1 metric x 1 group, 1 of them without a pair"


def test_a_metric_that_nobody_could_judge_stays_in_sight(tmp_path):
    """Where all questions were skipped or failed, the row says that there is nothing to compare."""
    figures = {(name, "depth"): [SKIPPED, FAILED] for name in "ab"} | {(name, "right"): [1, 0] for name in "ab"}
    found = compare(write(tmp_path, figures), baseline="b")
    assert found.without_numbers == ()
    assert only(found, "depth").verdict == "nothing to compare"
    assert found.family.tests == 1


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
    assert "the scale has no upper end" in comparison.warnings[0]


def test_equal_gaps_are_no_warning(tmp_path):
    """Where both sides lack the same figures, pairs are typical of what there is."""
    figures = {(name, "right"): [1, 0] * 10 + [FAILED] * 5 for name in "ab"}
    assert compare(write(tmp_path, figures), baseline="b").warnings == ()


def test_a_few_questions_can_show_no_difference(tmp_path):
    """With so few questions that no p could be low enough, no detectable difference is named."""
    figures = {("a", "right"): [1] * 5, ("b", "right"): [0] * 5}
    found = only(compare(write(tmp_path, figures), baseline="b"))
    assert (found.test.p, found.verdict, found.detectable) == (0.0625, "too few questions to tell", None)


def test_more_questions_show_smaller_differences(tmp_path):
    """The detectable difference shrinks with the root of the number of questions."""
    found = []
    for times in (10, 40):
        figures = {("a", "right"): [1, 1, 0, 0, 1] * times, ("b", "right"): [1, 0, 1, 0, 1] * times}
        found.append(only(compare(write(tmp_path / str(times), figures), baseline="b")).detectable)
    assert found[1] == pytest.approx(found[0] / 2, rel=0.02)


def clusters(tmp_path, tags):
    """Write 40 questions in 10 documents; within a document the method is better in all or in none."""
    figures = {
        ("a", "right"): [n // 4 % 5 != 0 for n in range(40)],
        ("b", "right"): [n // 4 % 5 == 0 for n in range(40)],
    }
    return write(tmp_path, {key: [int(value) for value in column] for key, column in figures.items()}, tags=tags)


def test_questions_of_a_document_are_not_independent(tmp_path):
    """By cluster the interval is wider, and the test flips whole documents in place of McNemar's."""
    run = clusters(tmp_path, [{"doc": f"d{n // 4}"} for n in range(40)])
    alone, by_doc = only(compare(run, baseline="b")), only(compare(run, baseline="b", cluster_by="doc"))
    assert (alone.clusters, by_doc.clusters) == (None, 10)
    assert (alone.test.name, by_doc.test.name) == ("mcnemar chi-square", "cluster permutation")
    assert by_doc.test.p == pytest.approx(2 * (1 + 10 + 45) / 2**10)
    assert by_doc.test.p > 10 * alone.test.p
    assert by_doc.interval.high - by_doc.interval.low > 1.8 * (alone.interval.high - alone.interval.low)
    assert by_doc.detectable > alone.detectable


def test_few_clusters_and_questions_without_are_told(tmp_path):
    """Fewer than eight clusters make rough figures; a question without the tag is a cluster of its own."""
    run = clusters(tmp_path, [{"doc": f"d{n // 8}"} if n < 38 else {} for n in range(40)])
    found = compare(run, baseline="b", cluster_by="doc")
    assert only(found).clusters == 7
    assert found.warnings == (
        "2 questions have no tag doc: each of them is its own cluster",
        "all questions: only 7 different doc: with fewer than 8 clusters intervals and tests are rough",
    )


def test_a_run_is_compared_with_an_earlier_one(tmp_path):
    """Each method is compared with itself; one that is in one run only is told."""
    old = write(tmp_path / "old", {("a", "right"): [0] * 12, ("gone", "right"): [1] * 12})
    new = write(tmp_path / "new", {("a", "right"): [1] * 12, ("fresh", "right"): [1] * 12})
    found = compare(new, against=old)
    one = only(found)
    assert (one.method, one.baseline, one.difference, one.verdict) == ("a", f"a in {old}", 1.0, "better")
    assert found.warnings == (
        f"method fresh is in {new} only, not in {old}: it is not compared",
        f"method gone is in {old} only, not in {new}: it is not compared",
    )
    assert compare(new, against=old, methods=["a"]).warnings == ()


def test_questions_are_matched_by_their_id_between_runs(tmp_path):
    """Another order of the questions in the other run changes nothing; new questions are missing there."""
    old = write(tmp_path / "old", {("a", "right"): [1, 0, 0]}, names=["q1", "q2", "q3"])
    new = write(tmp_path / "new", {("a", "right"): [0, 0, 1, 1]}, names=["q3", "q2", "q1", "q4"])
    found = only(compare(new, against=old))
    assert (found.questions, found.n, found.tied, found.baseline_left_out.missing) == (4, 3, 3, 1)


def test_different_judges_are_told_loudly(tmp_path):
    """Where the sides were judged by different judges, the first warning says so and the comparison is marked."""
    old = write(tmp_path / "old", {("a", "right"): [0] * 12}, judge="gpt-a")
    new = write(tmp_path / "new", {("a", "right"): [1] * 12}, judge="gpt-b")
    found = compare(new, against=old)
    assert not only(found).judged_alike
    assert found.warnings[0].startswith("NOT COMPARABLE: right of a and of a in ")
    assert only(compare(new, against=new)).judged_alike


def test_a_metric_without_a_definition_is_told(tmp_path):
    """A metric that neither the run nor greval knows is taken as better when higher, and that is told."""
    run = write(tmp_path, {(name, "odd"): [1, 2, 3] for name in "ab"}, metrics=())
    assert compare(run, baseline="b").warnings == ("odd: its definition is not in the run; higher is taken as better",)


@pytest.mark.parametrize(
    ("wishes", "told"),
    [
        ({"baseline": "c"}, "no method 'c' is there; known: a, b"),
        ({"baseline": "a", "methods": ["bb"]}, "no method 'bb' is there; did you mean b?"),
        ({"metrics": ["rigth"]}, "no metric 'rigth' is there; did you mean right?"),
        ({"by": "kidn"}, "no tag 'kidn' is there; did you mean kind?"),
        ({"cluster_by": "doc"}, "no tag 'doc' is there; known: kind"),
        ({"by": "method"}, "group by a tag of the questions instead of by method"),
        ({"baseline": "a", "methods": ["a"]}, "nothing to compare: its methods are a, b; compare with an earlier run"),
        ({"baseline": "a", "against": "x"}, "either a baseline or an earlier run"),
        ({"level": 95}, "between 0 and 1, got 95; 0.95 is usual"),
    ],
)
def test_wrong_wishes_are_told_with_what_is_there(tmp_path, wishes, told):
    """Each name that is not there is told with the nearest ones or all of them."""
    run = write(tmp_path, {(name, "right"): [1, 0] for name in "ab"}, tags=[{"kind": "x"}] * 2)
    with pytest.raises(DataError, match=told):
        compare(run, **wishes)


def test_runs_must_be_there_and_share_a_method(tmp_path):
    """A folder that is no run, and runs without a common method, are told."""
    run = write(tmp_path / "a", {("a", "right"): [1]})
    with pytest.raises(StoreError, match="no run is there"):
        compare(run, against=tmp_path / "none")
    with pytest.raises(DataError, match=r"no method is in both runs: .* has a; .* has b"):
        compare(run, against=write(tmp_path / "b", {("b", "right"): [1]}))


def test_a_comparison_is_data(tmp_path):
    """JSON holds all of it: reading it back gives an equal comparison."""
    run = write(tmp_path, {(name, "depth"): [1, 2, 5, 4] for name in "ab"} | {("a", "right"): [1]})
    found = compare(run, baseline="b")
    assert Comparison.model_validate_json(found.model_dump_json()) == found


def test_order_of_questions_and_of_methods_change_nothing(tmp_path):
    """Through run folders too: swapped methods mirror the comparison, and mixed questions leave it as it is."""
    rng = np.random.default_rng(4)
    a, b = ([round(float(value), 2) for value in rng.gamma(2.0, 1.0, 40)] for _ in "ab")
    order = [int(n) for n in rng.permutation(40)]
    tags = [{"kind": "xy"[n % 2]} for n in range(40)]
    run = write(tmp_path / "run", {("a", "latency"): a, ("b", "latency"): b}, tags=tags)
    mixed = write(
        tmp_path / "mixed",
        {("b", "latency"): [b[n] for n in order], ("a", "latency"): [a[n] for n in order]},
        tags=[tags[n] for n in order],
        names=[f"q{n}" for n in order],
    )
    one, other, again = (
        compare(folder, baseline=baseline, by="kind").contrasts
        for folder, baseline in ((run, "b"), (run, "a"), (mixed, "b"))
    )
    for left, right, same in zip(one, other, again, strict=True):
        mirrored(left, right)
        alike(left, same)


figures = st.one_of(
    st.sampled_from([0.0, 1.0]), st.integers(1, 5).map(float), st.floats(0, 9).map(lambda x: round(x, 2))
)
states = st.sampled_from([SCORED] * 4 + [1, 2, 3, 4])
rows = st.tuples(figures, states, figures, states, st.integers(0, 5))
RULES = ContrastSettings(level=0.95, alpha=0.05 / 3, resamples=999)


def compared(given_rows, *, by_cluster, swapped=False):
    """Compare made-up figures without a run folder."""
    first, first_states, second, second_states, codes = (np.array(column) for column in zip(*given_rows, strict=True))
    sides = SideFigures(first, first_states), SideFigures(second, second_states)
    method, baseline = reversed(sides) if swapped else sides
    names = ContrastNames("depth", "", "a", "b")
    scale = ScaleDirection("lower" if len(given_rows) % 2 else "higher", 0.0, 9.0)
    found = compute_contrast(
        QuestionPairs(method, baseline, codes if by_cluster else None, np.arange(len(codes))), names, scale, RULES
    )
    return apply_correction(found, CorrectedP(found.test.p if found.test else 1.0, 1, capable=True), RULES.alpha)


@settings(deadline=None, max_examples=60)
@given(st.lists(rows, min_size=1, max_size=14), st.booleans(), st.randoms(use_true_random=False))
def test_comparisons_mirror_and_know_no_order(given_rows, by_cluster, shuffler):
    """Swapping the methods mirrors every figure, and another order of the questions changes none."""
    found = compared(given_rows, by_cluster=by_cluster)
    mirrored(found, compared(given_rows, by_cluster=by_cluster, swapped=True))
    mixed = [*given_rows]
    shuffler.shuffle(mixed)
    alike(found, compared(mixed, by_cluster=by_cluster))


def mirrored(left, right):
    """Check that two comparisons are each other's mirror image."""
    assert (left.n, left.won, left.tied, left.lost) == (right.n, right.lost, right.tied, right.won)
    assert (left.method_left_out, left.baseline_left_out) == (right.baseline_left_out, right.method_left_out)
    assert left.verdict == {"better": "worse", "worse": "better"}.get(right.verdict, right.verdict)
    if left.test is None:
        assert left.n == 0
        return
    assert left.difference == pytest.approx(-right.difference, abs=1e-9)
    assert 0 < left.test.p <= left.test.corrected <= 1
    assert left.test.corrected == pytest.approx(right.test.corrected)
    assert left.detectable == pytest.approx(right.detectable)
    if left.interval and abs(left.difference) > 1e-9:  # of a symmetric set the mirror image is the set itself
        assert (left.interval.low, left.interval.high) == pytest.approx((-right.interval.high, -right.interval.low))


def alike(left, right):
    """Check that two comparisons are equal up to the last digits."""
    assert flat(left.model_dump()) == pytest.approx(flat(right.model_dump()), abs=1e-9)


def flat(found, prefix=""):
    """Give the fields of a record as one mapping."""
    if not isinstance(found, dict):
        return {prefix: str(found) if isinstance(found, tuple) else found}
    return {key: value for name, inner in found.items() for key, value in flat(inner, f"{prefix}.{name}").items()}
