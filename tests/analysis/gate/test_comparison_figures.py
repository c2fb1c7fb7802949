"""The gate: what a condition may say, when it is met, and that no data never passes."""

import pytest
from compared_runs import FAILED, write

from greval.analysis.comparison.api import compare
from greval.analysis.gate.api import check_gate
from greval.analysis.gate.conditions import parse_condition
from greval.analysis.gate.figures import ComparisonFigures
from greval.errors import DataError

KINDS = [{"kind": "multi hop"}] * 5 + [{"kind": "10"}] * 5


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Compare two methods with one: walk is right on 7 of 10 questions, tree on 4, local on 5."""
    rights = {"local": [1, 0] * 5, "walk": [1] * 7 + [0] * 3, "tree": [0] * 6 + [1] * 4}
    figures = {(name, "right"): column for name, column in rights.items()}
    figures |= {(name, "ndcg@10"): [0.5, 0.7] * 5 for name in rights}
    figures |= {(name, "latency"): [2.0 + (name == "walk")] * 10 for name in rights}
    run = write(tmp_path_factory.mktemp("gate"), figures, tags=KINDS)
    return compare(run, baseline="local", by="kind")


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ("right < 0.4", False),
        ("right < 0.41", True),
        ("right <= 0.4", True),
        ("walk: right < 0.7", False),
        ("walk:right<=0.7", True),
        ("right < baseline", True),
        ("walk: right < baseline", False),
        ("walk: right < baseline + 0.2", False),
        ("walk: right <= baseline + 0.2", True),
        ("tree: right < baseline - 0.1", False),
        ("tree: right < baseline - 0.0999", True),
        ("latency > baseline * 1.5", False),
        ("latency >= baseline * 1.5", True),
        ("latency > baseline*1.2", True),
        ("tree: latency > baseline*1.2", False),
        ("tree: right < baseline / 2", False),
        ("walk: right <= max(baseline + 0.2, 2 / 3)", True),
        ("ndcg@10 < 0.6", False),
        ("ndcg@10@10 < 0.6", False),
        ("right@multi hop < 0.6", True),
        ("right @multi hop < 0.6", None),
        ("right@multi hop >= 1e0", True),
        ("walk: right@10 < .4", False),
        ("right > -1", True),
    ],
)
def test_conditions_are_met_by_their_figures(found, condition, met):
    """Names may hold @ and spaces; figures that are equal but for their last digits are equal."""
    if met is None:
        with pytest.raises(DataError, match="no metric or METRIC@GROUP 'right @multi hop' is there"):
            check_gate(found, [condition])
        return
    (checked,) = check_gate(found, [condition])
    assert checked.met is met
    assert checked.condition == condition


def test_the_longest_metric_is_meant(tmp_path):
    """Where a metric, and a group of a shorter one, are written alike, the metric is meant."""
    figures = {("a", metric): [1, 1] for metric in ("ndcg", "ndcg@10")} | {
        ("b", "ndcg"): [1, 1],
        ("b", "ndcg@10"): [0, 0],
    }
    run = write(tmp_path, figures, tags=[{"kind": "10"}, {"kind": "10@10"}])
    found = compare(run, baseline="b", by="kind")
    for text, names in (("ndcg@10", ("ndcg@10", "")), ("ndcg@10@10", ("ndcg@10", "10")), ("ndcg", ("ndcg", ""))):
        condition = parse_condition(f"{text} < 1", ComparisonFigures(found))
        assert (condition.place.metric, condition.place.value) == names


def test_a_condition_tells_the_figures_of_each_method(found):
    """Each method that is compared is told with its figures, whether it meets the condition or not."""
    relative, absolute = check_gate(found, ["right < baseline - 0.02", "right@multi hop<0.5"])
    assert relative.told == (
        "tree: 0.4 < 0.5 - 0.02 = 0.48 (n = 10, corrected p = 1)",
        "walk: 0.7 not < 0.5 - 0.02 = 0.48 (n = 10, corrected p = 0.62)",
    )
    assert absolute.told == ("tree: 0 < 0.5 (n = 5)", "walk: 1 not < 0.5 (n = 5)")


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("right", "has no sign; write [METHOD:]METRIC[@GROUP][.FIGURE] < LIMIT"),
        ("right == 0.5", "has no sign"),
        ("right < base", "cannot be read at column 9; write [METHOD:]METRIC"),
        ("right < baseline - walk", "cannot be read at column 20; write [METHOD:]METRIC"),
        ("right < 0.2 + baseline.x", "cannot be read at column 15; write [METHOD:]METRIC"),
        ("right < baseline == 'a'", "cannot be read at column 9"),
        ("right < 1 / 0", "it divides by '0', at column 6, which is 0"),
        ("< 0.5", "has no metric before its sign; write [METHOD:]METRIC"),
        ("right < nan", "cannot be read"),
        ("", "has no sign"),
        ("rigth < 0.5", "no metric or METRIC@GROUP 'rigth' is there; did you mean right"),
        ("right@multihop < 0.5", "did you mean right@multi hop"),
        ("right@ < 0.5", "no metric or METRIC@GROUP 'right@' is there"),
        ("wlak: right < 0.5", "no method 'wlak' is there; did you mean walk?"),
        ("local: right < 0.5", "no method 'local' is there; known: tree, walk"),
        ("walk: rigth < 0.5", "no metric or METRIC@GROUP 'rigth' is there"),
        ("__import__('os').getcwd() < 1", "is there"),
    ],
)
def test_bad_conditions_are_told_before_anything_is_checked(found, condition, told):
    """What cannot be read comes with the grammar, what is not there with the nearest names."""
    with pytest.raises(DataError) as error:
        check_gate(found, ["right < 0.4", condition])
    assert told in str(error.value)
    assert repr(condition) in str(error.value)


def test_a_gate_never_passes_on_no_data(tmp_path):
    """Where a figure is missing the condition counts as met, and says why."""
    figures = {("a", "right"): [FAILED] * 3 + [1], ("b", "right"): [1] * 3 + [FAILED], ("c", "latency"): [1.0] * 4}
    others = {("a", "clear"): [1] * 4, ("b", "clear"): [1] * 4}
    found = compare(write(tmp_path, figures | others), baseline="b")
    checks = check_gate(found, ["right < baseline", "c: right < 0.1", "latency > baseline"])
    assert [one.met for one in checks] == [True, True, True]
    assert checks[0].told[0] == "a: no question has a figure of both it and b"
    assert checks[1].told == ("c: no question has a figure",)


def test_a_gate_never_passes_on_other_judges(tmp_path):
    """A difference between two judges is none between two runs: such a condition counts as met."""
    old = write(tmp_path / "old", {("a", "right"): [1] * 4}, judge="one")
    new = write(tmp_path / "new", {("a", "right"): [1] * 4}, judge="other")
    relative, absolute = check_gate(compare(new, against=old), ["a: right < baseline", "right < 0.5"])
    assert (relative.met, absolute.met) == (True, False)
    assert relative.told == (f"a: judged by another definition or judge than a in {old}",)


def test_a_gate_never_passes_on_a_limit_without_a_value(tmp_path):
    """A limit that divides by a baseline of 0 decides nothing: the condition counts as met."""
    run = write(tmp_path, {("a", "right"): [1] * 4, ("b", "right"): [0] * 4})
    (check,) = check_gate(compare(run, baseline="b"), ["right < 1 / baseline"])
    assert (check.met, check.undecided) == (True, True)
    assert check.told == ("a: the limit has no value: it divides by 'baseline', at column 6, which is 0",)


def test_without_a_baseline_only_numbers_are_limits(tmp_path):
    """Where all pairs are compared, a number is held against every method, and a baseline is not there."""
    found = compare(write(tmp_path, {(name, "right"): [1, int(name == "a")] for name in "abc"}))
    (checked,) = check_gate(found, ["right < 0.7"])
    assert [text[0] for text in checked.told] == ["a", "b", "c"]
    assert checked.met
    with pytest.raises(DataError, match="there is no baseline; name one with baseline or against"):
        check_gate(found, ["right < baseline"])
