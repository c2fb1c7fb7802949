"""The round trip against a real server: what is pushed is what people see, and what they submit is what comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from judged_runs import CHUNK, KINDS, TONE, VALUES, judged, rows

from greval import Case, CategoricalMetric, evaluate
from greval.annotation import Annotation
from greval.argilla import ArgillaError, pull, push
from greval.argilla.form import JUDGEMENT
from greval.store import Store
from greval.testing import ScriptedJudge


def who(row):
    """Give what an annotation is of, and by whom."""
    return row["sample_id"], row["method"], row["item"], row["annotator"], row["value"]


def told(record, person, value):
    """Give the same of a record as the server tells it."""
    about = record["metadata"]
    return about["sample_id"], about["method"], about.get("item"), person["username"], value


def submitted(path):
    """Give the submitted rows of a file."""
    return [row for row in rows(path) if row["status"] == "submitted"]


@pytest.mark.parametrize("suggestions", [False, True], ids=["blind", "suggested"])
@pytest.mark.parametrize("name", KINDS)
def test_exactly_what_was_submitted_comes_back(owner, tmp_path, name, suggestions):
    """From empty, with drafts, discards, an edit and a deleted person; pushing again changes nothing."""
    metric = KINDS[name]
    count = 60 if suggestions else 300
    run = judged(tmp_path / "run", metric, count // 3 if metric.over else count)
    options = {"dataset": name, "workspace": owner.workspace}
    done = push(run, name, suggestions=suggestions, **options)
    assert (done.judged, done.drawn, done.added, done.known, done.changed) == (count, count, count, 0, 0)
    records = owner.records(name)
    assert len({one["external_id"] for one in records}) == count
    assert all(bool(one["suggestions"]) == suggestions for one in records)

    rated = name == "depth"
    answers = [value if rated else str(value) for value in VALUES[name]]
    ana, bob, cid = owner.person(), owner.person(), owner.person()
    expected = []
    for n, record in enumerate(records[:10]):
        expected.append(told(record, ana, VALUES[name][n % len(answers)]))
        owner.answer(ana, record, "submitted", answers[n % len(answers)], "why \u00fc" if n == 0 else None)
    for record in records[5:12]:
        expected.append(told(record, bob, VALUES[name][0]))
        owner.answer(bob, record, "submitted", answers[0])
    owner.answer(ana, records[10], "draft", answers[1])
    owner.answer(ana, records[11], "draft")
    owner.answer(ana, records[12], "discarded")
    owner.answer(ana, records[13], "discarded", answers[0])
    owner.ask("POST", f"/records/{records[14]['id']}/responses", {"status": "discarded", "values": {}}, ana["api_key"])
    owner.answer(cid, records[0], "submitted", answers[0])
    owner.ask("DELETE", f"/users/{cid['id']}")
    owner.ask("PATCH", f"/records/{records[1]['id']}", {"fields": {**records[1]["fields"], "question": "Edited?"}})
    owner.ask("PATCH", f"/records/{records[2]['id']}", {"metadata": {}})

    for _ in range(2):
        pulled = pull(run, **options)
        found = submitted(run / "annotations.jsonl")
        assert sorted(map(who, found), key=str) == sorted(expected, key=str)
    assert (pulled.records, pulled.unanswered, pulled.edited, pulled.unknown) == (count, count - 12, 1, 0)
    counts = {one.annotator: (one.submitted, one.draft, one.discarded, one.pending) for one in pulled.annotators}
    assert counts == {ana["username"]: (10, 2, 3, count - 15), bob["username"]: (7, 0, 0, count - 7)}
    assert {row["suggested"] for row in found} == {suggestions}
    assert [row["comment"] for row in found if row["comment"]] == ["why \u00fc"]
    edited = [row for row in found if row["content"] not in {one["metadata"]["content"] for one in records}]
    assert [who(row) for row in edited] == [expected[1]]
    drafts = [row["value"] for row in rows(run / "annotations.jsonl") if row["status"] == "draft"]
    assert drafts == [VALUES[name][1], None]

    before = owner.records(name)
    again = push(run, name, suggestions=suggestions, **options)
    assert (again.added, again.known, again.changed) == (0, count, 0)
    assert owner.records(name) == before


def test_annotators_see_the_material_and_nothing_of_the_judge(owner, tmp_path):
    """A blind record holds no verdict that an annotator could see, and its texts are escaped."""
    push(judged(tmp_path / "run", TONE, 6), "tone", dataset="d", workspace=owner.workspace, sample="stratified:6")
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
    push(run, "tone", dataset="d", workspace=owner.workspace, suggestions=True)
    (record,) = owner.records("d")
    (suggestion,) = record["suggestions"]
    questions = owner.ask("GET", f"/datasets/{owner.dataset('d')['id']}/questions")["items"]
    assert {one["id"]: one["name"] for one in questions}[suggestion["question_id"]] == JUDGEMENT
    assert suggestion["value"] == "Plain"
    assert suggestion["agent"]


def test_weights_come_back_and_later_things_are_a_draw_of_their_own(owner, tmp_path):
    """A sample's weights stand with the records and the annotations; what comes later is drawn from what is new."""
    run = judged(tmp_path / "run", TONE, 40)
    options = {"dataset": "d", "workspace": owner.workspace, "sample": "random:10"}
    assert (push(run, "tone", **options).drawn, push(run, "tone", **options).added) == (10, 0)
    judged(run, TONE, 60)
    later = push(run, "tone", **options)
    assert (later.judged, later.drawn, later.added, later.known) == (60, 20, 10, 10)
    assert push(run, "tone", **options).added == 0
    person = owner.person()
    for record in owner.records("d"):
        owner.answer(person, record, "submitted", "Plain")
    pull(run, dataset="d", workspace=owner.workspace)
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
    push(run, "tone", **options)
    person = owner.person()
    for record in owner.records("d"):
        owner.answer(person, record, "submitted", "Plain")
    assert pull(run, **options).outdated == 0
    judged(run, TONE, 5, word="was")
    done = push(run, "tone", **options)
    assert (done.judged, done.added, done.changed, done.known) == (5, 5, 5, 0)
    assert len(owner.records("d")) == 10
    pulled = pull(run, **options)
    assert (pulled.records, pulled.unanswered, pulled.edited, pulled.outdated) == (5, 5, 0, 5)
    assert pulled.gone == {}
    assert rows(run / "annotations.jsonl") == []
    assert len(rows(Path(pulled.outdated_path))) == 5
    assert push(run, "tone", **options).added == 0


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
    push(run, "complete", dataset="d", workspace=owner.workspace)
    assert [one["fields"]["chunks"] for one in owner.records("d")] == ["[1] second"]


