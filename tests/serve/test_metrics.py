"""Metrics over REST: listed, shown, checked, created and drafted; what is one client's is nobody else's."""

from __future__ import annotations

import unicodedata

import pytest
from drafting_judge import DRAFT
from served_metrics import CASE, app_of, client_of, says, tone
from served_runs import ended, serving, started, uploaded

from greval import load_metric, parse_metric
from greval.metrics.library import predefined
from greval.records.metric import JudgedMetric
from greval.serve.middleware.api_keys import add_key
from greval.serve.problems import MAX_FAULTS
from greval.testing import ScriptedJudge


@pytest.fixture
def client(tmp_path):
    """Give a client of an app without own metrics."""
    return client_of(app_of(tmp_path))


def create(client, text, **params):
    """Ask for a metric of one's own."""
    return client.post("/v1/metrics", json={"yaml": text}, params=params)


def files(folder):
    """Give every file under a folder, by its path in it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_judges_are_listed_by_name(tmp_path):
    """A client sees the judges that it may name, the first as the default, and no key or address."""
    client = client_of(app_of(tmp_path, {"one": says(), "two": says()}))
    told = client.get("/v1/judges").json()["judges"]
    assert told == [
        {"name": "one", "label": "ScriptedJudge", "default": True},
        {"name": "two", "label": "ScriptedJudge", "default": False},
    ]


def test_every_predefined_metric_is_listed_and_shown(client):
    """The list holds the predefined metrics, each shown in full with a file that reads as the metric itself."""
    listed = {info["name"]: info for info in client.get("/v1/metrics").json()["metrics"]}
    assert [*listed] == [*predefined()]
    for name, metric in predefined().items():
        shown = client.get(f"/v1/metrics/{name}").json()
        assert {key: shown[key] for key in listed[name]} == listed[name]
        assert shown["scale"] == metric.scale.model_dump(mode="json")
        assert shown["origin"] == "predefined"
        if isinstance(metric, JudgedMetric):
            assert parse_metric(shown["yaml"]) == metric
            assert shown["steps"] == [*metric.steps]
        else:
            assert shown["yaml"] is None


def test_lists_are_filtered(client):
    """`kind` and `own` narrow the list."""
    create(client, tone())
    kinds = {
        kind: client.get("/v1/metrics", params={"kind": kind}).json()["metrics"] for kind in ("judged", "computed")
    }
    assert {info["kind"] for info in kinds["judged"]} == {"judged"}
    assert len(kinds["judged"]) + len(kinds["computed"]) == len(predefined()) + 1
    assert [info["name"] for info in client.get("/v1/metrics", params={"own": True}).json()["metrics"]] == ["tone"]
    assert len(client.get("/v1/metrics", params={"own": False}).json()["metrics"]) == len(predefined())
    assert client.get("/v1/metrics", params={"kind": "other"}).status_code == 422


def test_a_computed_metric_is_shown_with_any_setting(client):
    """`ndcg@5` is found though the list names `ndcg@10` only."""
    assert client.get("/v1/metrics/ndcg@5").json()["description"] == load_metric("ndcg@5").description
    assert client.get("/v1/metrics/ndcg@0").status_code == 404


def test_an_unknown_metric_is_404_with_the_nearest_name(client):
    """Who slips is told the name that was meant."""
    answer = client.get("/v1/metrics/corectness")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert "did you mean correctness?" in answer.json()["detail"]


def test_a_new_metric_is_usable_at_once(client, tmp_path):
    """What was created is listed, shown as it was sent, served to LangServe's clients and judged over REST."""
    answer = create(client, tone())
    assert answer.status_code == 201
    assert answer.json()["origin"] == "own"
    assert client.get("/v1/metrics/tone").json()["yaml"] == tone()
    assert client.get("/metrics/tone/input_schema").status_code == 200
    judged = client.post("/v1/evaluate", json={"cases": [CASE], "metrics": ["tone"]})
    assert judged.json()["results"][0]["metric"] == "tone"
    assert [name for name in files(tmp_path / "runs") if ".usage" not in name] == [".metrics/tone.yaml"]


def test_a_name_is_taken_once(client):
    """A second metric of the name is refused, unless an own one is to be replaced; then the new one counts at once."""
    create(client, tone())
    assert create(client, tone()).status_code == 409
    changed = tone().replace("Courteous.", "Friendly.")
    assert create(client, changed, replace=True).status_code == 201
    assert client.get("/v1/metrics/tone").json()["yaml"] == changed


