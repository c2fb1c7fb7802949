"""Tests of several metrics in one record, and of `greval.argilla`, with an Argilla stand-in and without the SDK."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import httpx
import pytest
from argilla_stand_in import KEY
from tone_metrics import BUILT, PASSAGES, TONE, by_metric, cases

import greval.argilla as door
from greval import (
    CategoricalMetric,
    evaluate,
    pull_from_argilla,
    push_to_argilla,
)
from greval.errors import ArgillaArgumentError, DataError, DefinitionError, MissingExtraError
from greval.metrics.computed import COMPUTED_METRICS
from greval.testing import ScriptedJudge
from greval.trust import keep_annotations
from greval.trust.annotations.files import read_run_annotations
from greval.trust.argilla.form import build_parts, format_guidelines, name_question

CARE = CategoricalMetric(
    name="care", description="Care.", needs=["answer"], categories={"Much": "", "Little": ""}, steps=["Read."]
)
BOTH = ["tone", "care"]


def judge(messages):
    return {"reason": "r", "value": "Much"} if "Care." in messages[0].text else by_metric(messages)


@pytest.fixture
def run(tmp_path):
    return evaluate(cases(4), [TONE, CARE], ScriptedJudge(judge), out=tmp_path / "run").folder


@pytest.fixture
def dataset(stand_in):
    """Give what greval uses of a dataset of the SDK, the dataset "d" of the only workspace."""
    with httpx.Client(base_url=stand_in.url, headers={"X-Argilla-Api-Key": KEY}) as client:
        workspace = SimpleNamespace(name="team")
        yield SimpleNamespace(id="d0", name="d", workspace=workspace, _client=SimpleNamespace(http_client=client))


def push(run, stand_in, metrics=BOTH, **more):
    return push_to_argilla(run, metrics, dataset="d", url=stand_in.url, key=KEY, **more)


def pull(run, stand_in, **more):
    return pull_from_argilla(run, dataset="d", url=stand_in.url, key=KEY, **more)


def test_a_record_has_a_question_for_each_metric(run, stand_in):
    """Both metrics are questions of one record, and what is answered comes back as annotations of both."""
    done = push(run, stand_in)
    assert (done.metrics, done.judged, done.added, done.known, done.suggested) == (("tone", "care"), 4, 4, 0, 0)
    questions = stand_in.parts["d0"]["questions"]
    assert [question["name"] for question in questions] == ["tone", "tone_comment", "care", "care_comment"]
    assert {(*record["fields"],) for record in stand_in.records["d0"].values()} == {("question", "answer")}
    stand_in.answer("d0", "q0", "u1", "Rude", question="tone")
    stand_in.answer("d0", "q1", "u2", "Little", question="care")
    stand_in.answer("d0", "q2", "u1", "Rude", question="tone", status="draft")
    pulled = pull(run, stand_in)
    assert (pulled.metrics, pulled.records, pulled.unanswered) == (("tone", "care"), 4, 2)
    rows = read_run_annotations(run).annotations
    assert {(row.metric, row.sample_id, row.annotator, row.value, row.status) for row in rows} == {
        ("tone", "q0", "ana", "Rude", "submitted"),
        ("care", "q1", "bob", "Little", "submitted"),
        ("tone", "q2", "ana", "Rude", "draft"),
        ("care", "q2", "ana", None, "draft"),
    }
    assert push(run, stand_in).known == 4
    assert len(stand_in.records["d0"]) == 4


def test_what_one_door_began_the_other_continues(run, stand_in, dataset):
    """A dataset that was made by name is pushed to and pulled through a client of the SDK, and the other way round."""
    push(run, stand_in)
    evaluate(cases(5), [TONE, CARE], ScriptedJudge(judge), out=run)
    done = door.push(run, [TONE, "care"], dataset=dataset)
    assert (done.dataset, done.workspace, done.added, done.known) == ("d", "team", 1, 4)
    assert push(run, stand_in).known == 5
    for number in range(5):
        stand_in.answer("d0", f"q{number}", "u1", "Rude", question="tone")
    annotations = door.pull(dataset, BOTH, run=run)
    keep_annotations(run, annotations)
    stored = (run / "annotations.jsonl").read_text(encoding="utf-8")
    assert len(annotations) == 5
    pull(run, stand_in)
    assert sorted((run / "annotations.jsonl").read_text(encoding="utf-8")) == sorted(stored)


def test_a_subset_of_the_metrics_is_pulled(run, stand_in, dataset):
    """By default all metrics that have a question are pulled; an unknown one is refused."""
    push(run, stand_in)
    stand_in.answer("d0", "q0", "u1", "Little", question="care")
    assert pull(run, stand_in, metrics="care").metrics == ("care",)
    assert [row.metric for row in door.pull(dataset, "care", run=run)] == ["care"]
    with pytest.raises(DataError, match="was not judged by 'depth'"):
        pull(run, stand_in, metrics=["depth"])
    stand_in.parts["d0"]["questions"] = []
    with pytest.raises(ArgillaArgumentError, match=r"no question named after a judged metric .*tone, care\)"):
        pull(run, stand_in)


def test_suggestions_are_added_and_nothing_else_is_sent(run, stand_in, dataset):
    """A blind record of a user's dataset gets the suggestions that it lacks once; its other parts are not sent."""
    push(run, stand_in)
    stand_in.datasets["d0"]["metadata"] = None
    before = {key: dict(record) for key, record in stand_in.records["d0"].items()}
    assert door.push(run, BOTH, dataset=dataset, suggestions=True).suggested == 4
    after = stand_in.records["d0"]
    assert all({**after[key], "suggestions": []} == record for key, record in before.items())
    values = {tuple(suggestion["value"] for suggestion in record["suggestions"]) for record in after.values()}
    assert values == {("Polite", "Much")}
    assert door.push(run, BOTH, dataset=dataset, suggestions=True).suggested == 0
    stand_in.answer("d0", "q0", "u1", "Rude", question="tone")
    assert [row.suggested for row in door.pull(dataset, [TONE])] == [True]


