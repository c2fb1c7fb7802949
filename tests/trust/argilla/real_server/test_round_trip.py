"""The round trip against a real server: what is pushed is what people see, and what they submit is what comes back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from judged_runs import CHUNK, TONE, VALUES, judged, rows

from greval import Case, CategoricalMetric, evaluate
from greval.errors import ArgillaError, DataError
from greval.records.annotation import Annotation
from greval.records.metric import build_metric
from greval.runs.store.writer import StoreWriter
from greval.testing import ScriptedJudge
from greval.trust.agreement.api import agreement
from greval.trust.argilla.form import JUDGE_FIELD
from greval.trust.argilla.pull import pull_from_argilla
from greval.trust.argilla.push import push_to_argilla


def test_annotators_see_the_material_and_nothing_of_the_judge(owner, tmp_path):
    """A blind record holds no verdict that an annotator could see, and its texts are escaped."""
    push_to_argilla(
        judged(tmp_path / "run", TONE, 6), "tone", dataset="d", workspace=owner.workspace, sample="stratified:6"
    )
    person = owner.person()
    path = f"/me/datasets/{owner.dataset('d')['id']}/records/search?include=suggestions"
    seen = [one["record"] for one in owner.ask("POST", path, {}, person["api_key"])["items"]]
    assert len(seen) == 6
    for record in seen:
        assert record["metadata"] == {}
        assert record["suggestions"] == []
        assert not any(value in json.dumps(record) for value in VALUES["tone"])
        assert "&lt;script&gt;" in record["fields"]["answer"]
        assert "<script>" not in record["fields"]["answer"]
    assert "Courteous & calm." in owner.dataset("d")["guidelines"]


def test_suggestions_are_the_verdicts(owner, tmp_path):
    """With suggestions each record holds the judge's value, its confidence and its name."""

    def answer(_):
        return {"reason": "r", "value": "Plain"}

    run = tmp_path / "run"
    evaluate([Case(id="q", question="?", answer="a")], [TONE], ScriptedJudge(answer), out=run)
    push_to_argilla(run, "tone", dataset="d", workspace=owner.workspace, suggestions=True)
    (record,) = owner.records("d")
    (suggestion,) = record["suggestions"]
    questions = owner.ask("GET", f"/datasets/{owner.dataset('d')['id']}/questions")["items"]
    assert {one["id"]: one["name"] for one in questions}[suggestion["question_id"]] == "tone"
    assert suggestion["value"] == "Plain"
    assert suggestion["agent"]


@pytest.mark.nightly
def test_what_the_judge_wrote_is_shown_with_its_verdict(owner, tmp_path):
    """With suggestions a record holds reason, findings and notes, escaped; a blind one has no such field.

    They are no part of what is judged: an answer is still one to the same content.
    """
    metric = build_metric(
        {**TONE.model_dump(mode="json"), "reason_depth": "steps", "notes": {"advice": "what to change"}}
    )
    verdict = {"reason": "It <b>thanks</b>.", "value": "Polite", "advice": "Greet first.\nThen thank."}
    verdict["findings"] = {"step_1": "It says thanks.", "step_2": "Calm."}
    run = tmp_path / "run"
    evaluate([Case(id="q", question="?", answer="a")], [metric], ScriptedJudge([verdict]), out=run)
    options = {"workspace": owner.workspace, "min_submitted": 1}
    push_to_argilla(run, "tone", dataset="blind", **options)
    push_to_argilla(run, "tone", dataset="told", suggestions=True, **options)
    (blind,), (told,) = owner.records("blind"), owner.records("told")
    assert {*told["fields"]} - {*blind["fields"]} == {JUDGE_FIELD}
    assert told["fields"][JUDGE_FIELD].split("<br>") == [
        "It &lt;b&gt;thanks&lt;/b&gt;.",
        "step 1: It says thanks.",
        "step 2: Calm.",
        "advice: Greet first.",
        "Then thank.",
    ]
    assert {name: told["fields"][name] for name in blind["fields"]} == blind["fields"]
    person = owner.person()
    owner.answer(person, told, "submitted", "Plain")
    pulled = pull_from_argilla(run, dataset="told", workspace=owner.workspace)
    assert pulled.edited == 0
    (row,) = rows(run / "annotations.jsonl")
    assert row["suggested"]
    assert row["value"] == "Plain"
    assert push_to_argilla(run, "tone", dataset="told", suggestions=True, **options).added == 0


