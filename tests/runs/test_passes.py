"""Cases that pass: read from the metric, counted in the report and by the gate, without judging again."""

import json

import pytest
from judged_runs import DEPTH, TONE, cases, judge
from report_page import print_page
from statsmodels.stats.proportion import proportion_confint

from greval import evaluate
from greval.analysis.gate.api import check_gate
from greval.analysis.summary import build_report
from greval.errors import DataError, DefinitionError
from greval.metrics.files import parse_metric, write_metric
from greval.records.metric_input import compute_fingerprint
from greval.report.console import render
from greval.runs.run_summary import is_passed
from greval.runs.store import Store


def with_pass(metric, condition):
    return type(metric).model_validate({**dict(metric), "pass_if": condition})


def report(folder, **options):
    """Return the report of a run."""
    with Store.open(folder) as store:
        return build_report(store, **options)


def test_the_share_is_that_of_the_numbers(tmp_path):
    """The report counts the cases whose number meets the condition, by group, with Wilson's interval."""
    metric = with_pass(DEPTH, ">= 4")
    run = evaluate(cases(40), [metric], judge(metric), out=tmp_path)
    values = {result.sample_id: (result.outcome.judgements[0].number, result.method) for result in run.results()}
    for group, summary in {summary.group: summary for summary in report(tmp_path).passes}.items():
        numbers = [number for number, method in values.values() if method == group]
        passed = sum(number >= 4 for number in numbers)
        assert (summary.metric, summary.condition, summary.counted, summary.passed) == ("depth", ">= 4", 20, passed)
        assert summary.share == pytest.approx(passed / 20)
        low, high = proportion_confint(passed, 20, method="wilson")
        assert (summary.interval.low, summary.interval.high) == pytest.approx((low, high))
    assert [summary.group for summary in report(tmp_path, by=["topic"]).passes] == [f"topic {n}" for n in range(4)]


@pytest.mark.parametrize(
    ("numbers", "condition", "passed"),
    [([1, 0], ">= 0.7", False), ([1, 0], "<= 0.5", True), ([1, 1, 0], "> 0.6", True), ([], ">= 0", None)],
)
def test_the_mean_of_a_case_decides(numbers, condition, passed):
    """A case passes by the mean of its items, not by the best or the worst; without a number there is no answer."""
    outline = json.dumps(["scored", [[str(number), number] for number in numbers], [], None])
    assert is_passed(outline, condition) is passed


def test_an_edit_is_reported_without_judging_again(tmp_path):
    """The fingerprint is the same with and without it, and the same command reports the new share."""
    prints = {compute_fingerprint(with_pass(DEPTH, text), {}) for text in ("", ">= 4", "< 2")}
    assert prints == {compute_fingerprint(DEPTH, {})}
    assert report(evaluate(cases(6), [DEPTH], judge(DEPTH), out=tmp_path).folder).passes == ()
    second_judge = judge(DEPTH)
    evaluate(cases(6), [with_pass(DEPTH, ">= 1")], second_judge, out=tmp_path)
    assert [summary.share for summary in report(tmp_path).passes] == [1.0, 1.0]
    assert not second_judge.calls


def test_the_gate_can_name_the_share(tmp_path):
    """`.passed` is the share of cases that pass; without `pass` it is undecided and says what to add."""
    metric = with_pass(DEPTH, ">= 1")
    folder = evaluate(cases(6), [metric, TONE], judge(metric), out=tmp_path).folder
    passed, failed, undefined = check_gate(folder, ["depth.passed < 1", "depth@topic 1.passed >= 1", "tone.passed < 1"])
    assert (passed.status, failed.status, undefined.status) == ("passed", "failed", "undecided")
    assert passed.told[0] == "local: 1 not < 1 (3 of 3 pass)"
    assert "add pass: '>= 0.7'" in undefined.told[0]
    with pytest.raises(DataError, match="did you mean depth"):
        check_gate(folder, ["depth.pass < 1"])


def test_the_table_has_number_share_and_interval(tmp_path):
    """The report prints the condition, how many pass, and the share with its interval, for each method."""
    metric = with_pass(DEPTH, ">= 1")
    evaluate(cases(6), [metric], judge(metric), out=tmp_path)
    page = print_page(render, report(tmp_path))
    assert "Cases that pass" in page
    rows = [line.split() for line in page.splitlines() if ">= 1" in line]
    assert [row[:7] for row in rows] == [["depth", name, ">=", "1", "3", "of", "3"] for name in ("local", "walk")]
    assert rows[0][7:] == ["1.00", "[0.44,", "1.00]"]
    evaluate(cases(6), [DEPTH], judge(DEPTH), out=tmp_path)
    assert "Cases that pass" not in print_page(render, report(tmp_path))


def test_categories_without_numbers_cannot_pass():
    """A scale without numbers has nothing to hold against the condition."""
    with pytest.raises(DefinitionError, match="pass: the categories have no numbers; give them scores"):
        parse_metric(f"{write_metric(TONE)}pass: '>= 1'\n")
