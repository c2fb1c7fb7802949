"""Metrics over REST: listed, shown, checked, created and drafted; what is one client's is nobody else's."""

from __future__ import annotations

import unicodedata

import pytest
from drafting_judge import draft_or_judge
from served_metrics import CASE, app_of, client_of, create, list_files, says, tone
from served_runs import all_results, ended, rows, serving, started, uploaded

from greval import load_metric, parse_metric
from greval.metrics.library import predefined
from greval.records.metric import JudgedMetric
from greval.serve.problems import MAX_FAULTS
from greval.testing import ScriptedJudge


def test_judges_are_listed_by_name(tmp_path):
    """A client sees the judges that it may name, the first as the default, and no key or address."""
    client = client_of(app_of(tmp_path, {"one": says(), "two": says()}))
    assert client.get("/v1/judges").json()["judges"] == [
        {"name": "one", "label": "ScriptedJudge", "default": True},
        {"name": "two", "label": "ScriptedJudge", "default": False},
    ]


def test_every_predefined_metric_is_listed_and_shown(metric_client):
    """The list holds the predefined metrics, each shown in full with a file that reads as the metric itself."""
    listed = {info["name"]: info for info in metric_client.get("/v1/metrics").json()["metrics"]}
    assert [*listed] == [*predefined()]
    for name, metric in predefined().items():
        detail = metric_client.get(f"/v1/metrics/{name}").json()
        assert {key: detail[key] for key in listed[name]} == listed[name]
        assert detail["scale"] == metric.scale.model_dump(mode="json")
        assert detail["origin"] == "predefined"
        if isinstance(metric, JudgedMetric):
            assert parse_metric(detail["yaml"]) == metric
            assert detail["steps"] == [*metric.steps]
        else:
            assert detail["yaml"] is None


def test_lists_are_filtered(metric_client):
    """`kind` and `own` narrow the list; a setting that it does not name is found all the same."""
    create(metric_client, tone())

    def listed(**query):
        return metric_client.get("/v1/metrics", params=query).json()["metrics"]

    kinds = {kind: listed(kind=kind) for kind in ("judged", "computed")}
    assert {info["kind"] for info in kinds["judged"]} == {"judged"}
    assert len(kinds["judged"]) + len(kinds["computed"]) == len(predefined()) + 1
    assert [info["name"] for info in listed(own=True)] == ["tone"]
    assert len(listed(own=False)) == len(predefined())
    assert metric_client.get("/v1/metrics/ndcg@5").json()["description"] == load_metric("ndcg@5").description


def test_a_new_metric_is_usable_at_once(metric_client, tmp_path):
    """What was created is listed, shown as it was sent, served to LangServe's clients and judged over REST."""
    answer = create(metric_client, tone())
    assert answer.status_code == 201
    assert answer.json()["origin"] == "own"
    assert metric_client.get("/v1/metrics/tone").json()["yaml"] == tone()
    assert metric_client.get("/metrics/tone/input_schema").status_code == 200
    judged = metric_client.post("/v1/evaluate", json={"cases": [CASE], "metrics": ["tone"]})
    assert judged.json()["results"][0]["metric"] == "tone"
    files = [path for path in list_files(tmp_path / "runs") if ".usage" not in path and ".definitions" not in path]
    assert files == [".metrics/tone.yaml"]


def test_a_name_is_taken_once(metric_client):
    """A second metric of the name is refused, unless an own one is to be replaced; then the new one counts at once."""

    def judge_anew():
        return metric_client.post("/metrics/tone/invoke", json={"input": CASE}).json()["output"]["fingerprint"]

    create(metric_client, tone())
    fingerprint_before = judge_anew()
    assert create(metric_client, tone()).status_code == 409
    changed = tone().replace("Courteous.", "Friendly.")
    assert create(metric_client, changed, replace=True).status_code == 201
    assert metric_client.get("/v1/metrics/tone").json()["yaml"] == changed
    assert judge_anew() != fingerprint_before


@pytest.mark.parametrize("name", ["Höflichkeit", "丁寧さ", "शिष्टता", "tone-2.v@1", "_x"])
def test_names_of_any_script_are_served(metric_client, name):
    """A name in any script is created, found in both forms of Unicode, and judged by."""
    assert create(metric_client, tone(name)).status_code == 201
    for form in ("NFC", "NFD"):
        written = unicodedata.normalize(form, name)
        assert metric_client.get(f"/v1/metrics/{written}").json()["name"] == unicodedata.normalize("NFC", name)
        assert metric_client.post(f"/metrics/{written}/invoke", json={"input": CASE}).status_code == 200


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
        "name: !!python/object/apply:os.system [ls]\n",
        "%TAG ! tag:x,2000:\n---\nname: tone\n",
        "[" * 5_000,
        "{" * 500,
        "name: " + "x" * 60_000,
        "".join(f"k{n}: 1\n" for n in range(6_000)),
        "\t\x01",
        "[]",
        "--- a\n--- b\n",
    ],
)
def test_hostile_yaml_is_refused_soon(metric_client, tmp_path, text):
    """Aliases, tags, depth and length end in a short refusal with faults; nothing is built or written."""
    for path in ("/v1/metrics", "/v1/metrics/check"):
        answer = metric_client.post(path, json={"yaml": text})
        assert answer.status_code == (422 if path == "/v1/metrics" else 200)
        assert 1 <= len(answer.json()["faults"]) <= MAX_FAULTS
        assert len(answer.content) < 30_000 + len(text)  # a check has the content, which is no longer than the text
    assert list_files(tmp_path) == []


