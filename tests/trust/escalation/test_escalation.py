"""A first judge decides where it is sure, a second one judges the rest: kinds of metrics, entry points, stops."""

from __future__ import annotations

import json
import math
import re
from collections import Counter

import pytest
from fault_server import FaultServer, says
from typer.testing import CliRunner

from greval import (
    Annotation,
    CategoricalMetric,
    ManyCategoricalMetric,
    ManyValueMetric,
    ValueMetric,
    evaluate,
    evaluate_config,
)
from greval.analysis.summary import build_report
from greval.cli.app import app
from greval.errors import DataError, JudgeError
from greval.runs import forecast_config
from greval.runs.store import Store
from greval.testing import ScriptedJudge
from greval.trust import read_escalation

SURE, UNSURE = 60, 20
TEXTS = {"description": "d", "steps": ["Read."]}
MEANINGS = {"Good": {"means": "It fits.", "score": 1}, "Bad": {"means": "It does not.", "score": 0}}
METRICS = {
    "values": ValueMetric(name="fit", needs=["answer"], range=(1, 5), levels={1: "Bad.", 5: "Good."}, **TEXTS),
    "levels": ValueMetric(name="fit", needs=["answer"], range=(0, 1), levels={0: "Bad.", 1: "Good."}, **TEXTS),
    "categories": CategoricalMetric(name="fit", needs=["answer"], categories=MEANINGS, **TEXTS),
    "values of items": ManyValueMetric(
        name="fit", over="chunks", needs=["chunks"], range=(1, 5), levels={1: "Bad.", 5: "Good."}, **TEXTS
    ),
    "categories of items": ManyCategoricalMetric(
        name="fit", over="chunks", needs=["chunks"], categories=MEANINGS, **TEXTS
    ),
}
UNEQUAL = {"weight": 1.5}
VALUES = {"values": (5, 1), "levels": (1, 0), "categories": ("Good", "Bad")}
"""The value that people give, and a wrong one."""
CASES = [
    {
        "id": f"q{n}",
        "question": f"Question {n}?",
        "answer": f"answer {n}",
        "chunks": [{"id": f"c{i}", "text": f"answer {n} part {i}"} for i in range(2)],
    }
    for n in range(SURE + UNSURE)
]


def get_values(kind):
    return VALUES[kind.removesuffix(" of items")]


def label(kind, count=SURE + UNSURE):
    """Give the label of each item: people always say that it is right."""
    items = ("c0", "c1") if kind.endswith("items") else (None,)
    return [
        Annotation(sample_id=f"q{n}", metric="fit", item=item, annotator="ana", value=get_values(kind)[0])
        for n in range(count)
        for item in items
    ]


def script_judge(kind, *, errs):
    """Make a judge; one that errs is wrong in two of three repeats on the last cases, and right otherwise."""
    asked = Counter()

    def answer(messages):
        text = messages[-1].text
        number = int(re.findall(r"answer (\d+)", text)[-1])
        asked[number] += 1
        is_wrong = errs and number >= SURE and asked[number] % 3
        verdict = {"reason": "r", "value": get_values(kind)[bool(is_wrong)]}
        items = re.findall(r'<item n="(\d+)">', text)
        return {"judgements": [{"item": int(item), **verdict} for item in items]} if items else verdict

    return ScriptedJudge(answer)


@pytest.mark.parametrize("kind", METRICS)
def test_the_second_judge_gets_what_the_first_is_not_sure_of(kind, tmp_path):
    """Each case has a verdict of one of them, people agree with all, and the same command again asks nobody."""
    first, second = script_judge(kind, errs=True), script_judge(kind, errs=False)
    options = {"out": tmp_path / "run", "escalate": second, "labels": label(kind), "repeats": 3, "concurrency": 1}
    run = evaluate(iter(CASES), [METRICS[kind]], first, **options)
    assert not run.stopped
    assert (len(first.calls), len(second.calls)) == (3 * len(CASES), UNSURE)
    assert Counter(row.fingerprint for row in run.results()).most_common()[0][1] == SURE
    assert {judgement.value for row in run.results() for judgement in row.judgements} == {get_values(kind)[0]}
    (metric,) = read_escalation(run).metrics
    assert (metric.threshold, metric.first.cases, metric.second.cases) == (1.0, SURE, UNSURE)
    assert [side.agreement.value for side in (metric.first, metric.second, metric.whole)] == [1.0, 1.0, 1.0]
    assert (metric.first_spending.calls, metric.second_spending.calls, metric.alone.calls) == (240, 20, 80)
    again = evaluate(CASES, [METRICS[kind]], first, **options)
    assert (again.progress.done, again.progress.usage.calls, len(second.calls)) == (len(CASES), 0, UNSURE)
    evaluate(CASES, [METRICS[kind]], second, out=run.folder)
    assert read_escalation(run) is None


