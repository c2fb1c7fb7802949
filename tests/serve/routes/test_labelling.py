"""Items to label over HTTP: asked for, labelled with an upload, and asked for again."""

from __future__ import annotations

import json

from judged_runs import TONE, judged

ASKED = {"metric": "tone", "annotator": "ana", "sample": "stratified:6"}


def test_a_queue_is_worked_off(client, runs):
    """Labels sent with content and weight take their items from the queue; the verdicts are not told."""
    judged(runs / "judged", TONE, 12)
    answer = client.post("/v1/runs/judged/labels", json=ASKED)
    queue = answer.json()
    assert answer.status_code == 200, queue
    assert (queue["drawn"], queue["labelled"], len(queue["items"])) == (6, 0, 6)
    assert "So it reads." not in answer.text
    item = queue["items"][0]
    label = {name: item[name] for name in ("sample_id", "method", "item", "content", "weight", "stratum")}
    sent = client.put(
        "/v1/runs/judged/annotations",
        content=json.dumps([{**label, "metric": "tone", "annotator": "ana", "value": "Rude"}]),
        headers={"Content-Type": "application/json"},
    )
    assert sent.status_code == 200, sent.json()
    later = client.post("/v1/runs/judged/labels", json=ASKED).json()
    assert later["labelled"] == 1
    assert later["items"] == queue["items"][1:]
    shown = client.post("/v1/runs/judged/labels", json={**ASKED, "blind": False}).json()
    assert shown["items"][0]["judgement"]["reason"] == "So it reads."
