"""Conditions on one run: what they can name, the figures that they are held against, and that no data never passes."""

import pytest
from compared_runs import FAILED, SKIPPED, UNSCORED, write
from judged_runs import KINDS, cases, judge, judged

from greval import evaluate
from greval.analysis.comparison.api import compare
from greval.analysis.gate.api import check_gate
from greval.analysis.gate.conditions import check_conditions
from greval.analysis.summary import build_report
from greval.errors import DataError
from greval.records.result import Judgement
from greval.runs.store import Store

TAGS = [{"kind": "multi hop", "release": "v1.0"}] * 6 + [{"kind": "single", "release": "v1.0.low"}] * 4


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Write a run of two methods: walk is right on 7 of 10 questions, local on 5 and failed on one."""
    figures = {
        ("local", "right"): [FAILED, 1, 0, 1, 0, 1, 0, 1, 0, 1],
        ("walk", "right"): [1] * 7 + [0] * 3,
        ("walk", "latency"): [2.0, 4.0] * 5,
        ("walk", "ndcg@10"): [0.5] * 10,
        ("walk", "tone"): [UNSCORED] * 10,
    }
    return write(tmp_path_factory.mktemp("run") / "run", figures, tags=TAGS)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return write(tmp_path_factory.mktemp("run") / "alone", {("", "right"): [1, 1, 1, 0]})


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        ("right < 0.5", "passed"),
        ("right < 0.6", "failed"),
        ("walk: right < 0.7", "passed"),
        ("walk: right <= 0.7", "failed"),
        ("walk: right.mean <= 0.7", "failed"),
        ("walk: right@multi hop < 1", "passed"),
        ("walk: right@kind=multi hop < 1", "passed"),
        ("walk: right@single < 0.26", "failed"),
        ("walk:right@ single<0.25", "passed"),
        ("right.failed > 0", "failed"),
        ("walk: right.failed > 0", "passed"),
        ("right@single.failed > 0", "passed"),
        ("local: right.n < 10", "failed"),
        ("local: right.n < 9", "passed"),
        ("walk: right.low < 0.34", "passed"),
        ("walk: right.low < 0.35", "failed"),
        ("walk: right.high > 0.92", "passed"),
        ("walk: right.high > 0.91", "failed"),
        ("walk: right@v1.0 < 1", "passed"),
        ("walk: right@v1.0.n > 5", "failed"),
        ("walk: right@v1.0.low < 0.5", "failed"),
        ("walk: right@release=v1.0.low.n > 3", "failed"),
        ("ndcg@10 < 0.5", "passed"),
        ("ndcg@10@single.n < 4", "passed"),
        ("latency > 3", "passed"),
        ("tone.n > 0", "passed"),
        ("tone < 1", "undecided"),
        ("tone.low < 1", "undecided"),
    ],
)
def test_conditions_are_met_by_the_figures_of_the_report(run, condition, status):
    """Means, ends of the interval and counts, of all questions or one value of a tag, of each method or one."""
    (check,) = check_gate(run, [condition])
    assert (check.status, check.met, check.condition) == (status, status != "passed", condition)


def test_the_figures_are_those_of_the_report(run):
    """Each figure of a condition is the one in the report by the same tag and method."""
    with Store.open(run) as store:
        report = build_report(store, by=["method", "kind"])
    for one in report.summaries:
        method, kind = one.group.split(" · ")
        place = f"{method}: {one.metric}@{kind}"
        ends = (one.interval.low, one.interval.high) if one.interval else (None, None)
        figures = {"mean": one.mean, "low": ends[0], "high": ends[1], "n": one.counted, "failed": one.failed}
        for name, figure in figures.items():
            low, high = check_gate(run, [f"{place}.{name} < {figure or 0}", f"{place}.{name} <= {figure or 0}"])
            expected = ("undecided", "undecided") if figure is None else ("passed", "failed")
            assert (low.status, high.status) == expected, (place, name)


def test_a_check_has_the_figures_of_each_method(run, alone):
    """Each method with results is told with its figure; a run without names of methods has none."""
    below, failed = check_gate(run, ["right < 0.6", "right.failed > 0"])
    assert below.told == ("local: 0.5556 < 0.6 (n = 9)", "walk: 0.7 not < 0.6 (n = 10)")
    assert failed.told == ("local: 1 > 0 (of 10)", "walk: 0 not > 0 (of 10)")
    low, count = check_gate(alone, ["right.low < 0.1", "right.n < 50"])
    assert low.told == ("0.1307 not < 0.1 (mean 0.75, n = 4)",)
    assert count.told == ("4 < 50",)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("rigth < 0.5", "no metric or METRIC@GROUP 'rigth' is there; did you mean right"),
        ("right@multihop < 0.5", "did you mean right@multi hop"),
        ("right@multihop.low < 0.5", "no metric or METRIC@GROUP 'right@multihop' is there"),
        ("right.median < 0.5", "no metric or METRIC@GROUP 'right.median' is there"),
        ("latency@v2 < 1", "is there"),
        ("wlak: right < 0.5", "no method 'wlak' is there; did you mean walk?"),
        ("right < baseline", "use greval compare RUN --baseline METHOD"),
        ("right", "has no sign; write [METHOD:]METRIC[@GROUP][.FIGURE] < LIMIT"),
    ],
)
def test_unknown_names_are_errors(run, condition, message):
    """What is not in the run is never silently passed: the nearest names, or what to do, are in the error."""
    with pytest.raises(DataError) as error:
        check_gate(run, ["right < 0.1", condition])
    assert message in str(error.value)
    assert repr(condition) in str(error.value)


def test_a_value_of_two_tags_needs_its_tag(tmp_path):
    """A value that several tags have is ambiguous, and the error shows how to write each."""
    run = write(tmp_path, {("", "right"): [1, 0]}, tags=[{"a": "x", "b": "y"}, {"a": "z", "b": "x"}])
    with pytest.raises(DataError, match="is a value of several tags; write right@a=x or right@b=x"):
        check_gate(run, ["right@x < 1"])
    assert [one.met for one in check_gate(run, ["right@a=x < 1", "right@b=x < 1"])] == [False, True]


def test_a_mean_weighted_by_probability_has_the_one_of_the_values_beside_it(tmp_path):
    """Who reads the condition sees why the mean is not the one of the values."""
    weighted = [Judgement(value=value, number=value + 0.25, reason="r") for value in (1, 2, 3)]
    run = write(tmp_path / "run", {("", "depth"): weighted})
    with Store.open(run) as store:
        (check,) = check_gate(store, ["depth < 2.1"])
    assert check.told == ("2.25 not < 2.1 (n = 3, plain 2)",)


def test_undefined_figures_are_undecided(tmp_path):
    """Where nothing has a value the condition is undecided, and says what was found; one missed method is enough."""
    figures = {("a", "right"): [FAILED, SKIPPED], ("b", "right"): [1, 1], ("c", "depth"): [SKIPPED] * 2}
    run = write(tmp_path, figures)
    passed, missed, skipped = check_gate(run, ["right < 0.5", "right < 1.5", "depth.high > 1"])
    assert passed.status == "undecided"
    assert passed.told[0] == "a: no case has a value (1 failed, 1 skipped); greval report RUN shows why"
    assert missed.status == "failed"
    assert skipped.status == "undecided"
    (absent,) = check_gate(run, ["a: depth < 3"])
    assert absent.status == "undecided"
    assert "no result is there" in absent.told[0]


def test_a_run_that_is_not_finished_does_not_pass(tmp_path):
    """Of a run that was stopped at a cap, a condition is missed or undecided."""
    run = judged_partly(tmp_path)
    passed, failed = check_gate(run, ["depth < -1", "depth < 9"])
    assert (passed.status, failed.status) == ("undecided", "failed")
    assert "4 not judged yet; run the same command again" in passed.told[-1]


def judged_partly(folder):
    """Judge two of six cases."""
    evaluate(cases(6), [KINDS["depth"]], judge(KINDS["depth"]), out=folder, max_calls=2, concurrency=1)
    return folder


def test_a_gate_takes_a_run_in_every_form(tmp_path):
    """A run is what `evaluate` returned, its folder as a text or a path, or a store; conditions are several."""
    folder = judged(tmp_path / "run", KINDS["depth"], 12)
    conditions = ["depth < 1", "depth@topic 1.n < 3", "walk: depth@topic=topic 1.n < 3"]
    with Store.open(folder) as store:
        found = check_gate(store, conditions)
    assert [one.status for one in found] == ["passed"] * 3
    assert found == check_gate(folder, conditions) == check_gate(str(folder), conditions)
    assert check_gate(folder, []) == ()
    with pytest.raises(DataError, match="conditions: expected several, got str"):
        check_gate(folder, "depth < 1")


def test_figures_that_a_comparison_has_not_are_refused(run):
    """A comparison has no interval of one method, and a baseline is a mean: the error says what to use."""
    found = compare(run, baseline="local", metrics=["right"])
    with pytest.raises(DataError, match=r"a comparison has no .low of one method, only mean and n; greval report RUN"):
        check_gate(found, ["right.low < 0.5"])
    with pytest.raises(DataError, match="baseline is a mean"):
        check_gate(found, ["right.n < baseline"])
    assert check_gate(found, ["right.n < 11"])[0].told == ("walk: 10 < 11",)


def test_names_of_metrics_are_checked_before_a_run():
    """Before a run only methods and tags are unknown: the rest of a condition is checked."""
    check_conditions(
        ["right < 1", "a:b: right@x.low < 1", "ndcg@10 < 1", "ndcg@10@x < 1", "x: ndcg@10.n < 1"], ["right", "ndcg@10"]
    )
    for condition, message in (
        ("rigth@x < 1", "no metric 'rigth' is there; did you mean right"),
        ("walk: rigth < 1", "no metric 'rigth' is there"),
        ("rightly < 1", "no metric 'rightly' is there"),
        ("right < high", "cannot be read"),
        ("right < baseline", "a single run has no baseline"),
    ):
        with pytest.raises(DataError, match=message):
            check_conditions([condition], ["right", "ndcg@10"])