@pytest.mark.nightly
def test_weights_come_back_and_later_things_are_a_draw_of_their_own(owner, tmp_path):
    """A sample's weights stand with the records and the annotations; what comes later is drawn from what is new."""
    run = judged(tmp_path / "run", TONE, 40)
    options = {"dataset": "d", "workspace": owner.workspace, "sample": "random:10"}
    assert (push_to_argilla(run, "tone", **options).drawn, push_to_argilla(run, "tone", **options).added) == (10, 0)
    judged(run, TONE, 60)
    later = push_to_argilla(run, "tone", **options)
    assert (later.judged, later.drawn, later.added, later.known) == (60, 20, 10, 10)
    assert push_to_argilla(run, "tone", **options).added == 0
    person = owner.person()
    for record in owner.records("d"):
        owner.answer(person, record, "submitted", "Plain")
    pull_from_argilla(run, dataset="d", workspace=owner.workspace)
    found = [Annotation.model_validate(row) for row in rows(run / "annotations.jsonl")]
    parts = {part: [one.weight for one in found if one.stratum == part] for part in (None, "draw 2")}
    assert parts == {None: [4.0] * 10, "draw 2": [2.0] * 10}
    assert {one.metadata["weight"] for one in map(_Row, owner.records("d"))} == {4.0, 2.0}


class _Row:
    """A record, its metadata by attribute."""

    def __init__(self, record):
        self.metadata = record["metadata"]


def test_what_changed_underneath_is_a_new_record(owner, tmp_path):
    """A thing whose text changed is pushed again as another record, said so; answers to the old text are kept apart."""
    run = judged(tmp_path / "run", TONE, 5)
    options = {"dataset": "d", "workspace": owner.workspace}
    push_to_argilla(run, "tone", **options)
    person = owner.person()
    for record in owner.records("d"):
        owner.answer(person, record, "submitted", "Plain")
    assert pull_from_argilla(run, **options).outdated == 0
    judged(run, TONE, 5, word="was")
    done = push_to_argilla(run, "tone", **options)
    assert (done.judged, done.added, done.changed, done.known) == (5, 5, 5, 0)
    assert len(owner.records("d")) == 10
    pulled = pull_from_argilla(run, **options)
    assert (pulled.records, pulled.unanswered, pulled.edited, pulled.outdated) == (5, 5, 0, 5)
    assert pulled.gone == {}
    assert rows(run / "annotations.jsonl") == []
    assert len(rows(Path(pulled.outdated_path))) == 5
    assert push_to_argilla(run, "tone", **options).added == 0


def test_agreement_takes_answers_to_the_judged_text_only(owner, tmp_path):
    """Answers of a record that was edited, and of a case that was judged again, are left out and named."""
    run = judged(tmp_path / "run", TONE, 5)
    options = {"dataset": "d", "workspace": owner.workspace}
    push_to_argilla(run, "tone", **options)
    person = owner.person()
    first, *rest = owner.records("d")
    owner.ask("PATCH", f"/records/{first['id']}", {"fields": {**first["fields"], "answer": "Edited."}})
    for record in (first, *rest):
        owner.answer(person, record, "submitted", "Plain")
    pull_from_argilla(run, **options)
    edited = first["metadata"]["sample_id"]
    found = agreement(run, "tone")
    assert (found.changed, found.groups[0].things) == ((f"{edited} ({first['metadata']['method']})",), 4)
    judged(run, TONE, 5, word="was")
    with pytest.raises(DataError, match="5 of another text"):
        agreement(run, "tone")


def test_a_metric_that_builds_on_others_shows_what_its_judge_saw(owner, tmp_path):
    """Where a metric was judged on the useful chunks alone, people see these alone."""
    complete = CategoricalMetric(
        name="complete",
        description="d",
        needs=("question", "chunks"),
        steps=["s"],
        categories={"Yes": "", "No": ""},
        uses={"chunks": {"judged_by": "chunk_use", "as": ["Helps"]}},
    )

    def answer(messages):
        if "<item" not in messages[-1].text:
            return {"reason": "r", "value": "Yes"}
        return {
            "judgements": [{"item": n, "reason": "r", "value": "Helps" if n == 2 else "Does not"} for n in (1, 2, 3)]
        }

    run = tmp_path / "run"
    case = Case(id="q", question="?", chunks=["first", "second", "third"])
    evaluate([case], [CHUNK, complete], ScriptedJudge(answer), out=run)
    push_to_argilla(run, "complete", dataset="d", workspace=owner.workspace)
    assert [one["fields"]["chunks"] for one in owner.records("d")] == ["[1] second"]


