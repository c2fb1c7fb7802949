"""A comparison for the terminal: its columns, its verdicts, and what the legend explains."""

import pytest
from report_page import find_row, print_page

from greval.analysis.comparison.records import Comparison, Contrast, EffectSizes
from greval.report.comparison import (
    describe_findings,
    format_changed,
    format_comparison_legend,
    format_effect,
    format_p,
    format_relative,
    format_verdict,
    render,
)

INTERVAL = {"low": -0.02, "high": 0.3, "method": "expanded percentile"}
TEST = {"name": "paired permutation", "p": 0.04, "corrected": 0.08, "wilcoxon_p": 0.05}


def contrast(**more):
    """Return a contrast as JSON."""
    fields = {"metric": "tone", "group": "", "method": "walk", "baseline": "local", "better": "higher"}
    fields |= {"questions": 20, "n": 18, "method_mean": 0.75, "baseline_mean": 0.61, "difference": 0.14}
    fields |= {"won": 9, "tied": 5, "lost": 4, "interval": INTERVAL, "test": TEST, "verdict": "no difference seen"}
    return {**fields, "detectable": 0.2, **more}


def build(*contrasts, **more):
    """Return a comparison of contrasts with one baseline."""
    family = {"tests": 1, "counted": 1, "told": "1 test", "correction": "holm", "alpha": 0.05}
    fields = {"folder": "runs/x", "against": None, "baseline": "local", "methods": ["walk"], "by": [], "levels": []}
    fields |= {"cluster_by": None, "level": 0.95, "family": family, "contrasts": contrasts or [contrast()]}
    return Comparison.model_validate({**fields, **more})


def test_a_row_has_both_means_and_the_difference():
    """Short names of methods are headings; a wide page adds effect and uncorrected p."""
    narrow, wide = (print_page(render, build(), width=width) for width in (120, 200))
    verdict = "no difference seen (MDD 0.200)"
    assert find_row(narrow, "tone") == [
        *("tone", "18/20", "0.610", "0.750", "+0.140 [-0.020, +0.300]", "9/5/4", "0.08", verdict)
    ]
    assert find_row(narrow, "metric")[2:4] == ["local", "walk"]
    assert "0.04 W 0.05" in find_row(wide, "tone")


def test_the_decimals_are_those_of_the_means():
    """A difference of large means has few decimals, so that it lines up with them."""
    large = contrast(method_mean=1500.0, baseline_mean=1499.9, difference=0.1, interval=None)
    assert "+0 [no interval]" in find_row(print_page(render, build(large), width=120), "tone")


def test_without_a_pair_there_are_dashes():
    """No question has both figures: no mean, no difference and no p, and the verdict says why."""
    empty = contrast(n=0, method_mean=None, baseline_mean=None, difference=None, interval=None, test=None)
    empty |= {"verdict": "nothing to compare", "won": 0, "tied": 0, "lost": 0}
    row = find_row(print_page(render, build(empty), width=120), "tone")
    assert row == ["tone", "0/20", "-", "-", "-", "0/0/0", "-", "no question has both figures"]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"verdict": "better"}, "better"),
        ({"verdict": "better", "judged_alike": False}, "better; JUDGED DIFFERENTLY"),
        ({"verdict": "changed"}, "changed on 13 of 18 questions"),
        ({"detectable": None}, "no difference seen"),
    ],
)
def test_verdicts_are_formatted_by_their_kind(more, text):
    """A change has its number of questions, and other definitions or judges are pointed out."""
    assert format_verdict(Contrast.model_validate(contrast(**more))) == text


def test_long_or_taken_names_are_no_headings():
    """A method called p, or a long name, would be mistaken or widen the table."""
    for name in ("p", "a-long-method-name"):
        row = find_row(print_page(render, build(contrast(baseline=name)), width=120), "metric")
        assert row[2:4] == ["baseline", "method"]


def test_groups_are_below_their_metric():
    """A group's row is indented by its name, and clusters are counted beside the questions."""
    page = print_page(render, build(contrast(), contrast(group="hard", clusters=6, n=20), by=["kind"]), width=120)
    assert "metric, by kind" in page
    assert find_row(page, "hard")[:2] == ["hard", "20 in 6"]


def test_several_kinds_of_intervals_are_named():
    """The legend names the method of each interval, with its metrics if there are several methods."""
    bounded = contrast(metric="depth", group="hard", interval=INTERVAL | {"method": "bounded"})
    line = next(
        line for line in format_comparison_legend(build(contrast(), bounded)) if line.startswith("Confidence intervals")
    )
    assert "bootstrap (tone)" in line
    assert "an exact bound, as all differences are equal (depth (hard))" in line


def test_tests_that_could_not_reject_are_named():
    """The factor of Tarone's correction is given with the tests that it leaves out."""
    incapable = contrast(test=TEST | {"capable": False})
    assert "1 test could not reach significance" in next(format_comparison_legend(build(incapable)))


