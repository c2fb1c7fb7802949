"""Tests of a push to an Argilla stand-in, by the names of datasets and through clients of the SDK."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from argilla_stand_in import KEY
from tone_metrics import BUILT, TONE, by_metric, cases

from greval import Case, evaluate
from greval.errors import ArgillaArgumentError, ArgillaError, DataError
from greval.metrics.computed import COMPUTED_METRICS
from greval.records.metric import build_metric
from greval.runs.run_reader import read_judged_cases
from greval.testing import ScriptedJudge
from greval.trust.annotations.judged_items import ItemRef
from greval.trust.argilla.form import hash_shown_texts
from greval.trust.argilla.push import push_to_argilla
from greval.trust.argilla.record_items import build_record_id


def push(run, stand_in, **more):
    """Push to the dataset "d"."""
    wanted = {"metrics": "tone", "dataset": "d", "key": KEY, **more}
    return push_to_argilla(run, wanted.pop("metrics"), url=stand_in.url, **wanted)


def count_reads(call):
    """Return how many generators of judged cases a call has run."""
    frames = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code is read_judged_cases.__code__:
            frames.add(frame)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(frames)


def test_every_judged_item_becomes_a_record(toned, stand_in):
    """A record has the text that the judge saw, the names of its item, and no verdict."""
    done = push(toned, stand_in)
    assert (done.judged, done.drawn, done.added, done.known, done.changed) == (4, 4, 4, 0, 0)
    records = stand_in.records["d0"].values()
    assert {record["metadata"]["sample_id"] for record in records} == {"q0", "q1", "q2", "q3"}
    assert {record["fields"]["answer"] for record in records} == {f"Answer {n}." for n in range(4)}
    assert not any(record["suggestions"] or "judge" in record["fields"] for record in records)
    assert {record["metadata"]["weight"] for record in records} == {1.0}
    assert stand_in.datasets["d0"]["status"] == "ready"


@pytest.mark.parametrize("more", [{}, {"sample": "random:2"}, {"suggestions": True}, {"metrics": "passages"}])
def test_a_push_reads_the_run_once(toned, stand_in, more):
    """Whatever is pushed, each judged case is read once, and a further push reads it once more."""
    assert count_reads(lambda: push(toned, stand_in, **more)) == 1
    assert count_reads(lambda: push(toned, stand_in, **more)) == 1


def test_a_repeated_push_adds_only_what_is_new(toned, stand_in):
    """Records on the server stay; new cases are added, and a changed answer is a further record."""
    push(toned, stand_in)
    again = push(toned, stand_in)
    assert (again.added, again.known) == (0, 4)
    more = [case.model_copy(update={"answer": "Another."}) if case.id == "q0" else case for case in cases(6)]
    evaluate(more, [TONE], ScriptedJudge(by_metric), out=toned)
    third = push(toned, stand_in)
    assert (third.judged, third.added, third.known, third.changed) == (6, 3, 3, 1)
    assert len(stand_in.records["d0"]) == 7


def test_a_sample_is_drawn_once(toned, stand_in):
    """The same items stay drawn with their weights, also after the records are lost on the server."""
    first = push(toned, stand_in, sample="random:2", seed=3)
    drawn = {key: one["metadata"]["weight"] for key, one in stand_in.records["d0"].items()}
    assert (first.judged, first.drawn, set(drawn.values())) == (4, 2, {2.0})
    stand_in.records["d0"].clear()
    assert push(toned, stand_in, sample="random:2", seed=3).added == 2
    assert {key: one["metadata"]["weight"] for key, one in stand_in.records["d0"].items()} == drawn


def test_suggestions_show_the_verdict_and_its_reason(toned, stand_in):
    """The page is prefilled with the judge's value, and a field has what the judge wrote."""
    push(toned, stand_in, suggestions=True)
    record = next(iter(stand_in.records["d0"].values()))
    (suggestion,) = record["suggestions"]
    assert suggestion["value"] == "Polite"
    assert suggestion["question_id"] == "questions-tone"
    assert record["fields"]["judge"] == "r"
    assert record["metadata"]["suggested"] == "yes"


def test_texts_of_the_judge_are_escaped(tmp_path, stand_in):
    """The field has reason, findings and notes, a line each, and is no part of the content that is judged."""
    fields = {"reason_depth": "steps", "notes": {"advice": "what to change"}, "steps": ["Read.", "Weigh."]}
    metric = build_metric({**TONE.model_dump(mode="json"), **fields})
    verdict = {"reason": "It <b>thanks</b>.", "value": "Polite", "advice": "Greet first.\nThen thank."}
    verdict["findings"] = {"step_1": "It says thanks.", "step_2": "Calm."}
    run = evaluate(cases(1), [metric], ScriptedJudge([verdict]), out=tmp_path / "run").folder
    push(run, stand_in, suggestions=True)
    (record,) = stand_in.records["d0"].values()
    assert record["fields"]["judge"].split("<br>") == [
        "It &lt;b&gt;thanks&lt;/b&gt;.",
        "step 1: It says thanks.",
        "step 2: Calm.",
        "advice: Greet first.",
        "Then thank.",
    ]
    assert hash_shown_texts(record["fields"]) == record["metadata"]["content"]


