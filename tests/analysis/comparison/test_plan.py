"""The plan of a comparison: its methods, groups and runs, and requests that are refused."""

import pytest
from compared_runs import UNSCORED, write
from contrast_data import only

from greval.analysis.comparison.api import compare
from greval.analysis.comparison.changed_cases import list_changed_questions, read_changed_questions
from greval.errors import DataError, StoreError


def test_groups_and_all_questions_are_one_family(tmp_path):
    """The overall test and that of each value of a tag are corrected together, and told so."""
    tags = [{"kind": "x"}] * 10 + [{"kind": "y"}] * 10 + [{}]
    figures = {
        (name, metric): [n % 2 * shift for n in range(21)]
        for name, shift in (("a", 1), ("b", 0))
        for metric in ("right", "ndcg@10")
    }
    comparison = compare(write(tmp_path, figures, tags=tags), baseline="b", by="kind")
    assert [contrast.group for contrast in comparison.contrasts] == ["", "(none)", "x", "y"] * 2
    assert comparison.family.told == "8 tests: 1 method x 2 metrics x 4 groups (all questions and each group by itself)"
    assert comparison.family.tests == 8
    assert {
        (contrast.group, contrast.test.p, contrast.test.tests, contrast.test.capable)
        for contrast in comparison.contrasts
    } == {
        ("", 2**-9, 2, True),
        ("x", 2**-4, 2, False),  # five differing questions cannot give a p below the level
        ("y", 2**-4, 2, False),
        ("(none)", 1, 2, False),
    }
    for contrast in comparison.contrasts:
        assert contrast.test.corrected == min(1, contrast.test.tests * contrast.test.p)
    assert comparison.family.counted == 2
    assert only(comparison).n == 21
    assert only(comparison, group="x").n == 10


def test_without_a_baseline_all_pairs_are_compared(tmp_path):
    """Three methods make three pairs, each once."""
    comparison = compare(write(tmp_path, {(name, "right"): [1, 0, 1] for name in "abc"}))
    assert [(contrast.method, contrast.baseline) for contrast in comparison.contrasts] == [
        ("b", "a"),
        ("c", "a"),
        ("c", "b"),
    ]
    assert comparison.family.told == "3 tests: 3 pairs of methods x 1 metric x 1 group"


def test_values_without_numbers_are_not_compared(tmp_path):
    """Categories without scores are told as not comparable, and make no test."""
    figures = {(name, metric): [value] * 4 for name in "ab" for metric, value in (("right", 1), ("tone", UNSCORED))}
    comparison = compare(write(tmp_path, figures), baseline="a")
    assert comparison.without_numbers == ("tone",)
    assert {contrast.metric for contrast in comparison.contrasts} == {"right"}


def test_a_run_is_compared_with_an_earlier_one(tmp_path):
    """Each method is compared with itself; one that is in one run only is told."""
    old = write(tmp_path / "old", {("a", "right"): [0] * 12, ("gone", "right"): [1] * 12})
    new = write(tmp_path / "new", {("a", "right"): [1] * 12, ("fresh", "right"): [1] * 12})
    comparison = compare(new, against=old)
    one = only(comparison)
    assert (one.method, one.baseline, one.difference, one.verdict) == ("a", f"a in {old}", 1.0, "better")
    assert comparison.warnings == (
        f"method fresh is in {new} only, not in {old}: it is not compared",
        f"method gone is in {old} only, not in {new}: it is not compared",
    )
    assert compare(new, against=old, methods=["a"]).warnings == ()


def test_two_runs_without_methods_are_told_apart(tmp_path):
    """If cases name no method, each side is named by its run, and the questions that changed have their cases."""
    old = write(tmp_path / "old", {("", "right"): [0] * 12})
    comparison = compare(write(tmp_path / "new", {("", "right"): [1] * 12}), against=old)
    assert [(one.method, one.baseline) for one in comparison.contrasts] == [("now", f"before in {old}")]
    (first, *_) = read_changed_questions(comparison, list_changed_questions(comparison))
    assert (first.method_case.method, first.baseline_case.method) == ("", "")


def test_questions_are_matched_by_their_id_between_runs(tmp_path):
    """Another order of the questions in the other run changes nothing; new questions are missing there."""
    old = write(tmp_path / "old", {("a", "right"): [1, 0, 0]}, names=["q1", "q2", "q3"])
    new = write(tmp_path / "new", {("a", "right"): [0, 0, 1, 1]}, names=["q3", "q2", "q1", "q4"])
    contrast = only(compare(new, against=old))
    assert (contrast.questions, contrast.n, contrast.tied, contrast.baseline_left_out.missing) == (4, 3, 3, 1)


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


def test_a_run_whose_cases_name_no_method_says_how_to_name_it(tmp_path):
    """One method by name has nothing to compare with; without any name, the column that holds it may be unread."""
    with pytest.raises(DataError, match=r"its cases name no method; judge them with columns={'method': 'NAME'}"):
        compare(write(tmp_path / "none", {("", "right"): [1, 0]}))
    with pytest.raises(DataError, match="nothing to compare: its methods are a; compare with an earlier run"):
        compare(write(tmp_path / "one", {("a", "right"): [1, 0]}))