def test_two_datasets_and_rows_of_others_stay_apart(owner, tmp_path):
    """A pull takes the place of what was pulled from that dataset, and of nothing else in the file."""
    run = judged(tmp_path / "run", TONE, 4)
    person = owner.person()
    for name, sample in (("one", None), ("two", "random:2")):
        push(run, "tone", dataset=name, workspace=owner.workspace, sample=sample)
        for record in owner.records(name):
            owner.answer(person, record, "submitted", "Plain")
    path = run / "annotations.jsonl"
    own = Annotation(sample_id="q0", metric="tone", annotator="csv", value="Rude").model_dump_json()
    path.write_text(f"{own}\n", encoding="utf-8")
    for name in ("one", "two", "one", "two"):
        pull(run, dataset=name, workspace=owner.workspace)
    assert len(rows(path)) == 1 + 4 + 2
    assert rows(path)[0]["annotator"] == "csv"


def test_what_two_datasets_brought_stays_while_one_has_it(owner, tmp_path):
    """A row that two datasets brought alike is one row, and stays when one of them holds it no longer."""
    run = judged(tmp_path / "run", TONE, 2)
    person = owner.person()
    for name, count in (("one", 2), ("two", 3)):
        push(run, "tone", dataset=name, workspace=owner.workspace, min_submitted=count)
        for record in owner.records(name):
            owner.answer(person, record, "submitted", "Plain")
        pull(run, dataset=name, workspace=owner.workspace)
    ids = ",".join(one["id"] for one in owner.records("one"))
    owner.ask("DELETE", f"/datasets/{owner.dataset('one')['id']}/records?ids={ids}")
    assert pull(run, dataset="one", workspace=owner.workspace).gone == {}
    assert len(rows(run / "annotations.jsonl")) == 2
    ids = ",".join(one["id"] for one in owner.records("two"))
    owner.ask("DELETE", f"/datasets/{owner.dataset('two')['id']}/records?ids={ids}")
    assert pull(run, dataset="two", workspace=owner.workspace).gone == {person["username"]: 2}
    assert rows(run / "annotations.jsonl") == []


