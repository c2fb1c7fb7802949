"""Several judges in one run: each metric asks its own, and budget, failures, report and resumption follow."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from greval.analysis.summary import build_report
from greval.errors import JudgeError
from greval.judging.model.budget import RunGuard
from greval.judging.model.judge import Judge
from greval.judging.model.prices import Price, Prices
from greval.judging.model.reply_cache import Reply
from greval.records.metric import ValueMetric
from greval.records.result import Failure, Usage
from greval.report.console import render
from greval.runs.evaluation import evaluate
from greval.runs.forecast import forecast
from greval.runs.judges import choose_judges
from greval.runs.manifest import format_judges, read_usage
from greval.runs.merging import merge_runs
from greval.runs.store import Store
from greval.testing import ScriptedJudge

CASES = [{"id": f"q{n}", "question": f"Who is {n}?", "answer": "Ada."} for n in range(4)]
PRICES = Prices(
    models={"NamedJudge:small": Price(input=1, output=1), "NamedJudge:large": Price(input=10, output=10)},
    as_of="today",
    source="the test",
)


class NamedJudge(ScriptedJudge):
    """A scripted judge with a name, so that two of them differ."""

    model_name: str = ""


def metric(name, judge=None):
    levels = {0: "No.", 1: "Yes."}
    needs = ["question", "answer"]
    return ValueMetric(
        name=name, description=f"Is it {name}?", needs=needs, steps=["Read."], range=(0, 1), levels=levels, judge=judge
    )


@pytest.fixture
def judges():
    """Give a judge that says 0 and one that says 1."""
    small = NamedJudge([{"reason": "r", "value": 0}], model_name="small")
    large = NamedJudge([{"reason": "r", "value": 1}], model_name="large")
    return small, large


def printed(report):
    text = io.StringIO()
    render(report, Console(file=text, width=300))
    return text.getvalue()


def values(run):
    return {(result.metric, result.judge, result.value) for result in run.results()}


def test_each_metric_asks_its_own_judge(judges, tmp_path):
    """The results carry the judge that gave them, and no judge is asked by the metric of another."""
    small, large = judges
    metrics = [metric("plain"), metric("hard")]
    run = evaluate(CASES, metrics, small, judges={"hard": large}, out=tmp_path)
    assert values(run) == {("plain", "NamedJudge:small", 0), ("hard", "NamedJudge:large", 1)}
    assert len(small.calls) == len(large.calls) == len(CASES)
    assert all("Is it plain?" in call[0].text for call in small.calls)
    assert all("Is it hard?" in call[0].text for call in large.calls)


def test_a_resumed_run_asks_only_for_the_metric_whose_judge_changed(judges, tmp_path):
    """The same judges ask nothing again; another judge of one metric judges this metric only."""
    small, large = judges
    metrics = [metric("plain"), metric("hard")]
    evaluate(CASES, metrics, small, judges={"hard": large}, out=tmp_path)
    second_run = evaluate(CASES, metrics, small, judges={"hard": large}, out=tmp_path)
    assert second_run.progress.kept == 2 * len(CASES)
    changed = evaluate(CASES, metrics, small, out=tmp_path)
    assert len(small.calls) == 2 * len(CASES)
    assert values(changed) == {("plain", "NamedJudge:small", 0), ("hard", "NamedJudge:small", 0)}


@pytest.mark.parametrize("cap", [1, 3, 6])
def test_a_cap_counts_the_calls_of_all_judges(judges, tmp_path, cap):
    """The calls of both together stay within the cap, over several commands, and a higher one goes on."""
    small, large = judges
    options = {"judges": {"hard": large}, "out": tmp_path, "concurrency": 2}
    metrics = [metric("plain"), metric("hard")]
    first = evaluate(CASES, metrics, small, max_calls=cap, **options)
    assert len(small.calls) + len(large.calls) == cap
    assert "--max-calls" in first.why
    done = evaluate(CASES, metrics, small, max_calls=2 * len(CASES), **options)
    assert done.why is None
    assert (len(small.calls), len(large.calls)) == (len(CASES), len(CASES))


def test_a_capped_cost_is_the_sum_over_the_judges(judges, tmp_path):
    """Each call costs what its judge costs; without the price of one, a cost can neither be capped nor be stated."""
    small, large = judges
    metrics, options = [metric("plain"), metric("hard")], {"judges": {"hard": large}, "prices": PRICES}
    run = evaluate(CASES, metrics, small, out=tmp_path / "a", max_cost=1.0, **options)
    with Store.open(tmp_path / "a") as store:
        spent = {part.metric: part.cost for part in build_report(store).spending}
    assert spent["hard"] == pytest.approx(10 * spent["plain"], rel=0.2)
    assert run.progress.cost == pytest.approx(sum(spent.values()))
    free = Prices(models={"NamedJudge:small": Price(input=1, output=1)}, as_of="today", source="the test")
    with pytest.raises(JudgeError, match="NamedJudge:large: no price is known"):
        evaluate(CASES, metrics, small, out=tmp_path / "b", max_cost=1.0, **{**options, "prices": free})
    unpriced = evaluate(CASES, metrics, small, out=tmp_path / "b", **{**options, "prices": free})
    assert unpriced.progress.cost is None


def test_the_cost_is_that_of_what_was_judged(judges, tmp_path):
    """Another judge, another answer: what was paid for older results counts for the budget, and not in the report."""
    small, large = judges
    changed = [{**case, "answer": "Grace."} for case in CASES]

    def spend(cases, judge, name):
        evaluate(cases, [metric("plain")], judge, prices=PRICES, out=tmp_path / name)
        with Store.open(tmp_path / name) as store:
            (part,) = build_report(store).spending
            return part.usage.calls, part.cost, read_usage(store)

    _, cheap, _ = spend(CASES, small, "small")
    alone = spend(CASES, large, "large")
    replaced = spend(CASES, large, "small")
    assert replaced[:2] == alone[:2]
    assert {judge: usage.calls for judge, usage in replaced[2].items()} == {
        "NamedJudge:small": len(CASES),
        "NamedJudge:large": len(CASES),
    }
    calls, cost, usage = spend(changed, large, "small")
    assert (calls, usage["NamedJudge:large"].calls) == (len(CASES), 2 * len(CASES))
    assert cost == pytest.approx(alone[1], rel=0.1)
    assert cheap == pytest.approx(alone[1] / 10, rel=0.1)
    merge_runs(tmp_path / "merged", [tmp_path / "small"])
    with Store.open(tmp_path / "small") as store, Store.open(tmp_path / "merged") as merged:
        assert read_usage(merged) == read_usage(store) == usage
        assert build_report(merged).spending == build_report(store).spending
    merge_runs(tmp_path / "merged", [tmp_path / "small"])
    with Store.open(tmp_path / "merged") as merged:
        assert read_usage(merged) == usage


def test_the_cost_of_failed_calls_stays_when_they_are_repeated(tmp_path):
    """A result that failed and was judged again costs all calls of both."""
    verdict = {"reason": "r", "value": 1}
    failing, able = (NamedJudge(lambda _, told=told: told, model_name="small") for told in ("nonsense", verdict))

    def count_calls():
        with Store.open(tmp_path) as store:
            return [part.usage.calls for part in build_report(store).spending]

    evaluate(CASES[:1], [metric("plain")], failing, out=tmp_path)
    assert count_calls() == [len(failing.calls)]
    evaluate(CASES[:1], [metric("plain")], able, out=tmp_path)
    assert (len(able.calls), count_calls()) == (1, [len(failing.calls) + 1])


def test_the_forecast_has_the_calls_and_the_cost_of_each_judge(judges, tmp_path):
    """Each metric is forecast with its own judge; an unknown price makes the sum unknown, not smaller."""
    small, large = judges
    metrics = [metric("plain"), metric("hard")]
    estimate = forecast(CASES, metrics, small, judges={"hard": large}, out=tmp_path, prices=PRICES)
    parts = {part.metric: part for part in estimate.expected}
    assert {name: part.judge for name, part in parts.items()} == {
        "plain": "NamedJudge:small",
        "hard": "NamedJudge:large",
    }
    assert estimate.cost == pytest.approx(sum(part.cost for part in parts.values()))
    assert parts["hard"].cost > 5 * parts["plain"].cost
    free = Prices(models={"NamedJudge:small": Price(input=1, output=1)}, as_of="today", source="the test")
    assert forecast(CASES, metrics, small, judges={"hard": large}, out=tmp_path, prices=free).cost is None


def test_one_dead_judge_stops_the_run_although_the_other_answers():
    """Failures in a row are counted for each judge, and the reason names the one that failed."""
    time = [0.0]
    guard = RunGuard(clock=lambda: time[0])
    dead, alive = (guard.for_judge(cost=lambda _: None, hint="h", model=name) for name in ("openai:dead", "openai:ok"))
    dead_reply = Reply("", Usage(calls=1), Failure(kind="connection", message="refused"))
    for _ in range(20):
        time[0] += 1
        for part, reply in ((dead, dead_reply), (alive, Reply("{}", Usage(calls=1)))):
            if guard.why is None:
                part.admit_call()
                part.record_reply(reply)
    assert guard.why.startswith("20 calls of openai:dead in a row failed")
    assert guard.fatal
    assert (guard.calls, guard.flying) == (39, 0)


def test_what_a_metric_names_goes_before_the_run_and_after_the_caller():
    """The order is: `judges`, the metric, the judge of the run; equal judges are one, and none is an error."""
    default, named_metric = Judge("openai:small"), metric("named", judge="openai:large")
    chosen_judges = choose_judges([metric("plain"), named_metric], default)
    assert [(group.label, group.metrics) for group in chosen_judges.groups] == [
        ("openai:small", ("plain",)),
        ("openai:large", ("named",)),
    ]
    assert choose_judges([named_metric], default, {"named": default}).labels == ("openai:small",)
    assert choose_judges([named_metric], None).labels == ("openai:large",)
    assert len(choose_judges([metric("plain"), metric("same", judge="openai:small")], default).groups) == 1
    with pytest.raises(JudgeError, match="plain: a judged metric needs a judge"):
        choose_judges([metric("plain"), named_metric], None)
    with pytest.raises(JudgeError, match=r"given for namd, which is no judged metric of the run; did you mean named\?"):
        choose_judges([named_metric], None, {"namd": default})


def test_the_names_of_judges():
    """One judge is one name; several have their metrics; none is empty."""
    assert format_judges({}) == ""
    assert format_judges({"a": ("j",), "b": ("j",)}) == "judge j"
    assert format_judges({"a": ("j",), "b": ("k", "j")}) == "judges j (a, b), k (b)"