def test_each_pair_is_named_and_a_metric_only_once():
    """With several pairs, lost and won questions name theirs, and Tarone's line has each metric once."""
    tested = {"test": TEST | {"capable": False}, "won_questions": ["q1"], "lost_questions": ["q2", "q3"]}
    pairs = [("local", "basic"), ("walk", "basic"), ("walk", "local")]
    rows = [
        contrast(metric=metric, method=one, baseline=other, **tested)
        for metric in ("tone", "depth")
        for one, other in pairs
    ]
    rows[-1] |= {"test": TEST}
    found = build(*rows, baseline=None, methods=["basic", "local", "walk"])
    lines = [*format_changed(found)]
    assert lines[:3] == [f"tone, {one} against {other}: lost q2, q3; won q1" for one, other in pairs]
    told = next(format_comparison_legend(found))
    assert "5 tests could not reach significance (tone, depth (local against basic; walk against basic))" in told


def test_a_comparison_begins_with_a_plain_sentence():
    """The sentence names the metrics that differ, of each pair if there are several; groups are not in it."""
    rows = [contrast(), contrast(metric="depth"), contrast(metric="depth", group="hard", verdict="better")]
    seen = "with 18 questions only differences above 0.20 would be seen"
    assert [*describe_findings(build(rows[0]))] == [f"Not shown to differ in tone (+0.14); {seen}."]
    axes = [{"unit": "", "metrics": ["tone", "depth"], "end": 1}]
    assert [*describe_findings(build(*rows, axes=axes))] == [
        f"Not shown to differ in any of 2 metrics; {seen}; tone (+0.14) comes nearest."
    ]
    both = build(contrast(), contrast(method="tree"))
    assert [*describe_findings(both)] == [
        f"Not shown to differ in tone (2 pairs of methods); {seen}; tone (+0.14) of walk against local comes nearest."
    ]
    differing = [*rows[:1], contrast(metric="depth", verdict="worse"), contrast(metric="speed", verdict="better")]
    assert next(describe_findings(build(*differing))) == (
        "walk against local: better in speed (+0.14); worse in depth (+0.14); not shown to differ in tone (+0.14); "
        f"{seen}."
    )
    two = [contrast(detectable=None), contrast(method="tree", verdict="equal on every question", difference=0.0)]
    assert [*describe_findings(build(*two))] == [
        "walk against local: not shown to differ in tone (+0.14).",
        "tree against local: equal on every question in tone.",
    ]
    assert [*describe_findings(build(contrast(group="hard")))] == []


def test_what_could_have_been_seen_is_told_of_metrics_of_one_unit():
    """The nearest metric has the smallest p; the range is of its unit, and an interval beside 0 is explained."""
    near = {"p": 0.01, "corrected": 0.06}
    rows = [
        contrast(detectable=0.4),
        contrast(metric="depth", test=TEST | near, interval=INTERVAL | {"low": 0.02}),
        contrast(metric="seconds", detectable=3.0),
    ]
    axes = [{"unit": "", "metrics": ["tone", "depth"], "end": 1}, {"unit": "s", "metrics": ["seconds"], "end": 4}]
    assert next(describe_findings(build(*rows, axes=axes))) == (
        "Not shown to differ in any of 3 metrics; with 18 questions only differences above 0.20 to 0.40 would be seen "
        "in tone, depth; depth (+0.14) comes nearest, and its uncorrected interval excludes 0."
    )


def test_means_weighted_by_probability_are_named_with_the_means_of_the_values():
    """The sentence is below the table; means that are not weighted have none."""
    levels = [
        {"metric": "tone", "group": "", "method": "local", "n": 6, "mean": 0.47, "plain_mean": 0.5},
        {"metric": "tone", "group": "", "method": "walk", "n": 6, "mean": 0.51, "plain_mean": 0.5},
        {"metric": "depth", "group": "", "method": "walk", "n": 6, "mean": 0.51},
    ]
    (line,) = [line for line in format_comparison_legend(build(levels=levels)) if "weighted" in line]
    assert line.startswith("tone: each number is weighted by the probabilities")
    assert line.endswith("local 0.500, walk 0.500.")


def test_a_failed_gate_is_printed_at_the_end():
    """The condition and its figures follow the warnings."""
    gate = [{"condition": "tone < 0.8", "met": True, "told": ["walk: 0.75 < 0.8 (n = 18)"]}]
    assert print_page(render, build(gate=gate)).splitlines()[-1] == "FAILED: tone < 0.8; walk: 0.75 < 0.8 (n = 18)"


def test_small_p_values_and_missing_effects():
    """P is never printed as 0, and an undefined effect is a dash."""
    assert [format_p(p) for p in (0.0, 0.00009, 0.0001, 0.5)] == ["<0.0001", "<0.0001", "0.0001", "0.5"]
    assert [format_effect(one) for one in (EffectSizes(cohens_dz=-0.5), EffectSizes())] == ["dz -0.50", "-"]


def test_a_relative_difference_is_in_percent():
    """With its interval if it has one; a dash if there is no ratio."""
    interval = INTERVAL | {"low": -0.012, "high": 0.5, "method": "fieller"}
    shown = [
        contrast(relative_difference=0.205, relative_interval=interval),
        contrast(relative_difference=-0.1),
        contrast(),
    ]
    cells = [format_relative(row) for row in build(*shown).contrasts]
    assert cells == ["+20.5% [-1.2%, +50.0%]", "-10.0% [no interval]", "-"]
