"""Files of people's judgements over HTTP: stored whole or not at all, listed page by page."""

from __future__ import annotations

from agreed_runs import lines_of, said, write
from served_runs import get_json

from greval.runs.store.disk import lock_folder
from greval.trust.annotations.files import read_run_annotations, write_annotations
from greval.trust.argilla.ledger import get_ledger_folder

JSONL = {"Content-Type": "application/jsonl"}


VERDICTS = ["Yes", "Yes", "No", "Yes", "No", "No", "Yes", "No"]


ANA = ["Yes", "No", "No", "Yes", "No", "Yes", "Yes", "No"]


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
    first = get_json(client, "/v1/runs/judged/annotations", limit=5)
    rest = get_json(client, "/v1/runs/judged/annotations", limit=5, cursor=first["next"])
    labels = [*first["annotations"], *rest["annotations"]]
    assert rest["next"] is None
    assert sorted(label["value"] for label in labels) == sorted(["No", *ANA[1:]])
    assert len(read_run_annotations(runs / "judged").annotations) == 8


def test_annotations_that_somebody_writes_are_left_alone(client, runs):
    """While a pull writes annotations of a run, a file of them is refused for the moment."""
    write(runs / "judged", "right", VERDICTS)
    sent = lines_of(said("right", "ana", ANA))
    with lock_folder(get_ledger_folder(runs / "judged")):
        assert client.put("/v1/runs/judged/annotations", content=sent, headers=JSONL).status_code == 409
    assert client.put("/v1/runs/judged/annotations", content=sent, headers=JSONL).status_code == 200
