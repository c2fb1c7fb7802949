"""Metrics that are computed from others, over HTTP: formulas and rankings are checked, saved, shown and used."""

from __future__ import annotations

import pytest
from served_metrics import app_of, client_of

from greval.testing import ScriptedJudge

FORMULA = """\
name: usable
description: Correct, and given quickly.
formula: correctness if latency <= 2 else 0.5 * correctness  # half if it is slow
pass: ">= 0.7"
"""
CASE = {
    "id": "q1",
    "question": "Who wrote it?",
    "expected_answer": "Ada",
    "answer": "Ada wrote it.",
    "chunks": ["Nobody knows.", "Ada wrote it."],
    "usage": {"latency": 3},
}


def answer(messages):
    """Answer for `correctness` and for `chunk_evaluation`: chunks with 'Ada' are relevant."""
    texts = [part.split("\n")[1] for part in messages[-1].text.split("<item ")[1:]]
    if not texts:
        return {"reason": "It names her.", "value": 1}
    values = ["Relevant" if "Ada" in text else "Irrelevant" for text in texts]
    return {
        "judgements": [
            {"item": n, "reason": "r", "value": verdict, "recommendations": "-"} for n, verdict in enumerate(values, 1)
        ]
    }


@pytest.fixture
def client(tmp_path):
    """Give a client of a server whose judge answers for both metrics."""
    return client_of(app_of(tmp_path, {"judge": ScriptedJudge(answer)}))


def test_a_formula_is_saved_and_used(client):
    """A text with a formula is a metric of one's own: listed as computed, shown with its text, and judged with."""
    made = client.post("/v1/metrics", json={"yaml": FORMULA})
    assert (made.status_code, made.json()["kind"], made.json()["needs"]) == (201, "computed", []), made.text
    shown = client.get("/v1/metrics/usable").json()
    assert (shown["yaml"], shown["steps"]) == (FORMULA, [])
    assert shown["scale"] == {"low": 0.0, "high": 1.0, "unit": "", "better": "higher"}
    answer = client.post("/v1/evaluate", json={"cases": [CASE], "metrics": ["usable"]}).json()
    values = {row["metric"]: row["outcome"]["judgements"][0]["value"] for row in answer["results"]}
    assert values == {"correctness": 1, "latency": 3.0, "usable": 0.5}


@pytest.mark.parametrize(
    ("old", "new", "part", "start"),
    [
        ("latency <= 2", "lat ** 2", "faults", "yaml:3: formula"),
        ('">= 0.7"', '"0.7"', "faults", "yaml:4: pass"),
        ("latency", "latenzy", "faults", "yaml:3: formula"),
        ("latency <= 2", "correctness == 'x'", "faults", "yaml:3: formula"),
        ("correctness if latency <= 2 else", "latency +", "warnings", "yaml:3: formula: column 1: mixes"),
    ],
)
def test_a_check_of_a_formula_has_lines(client, old, new, part, start):
    """Faults, names that do not exist and mixed scales, which are a warning, have the line of their place."""
    check = client.post("/v1/metrics/check", json={"yaml": FORMULA.replace(old, new)}).json()
    (entry,) = check[part]
    assert (check["ok"], check["content"]["name"]) == (part == "warnings", "usable")
    assert (entry if part == "warnings" else entry["place"]).startswith(start)


def test_a_metric_that_a_formula_reads_is_not_deleted(client):
    """What another metric of one's own is computed from stays."""
    for text in (FORMULA, "name: above\ndescription: Above.\nformula: 0.5 * usable\n"):
        assert client.post("/v1/metrics", json={"yaml": text}).status_code == 201
    refused = client.delete("/v1/metrics/usable")
    assert (refused.status_code, refused.json()["code"]) == (409, "metric_in_use")


@pytest.mark.parametrize(("name", "value"), [("precision@1-judged", 0.0), ("mrr-judged", 0.5)])
def test_a_judged_ranking_has_its_routes(client, name, value):
    """A ranking by judged relevance is found by any setting, over REST and LangServe, with the chunks judged first."""
    rows = client.post("/v1/evaluate", json={"cases": [CASE], "metrics": [name]}).json()["results"]
    output = client.post(f"/metrics/{name}/invoke", json={"input": CASE}).json()["output"]
    assert [row["metric"] for row in rows] == ["chunk_evaluation", name]
    assert [below["metric"] for below in output["built_on"]] == ["chunk_evaluation"]
    assert [row["outcome"]["judgements"][0]["value"] for row in (rows[1], output)] == [value, value]
