"""The forecast of a run over HTTP: what it would ask, which metrics fit, and a run that could judge nothing."""

from __future__ import annotations

import pytest
from served_runs import rows, serving, uploaded

import greval
from greval.judging.model.judge import Judge
from greval.records.case import Case
from greval.runs.duels import list_pairs
from greval.runs.forecast import forecast

JUDGE = Judge("openai:gpt-5.4-mini", base_url="http://127.0.0.1:9/v1")
TONE = (
    "name: tone\ndescription: Whether the answer is polite.\nneeds: [answer, tags.mood]\n"
    "scale: {categories: {Polite: Courteous throughout., Rude: Insults the reader.}}\n"
    "steps: [Read the answer., Look for insults.]\n"
)


@pytest.fixture
def client(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with serving(tmp_path / "runs", judges={"j": JUDGE}) as client:
        yield client


def test_a_forecast_is_that_of_the_command(client, tmp_path):
    """Calls, tokens and cost equal those of the dry run, for a data set and for sent cases; nothing is asked."""
    metrics, cases = ["correctness", "exact_match"], [*rows(5), {"id": "x", "question": "Why?"}]
    body = {"metrics": metrics, "repeats": 2}
    definitions = [greval.load_metric("correctness"), greval.load_metric("exact_match")]
    expected = forecast(cases, definitions, JUDGE, out=tmp_path / "none", repeats=2)
    for source in ({"dataset": uploaded(client, cases)}, {"cases": cases}):
        served_forecast = client.post("/v1/forecast", json={**body, **source}).json()
        assert served_forecast["metrics"] == [entry.model_dump(mode="json") for entry in expected.expected]
        assert (served_forecast["calls"], served_forecast["results"], served_forecast["cost"]) == (
            10,
            12,
            expected.cost,
        )
        assert served_forecast["input_tokens"] == sum(entry.input_tokens for entry in expected.expected) > 0
        assert (served_forecast["cases"], served_forecast["judge"]) == (6, "openai:gpt-5.4-mini")
    assert client.post("/v1/forecast", json={**body, **source, "limit": 2}).json()["calls"] == 4
    assert client.get("/v1/runs").json()["runs"] == []


def test_the_forecast_of_a_duel_is_that_of_its_pairs(client, tmp_path):
    """Each pair of the chosen methods is asked twice; a duel of one method is refused."""
    cases = [Case.model_validate({**row, "method": method}) for method in ("a", "b", "c") for row in rows(3)]
    metric = greval.load_metric("directness")
    expected = forecast(list_pairs(cases, [metric], ["a", "b"], limit=2), [metric], JUDGE, out=tmp_path / "none")
    sent = [case.model_dump(mode="json", exclude_defaults=True) for case in cases]
    body = {"cases": sent, "metrics": ["directness"], "duel": True, "methods": ["a", "b"], "limit": 2}
    served_forecast = client.post("/v1/forecast", json=body).json()
    assert served_forecast["metrics"] == [entry.model_dump(mode="json") for entry in expected.expected]
    assert served_forecast["calls"] == 4
    assert client.post("/v1/forecast", json={**body, "cases": rows(2), "methods": []}).status_code == 422


def test_fitting_metrics_are_listed_with_the_number_of_cases(client):
    """Own metrics are among them, those that need a tag too; without metrics nothing else is forecast."""
    assert client.post("/v1/metrics", json={"yaml": TONE}).status_code == 201
    cases = [*rows(2), *rows(3)[2:], {"id": "x", "question": "Why?", "answer": "So.", "tags": {"mood": "calm"}}]
    served_forecast = client.post("/v1/forecast", json={"cases": cases}).json()
    fitting = {entry["metric"]: entry["cases"] for entry in served_forecast["fitting"]}
    assert (fitting["correctness"], fitting["exact_match"], fitting["tone"]) == (3, 3, 1)
    assert "edge_recall" not in fitting
    assert any("chunks" in entry["missing"] for entry in served_forecast["nearly"] if entry["metric"] == "faithfulness")
    assert (served_forecast["metrics"], served_forecast["calls"], served_forecast["cost"]) == ([], 0, None)
