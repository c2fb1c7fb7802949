"""Which model answered, as the replies name it, is stored with each result; several in one run are reported."""

from __future__ import annotations

from io import StringIO

import pytest
from langchain_core.messages import AIMessage
from rich.console import Console
from tone_metrics import TONE, cases

from greval import CategoricalMetric, evaluate, load_metric
from greval.analysis.summary import build_report
from greval.judging.model.client import read_reply
from greval.report.console import render
from greval.runs.replay import replay
from greval.runs.store import Store
from greval.testing import ScriptedJudge

POLITE = '{"reason": "r", "value": "Polite"}'
COUNTS = {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}


def says(model, mark=None, text=POLITE):
    """Give a reply that names the model which wrote it, and its fingerprint."""
    metadata = {"model_name": model, "system_fingerprint": mark}
    return AIMessage(text, response_metadata=metadata, usage_metadata=COUNTS)


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        ({"model_name": "m-2026", "system_fingerprint": "fp_1"}, "m-2026 (fp_1)"),
        ({"model": "claude-x-2026"}, "claude-x-2026"),
        ({"model_version": "gemini-x-002"}, "gemini-x-002"),
        ({"system_fingerprint": "fp_1"}, ""),
        ({"model_name": None, "model": 7}, ""),
        ({}, ""),
    ],
)
def test_what_a_reply_names(metadata, named):
    """The model is found under the name of each provider; a reply that names none has none."""
    assert read_reply(AIMessage("{}", response_metadata=metadata)).served_by == named


def printed(folder):
    """Give the report of a run as it is printed, and as a record."""
    with Store.open(folder) as store:
        report = build_report(store)
    out = StringIO()
    render(report, Console(file=out, width=300))
    return out.getvalue(), report


def test_each_result_names_its_model(tmp_path):
    """Results and calls have the models of their replies, and a report of several says how many results are whose."""
    replies = [says("m-2025", "fp_1"), says("m-2025", "fp_1"), says("m-2026", "fp_2"), says("m-2026", "fp_2", "{")]
    judge = ScriptedJudge([*replies, says("m-2027", "fp_3")])
    run = evaluate(cases(4), [TONE, load_metric("exact_match")], judge, out=tmp_path, concurrency=1)
    tone = [result.served_by for result in run.results() if result.metric == "tone"]
    assert tone == [("m-2025 (fp_1)",), ("m-2025 (fp_1)",), ("m-2026 (fp_2)",), ("m-2026 (fp_2)", "m-2027 (fp_3)")]
    assert {call.served_by for call in run.calls()} == {"m-2025 (fp_1)", "m-2026 (fp_2)", "m-2027 (fp_3)"}
    text, report = printed(tmp_path)
    counts = {"m-2025 (fp_1)": 2, "m-2026 (fp_2)": 2, "m-2027 (fp_3)": 1}
    assert report.served_by == {"ScriptedJudge": counts}
    assert (
        "ScriptedJudge: the replies name several models: m-2025 (fp_1) (2 results), m-2026 (fp_2) (2 results)" in text
    )


def test_one_model_is_not_worth_a_line(tmp_path):
    """A run of one model, or of replies that name none, says nothing, and results without a name are as before."""
    for folder, reply in (("one", says("m", "fp")), ("none", AIMessage(POLITE, usage_metadata=COUNTS))):
        run = evaluate(cases(3), [TONE], ScriptedJudge([reply] * 3), out=tmp_path / folder)
        text, report = printed(tmp_path / folder)
        assert ("several models" in text, report.served_by) == (False, {})
    assert "served_by" not in next(run.results()).model_dump_json()


def test_models_survive_cache_and_replay(tmp_path):
    """A reply that was stored names its model when it is used again."""
    cached = {"cache": tmp_path / "replies.sqlite"}
    evaluate(cases(2), [TONE], ScriptedJudge([says("m-2025")] * 2), out=tmp_path / "a", **cached)
    second_run = evaluate(cases(2), [TONE], ScriptedJudge([]), out=tmp_path / "b", **cached)
    assert [result.served_by for result in second_run.results()] == [("m-2025",)] * 2
    scores = {"Polite": {"means": "Courteous.", "score": 0.9}, "Rude": {"means": "Insults.", "score": 0}}
    fields = {name: getattr(TONE, name) for name in ("name", "description", "needs", "steps")}
    replay(tmp_path / "a", [CategoricalMetric(**fields, categories=scores)])
    with Store.open(tmp_path / "a") as store:
        assert [(result.judgements[0].number, result.served_by) for result in store.results()] == [
            (0.9, ("m-2025",))
        ] * 2
