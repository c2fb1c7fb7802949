"""People's judgements over HTTP: files of them, listed page by page, and items to label, asked for and sent back."""

from __future__ import annotations

import json

from agreed_runs import lines_of, said, write
from judged_runs import TONE, judged
from served_runs import read_pages

from greval.runs.store.disk import lock_folder
from greval.trust.annotations.files import read_run_annotations, write_annotations
from greval.trust.argilla.ledger import get_ledger_folder

JSON, JSONL = ({"Content-Type": f"application/{kind}"} for kind in ("json", "jsonl"))
VERDICTS = ["Yes", "Yes", "No", "Yes", "No", "No", "Yes", "No"]
ANA = ["Yes", "No", "No", "Yes", "No", "Yes", "Yes", "No"]
ASKED = {"metric": "tone", "annotator": "ana", "sample": "stratified:6"}


def test_annotations_take_the_place_of_older_ones(client, runs, tmp_path):
    """Sending a file again changes nothing; a value given anew counts; pages hold each annotation once."""
    write(runs / "judged", "right", VERDICTS)
    table = tmp_path / "ana.csv"
    write_annotations(said("right", "ana", ANA), table)
    for _ in range(2):
        sent = client.put(
            "/v1/runs/judged/annotations", content=table.read_bytes(), headers={"Content-Type": "text/csv"}
        )
        assert sent.json() == {"annotations": 8, "held": 8}
    client.put("/v1/runs/judged/annotations", content=lines_of(said("right", "ana", ["No"])), headers=JSONL)
    pages = read_pages(client, "/v1/runs/judged/annotations", limit=5)
    assert sorted(label["value"] for page in pages for label in page["annotations"]) == sorted(["No", *ANA[1:]])
    assert len(read_run_annotations(runs / "judged").annotations) == 8


def test_a_label_is_taken_back(client, runs):
    """A row whose status is pending takes the label of its item back; an empty row does not, alone or beside others."""
    write(runs / "judged", "right", VERDICTS)
    label, other = said("right", "ana", ["No", "Yes"])
    client.put("/v1/runs/judged/annotations", content=lines_of([label, other]), headers=JSONL)
    item = {name: getattr(label, name) for name in ("sample_id", "method", "metric", "annotator")}
    sheet = json.dumps([{**item, "label": None}])
    sent = client.put("/v1/runs/judged/annotations", content=sheet, headers=JSON)
    assert sent.json() == {"annotations": 0, "held": 2}
    labelled = {**item, "sample_id": other.sample_id, "value": "Yes", "status": "submitted"}
    mixed = json.dumps([{**item, "value": None, "status": None}, labelled])
    sent = client.put("/v1/runs/judged/annotations", content=mixed, headers=JSON)
    assert sent.json() == {"annotations": 1, "held": 2}
    assert [row.status for row in read_run_annotations(runs / "judged").annotations] == ["submitted"] * 2
    taken_back = json.dumps([{**item, "value": None, "status": "pending"}])
    assert client.put("/v1/runs/judged/annotations", content=taken_back, headers=JSON).status_code == 200
    stored = {row.sample_id: (row.status, row.value) for row in read_run_annotations(runs / "judged").annotations}
    assert stored == {label.sample_id: ("pending", None), other.sample_id: ("submitted", "Yes")}


def test_annotations_that_somebody_writes_are_left_alone(client, runs):
    """While a pull writes annotations of a run, a file of them is refused for the moment."""
    write(runs / "judged", "right", VERDICTS)
    sent = lines_of(said("right", "ana", ANA))
    with lock_folder(get_ledger_folder(runs / "judged")):
        assert client.put("/v1/runs/judged/annotations", content=sent, headers=JSONL).status_code == 409
    assert client.put("/v1/runs/judged/annotations", content=sent, headers=JSONL).status_code == 200


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
        headers=JSON,
    )
    assert sent.status_code == 200, sent.json()
    later = client.post("/v1/runs/judged/labels", json=ASKED).json()
    assert later["labelled"] == 1
    assert later["items"] == queue["items"][1:]
    open_queue = client.post("/v1/runs/judged/labels", json={**ASKED, "blind": False}).json()
    assert open_queue["items"][0]["judgement"]["reason"] == "So it reads."