def test_records_of_users_are_known_by_their_ids(run, stand_in, dataset):
    """A record whose id is that of a sample is not added again, gets suggestions, and its answers are annotations."""
    push(run, stand_in)
    stand_in.datasets["d0"]["metadata"] = None
    stand_in.records["d0"] = {
        f"q{n}": {"id": f"u{n}", "external_id": f"q{n}", "fields": {"x": "y"}, "metadata": {}, "suggestions": []}
        for n in range(5)
    }
    answer = {"user_id": "u1", "status": "submitted", "values": {"tone": {"value": "Rude"}}}
    stand_in.records["d0"]["q2"]["responses"] = [answer]
    pulled = pull(run, stand_in)
    (row,) = read_run_annotations(run).annotations
    assert (row.sample_id, row.value, row.content, pulled.records, pulled.unknown) == ("q2", "Rude", None, 4, 1)
    done = door.push(run, BOTH, dataset=dataset, suggestions=True)
    assert (done.added, done.known, done.suggested) == (0, 4, 4)


def test_a_dataset_that_does_not_fit_is_refused(run, stand_in):
    """The error names fields and metadata that do not fit; nothing is sent."""
    push(run, stand_in, "care")
    stand_in.datasets["d0"] |= {"allow_extra_metadata": False, "metadata": None}
    stand_in.parts["d0"]["questions"] += [{**part, "id": "t"} for part in build_parts([TONE])["questions"]]
    stand_in.parts["d0"]["metadata-properties"] = []
    stand_in.parts["d0"]["fields"].append({"name": "prompt", "required": True})
    stand_in.records["d0"].clear()
    message = "it has no field question; it requires prompt.*; it takes no metadata sample_id, content, weight"
    with pytest.raises(ArgillaArgumentError, match=message):
        push(run, stand_in)
    assert stand_in.records["d0"] == {}


def test_metrics_that_saw_other_texts_are_refused(tmp_path, stand_in):
    """A metric that builds on others saw fewer chunks than one that does not: they need two datasets."""
    whole = CARE.model_copy(update={"needs": ("answer", "chunks")})
    run = evaluate(cases(2), [PASSAGES, BUILT, whole], ScriptedJudge(judge), out=tmp_path / "run").folder
    with pytest.raises(ArgillaArgumentError, match="saw different texts in the field chunks; push them to datasets"):
        push(run, stand_in, ["built", "care"])


def test_an_item_of_one_metric_lacks_the_fields_of_the_other(tmp_path, stand_in):
    """A field that not all metrics need is not required: the other metric may have skipped the case."""
    aligned = CARE.model_copy(update={"needs": ("answer", "expected_answer")})
    mixed = [case.model_copy(update={"expected_answer": "A"}) if case.id == "q0" else case for case in cases(2)]
    run = evaluate(mixed, [TONE, aligned], ScriptedJudge(judge), out=tmp_path / "run").folder
    assert push(run, stand_in).added == 2
    required = {field["name"]: field["required"] for field in stand_in.parts["d0"]["fields"]}
    assert required == {"question": False, "answer": True, "expected_answer": False}
    fields = {record["metadata"]["sample_id"]: {*record["fields"]} for record in stand_in.records["d0"].values()}
    assert fields == {"q0": {"question", "answer", "expected_answer"}, "q1": {"question", "answer"}}


def test_one_name_is_not_used_twice():
    """The question of a metric has another name than any field; two tags or comments of one name are refused."""
    named = CARE.model_copy(update={"name": "answer"})
    assert [part["name"] for part in build_parts([named])["questions"]] == ["answer_value", "answer_comment"]
    assert name_question("answer_ab") == "answer_ab_value"
    comment = CARE.model_copy(update={"name": "care_comment"})
    with pytest.raises(ArgillaArgumentError, match="would have 'care_comment' twice"):
        build_parts([CARE, comment])
    tags = [CARE.model_copy(update={"name": f"m{n}", "needs": ("answer", f"tags.{n}")}) for n in "ab"]
    with pytest.raises(ArgillaArgumentError, match=r"m.* needs 'b' in the field tag_1, where another has 'a'"):
        build_parts(tags)
    assert format_guidelines([TONE, CARE]).count("# tone\n\n") == 1


def test_the_sdk_is_loaded_when_it_is_needed(run, monkeypatch):
    """Neither `import greval` nor `import greval.argilla` loads the SDK; without it the extra is named."""
    code = "import sys, greval, greval.argilla; print('argilla' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    monkeypatch.setitem(sys.modules, "argilla", None)
    for call in (lambda: door.settings([TONE]), lambda: door.records(run, BOTH)):
        with pytest.raises(MissingExtraError, match=r"pip install 'greval\[argilla\]'"):
            call()


def test_metrics_without_a_run_are_predefined_or_definitions():
    """A computed metric and an unknown name are refused."""
    with pytest.raises(DataError, match="latency: is computed"):
        door.settings([COMPUTED_METRICS["latency"]])
    with pytest.raises(DefinitionError, match="nothing: no such metric"):
        door.settings("nothing")
    with pytest.raises(DataError, match="metrics: expected one or several, got none"):
        door.settings([])