def test_later_items_are_a_draw_of_their_own(toned, stand_in):
    """What was judged since is sampled by itself, with weights and a stratum of its own."""
    push(toned, stand_in, sample="random:2")
    evaluate(cases(10), [TONE], ScriptedJudge(by_metric), out=toned)
    later = push(toned, stand_in, sample="random:2")
    assert (later.judged, later.drawn, later.added, later.known) == (10, 4, 2, 2)
    drawn = Counter(
        (record["metadata"].get("stratum"), record["metadata"]["weight"]) for record in stand_in.records["d0"].values()
    )
    assert drawn == {(None, 2.0): 2, ("draw 2", 3.0): 2}
    assert push(toned, stand_in, sample="random:2").added == 0


def test_a_mean_between_levels_is_not_suggested(tmp_path, stand_in):
    """Repeats that differ have a mean that is no answer: the record shows the reason and suggests nothing."""
    asked = Counter()

    def answer(messages):
        text = messages[-1].text
        asked[text] += 1
        return {"reason": "r", "value": int("Answer 1." in text or asked[text] > 1)}

    metric = BUILT.model_copy(update={"uses": {}})
    run = evaluate(cases(2), [metric], ScriptedJudge(answer), out=tmp_path / "run", repeats=2).folder
    assert push(run, stand_in, metrics="built", suggestions=True).added == 2
    found = [[one["value"] for one in record["suggestions"]] for record in stand_in.records["d0"].values()]
    assert sorted(found) == [[], [1]]


def test_records_are_sent_in_batches(tmp_path, stand_in):
    """A request holds at most 500 records."""
    run = evaluate(cases(501), [TONE], ScriptedJudge(by_metric), out=tmp_path / "many").folder
    assert push(run, stand_in).added == 501
    assert stand_in.requests.count(("PUT", "/datasets/d0/records/bulk")) == 2


def test_an_impossible_push_is_refused(toned, tmp_path, stand_in):
    """The error says what is missing, and nothing is created on the server."""
    with pytest.raises(DataError, match="was not judged by 'depth'; metrics there: passages, tone"):
        push(toned, stand_in, metrics="depth")
    with pytest.raises(ArgillaError, match="min_submitted: expected 1 or more, got 0"):
        push(toned, stand_in, min_submitted=0)
    with pytest.raises(ArgillaError, match="sample: uncertain"):
        push(toned, stand_in, sample="uncertain:2")
    with pytest.raises(ArgillaError, match="sample: write random:200"):
        push(toned, stand_in, sample="some")
    with pytest.raises(DataError, match="metrics: expected one or several, got none"):
        push(toned, stand_in, metrics=[])
    with pytest.raises(ArgillaError, match="tone judges answers and passages chunks"):
        push(toned, stand_in, metrics=["tone", "passages"])
    with pytest.raises(TypeError, match="the nearest are suggestions"):
        push(toned, stand_in, suggestion=True)
    skipped = evaluate([Case(question="?")], [TONE], ScriptedJudge(by_metric), out=tmp_path / "skipped").folder
    with pytest.raises(DataError, match="nothing was judged by 'tone' there"):
        push(skipped, stand_in)
    computed = evaluate(cases(1), [COMPUTED_METRICS["latency"]], out=tmp_path / "computed").folder
    with pytest.raises(DataError, match="latency: is computed"):
        push(computed, stand_in, metrics="latency")
    assert stand_in.datasets == {}


def test_a_sample_that_was_drawn_elsewhere_is_not_mixed(toned, tmp_path, stand_in):
    """A copy of the run without the ledger of the first push does not draw anew."""
    push(toned, stand_in, sample="random:2")
    other = evaluate(cases(40), [TONE], ScriptedJudge(by_metric), out=tmp_path / "copy").folder
    for sample in ("random:2", None):
        with pytest.raises(ArgillaError, match="holds a sample that was drawn elsewhere"):
            push(other, stand_in, sample=sample)


@pytest.mark.parametrize("more", [{"sample": "random:3"}, {"sample": "random:2", "seed": 7}, {}])
def test_another_sample_needs_another_dataset(toned, stand_in, more):
    """What was drawn stays drawn: another sample of the same items would not be one."""
    push(toned, stand_in, sample="random:2")
    with pytest.raises(ArgillaArgumentError, match=r"with the sample random:2, seed 0 \(asked for: ") as caught:
        push(toned, stand_in, **more)
    assert caught.value.kind == "taken"
    assert len(stand_in.records["d0"]) == 2


def test_all_items_of_two_runs_may_be_in_one_dataset(toned, tmp_path, stand_in):
    """Without a sample every item counts as much as every other."""
    push(toned, stand_in)
    other = evaluate(cases(6), [TONE], ScriptedJudge(by_metric), out=tmp_path / "other").folder
    assert (push(other, stand_in).added, push(other, stand_in).known) == (2, 6)


def test_the_id_of_a_record_depends_on_item_and_content():
    """Any difference gives another id; the metrics that judged the item are no part of it."""
    item = ItemRef(sample_id="q1", method="m", item="c1")
    others = [item.model_copy(update={name: "x"}) for name in ("sample_id", "method", "item")]
    assert len({*(build_record_id(each, "h") for each in (item, *others)), build_record_id(item, "g")}) == 5
