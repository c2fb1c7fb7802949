"""The functions of the SDK called wrongly: each says what it got, what it wants, and asks nothing before."""

from __future__ import annotations

from pathlib import Path

import pytest

from greval import (
    Case,
    Store,
    agreement,
    align,
    collect,
    compare,
    compile_metric,
    draft_metric,
    estimate,
    evaluate,
    evaluate_config,
    forecast,
    load_metric,
    panel,
    probe,
)
from greval.errors import DataError, DefinitionError, JudgeError, MethodError, StoreError
from greval.methods import audit_contexts
from greval.runs import Shard
from greval.runs.store.writer import StoreWriter
from greval.stats import summarise
from greval.testing import ScriptedJudge

CASE = {"question": "Who?", "expected_answer": "Ada", "answer": "Ada"}
METRIC = load_metric("correctness")
SEVERAL = "cases: expected several, got {}; pass them as read_cases"


@pytest.fixture
def judge():
    return ScriptedJudge([{"reason": "r", "value": 1}])


@pytest.mark.parametrize(
    ("given", "kind"),
    [("cases.jsonl", "str"), (Path("cases.jsonl"), "PosixPath"), (CASE, "dict"), (Case(**CASE), "Case")],
)
@pytest.mark.parametrize("function", [evaluate, forecast])
def test_one_thing_in_place_of_cases(function, given, kind, judge, tmp_path):
    """The name of a file, or a single case, is not read letter by letter or field by field."""
    with pytest.raises(DataError, match=SEVERAL.format(kind)):
        function(given, [METRIC], judge, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert not judge.calls


def test_one_thing_in_place_of_others(tmp_path):
    """A single metric, run or file is told where several are wanted, methods without names too."""
    with pytest.raises(DataError, match=r"metrics: expected several, got ValueMetric"):
        evaluate([CASE], METRIC, ScriptedJudge([{}]), out=tmp_path)
    with pytest.raises(DataError, match=r"runs: expected several, got str"):
        panel("runs/first", "correctness")
    with pytest.raises(DataError, match=r"samples: expected several, got str"):
        collect("questions.jsonl", {"walk": str}, out=tmp_path / "responses.jsonl")
    with pytest.raises(DataError, match=SEVERAL.format("str")):
        audit_contexts("cases.jsonl")
    with pytest.raises(MethodError, match=r"name each, as \{'walk': walk\}; got list"):
        collect([CASE], [str], out=tmp_path / "responses.jsonl")


@pytest.mark.parametrize(
    ("call", "example"),
    [
        (compare, r"compare\('runs/new', against='runs/old'\)"),
        (lambda runs: compare("run", against=runs), "compare"),
        (lambda runs: agreement(runs, "correctness"), "its folder, such as 'runs/first'"),
        (lambda runs: estimate(runs, "correctness"), "its folder"),
        (lambda runs: align(runs, METRIC, ScriptedJudge([{}])), "its folder"),
        (lambda runs: panel([runs, runs], "correctness"), "its folder"),
    ],
)
def test_several_runs_in_place_of_one(call, example):
    """A list of runs is told where one is wanted."""
    with pytest.raises(DataError, match=f"run: expected one run, got list; pass it as {example}"):
        call(["a", "b"])


def test_a_run_in_place_of_its_results(tmp_path):
    """A folder, a run or a store is told how to give its results."""
    run = evaluate([CASE], [load_metric("exact_match")], out=tmp_path)
    with Store.open(str(tmp_path)) as store:
        for wrong in (str(tmp_path), tmp_path, run, store):
            with pytest.raises(DataError, match=r"results: expected several, got .*; pass them as run.results\(\)"):
                summarise(wrong)
        known = [load_metric("exact_match")]
        assert summarise(store.results(), known) == summarise(run.results(), known) == run.summary()


def test_a_store_by_the_name_of_its_folder(tmp_path):
    """A run folder may be named by a text."""
    with StoreWriter.create(str(tmp_path / "run")) as writer:
        assert writer.folder == tmp_path / "run"
    with Store.open(str(tmp_path / "run")) as store:
        assert store.folder == tmp_path / "run"
    with pytest.raises(StoreError, match="absent: no run is there"):
        Store.open("absent")


def test_a_shard_by_its_name(tmp_path):
    """A shard may be written as on the command line; what is none is told before anything is made."""
    cases, metrics = [{**CASE, "id": f"q{n}"} for n in range(20)], [load_metric("exact_match")]
    parts = [evaluate(cases, metrics, out=tmp_path / part[0], shard=part) for part in ("1/2", "2/2")]
    ids = [{result.sample_id for result in run.results()} for run in parts]
    assert ids[0] == {one["id"] for one in cases if Shard.parse("1/2").holds(one["id"])}
    assert ids[1] == {one["id"] for one in cases} - ids[0]
    told = forecast(cases, metrics, None, out=tmp_path / "run", shard="1/2")
    assert told.expected[0].judged == len(ids[0])
    for wrong in ("3/2", "half", (1, 2), 0.5):
        for function in (evaluate, forecast):
            with pytest.raises(DataError, match=r"shard .*: write it as '?3/16"):
                function(cases, metrics, None, out=tmp_path / "run", shard=wrong)
    assert not (tmp_path / "run").exists()


def test_names_in_place_of_metrics_and_judges(judge, tmp_path):
    """A name that is none of a metric or a judge is refused in one line, and so is another object."""
    with pytest.raises(DefinitionError, match=r"corectness: no such metric .*; did you mean correctness"):
        evaluate([CASE], ["corectness"], judge, out=tmp_path / "run")
    with pytest.raises(DefinitionError, match="3: is no metric; name one, such as 'correctness'"):
        evaluate([CASE], [3], judge, out=tmp_path / "run")
    for call in (
        lambda name: compile_metric("correctness", name),
        lambda name: evaluate([CASE], [METRIC], name, out=tmp_path / "run"),
        lambda name: draft_metric("tone", "Its tone.", judge=name),
    ):
        with pytest.raises(JudgeError, match="judge 'unknown-model': write PROVIDER:MODEL"):
            call("unknown-model")
    with pytest.raises(JudgeError, match="3: is not a judge; pass 'openai:MODEL'"):
        compile_metric(METRIC, 3)
    assert not (tmp_path / "run").exists()


def test_no_metric_at_all(judge, tmp_path):
    """A run without a metric is refused."""
    with pytest.raises(DefinitionError, match="no metric is given"):
        evaluate([CASE], [], judge, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda judge, out: evaluate([CASE], [METRIC], judge, out=out, max_cots=1), "nearest are max_cost, "),
        (lambda judge, out: forecast([CASE], [METRIC], judge, out=out, repeat=2), "forecast.*nearest are repeats, "),
        (lambda _, out: evaluate_config({}, on_reslt=print), "evaluate_config.*nearest are on_result, "),
        (lambda judge, out: probe(METRIC, judge, out=out, limits=2), "probe.*nearest are limit, "),
        (lambda judge, out: align(out, METRIC, judge, fold=2), "align.*nearest are folds, "),
        (lambda _, out: agreement(out, "correctness", levels=0.9), "agreement.*nearest are level, "),
        (lambda _, out: estimate(out, "correctness", zzz=1), "estimate.*nearest are .*, .* and "),
        (lambda _, out: compare(out, metric="correctness"), "compare.*nearest are metrics, "),
        (lambda _, out: panel([out, out], "correctness", combined="mean"), "panel.*nearest are combine, "),
    ],
)
def test_a_misspelt_option(call, told, judge, tmp_path):
    """An option that is not there is never passed over: a misspelt cap would cap nothing."""
    with pytest.raises(TypeError, match=told):
        call(judge, tmp_path / "run")
    assert not judge.calls


def test_a_check_that_is_named_alone(judge, tmp_path):
    """One check may be given as its name."""
    assert [one.name for one in probe(METRIC, judge, checks="padded", limit=1, out=tmp_path).checks] == ["padded"]
