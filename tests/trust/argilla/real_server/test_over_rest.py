"""The round trip over HTTP against a real server: push, people answer, pull, and how far the judge agrees with them."""

from __future__ import annotations

from judged_runs import TONE, judged
from served_runs import serving, two_tenants

COUNT = 6


def test_people_are_asked_over_rest(owner, tmp_path, monkeypatch):
    """What a client pushes is what people see, what they submit comes back, and agreement is told of it."""
    judged(tmp_path / "runs" / "mine", TONE, COUNT)
    named = {"dataset": "d", "workspace": owner.workspace}
    with serving(tmp_path / "runs") as client:
        pushing = {"metrics": ["tone"], "min_submitted": 1, **named}
        for added in (COUNT, 0):
            answer = client.post("/v1/runs/mine/argilla/push", json=pushing)
            assert (answer.status_code, answer.json()["added"]) == (200, added), answer.text
        person = owner.person()
        for n, record in enumerate(owner.records("d")):
            owner.answer(person, record, "submitted", ("Polite", "Plain", "Rude")[n % 3])
        pulled = client.post("/v1/runs/mine/argilla/pull", json=named)
        assert (pulled.status_code, pulled.json()["records"], pulled.json()["unanswered"]) == (200, COUNT, 0)
        assert pulled.json()["path"] == "mine/annotations.jsonl"
        held = client.get("/v1/runs/mine/annotations").json()["annotations"]
        assert [annotation["annotator"] for annotation in held] == [person["username"]] * COUNT
        found = client.get("/v1/runs/mine/agreement", params={"metric": "tone"}).json()
        assert (found["groups"][0]["things"], found["folder"]) == (COUNT, "mine")
        monkeypatch.setenv("ARGILLA_API_KEY", "argilla.wrong")
        refused = client.post("/v1/runs/mine/argilla/pull", json=named)
        assert (refused.status_code, "argilla.wrong" in refused.text) == (502, False)


def test_a_tenant_gets_a_workspace(owner, tmp_path):
    """The first push of a key creates the workspace of its name; an admin's account cannot, and that is said."""
    judged(tmp_path / "runs" / "ana" / "mine", TONE, COUNT)
    pushing = {"metrics": ["tone"], "dataset": "d"}
    with two_tenants(tmp_path) as (client, ana, _):
        for added in (COUNT, 0):
            answer = client.post("/v1/runs/mine/argilla/push", json=pushing, headers=ana)
            assert (answer.status_code, answer.json()["added"]) == (200, added), answer.text
        assert answer.json()["workspace"] == "ana"
        named = {"dataset": "d", "workspace": owner.workspace}
        assert client.post("/v1/runs/mine/argilla/pull", json=named, headers=ana).status_code == 403
        missing = client.post("/v1/runs/mine/argilla/pull", json={"dataset": "none"}, headers=ana)
        assert (missing.status_code, owner.workspace in missing.text) == (404, False)