@pytest.mark.parametrize("name", ["Höflichkeit", "丁寧さ", "शिष्टता", "tone-2.v@1", "_x"])
def test_names_of_any_script_are_served(client, name):
    """A name in any script is created, found in both forms of Unicode, and judged by."""
    assert create(client, tone(name)).status_code == 201
    for form in ("NFC", "NFD"):
        written = unicodedata.normalize(form, name)
        assert client.get(f"/v1/metrics/{written}").json()["name"] == unicodedata.normalize("NFC", name)
        assert client.post(f"/metrics/{written}/invoke", json={"input": CASE}).status_code == 200


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
def test_hostile_yaml_is_refused_soon(client, tmp_path, text):
    """Aliases, tags, depth and length end in a short refusal with faults; nothing is built or written."""
    for path in ("/v1/metrics", "/v1/metrics/check"):
        answer = client.post(path, json={"yaml": text})
        assert answer.status_code == (422 if path == "/v1/metrics" else 200)
        assert 1 <= len(answer.json()["faults"]) <= MAX_FAULTS
        assert len(answer.content) < 30_000 + len(text)  # a check has the content, which is no longer than the text
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    "body", [{"yaml": "x" * 65_537}, {"yaml": ""}, {"yaml": 1}, {}, {"yaml": "x", "name": "y"}, []]
)
def test_what_is_no_text_of_a_file_is_refused(client, body):
    """A body of another form is a fault of the request."""
    assert client.post("/v1/metrics", json=body).status_code == 422


