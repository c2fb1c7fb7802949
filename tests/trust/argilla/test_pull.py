"""Tests of a pull from an Argilla stand-in."""

from __future__ import annotations

import pytest
from argilla_stand_in import KEY
from tone_metrics import TONE, by_metric, cases

from greval import evaluate, read_annotations
from greval.errors import ArgillaError
from greval.testing import ScriptedJudge
from greval.trust.annotations.files import ANNOTATIONS_FILE, keep_annotations, read_run_annotations
from greval.trust.argilla.pull import pull_from_argilla
from greval.trust.argilla.push import push_to_argilla


@pytest.fixture
def pushed(toned, stand_in):
    """Push the answers of the run."""
    push_to_argilla(toned, "tone", dataset="d", url=stand_in.url, key=KEY)
    return toned


def pull(run, stand_in, **more):
    return pull_from_argilla(run, dataset="d", url=stand_in.url, key=KEY, **more)


def test_answers_become_annotations_of_the_same_items(pushed, stand_in):
    """Each answer has its annotator, value and status, and records without an answer are counted."""
    stand_in.answer("d0", "q0", "u1", "Polite")
    stand_in.answer("d0", "q0", "u2", "Rude")
    stand_in.answer("d0", "q1", "u1", "Rude", status="draft")
    done = pull(pushed, stand_in)
    rows = read_run_annotations(pushed).annotations
    assert {(row.sample_id, row.annotator, row.value, row.status) for row in rows} == {
        ("q0", "ana", "Polite", "submitted"),
        ("q0", "bob", "Rude", "submitted"),
        ("q1", "ana", "Rude", "draft"),
    }
    assert (done.records, done.unanswered) == (4, 3)
    assert [
        (person_counts.annotator, person_counts.submitted, person_counts.draft, person_counts.pending)
        for person_counts in done.annotators
    ] == [
        ("ana", 1, 1, 2),
        ("bob", 1, 0, 3),
    ]


def test_a_further_pull_replaces_only_its_own_rows(pushed, stand_in):
    """A changed answer replaces the old one; rows from elsewhere stay."""
    stand_in.answer("d0", "q0", "u1", "Polite")
    pull(pushed, stand_in)
    (row,) = read_run_annotations(pushed).annotations
    keep_annotations(pushed, [row.model_copy(update={"annotator": "eve", "content": None})])
    stand_in.answer("d0", "q0", "u1", "Rude")
    pull(pushed, stand_in)
    found = {annotation.annotator: annotation.value for annotation in read_run_annotations(pushed).annotations}
    assert found == {"eve": "Polite", "ana": "Rude"}


def test_answers_that_are_gone_are_kept_aside(pushed, stand_in):
    """An answer that the server no longer has counts no more, but is not lost."""
    stand_in.answer("d0", "q0", "u1", "Polite")
    pull(pushed, stand_in)
    for record in stand_in.records["d0"].values():
        record["responses"] = []
    done = pull(pushed, stand_in)
    assert done.gone == {"ana": 1}
    assert read_annotations(done.gone_path).annotations[0].value == "Polite"
    assert read_annotations(pushed / ANNOTATIONS_FILE).annotations == ()


def test_answers_to_a_changed_text_do_not_count(pushed, stand_in):
    """If the run judged another answer since, the annotation of the old one is kept aside."""
    stand_in.answer("d0", "q0", "u1", "Polite")
    changed = [case.model_copy(update={"answer": "Another."}) if case.id == "q0" else case for case in cases(4)]
    evaluate(changed, [TONE], ScriptedJudge(by_metric), out=pushed)
    done = pull(pushed, stand_in)
    assert (done.outdated, done.records) == (1, 3)
    assert [row.sample_id for row in read_annotations(done.outdated_path).annotations] == ["q0"]


def test_a_record_that_was_edited_is_counted(pushed, stand_in):
    """Its answer has the hash of the edited text, so that it is no label of the judged one."""
    stand_in.answer("d0", "q0", "u1", "Polite")
    for record in stand_in.records["d0"].values():
        if record["metadata"]["sample_id"] == "q0":
            record["fields"]["answer"] = "Edited by hand."
            content = record["metadata"]["content"]
    assert pull(pushed, stand_in).edited == 1
    assert read_run_annotations(pushed).annotations[0].content != content


def test_records_of_others_are_left_out(pushed, stand_in):
    """A record that was not pushed is counted as unknown; one of a lost ledger is known by its metadata."""
    stand_in.records["d0"]["x"] = {"id": "x", "external_id": "x", "fields": {}, "metadata": {}, "responses": []}
    for ledger in (pushed / "argilla").glob("*.json"):
        ledger.unlink()
    done = pull(pushed, stand_in)
    assert (done.records, done.unknown) == (4, 1)


def test_an_admin_reads_the_names_of_a_workspace(pushed, stand_in):
    """Only an owner may list all users."""
    stand_in.role = "admin"
    stand_in.answer("d0", "q0", "u1", "Polite")
    pull(pushed, stand_in)
    assert read_run_annotations(pushed).annotations[0].annotator == "ana"
    assert ("GET", "/workspaces/w1/users") in stand_in.requests


def test_a_failing_server_changes_no_file(pushed, stand_in):
    """The annotations of an earlier pull stay as they were."""
    stand_in.answer("d0", "q0", "u1", "Polite")
    pull(pushed, stand_in)
    before = (pushed / ANNOTATIONS_FILE).read_bytes()
    stand_in.failing["/records"] = (500, {"detail": "out of memory"})
    with pytest.raises(ArgillaError, match=r"the server failed \(500: out of memory\)"):
        pull(pushed, stand_in)
    assert (pushed / ANNOTATIONS_FILE).read_bytes() == before