def test_own_metrics_build_on_own_metrics(metric_client):
    """`uses` finds an own metric as it is now; one that does not fit any more is a fault of the request."""
    chunks = tone("own_chunks").replace("needs: [answer]", "over: chunks\nneeds: [chunks]")
    uses = "uses: {chunks: {judged_by: own_chunks, as: [Polite]}}\n"
    built = tone("built").replace("needs: [answer]", "needs: [answer, chunks]") + uses
    for text in (chunks, built):
        assert create(metric_client, text).status_code == 201
    body = {"cases": [{**CASE, "chunks": ["x"]}], "metrics": ["built"]}

    def judge_anew():
        rows = metric_client.post("/v1/evaluate", json=body).json()["results"]
        assert [row["metric"] for row in rows] == ["own_chunks", "built"]
        return [row["fingerprint"] for row in rows]

    fingerprints_before = judge_anew()
    assert create(metric_client, chunks.replace("Courteous.", "Useful."), replace=True).status_code == 201
    assert all(old != new for old, new in zip(fingerprints_before, judge_anew(), strict=True))
    refused = metric_client.delete("/v1/metrics/own_chunks")
    assert (refused.status_code, refused.json()["code"]) == (409, "metric_in_use")
    assert create(metric_client, tone("own_chunks"), replace=True).status_code == 201
    for path, sent in (("/metrics/built/invoke", {"input": body["cases"][0]}), ("/v1/evaluate", body)):
        answer = metric_client.post(path, json=sent)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_metric")
    assert metric_client.delete("/v1/metrics/built").status_code == 204
    assert metric_client.delete("/v1/metrics/own_chunks").status_code == 204


@pytest.mark.parametrize(("check", "calls"), [(True, 13), (False, 1)])
def test_a_judge_drafts_a_metric(tmp_path, check, calls):
    """A draft is a whole file that can be created as it is, with remarks on it; it is good if it was tried."""
    judge = ScriptedJudge(draft_or_judge("It fits."))
    client = client_of(app_of(tmp_path, {"scripted": judge}))
    body = {"name": "polite", "description": "Whether the answer is polite.", "scale": ["Polite", "Rude"]}
    draft = client.post("/v1/metrics/draft", json={**body, "check": check}).json()
    assert parse_metric(draft["yaml"]).scale.names == ("Polite", "Rude")
    assert (draft["warnings"], draft["usage"]["calls"], draft["usage"]["output_tokens"]) == ([], calls, 20 * calls)
    assert draft["good"] is check
    assert create(client, draft["yaml"]).status_code == 201
    assert len(judge.calls) == calls


def test_a_judge_that_cannot_draft_is_a_502(tmp_path):
    """Where no definition came in three tries the judge is at fault; the prompt is not shown."""
    client = client_of(app_of(tmp_path, {"scripted": ScriptedJudge(["no JSON"])}))
    answer = client.post("/v1/metrics/draft", json={"name": "polite", "description": "Whether it is polite."})
    assert answer.status_code == 502
    assert "You write definitions" not in answer.text


@pytest.mark.nightly
def test_a_run_keeps_the_definition_of_a_deleted_metric(runs):
    """A deleted metric is gone, and its name free again; a run that began with it goes on as it began."""
    with serving(runs, judges={"scripted": says("Polite")}) as client:
        create(client, tone())
        run = started(client, uploaded(client, rows(4)), "tone", max_calls=2)
        ended(client, run)
        assert create(client, tone().replace("Courteous.", "Kind."), replace=True).status_code == 201
        assert client.delete("/v1/metrics/tone").status_code == 204
        assert not [path for path in list_files(runs) if path.endswith("tone.yaml")]
        assert client.get("/v1/metrics/tone").status_code == 404
        assert client.post(f"/v1/runs/{run}/resume", json={"max_calls": 4}).status_code == 202
        info = ended(client, run)
        assert (info["status"], info["progress"]["usage"]["calls"]) == ("finished", 4)
        assert len({row["fingerprint"] for row in all_results(client, run)}) == 1
        assert create(client, tone()).status_code == 201


def test_a_formula_is_saved_and_used(metric_client):
    """A text with a formula is a metric of one's own: listed as computed, shown with its text, and judged with."""
    expression = "correctness if latency <= 2 else 0.5 * correctness"
    formula = f"name: usable\ndescription: Correct and quick.\nformula: {expression}\n"
    answer = create(metric_client, formula)
    assert (answer.status_code, answer.json()["kind"], answer.json()["needs"]) == (201, "computed", [])
    detail = metric_client.get("/v1/metrics/usable").json()
    assert (detail["yaml"], detail["steps"], detail["scale"]["high"]) == (formula, [], 1.0)
    body = {"cases": [{**CASE, "usage": {"latency": 3}}], "metrics": ["usable"]}
    rows_of_metrics = metric_client.post("/v1/evaluate", json=body).json()["results"]
    values = {row["metric"]: row["outcome"]["judgements"][0]["value"] for row in rows_of_metrics}
    assert values == {"correctness": 1, "latency": 3.0, "usable": 0.5}
    assert metric_client.delete("/v1/metrics/usable").status_code == 204