def test_two_datasets_and_rows_of_others_stay_apart(owner, tmp_path):
    """A pull takes the place of what was pulled from that dataset, and of nothing else in the file."""
    run = judged(tmp_path / "run", TONE, 4)
    person = owner.person()
    for name, sample in (("one", None), ("two", "random:2")):
        push_to_argilla(run, "tone", dataset=name, workspace=owner.workspace, sample=sample)
        for record in owner.records(name):
            owner.answer(person, record, "submitted", "Plain")
    path = run / "annotations.jsonl"
    own = Annotation(sample_id="q0", metric="tone", annotator="csv", value="Rude").model_dump_json()
    path.write_text(f"{own}\n", encoding="utf-8")
    for name in ("one", "two", "one", "two"):
        pull_from_argilla(run, dataset=name, workspace=owner.workspace)
    assert len(rows(path)) == 1 + 4 + 2
    assert rows(path)[0]["annotator"] == "csv"


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
    ids = ",".join(one["id"] for one in owner.records("two"))
    owner.ask("DELETE", f"/datasets/{owner.dataset('two')['id']}/records?ids={ids}")
    assert pull_from_argilla(run, dataset="two", workspace=owner.workspace).gone == {person["username"]: 2}
    assert rows(run / "annotations.jsonl") == []


@pytest.mark.nightly
def test_answers_of_a_deleted_account_are_moved_not_lost(owner, tmp_path):
    """What an earlier pull brought and the server no longer holds leaves the annotations, told, into a file beside."""
    run = judged(tmp_path / "run", TONE, 3)
    options = {"dataset": "d", "workspace": owner.workspace}
    push_to_argilla(run, "tone", **options)
    ana, bob = owner.person(), owner.person()
    for record in owner.records("d"):
        owner.answer(ana, record, "submitted", "Plain")
        owner.answer(bob, record, "submitted", "Rude")
    assert pull_from_argilla(run, **options).gone == {}
    owner.ask("DELETE", f"/users/{bob['id']}")
    for _ in range(2):
        pulled = pull_from_argilla(run, **options)
        assert {row["annotator"] for row in rows(run / "annotations.jsonl")} == {ana["username"]}
    first = [row["annotator"] for row in rows(run / "argilla" / f"{owner.dataset('d')['id']}.gone.jsonl")]
    assert first == [bob["username"]] * 3
    assert pulled.gone == {}


def test_records_that_greval_did_not_push_are_told(owner, tmp_path):
    """A record added by hand is left out and counted; a copy of the run without its notes still reads the others."""
    run = judged(tmp_path / "run", CHUNK, 2)
    options = {"dataset": "d", "workspace": owner.workspace}
    push_to_argilla(run, "chunk_use", **options)
    fields = owner.records("d")[0]["fields"]
    path = f"/datasets/{owner.dataset('d')['id']}/records/bulk"
    owner.ask("PUT", path, {"items": [{"external_id": "mine", "fields": fields}, {"fields": fields}]})
    person = owner.person()
    for record in owner.records("d"):
        owner.answer(person, record, "submitted", "Helps")
    assert (pull_from_argilla(run, **options).records, pull_from_argilla(run, **options).unknown) == (6, 2)
    whole = sorted((run / "annotations.jsonl").read_text(encoding="utf-8").splitlines())
    copy = judged(tmp_path / "copy", CHUNK, 2)
    assert (pull_from_argilla(copy, **options).records, pull_from_argilla(copy, **options).unknown) == (6, 2)
    assert sorted((copy / "annotations.jsonl").read_text(encoding="utf-8").splitlines()) == whole


@pytest.mark.nightly
def test_a_sample_drawn_elsewhere_is_not_mixed(owner, tmp_path):
    """From a copy of a run that has grown, a sample is not drawn anew into the same dataset; the same draw is known."""
    run = judged(tmp_path / "run", TONE, 20)
    options = {"dataset": "d", "workspace": owner.workspace, "sample": "random:5"}
    push_to_argilla(run, "tone", **options)
    same = judged(tmp_path / "same", TONE, 20)
    assert push_to_argilla(same, "tone", **options).added == 0
    grown = judged(tmp_path / "grown", TONE, 30)
    with pytest.raises(ArgillaError, match="drawn elsewhere"):
        push_to_argilla(grown, "tone", **options)
    assert len(owner.records("d")) == 5


async def test_asynchronous_code_calls_them_in_threads(owner, tmp_path):
    """Several runs are pushed and pulled at once from asynchronous code, the server known from the environment."""
    runs = [await asyncio.to_thread(judged, tmp_path / name, TONE, 3) for name in "ab"]
    options = [{"dataset": run.name, "workspace": owner.workspace} for run in runs]
    done = await asyncio.gather(
        *(asyncio.to_thread(push_to_argilla, run, "tone", **more) for run, more in zip(runs, options, strict=True))
    )
    assert [one.added for one in done] == [3, 3]
    found = await asyncio.gather(
        *(asyncio.to_thread(pull_from_argilla, run, **more) for run, more in zip(runs, options, strict=True))
    )
    assert [one.records for one in found] == [3, 3]


def test_a_run_that_is_written_can_be_pushed(owner, tmp_path):
    """Pushing reads: it waits for no run and holds up none."""
    run = judged(tmp_path / "run", TONE, 2)
    with StoreWriter.create(run):
        assert push_to_argilla(run, "tone", dataset="d", workspace=owner.workspace).added == 2
