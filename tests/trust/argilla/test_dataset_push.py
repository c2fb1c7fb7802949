"""Tests of a push into any dataset and of a pull from it, with an Argilla stand-in and without the SDK."""

from __future__ import annotations

import subprocess
import sys

import pytest
from argilla_stand_in import KEY
from tone_metrics import BUILT, PASSAGES, TONE, by_metric, cases

import greval.argilla as door
from greval import CategoricalMetric, evaluate
from greval.errors import ArgillaArgumentError, ArgillaError, DataError, DefinitionError, MissingExtraError
from greval.metrics.computed import COMPUTED_METRICS
from greval.testing import ScriptedJudge
from greval.trust.annotations.files import read_run_annotations
from greval.trust.argilla.client import ArgillaClient
from greval.trust.argilla.dataset_pull import pull_annotations
from greval.trust.argilla.form import build_parts, format_all_guidelines
from greval.trust.argilla.ledger import Ledger
from greval.trust.argilla.pull import pull_from_argilla
from greval.trust.argilla.push import push_to_argilla

CARE = CategoricalMetric(
    name="care", description="Care.", needs=["answer"], categories={"Much": "", "Little": ""}, steps=["Read."]
)
BOTH = ["tone", "care"]


def judge(messages):
    """Answer for the metric of the prompt."""
    return {"reason": "r", "value": "Much"} if "Care." in messages[0].text else by_metric(messages)


@pytest.fixture
def run(tmp_path):
    """Judge four answers by two metrics."""
    return evaluate(cases(4), [TONE, CARE], ScriptedJudge(judge), out=tmp_path / "run").folder


def push(run, stand_in, metrics=BOTH, **more):
    """Push to the dataset "d"."""
    return door.push(run, metrics, dataset="d", url=stand_in.url, key=KEY, **more)


def pull(stand_in, metrics=(TONE, CARE), ledger=None):
    """Pull from the dataset "d"."""
    with ArgillaClient(stand_in.url, KEY) as server:
        return [*pull_annotations(server, "d0", metrics, ledger=ledger or Ledger())]


def test_a_record_has_a_question_for_each_metric(run, stand_in):
    """Both metrics are questions of one record, and what is answered comes back as annotations of both."""
    done = push(run, stand_in)
    assert (done.metrics, done.judged, done.added, done.known, done.suggested) == (("tone", "care"), 4, 4, 0, 0)
    assert [one["name"] for one in stand_in.parts["d0"]["questions"]] == [
        "tone",
        "tone_comment",
        "care",
        "care_comment",
    ]
    assert {(*one["fields"],) for one in stand_in.records["d0"].values()} == {("question", "answer")}
    stand_in.answer("d0", "q0", "u1", "Rude", question="tone")
    stand_in.answer("d0", "q1", "u2", "Little", question="care")
    stand_in.answer("d0", "q2", "u1", "Rude", question="tone", status="draft")
    found = {(one.metric, one.sample_id, one.annotator, one.value, one.status) for one in pull(stand_in)}
    assert found == {
        ("tone", "q0", "ana", "Rude", "submitted"),
        ("care", "q1", "bob", "Little", "submitted"),
        ("tone", "q2", "ana", "Rude", "draft"),
        ("care", "q2", "ana", None, "draft"),
    }
    assert push(run, stand_in).known == 4
    assert len(stand_in.records["d0"]) == 4


def test_suggestions_are_added_and_nothing_else_is_sent(run, stand_in):
    """A blind record gets the suggestions that it lacks once; its other parts are not sent."""
    push(run, stand_in)
    before = {key: dict(one) for key, one in stand_in.records["d0"].items()}
    assert push(run, stand_in, suggestions=True).suggested == 4
    after = stand_in.records["d0"]
    assert all({**after[key], "suggestions": []} == record for key, record in before.items())
    values = {tuple(one["value"] for one in record["suggestions"]) for record in after.values()}
    assert values == {("Polite", "Much")}
    assert push(run, stand_in, suggestions=True).suggested == 0
    stand_in.answer("d0", "q0", "u1", "Rude", question="tone")
    assert [one.suggested for one in pull(stand_in, [TONE])] == [True]


def test_a_changed_answer_is_a_further_record(run, stand_in):
    """The old record stays; the text of an answer to it is known to be another one."""
    push(run, stand_in)
    changed = [one.model_copy(update={"answer": "Another."}) if one.id == "q0" else one for one in cases(4)]
    evaluate(changed, [TONE, CARE], ScriptedJudge(judge), out=run)
    done = push(run, stand_in)
    assert (done.added, done.known, done.changed) == (1, 3, 1)
    stand_in.answer("d0", "q0", "u1", "Rude", question="tone")
    old, new = pull(stand_in, [TONE])
    assert old.content != new.content


def test_a_dataset_of_the_command_is_pulled_alike(run, stand_in):
    """Annotations of a dataset that `push_to_argilla` made are those that `pull_from_argilla` stores."""
    options = {"dataset": "d", "url": stand_in.url, "key": KEY}
    push_to_argilla(run, "tone", **options, sample="random:2")
    for record in [*stand_in.records["d0"].values()]:
        stand_in.answer("d0", record["metadata"]["sample_id"], "u1", "Rude")
    pull_from_argilla(run, **options)
    stored = read_run_annotations(run).annotations
    assert len(stored) == 2
    assert sorted(pull(stand_in, [TONE]), key=str) == sorted(stored, key=str)


