"""The round trip over HTTP against a real server: push, people answer, pull, and how far the judge agrees with them."""

from __future__ import annotations

from judged_runs import TONE, judged
from served_runs import serving

COUNT = 6


def test_people_are_asked_over_rest(owner, tmp_path, monkeypatch):
    """What a client pushes is what people see, what they submit comes back, and agreement is told of it."""
    judged(tmp_path / "runs" / "mine", TONE, COUNT)
    named = {"dataset": "d", "workspace": owner.workspace}
    with serving(tmp_path / "runs") as client:
        pushing = {"metric": "tone", "min_submitted": 1, **named}
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
        assert [one["annotator"] for one in held] == [person["username"]] * COUNT
        found = client.get("/v1/runs/mine/agreement", params={"metric": "tone"}).json()
        assert (found["groups"][0]["things"], found["folder"]) == (COUNT, "mine")
        monkeypatch.setenv("ARGILLA_API_KEY", "argilla.wrong")
        refused = client.post("/v1/runs/mine/argilla/pull", json=named)
        assert (refused.status_code, "argilla.wrong" in refused.text) == (502, False)