def test_half_characters_are_refused(client):
    """A lone surrogate in a body is a fault that can be told."""
    answer = client.post(
        "/v1/metrics", content=b'{"yaml": "name: \\ud800"}', headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422
    assert answer.json()["faults"]


def test_own_metrics_may_build_on_own_ones(client):
    """`uses` finds an own metric; one that is not there or does not fit is a fault."""
    over = tone("polite_chunks").replace("needs: [answer]", "over: chunks\nneeds: [chunks]")
    builds = tone("built").replace("needs: [answer]", "needs: [answer, chunks]") + (
        "uses: {chunks: {judged_by: polite_chunks, as: [Polite]}}\n"
    )
    refused = create(client, builds)
    assert refused.status_code == 422
    assert "'polite_chunks' is not a metric" in refused.json()["faults"][0]["message"]
    assert not client.post("/v1/metrics/check", json={"yaml": builds}).json()["ok"]
    assert create(client, over).status_code == 201
    assert create(client, builds).status_code == 201
    answer = client.post("/v1/evaluate", json={"cases": [{**CASE, "chunks": ["x"]}], "metrics": ["built"]})
    assert [result["metric"] for result in answer.json()["results"]] == ["polite_chunks", "built"]


@pytest.mark.nightly
def test_an_own_metric_can_be_deleted(tmp_path):
    """A deleted metric is gone, and its name free again; a run that began with it has its definition."""
    with serving(tmp_path / "runs", judges={"scripted": says()}) as client:
        create(client, tone())
        run = started(client, uploaded(client, [CASE]), "tone")
        ended(client, run)
        assert client.delete("/v1/metrics/tone").status_code == 204
        assert not [path for path in files(tmp_path) if path.endswith("tone.yaml")]
        assert client.get("/v1/metrics/tone").status_code == 404
        gone = client.delete("/v1/metrics/tone")
        assert (gone.status_code, gone.json()["code"]) == (404, "metric_not_found")
        assert client.post(f"/v1/runs/{run}/resume").status_code == 202
        assert ended(client, run)["status"] == "finished"
        assert create(client, tone()).status_code == 201


def test_only_own_metrics_can_be_deleted(client):
    """A predefined metric stays, and so does one that another own metric builds on."""
    refused = client.delete("/v1/metrics/correctness")
    assert (refused.status_code, refused.json()["code"]) == (403, "metric_not_own")
    assert client.get("/v1/metrics/correctness").status_code == 200
    create(client, tone("polite_chunks").replace("needs: [answer]", "over: chunks\nneeds: [chunks]"))
    uses = "uses: {chunks: {judged_by: polite_chunks, as: [Polite]}}\n"
    create(client, tone("built").replace("needs: [answer]", "needs: [answer, chunks]") + uses)
    refused = client.delete("/v1/metrics/polite_chunks")
    assert (refused.status_code, refused.json()["code"]) == (409, "metric_in_use")
    assert "built" in refused.json()["detail"]
    assert client.delete("/v1/metrics/built").status_code == 204
    assert client.delete("/v1/metrics/polite_chunks").status_code == 204


def test_checking_tells_all_faults_and_warnings(client, tmp_path):
    """A check gives every fault with its line, or what would make judging unsure; it keeps nothing."""
    faulty = client.post("/v1/metrics/check", json={"yaml": "name: x\nneeds: [answr]\n"}).json()
    assert not faulty["ok"]
    assert any("did you mean answer?" in fault["message"] for fault in faulty["faults"])
    assert all(fault["place"].startswith("yaml:") for fault in faulty["faults"])
    good = client.post(
        "/v1/metrics/check", json={"yaml": tone().replace("polite", "polite and whether it is true")}
    ).json()
    assert good["ok"]
    assert "joins two questions" in good["warnings"][0]
    assert files(tmp_path) == []


def test_tenants_do_not_see_each_others_metrics(tmp_path):
    """With keys, what one client made is not listed, shown, served or taken for another, who may use the name."""
    keys = tmp_path / "keys.json"
    app = app_of(tmp_path, keys=keys)
    ana, bob = (client_of(app, add_key(keys, name)) for name in ("ana", "bob"))
    assert create(ana, tone()).status_code == 201
    assert [info["name"] for info in bob.get("/v1/metrics", params={"own": True}).json()["metrics"]] == []
    assert bob.get("/v1/metrics/tone").status_code == 404
    assert bob.post("/metrics/tone/invoke", json={"input": CASE}).status_code == 404
    assert bob.post("/v1/evaluate", json={"cases": [CASE], "metrics": ["tone"]}).status_code == 404
    assert create(bob, tone().replace("Courteous.", "Bob's.")).status_code == 201
    assert ana.get("/v1/metrics/tone").json()["yaml"] == tone()


def test_a_judge_drafts_a_metric(tmp_path):
    """A draft is a whole file that can be created as it is, with remarks on it."""
    judge = ScriptedJudge([DRAFT])
    client = client_of(app_of(tmp_path, {"scripted": judge}))
    wanted = {"name": "polite", "description": "Whether the answer is polite.", "scale": ["Polite", "Rude"]}
    draft = client.post("/v1/metrics/draft", json=wanted).json()
    assert parse_metric(draft["yaml"]).scale.names == ("Polite", "Rude")
    assert (draft["warnings"], draft["usage"]["calls"], draft["usage"]["output_tokens"]) == ([], 1, 20)
    assert create(client, draft["yaml"]).status_code == 201
    assert len(judge.calls) == 1


def test_a_judge_that_cannot_draft_is_told(tmp_path):
    """Where no definition came in three tries the judge is at fault; the prompt is not shown."""
    client = client_of(app_of(tmp_path, {"scripted": ScriptedJudge(["no JSON"])}))
    answer = client.post("/v1/metrics/draft", json={"name": "polite", "description": "Whether it is polite."})
    assert answer.status_code == 502
    assert "You write definitions" not in answer.text


@pytest.mark.parametrize(
    "change",
    [{"scale": [5, 1]}, {"scale": [1]}, {"scale": ["A", "a"]}, {"scale": "other"}, {"name": "../x"}, {"name": ""},
     {"description": " "}, {"over": "words"}, {"judge": 1}, {"more": 1}],
)  # fmt: skip
def test_faulty_drafts_are_refused_unasked(tmp_path, change):
    """What cannot be drafted is refused before a judge is asked."""
    judge = ScriptedJudge([DRAFT])
    client = client_of(app_of(tmp_path, {"scripted": judge}))
    answer = client.post("/v1/metrics/draft", json={"name": "x", "description": "Whether it is polite.", **change})
    assert answer.status_code == 422
    assert not judge.calls


def test_an_unknown_judge_is_404(client):
    """A judge that the operator did not set up cannot be named."""
    body = {"name": "x", "description": "Whether it is polite.", "judge": "openai:gpt-x"}
    assert client.post("/v1/metrics/draft", json=body).status_code == 404
