"""Warnings about a comparison."""

from compared_runs import FAILED, SKIPPED, write
from contrast_data import only, write_documents

from greval.analysis.comparison.api import compare


def test_a_metric_that_nobody_could_judge_stays_in_sight(tmp_path):
    """Where all questions were skipped or failed, the row says that there is nothing to compare."""
    figures = {(name, "depth"): [SKIPPED, FAILED] for name in "ab"} | {(name, "right"): [1, 0] for name in "ab"}
    comparison = compare(write(tmp_path, figures), baseline="b")
    assert comparison.without_numbers == ()
    assert only(comparison, "depth").verdict == "nothing to compare"
    assert comparison.family.tests == 1


def test_equal_gaps_are_no_warning(tmp_path):
    """Where both sides lack the same figures, pairs are typical of what there is."""
    figures = {(name, "right"): [1, 0] * 10 + [FAILED] * 5 for name in "ab"}
    assert compare(write(tmp_path, figures), baseline="b").warnings == ()


def test_few_clusters_and_questions_without_are_told(tmp_path):
    """Fewer than eight clusters make rough figures; a question without the tag is a cluster of its own."""
    run = write_documents(tmp_path, [{"doc": f"d{n // 8}"} if n < 38 else {} for n in range(40)])
    comparison = compare(run, baseline="b", cluster_by="doc")
    assert only(comparison).clusters == 7
    assert comparison.warnings == (
        "2 questions have no tag doc: each of them is its own cluster",
        "all questions: only 7 different doc: with fewer than 8 clusters intervals and tests are approximate",
    )


def test_different_judges_are_told_loudly(tmp_path):
    """Where the sides were judged by different judges, the first warning says so and the comparison is marked."""
    old = write(tmp_path / "old", {("a", "right"): [0] * 12}, judge="gpt-a")
    new = write(tmp_path / "new", {("a", "right"): [1] * 12}, judge="gpt-b")
    comparison = compare(new, against=old)
    assert not only(comparison).judged_alike
    assert comparison.warnings[0].startswith("NOT COMPARABLE: right of a and of a in ")
    assert only(compare(new, against=new)).judged_alike


def test_a_metric_without_a_definition_is_told(tmp_path):
    """A metric that neither the run nor greval knows is taken as better when higher, and that is told."""
    run = write(tmp_path, {(name, "odd"): [1, 2, 3] for name in "ab"}, metrics=())
    expected = "odd: its definition is not in the run; higher is assumed to be better"
    assert compare(run, baseline="b").warnings == (expected,)
