"""Tests of the reader of a run's metrics and judged cases."""

from __future__ import annotations

import json

import pytest
from tone_metrics import BUILT, PASSAGES, by_metric, cases

from greval import evaluate, load_metric
from greval.errors import DataError
from greval.metrics.computed import COMPUTED_METRICS
from greval.metrics.library import predefined
from greval.records.metric import ValueMetric
from greval.records.result import Result
from greval.records.scale import ScaleDirection, ValueScale
from greval.runs.run_reader import (
    CaseFinder,
    add_texts,
    find_directions,
    read_judged_cases,
    read_judged_metric,
    read_known_scales,
    read_metric,
    read_metrics,
)
from greval.runs.store import Store
from greval.runs.store.writer import StoreWriter
from greval.testing import ScriptedJudge

CASES = [
    {
        "id": f"q{n}",
        "method": "walk",
        "question": "?",
        "answer": f"a{n}",
        "expected_answer": "a",
        "usage": {"latency": n},
    }
    for n in range(3)
]
FALLING = ValueMetric(
    name="latency",
    description="d",
    needs=["answer"],
    steps=["s"],
    range=(1, 3),
    levels={1: "a", 3: "b"},
    better="lower",
)


@pytest.fixture
def run(tmp_path):
    """Judge three cases by a judged and a computed metric."""
    metrics = [load_metric("correctness"), COMPUTED_METRICS["latency"]]
    return evaluate(CASES, metrics, ScriptedJudge([{"reason": "r", "value": 1}]), out=tmp_path / "run").folder


def test_metrics_are_read_in_the_order_in_which_they_were_judged(run):
    """Each has its scale, and says whether a model judged by it."""
    with Store.open(run) as store:
        metrics = read_metrics(store)
    assert {name: metric.is_judged for name, metric in metrics.items()} == {"correctness": True, "latency": False}
    assert metrics["latency"].scale == COMPUTED_METRICS["latency"].scale
    assert metrics["correctness"].judged == predefined()["correctness"]


def test_an_unknown_metric_is_named_with_the_nearest_known_one(run):
    """The error names the folder and what it holds."""
    with Store.open(run) as store:
        with pytest.raises(DataError, match=r"run.*'corectness'|corectness") as raised:
            read_metric(store, "corectness")
        assert "correctness" in str(raised.value)
        with pytest.raises(DataError, match="was not judged by 'depth'; metrics there: correctness, latency"):
            read_judged_metric(store, "depth")


def test_a_computed_metric_is_nothing_for_people_to_judge(run):
    """Only a judged metric has a definition that people can follow."""
    with Store.open(run) as store:
        assert read_judged_metric(store, "correctness") == predefined()["correctness"]
        with pytest.raises(DataError, match="latency: is computed"):
            read_judged_metric(store, "latency")


def test_the_scale_of_the_run_has_precedence_over_the_predefined_one(tmp_path):
    """A run may hold another metric of the name of a predefined one."""
    with StoreWriter.create(tmp_path / "run") as writer:
        assert read_known_scales(writer.reader) == {name: metric.scale for name, metric in predefined().items()}
        writer.put_fact("metrics", [{**FALLING.model_dump(mode="json"), "name": "correctness"}])
        assert isinstance(read_known_scales(writer.reader)["correctness"], ValueScale)
        assert read_known_scales(writer.reader)["correctness"] == FALLING.scale


def test_directions_are_of_the_first_run_that_holds_a_metric(run, tmp_path):
    """The order of the runs decides, and predefined metrics fill the gaps."""
    with Store.open(run) as store, StoreWriter.create(tmp_path / "other") as other:
        other.put_fact("metrics", [FALLING.model_dump(mode="json")])
        first, second = read_metrics(store), read_metrics(other.reader)
    assert find_directions(first, second)["latency"] == ScaleDirection("lower", 0.0, None, computed=True, unit="s")
    assert find_directions(second, first)["latency"] == ScaleDirection("lower", 1, 3, computed=False)
    assert [*find_directions(first)][:2] == ["correctness", "latency"]
    assert set(find_directions()) == set(predefined())