def test_records_of_users_are_known_by_their_ids(run, stand_in):
    """A record whose id is that of a sample is not added again, and gets suggestions."""
    push(run, stand_in)
    stand_in.records["d0"] = {
        f"q{n}": {"id": f"u{n}", "external_id": f"q{n}", "fields": {"x": "y"}, "metadata": {}, "suggestions": []}
        for n in range(4)
    }
    done = push(run, stand_in, suggestions=True)
    assert (done.added, done.known, done.suggested) == (0, 4, 4)


def test_an_interrupted_creation_is_completed(run, stand_in):
    """A dataset without some of its parts is completed by the same push, and by no other."""
    stand_in.failing["publish"] = (500, {"detail": "broken"})
    with pytest.raises(ArgillaError, match="broken"):
        push(run, stand_in)
    stand_in.failing.clear()
    with pytest.raises(ArgillaArgumentError, match="'d' is not published"):
        push(run, stand_in, "tone")
    assert push(run, stand_in).added == 4


def test_a_dataset_that_does_not_fit_is_refused(run, stand_in):
    """The error names fields and metadata that do not fit; nothing is sent."""
    push(run, stand_in, "care")
    stand_in.parts["d0"]["questions"] += [{**one, "id": "t"} for one in build_parts([TONE], named=True)["questions"]]
    stand_in.datasets["d0"]["allow_extra_metadata"] = False
    stand_in.parts["d0"]["metadata-properties"] = []
    stand_in.parts["d0"]["fields"].append({"name": "prompt", "required": True})
    stand_in.records["d0"].clear()
    message = "it has no field question; it requires prompt.*; it takes no metadata sample_id, content, weight"
    with pytest.raises(ArgillaArgumentError, match=message):
        push(run, stand_in)
    assert stand_in.records["d0"] == {}


def test_what_cannot_be_pushed_is_refused(run, tmp_path, stand_in):
    """The error says what is wrong, and nothing is created on the server."""
    with pytest.raises(DataError, match="was not judged by 'depth'"):
        push(run, stand_in, ["tone", "depth"])
    with pytest.raises(DataError, match="metrics: expected one or several, got none"):
        push(run, stand_in, [])
    with pytest.raises(ArgillaError, match="min_submitted: expected 1 or more, got 0"):
        push(run, stand_in, min_submitted=0)
    with pytest.raises(ArgillaError, match="sample: write random:200"):
        push(run, stand_in, sample="some")
    built = evaluate(cases(2), [PASSAGES, TONE], ScriptedJudge(by_metric), out=tmp_path / "built").folder
    with pytest.raises(ArgillaArgumentError, match="tone judges answers and passages chunks"):
        push(built, stand_in, ["tone", "passages"])
    assert stand_in.datasets == {}


def test_metrics_that_saw_other_texts_are_refused(tmp_path, stand_in):
    """A metric that builds on others saw fewer chunks than one that does not: they need two datasets."""
    whole = CARE.model_copy(update={"needs": ("answer", "chunks")})
    run = evaluate(cases(2), [PASSAGES, BUILT, whole], ScriptedJudge(judge), out=tmp_path / "run").folder
    with pytest.raises(ArgillaArgumentError, match="saw different texts in the field chunks; push them to datasets"):
        push(run, stand_in, ["built", "care"])


def test_one_name_is_not_used_twice():
    """A metric with the name of a field is refused, as are tags of different names in one field."""
    named = CARE.model_copy(update={"name": "answer"})
    with pytest.raises(ArgillaArgumentError, match="would have 'answer' twice"):
        build_parts([named], named=True)
    tags = [CARE.model_copy(update={"name": f"m{n}", "needs": ("answer", f"tags.{n}")}) for n in "ab"]
    with pytest.raises(ArgillaArgumentError, match=r"m.* needs 'b' in the field tag_1, where another has 'a'"):
        build_parts(tags, named=True)
    assert format_all_guidelines([TONE, CARE]).count("# tone\n\n") == 1


def test_the_sdk_is_loaded_when_it_is_needed(run, monkeypatch):
    """Neither `import greval` nor `import greval.argilla` loads the SDK; without it the extra is named."""
    code = "import sys, greval, greval.argilla; print('argilla' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    monkeypatch.setitem(sys.modules, "argilla", None)
    for call in (lambda: door.settings([TONE]), lambda: door.records(run, BOTH)):
        with pytest.raises(MissingExtraError, match=r"pip install 'greval\[argilla\]'"):
            call()


def test_metrics_without_a_run_are_predefined_or_definitions(stand_in):
    """A computed metric and an unknown name are refused."""
    with pytest.raises(DataError, match="latency: is computed"):
        door.settings([COMPUTED_METRICS["latency"]])
    with pytest.raises(DefinitionError, match="nothing: no such metric"):
        door.settings("nothing")
