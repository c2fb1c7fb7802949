"""The report of a run as data: verdicts as rows, and the cost of the judge."""

import pytest

from greval import Case, Store, ValueMetric, evaluate
from greval.analysis.summary import build_report, compute_spending
from greval.errors import DataError
from greval.judging.model.prices import Price
from greval.records.result import Failed, Failure, Judgement, Result, Scored, Skipped, Usage
from greval.runs.worst_cases import list_verdicts
from greval.stats.summary import summarise
from greval.testing import ScriptedJudge

DEPTH = ValueMetric(
    name="depth",
    description="The depth.",
    needs=["answer"],
    range=(1, 50),
    levels={1: "None.", 50: "All."},
    steps=["Read."],
)
PRICE = Price(input=2.0, output=10.0)


def build_result(outcome, **more):
    """Return a result of the metric."""
    fields = {
        "fingerprint": "f",
        "judge": "m",
        "tier": "schema",
        "usage": Usage(calls=1, input_tokens=500_000, output_tokens=100_000),
    }
    return Result(sample_id="q1", method="walk", metric="depth", outcome=outcome, **fields, **more)


@pytest.fixture
def run(tmp_path):
    """Return the folder of a run of four cases by two methods, judged 7."""
    judge = ScriptedJudge(lambda _: {"reason": "Because.", "value": 7})
    cases = [
        Case(id=f"q{n}", question="?", answer=f"{method} {n}", method=method, tags={"kind": "ab"[n]})
        for n in range(2)
        for method in ("walk", "local")
    ]
    evaluate(cases, [DEPTH], judge, out=tmp_path / "run")
    return tmp_path / "run"


def test_a_judgement_is_a_row_with_its_reason():
    """Each item of a result is a row of its own."""
    items = [Judgement(value=n, number=n, reason=f"Reason {n}.", item=f"c{n}") for n in (1, 2)]
    rows = [*list_verdicts(build_result(Scored(judgements=items)), DEPTH)]
    assert [(row.item, row.value, row.reason) for row in rows] == [("c1", "1", "Reason 1."), ("c2", "2", "Reason 2.")]
    assert {(row.sample_id, row.method, row.metric) for row in rows} == {("q1", "walk", "depth")}


@pytest.mark.parametrize(
    ("outcome", "value", "reason"),
    [
        (Failed(error=Failure(kind="timeout", message="late")), "failed: timeout", "late"),
        (Skipped(reason="no answer"), "skipped", "no answer"),
    ],
)
def test_what_was_not_judged_is_a_row_too(outcome, value, reason):
    """A failure and a skip have their reason, so that no case is missing from the report."""
    (row,) = list_verdicts(build_result(outcome))
    assert (row.value, row.reason) == (value, reason)


def test_the_cost_is_that_of_the_tokens():
    """A price per million tokens, or none, in which case the cost is not known."""
    summaries = summarise([build_result(Skipped(reason="no answer"))], [DEPTH])
    (priced,) = compute_spending(summaries, {DEPTH.name: ["j"]}, {"j": PRICE})
    assert priced.cost == pytest.approx(0.5 * 2 + 0.1 * 10)
    (unpriced,) = compute_spending(summaries, {DEPTH.name: ["j"]}, {})
    assert unpriced.cost is None


def test_each_metric_costs_what_its_judge_costs():
    """A metric of two judges has a cost only if they cost the same: the tokens of each are not known."""
    summaries = summarise([build_result(Skipped(reason="no answer"))], [DEPTH])
    prices = {"j": PRICE, "same": PRICE, "other": Price(input=4.0, output=20.0)}

    def cost(*judges):
        (found,) = compute_spending(summaries, {DEPTH.name: judges}, prices)
        return found.cost

    assert cost("other") == pytest.approx(2 * cost("j"))
    assert cost("j", "same") == cost("j")
    assert cost("j", "other") is None
    assert cost("j", "unpriced") is None


def test_groups_without_calls_cost_nothing():
    """A group for which no judge was asked has no row."""
    result = build_result(Skipped(reason="no answer")).model_copy(update={"usage": Usage()})
    assert compute_spending(summarise([result], [DEPTH]), {DEPTH.name: ["j"]}, {"j": PRICE}) == ()


def test_a_run_with_two_methods_is_grouped_by_them(run):
    """The default groups are the methods; a tag replaces them, and an unknown one is refused."""
    with Store.open(run) as store:
        report = build_report(store)
        assert (report.by, [summary.group for summary in report.summaries]) == (("method",), ["local", "walk"])
        assert [summary.group for summary in build_report(store, by=["kind"]).summaries] == ["a", "b"]
        with pytest.raises(DataError, match="size"):
            build_report(store, by=["size"])


def test_verdicts_are_included_if_wanted(run):
    """As many verdicts as asked for, with the values of short scales in their order."""
    with Store.open(run) as store:
        assert build_report(store).verdicts == ()
        report = build_report(store, show=3)
    assert [(row.value, row.reason) for row in report.verdicts] == [("7", "Because.")] * 3
    assert report.scales == {"depth": ()}