def test_judged_cases_are_those_of_the_latest_verdicts(run):
    """A case that was changed and judged again comes once, as it is now."""
    changed = [{**CASES[0], "answer": "another"}, *CASES[1:]]
    evaluate(changed, [load_metric("correctness")], ScriptedJudge([{"reason": "r", "value": 0}]), out=run)
    with Store.open(run) as store:
        metric = read_judged_metric(store, "correctness")
        cases_by_id = {judged_case.whole.id: judged_case for judged_case in read_judged_cases(store, metric)}
        only = [judged_case.whole.id for judged_case in read_judged_cases(store, metric, {("q1", "walk")})]
        none = [*read_judged_cases(store, metric, prints=["another fingerprint"])]
    assert {name: judged_case.whole.answer for name, judged_case in cases_by_id.items()} == {
        "q0": "another",
        "q1": "a1",
        "q2": "a2",
    }
    assert [cases_by_id[f"q{n}"].result.judgements[0].value for n in range(3)] == [0, 1, 1]
    assert only == ["q1"]
    assert none == []


def test_a_metric_that_builds_on_others_saw_a_narrowed_case(tmp_path):
    """`whole` has every chunk, `seen` those that the first metric let through."""
    run = evaluate(cases(2), [PASSAGES, BUILT], ScriptedJudge(by_metric), out=tmp_path / "run").folder
    with Store.open(run) as store:
        judged_cases = [*read_judged_cases(store, read_judged_metric(store, BUILT.name))]
        only = [*read_judged_cases(store, read_judged_metric(store, BUILT.name), {(judged_cases[0].whole.id, "")})]
    assert len(judged_cases) == 2
    assert {tuple(chunk.id for chunk in one.whole.chunks) for one in judged_cases} == {("c1", "c2")}
    assert {tuple(chunk.id for chunk in one.seen.chunks) for one in judged_cases} == {("c1",)}
    assert only == judged_cases[:1]


def test_the_case_of_a_result_is_the_version_that_was_judged(tmp_path):
    """Of a case with other answers for other metrics, each result has the texts that it was judged by."""
    judge = ScriptedJudge([{"reason": "r", "value": 1}])
    old = [{**case, "answer": "old"} for case in CASES]
    evaluate(old, [load_metric("correctness")], judge, out=tmp_path)
    evaluate([*CASES[:2], old[2]], [predefined()["exact_match"]], out=tmp_path)
    with Store.open(tmp_path) as store:
        answers = {
            (result.metric, result.sample_id): json.loads(line)["texts"]["answer"]
            for result, line in zip(store.results(), add_texts(store, store.lines()), strict=True)
        }
    assert answers == {
        **{("correctness", f"q{n}"): "old" for n in range(3)},
        **{("exact_match", f"q{n}"): answer for n, answer in enumerate(["a0", "a1", "old"])},
    }


def test_versions_are_told_apart_by_what_a_metric_builds_on(tmp_path):
    """A metric that builds on others saw a part of the case; its version is found by this part."""
    versions = [{**CASES[0], "chunks": [f"{name} chunk"]} for name in ("old", "new")]

    def judge(messages):
        good = {"judgements": [{"item": 1, "reason": "r", "value": "Good"}]}
        return good if "<item" in messages[1].text else {"reason": "r", "value": 1}

    evaluate(versions[:1], [PASSAGES, BUILT], ScriptedJudge(judge), out=tmp_path)
    evaluate(versions[1:], [load_metric("correctness")], ScriptedJudge(judge), out=tmp_path)
    with Store.open(tmp_path) as store:
        finder = CaseFinder(store)
        chunk_texts = {result.metric: finder.find_case(result).chunks[0].text for result in store.results()}
    assert chunk_texts[BUILT.name] == "old chunk"
    assert chunk_texts["correctness"] == "new chunk"


def test_a_result_without_a_stored_case_has_no_texts(tmp_path):
    """The texts are missing, and nothing is made up."""
    with StoreWriter.create(tmp_path) as writer:
        outcome = {"status": "skipped", "reason": "no answer"}
        row = Result(sample_id="q1", metric="m", fingerprint="f", judge="j", tier="schema", outcome=outcome)
        writer.append("k", row)
        (line,) = add_texts(writer.reader, writer.reader.lines())
    assert json.loads(line)["texts"] == {"question": None, "answer": None, "expected_answer": None, "items": None}
