"""The round trip against a real server: what is pushed is what people see, and what they submit is what comes back."""

from __future__ import annotations

import json

import pytest
from judged_runs import TONE, VALUES, judged, rows

from greval.runs.store.writer import StoreWriter
from greval.trust.argilla.pull import pull_from_argilla
from greval.trust.argilla.push import push_to_argilla


def test_annotators_see_the_material_and_nothing_of_the_judge(owner, tmp_path):
    """A blind record holds no verdict that an annotator could see, and its texts are escaped."""
    push_to_argilla(
        judged(tmp_path / "run", TONE, 6), "tone", dataset="d", workspace=owner.workspace, sample="stratified:6"
    )
    person = owner.person()
    path = f"/me/datasets/{owner.dataset('d')['id']}/records/search?include=suggestions"
    seen = [entry["record"] for entry in owner.ask("POST", path, {}, person["api_key"])["items"]]
    assert len(seen) == 6
    for record in seen:
        assert record["metadata"] == {}
        assert record["suggestions"] == []
        assert not any(value in json.dumps(record) for value in VALUES["tone"])
        assert "&lt;script&gt;" in record["fields"]["answer"]
        assert "<script>" not in record["fields"]["answer"]
    assert "Courteous & calm." in owner.dataset("d")["guidelines"]


@pytest.mark.nightly
def test_what_two_datasets_brought_stays_while_one_has_it(owner, tmp_path):
    """A row that two datasets brought alike is one row, and stays when one of them holds it no longer."""
    run = judged(tmp_path / "run", TONE, 2)
    person = owner.person()
    for name, count in (("one", 2), ("two", 3)):
        push_to_argilla(run, "tone", dataset=name, workspace=owner.workspace, min_submitted=count)
        for record in owner.records(name):
            owner.answer(person, record, "submitted", "Plain")
        pull_from_argilla(run, dataset=name, workspace=owner.workspace)
    ids = ",".join(one["id"] for one in owner.records("one"))
    owner.ask("DELETE", f"/datasets/{owner.dataset('one')['id']}/records?ids={ids}")
    assert pull_from_argilla(run, dataset="one", workspace=owner.workspace).gone == {}
    assert len(rows(run / "annotations.jsonl")) == 2
    ids = ",".join(record["id"] for record in owner.records("two"))
    owner.ask("DELETE", f"/datasets/{owner.dataset('two')['id']}/records?ids={ids}")
    assert pull_from_argilla(run, dataset="two", workspace=owner.workspace).gone == {person["username"]: 2}
    assert rows(run / "annotations.jsonl") == []


def test_a_run_that_is_written_can_be_pushed(owner, tmp_path):
    """Pushing reads: it waits for no run and holds up none."""
    run = judged(tmp_path / "run", TONE, 2)
    with StoreWriter.create(run):
        assert push_to_argilla(run, "tone", dataset="d", workspace=owner.workspace).added == 2