def test_answers_of_a_deleted_account_are_moved_not_lost(owner, tmp_path):
    """What an earlier pull brought and the server no longer holds leaves the annotations, told, into a file beside."""
    run = judged(tmp_path / "run", TONE, 3)
    options = {"dataset": "d", "workspace": owner.workspace}
    push(run, "tone", **options)
    ana, bob = owner.person(), owner.person()
    for record in owner.records("d"):
        owner.answer(ana, record, "submitted", "Plain")
        owner.answer(bob, record, "submitted", "Rude")
    assert pull(run, **options).gone == {}
    owner.ask("DELETE", f"/users/{bob['id']}")
    for _ in range(2):
        pulled = pull(run, **options)
        assert {row["annotator"] for row in rows(run / "annotations.jsonl")} == {ana["username"]}
    first = [row["annotator"] for row in rows(run / "argilla" / f"{owner.dataset('d')['id']}.gone.jsonl")]
    assert first == [bob["username"]] * 3
    assert pulled.gone == {}


def test_records_that_greval_did_not_push_are_told(owner, tmp_path):
    """A record added by hand is left out and counted; a copy of the run without its notes still reads the others."""
    run = judged(tmp_path / "run", CHUNK, 2)
    options = {"dataset": "d", "workspace": owner.workspace}
    push(run, "chunk_use", **options)
    fields = owner.records("d")[0]["fields"]
    path = f"/datasets/{owner.dataset('d')['id']}/records/bulk"
    owner.ask("PUT", path, {"items": [{"external_id": "mine", "fields": fields}, {"fields": fields}]})
    person = owner.person()
    for record in owner.records("d"):
        owner.answer(person, record, "submitted", "Helps")
    assert (pull(run, **options).records, pull(run, **options).unknown) == (6, 2)
    whole = sorted((run / "annotations.jsonl").read_text(encoding="utf-8").splitlines())
    copy = judged(tmp_path / "copy", CHUNK, 2)
    assert (pull(copy, **options).records, pull(copy, **options).unknown) == (6, 2)
    assert sorted((copy / "annotations.jsonl").read_text(encoding="utf-8").splitlines()) == whole


def test_a_sample_drawn_elsewhere_is_not_mixed(owner, tmp_path):
    """From a copy of a run that has grown, a sample is not drawn anew into the same dataset; the same draw is known."""
    run = judged(tmp_path / "run", TONE, 20)
    options = {"dataset": "d", "workspace": owner.workspace, "sample": "random:5"}
    push(run, "tone", **options)
    same = judged(tmp_path / "same", TONE, 20)
    assert push(same, "tone", **options).added == 0
    grown = judged(tmp_path / "grown", TONE, 30)
    with pytest.raises(ArgillaError, match="drawn elsewhere"):
        push(grown, "tone", **options)
    assert len(owner.records("d")) == 5


def test_a_run_that_is_written_can_be_pushed(owner, tmp_path):
    """Pushing reads: it waits for no run and holds up none."""
    run = judged(tmp_path / "run", TONE, 2)
    with Store.create(run):
        assert push(run, "tone", dataset="d", workspace=owner.workspace).added == 2