@pytest.mark.parametrize("cap", [100, 250])
def test_a_run_that_was_stopped_counts_as_stopped_and_goes_on(cap, tmp_path):
    """At a cap within the first or the second judge's part; the cap is that of both, and nothing is asked twice."""
    kind = "categories"
    first, second = script_judge(kind, errs=True), script_judge(kind, errs=False)
    options = {"out": tmp_path / "run", "escalate": second, "labels": label(kind), "repeats": 3, "concurrency": 1}
    run = evaluate(CASES, [METRICS[kind]], first, max_calls=cap, **options)
    assert run.stopped
    assert f"the cap of {cap} calls" in run.why
    assert len(first.calls) + len(second.calls) == cap
    with Store.open(run.folder) as store:
        assert build_report(store).stopped
    assert read_escalation(run) is None
    assert not evaluate(CASES, [METRICS[kind]], first, **options).stopped
    assert (len(first.calls), len(second.calls)) == (3 * len(CASES), UNSURE)
    assert read_escalation(run).metrics[0].second.cases == UNSURE


def test_a_judge_that_is_sure_and_wrong_decides_nothing(tmp_path):
    """No threshold passes, so that the second judge judges all."""
    kind = "categories"
    first, second = ScriptedJudge([{"reason": "r", "value": "Bad"}]), script_judge(kind, errs=False)
    run = evaluate(CASES, [METRICS[kind]], first, out=tmp_path, escalate=second, labels=label(kind), repeats=2)
    (metric,) = read_escalation(run).metrics
    assert (metric.threshold, metric.labels_needed, metric.second.cases) == (None, None, len(CASES))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"labels": label("categories", 28)}, DataError, "at least 29 .* found 28; label 1 more"),
        ({"labels": None}, DataError, "labels: expected labels of people, found none"),
        ({"agree": 1.0}, DataError, "agree: expected a share between 0 and 1, got 1"),
        ({"shard": "1/2"}, DataError, "shard: expected all cases"),
        ({"repeats": 1}, JudgeError, "says how sure it is"),
        (
            {"labels": [*label("categories", 40), label("categories")[40].model_copy(update=UNEQUAL)]},
            DataError,
            "random",
        ),
    ],
)
def test_what_cannot_be_guaranteed_is_refused_before_a_call(options, error, words, tmp_path):
    """Too few labels, none, a part of the cases, no certainty, and labels that are no random sample."""
    first = script_judge("categories", errs=True)
    given = {"labels": label("categories"), "repeats": 3, "escalate": script_judge("categories", errs=False), **options}
    with pytest.raises(error, match=words):
        evaluate(CASES, [METRICS["categories"]], first, out=tmp_path / "run", **given)
    assert not first.calls


def answer_with_probability(body):
    """Answer as `openai:cheap`, which says how sure it is, or as `openai:strong`, which is always right."""
    number = int(re.findall(r"answer (\d+)", str(body["messages"][-1]["content"]))[-1])
    is_sure = number < SURE or body["model"] == "strong"
    parts = ('{"reason": "r", "value": "', "Good" if is_sure else "Bad", '"}')
    shares = (1.0, 0.98 if is_sure else 0.6, 1.0)
    tokens = [{"token": part, "logprob": math.log(share)} for part, share in zip(parts, shares, strict=True)]
    return says("".join(parts), tokens=tokens)


def test_the_command_the_file_and_python_escalate_alike(tmp_path, monkeypatch):
    """The keys are those of greval.yaml; probabilities are asked for without an option; the report says who judged."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.jsonl").write_text("".join(f"{json.dumps(case)}\n" for case in CASES))
    rows = "".join(f"q{n},Good\n" for n in range(len(CASES)))
    (tmp_path / "labels.csv").write_text(f"id,human_label\n{rows}")
    (tmp_path / "fit.yaml").write_text(
        "name: fit\ndescription: d\nneeds: [answer]\nsteps: [Read.]\nscale: {categories: {Good: It fits., Bad: No.}}\n"
    )
    with FaultServer(answer_with_probability) as server:
        command = ["evaluate", "cases.jsonl", "-m", "fit.yaml", "--judge", "openai:cheap", "-o", "run"]
        escalating = [
            *command,
            "--base-url",
            server.url,
            "--escalate",
            "openai:strong",
            "--agree",
            "0.9",
            "--labels",
            "labels.csv",
        ]
        shown = CliRunner().invoke(app, escalating)
        assert shown.exit_code == 0, shown.output
        assert "openai:cheap decided 60 of 80 cases, and openai:strong judged the other 20 (25%)" in shown.output
        assert "certainty is 0.98 or more" in shown.output
        assert "saved: 60 of 80 calls of openai:strong" in shown.output
        assert Counter(body["model"] for body in server.bodies) == {"cheap": 80, "strong": 20}
        assert CliRunner().invoke(app, ["report", "run", "--html", "run.html"]).exit_code == 0
        page = (tmp_path / "run.html").read_text(encoding="utf-8")
        assert "<h2>Two judges</h2>" in page
        assert "openai:cheap decided 60 of 80 cases, and openai:strong judged the other 20 (25%)" in page
        assert "saved: 60 of 80 calls of openai:strong" in page
        keys = {"data": "cases.jsonl", "metrics": "fit.yaml", "out": "run"}
        keys |= {"judge": {"model": "openai:cheap", "base_url": server.url}}
        keys |= {"escalate": {"model": "openai:strong"}, "agree": 0.9, "labels": "labels.csv"}
        assert evaluate_config(keys).run.progress.kept == len(CASES)
        assert len(server.bodies) == 100
        expected = forecast_config({**keys, "out": "other"})
        assert (expected.forecast.calls, expected.second.calls) == (80, 80)
        refused = CliRunner().invoke(app, [*command, "--labels", "labels.csv"])
        assert "labels is for a second judge" in str(refused.exception)
