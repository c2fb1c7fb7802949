"""Metrics that are computed from others, over HTTP: formulas and rankings are checked, saved, shown and used."""

from __future__ import annotations

import pytest
from served_metrics import app_of, client_of

from greval import compile_metric, load_metric
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
    found = ["Relevant" if "Ada" in text else "Irrelevant" for text in texts]
    return {
        "judgements": [
            {"item": n, "reason": "r", "value": value, "recommendations": "-"} for n, value in enumerate(found, 1)
        ]
    }


@pytest.fixture
def client(tmp_path):
    """Give a client of a server whose judge answers for both metrics."""
    return client_of(app_of(tmp_path, {"judge": ScriptedJudge(answer)}))


def test_a_formula_is_saved_and_used(client):
    """A text with a formula is a metric of one's own: listed as computed, shown with its text, and judged with."""
    made = client.post("/v1/metrics", json={"yaml": FORMULA})
    assert made.status_code == 201, made.text
    assert (made.json()["kind"], made.json()["needs"]) == ("computed", [])
    shown = client.get("/v1/metrics/usable").json()
    assert (shown["yaml"], shown["steps"]) == (FORMULA, [])
    assert shown["scale"] == {"low": 0.0, "high": 1.0, "unit": "", "better": "higher"}
    listed = client.get("/v1/metrics", params={"own": "true"}).json()["metrics"]
    assert [one["name"] for one in listed] == ["usable"]
    done = client.post("/v1/evaluate", json={"cases": [CASE], "metrics": ["usable"]}).json()
    values = {row["metric"]: row["outcome"]["judgements"][0]["value"] for row in done["results"]}
    assert values == {"correctness": 1, "latency": 3.0, "usable": 0.5}
    assert client.post("/v1/metrics?replace=true", json={"yaml": FORMULA.replace("0.5", "0.2")}).status_code == 201
    assert client.delete("/v1/metrics/usable").status_code == 204


def test_faults_of_a_formula_have_their_lines(client):
    """A check reports all faults with lines and columns, a category and a name that do not exist too."""
    text = FORMULA.replace("latency <= 2", "lat ** 2").replace(">= 0.7", "0.7") + "steps: [Read.]\n"
    told = client.post("/v1/metrics/check", json={"yaml": text}).json()
    assert not told["ok"]
    assert [fault["place"] for fault in told["faults"]] == [
        "yaml:3: formula",
        "yaml:4: pass",
        "yaml:5: steps",
    ]
    assert told["content"]["formula"].startswith("correctness if")
    told = client.post("/v1/metrics/check", json={"yaml": FORMULA.replace("latency", "latenzy")}).json()
    (fault,) = told["faults"]
    assert fault["place"] == "yaml:3: formula"
    assert "'latenzy' is not a metric; did you mean latency?" in fault["message"]
    told = client.post("/v1/metrics/check", json={"yaml": FORMULA.replace("latency <= 2", "correctness == 'x'")}).json()
    assert told["faults"][0]["place"].startswith("yaml:3: formula")


def test_mixed_scales_of_a_formula_are_a_warning(client):
    """A formula that adds seconds to a share is valid, and a check warns of it with its line."""
    text = FORMULA.replace("correctness if latency <= 2 else 0.5 * correctness", "0.5 * correctness + 0.5 * latency")
    told = client.post("/v1/metrics/check", json={"yaml": text}).json()
    assert told["ok"]
    (warning,) = told["warnings"]
    assert warning.startswith("yaml:3: formula: column 1: mixes correctness (0 to 1) with latency (0 and more s)")
    assert client.post("/v1/metrics/check", json={"yaml": FORMULA}).json()["warnings"] == []


def test_fields_of_a_formula_are_edited_in_the_text(client):
    """An edit keeps the comment of the formula and puts new fields in their order."""
    fields = {"description": "Correct and quick.", "metrics": None, "scale": {"low": 0, "high": 2}}
    told = client.post("/v1/metrics/edit", json={"yaml": FORMULA, "fields": fields}).json()
    assert told["ok"]
    assert "# half if it is slow" in told["yaml"]
    assert told["yaml"].index("formula:") < told["yaml"].index("scale:") < told["yaml"].index("pass:")


def test_a_metric_that_a_formula_reads_is_not_deleted(client):
    """What another metric of one's own is computed from stays."""
    assert client.post("/v1/metrics", json={"yaml": FORMULA}).status_code == 201
    above = "name: above\ndescription: Above.\nformula: 0.5 * usable\n"
    assert client.post("/v1/metrics", json={"yaml": above}).status_code == 201
    refused = client.delete("/v1/metrics/usable")
    assert (refused.status_code, refused.json()["code"]) == (409, "metric_in_use")


@pytest.mark.parametrize(("name", "value"), [("precision@1-judged", 0.0), ("mrr-judged", 0.5)])
def test_a_judged_ranking_has_its_routes(client, name, value):
    """A ranking by judged relevance is found by any setting, over REST and LangServe, with the chunks judged first."""
    done = client.post("/v1/evaluate", json={"cases": [CASE], "metrics": [name]}).json()
    assert [row["metric"] for row in done["results"]] == ["chunk_evaluation", name]
    assert done["results"][1]["outcome"]["judgements"][0]["value"] == value
    invoked = client.post(f"/metrics/{name}/invoke", json={"input": CASE})
    assert invoked.status_code == 200, invoked.text
    output = invoked.json()["output"]
    assert output["outcome"]["judgements"][0]["value"] == value
    assert [below["metric"] for below in output["built_on"]] == ["chunk_evaluation"]
    local = compile_metric(load_metric(name), ScriptedJudge(answer)).invoke(CASE)
    assert local.value == value
