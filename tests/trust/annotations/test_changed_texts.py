"""A label of another text is no label of this one: what people were shown is held against what the judge was shown."""

from __future__ import annotations

import pytest

from greval import Case, CategoricalMetric, ManyCategoricalMetric, ValueMetric, evaluate
from greval.errors import DataError
from greval.metrics.computed import COMPUTED_METRICS
from greval.records.annotation import Annotation
from greval.runs.run_reader import read_judged_metric
from greval.runs.store import Store
from greval.testing import ScriptedJudge
from greval.trust.agreement.api import agreement
from greval.trust.annotations.judged_items import hash_contents, read_judged_items
from greval.trust.annotations.matching import match_annotations
from greval.trust.estimates.api import estimate

TONE = CategoricalMetric(
    name="tone", description="d", needs=("question", "answer"), steps=["s"], categories={"Polite": "", "Rude": ""}
)
USE = ManyCategoricalMetric(
    name="use", description="d", over="chunks", needs=("chunks",), steps=["s"], categories={"Yes": "", "No": ""}
)
WHOLE = ValueMetric(
    name="whole",
    description="d",
    needs=("question", "chunks"),
    steps=["s"],
    range=(0, 1),
    levels={0: "No.", 1: "Yes."},
    uses={"chunks": {"judged_by": "use", "as": ["Yes"]}},
)


def answer(messages):
    """Say the first value; of chunks that the second is of use."""
    text = messages[-1].text
    if "<item" in text:
        values = ["No", "Yes", "Yes"][: text.count("<item n=")]
        return {"judgements": [{"item": n, "reason": "r", "value": value} for n, value in enumerate(values, 1)]}
    return {"reason": "r", "value": 1 if "chunk" in text else "Polite"}


def judged(folder, cases, *metrics):
    """Judge cases into a run folder, or again with other texts."""
    evaluate(cases, metrics, ScriptedJudge(answer), out=folder)
    return folder


def cases(count, changed=()):
    """Give cases, some with another answer."""
    return [Case(id=f"q{n}", question="?", answer=f"{'new' if n in changed else 'old'} {n}") for n in range(count)]


def labels(run, metric, annotator="ana", value="Polite"):
    """Give a label of each judged thing as it is now, as Argilla's records would hold it."""
    with Store.open(run) as store:
        return [
            Annotation(**one.place.model_dump(), metric=metric, annotator=annotator, value=value, content=one.content)
            for one in read_judged_items(store, read_judged_metric(store, metric))
        ]


def matched(run, rows, metric="tone"):
    """Match annotations with a run."""
    with Store.open(run) as store:
        return match_annotations(store, metric, rows)


@pytest.mark.parametrize("changed", [set(), {2}, {0, 3, 5}, {*range(6)}], ids=len)
def test_only_changed_items_are_left_out(tmp_path, changed):
    """Where a run is judged again with other texts, labels of the changed things are left out, all others count."""
    run = judged(tmp_path / "run", cases(6), TONE)
    rows = labels(run, "tone")
    judged(run, cases(6, changed), TONE)
    matches = matched(run, rows)
    assert {thing.sample_id for thing in matches.things} == {f"q{n}" for n in range(6) if n not in changed}
    assert set(matches.changed) == {f"q{n}" for n in changed}
    assert (matches.outdated, matches.strange, matches.unjudged, matches.differing) == (len(changed), (), (), ())


def test_a_text_that_came_back_counts_again(tmp_path):
    """What counts is the text of the verdict that stands now, whichever texts there were meanwhile."""
    run = judged(tmp_path / "run", cases(2), TONE)
    rows = labels(run, "tone")
    judged(run, cases(2, {0, 1}), TONE)
    assert matched(run, rows).things == ()
    judged(run, cases(2), TONE)
    assert len(matched(run, rows).things) == 2


def test_fields_that_the_judge_does_not_see_may_change(tmp_path):
    """A text that the metric does not need is none of what was judged."""
    run = judged(tmp_path / "run", cases(1), TONE)
    rows = labels(run, "tone")
    judged(run, [case.model_copy(update={"expected_answer": "other"}) for case in cases(1)], TONE)
    assert matched(run, rows).changed == ()


def test_each_annotation_counts_by_what_its_person_saw(tmp_path):
    """Of one thing the labels of the new text stay, and those that do not tell a text; an old one replaces no new."""
    run = judged(tmp_path / "run", cases(1), TONE)
    old = labels(run, "tone", value="Rude")
    judged(run, cases(1, {0}), TONE)
    rows = [
        *labels(run, "tone"),
        *old,
        *(label.model_copy(update={"annotator": "bob"}) for label in old),
        Annotation(sample_id="q0", metric="tone", annotator="eve", value="Rude"),
    ]
    matches = matched(run, rows)
    assert [thing.values for thing in matches.things] == [{"ana": "Polite", "eve": "Rude"}]
    assert (matches.changed, matches.outdated, matches.replaced, matches.differing) == (("q0",), 2, 0, ())


def test_each_chunk_is_an_item(tmp_path):
    """Where one chunk's text changed, the labels of the others stay."""
    first = Case(id="q", method="m", question="?", chunks=[{"id": f"c{n}", "text": f"text {n}"} for n in range(3)])
    run = judged(tmp_path / "run", [first], USE)
    rows = labels(run, "use", value="Yes")
    texts = [{"id": f"c{n}", "text": "other" if n == 1 else f"text {n}"} for n in range(3)]
    judged(run, [Case(id="q", method="m", question="?", chunks=texts)], USE)
    matches = matched(run, rows, "use")
    assert sorted(thing.item for thing in matches.things) == ["c0", "c2"]
    assert matches.changed == ("q (m, c1)",)


def test_a_dependent_metric_is_compared_with_the_input_of_its_judge(tmp_path):
    """Where a judge saw the useful chunks alone, a change of another chunk is no change of the thing."""
    chunks = [{"id": "c0", "text": "chunk of no use"}, {"id": "c1", "text": "chunk of use"}]
    run = judged(tmp_path / "run", [Case(id="q", question="?", chunks=chunks)], USE, WHOLE)
    rows = labels(run, "whole", value=1)
    other = [{"id": "c0", "text": "another chunk of no use"}, chunks[1]]
    judged(run, [Case(id="q", question="?", chunks=other)], USE, WHOLE)
    assert matched(run, rows, "whole").changed == ()
    judged(
        run, [Case(id="q", question="?", chunks=[chunks[0], {"id": "c1", "text": "a chunk that changed"}])], USE, WHOLE
    )
    assert matched(run, rows, "whole").changed == ("q",)


@pytest.mark.parametrize(("methods", "found"), [(["walk"], 3), (["walk", "local"], 0)])
def test_a_label_without_a_method_is_of_the_only_one(tmp_path, methods, found):
    """Where a run has one method it need not be named; of several none is guessed."""
    run = judged(
        tmp_path / "run", [case.model_copy(update={"method": name}) for name in methods for case in cases(3)], TONE
    )
    rows = [Annotation(sample_id=f"q{n}", metric="tone", annotator="ana", value="Polite") for n in range(3)]
    assert [thing.method for thing in matched(run, rows).things] == ["walk"] * found


def test_without_a_content_hash_ids_decide(tmp_path):
    """Computed metrics show nothing to a judge; a run without its cases tells nothing of texts."""
    run = tmp_path / "run"
    evaluate([Case(id="q", question="?", usage={"latency": 1.0})], [COMPUTED_METRICS["latency"]], out=run)
    said = Annotation(sample_id="q", metric="latency", annotator="ana", value=1, content="of a file of theirs")
    assert len(matched(run, [said], "latency").things) == 1
    with Store.open(run) as store:
        assert hash_contents(store, "latency", {("q", "")}) == {}
        assert hash_contents(store, "no such metric", {("q", "")}) == {}


def test_agreement_and_estimate_leave_out_other_texts(tmp_path):
    """The figures are of the texts that both saw; the report names the others with their number."""
    run = judged(tmp_path / "run", cases(8), TONE)
    rows = [*labels(run, "tone"), *labels(run, "tone", "bob", "Rude")]
    judged(run, cases(8, {1, 2, 3, 4}), TONE)
    result = agreement(run, "tone", rows, combine="each")
    assert result.changed == ("q1", "q2", "q3", "q4")
    assert result.groups[0].things == 4
    told = "4 annotated items shown to people with another text than to the judge (8 annotations, left out): "
    assert f"{told}q1, q2, q3 and 1 more" in result.warnings
    estimated = estimate(run, "tone", rows[:8])
    assert (estimated.labels, estimated.not_used.another_text) == (4, 4)
    plain = [row.model_copy(update={"content": None}) for row in rows[:8]]
    assert estimate(run, "tone", plain).labels == 8


def test_without_a_matching_text_the_error_has_the_reason(tmp_path):
    """Where every label is of another text, the message says so."""
    run = judged(tmp_path / "run", cases(3), TONE)
    rows = labels(run, "tone")
    judged(run, cases(3, {0, 1, 2}), TONE)
    with pytest.raises(
        DataError, match=r"matches a verdict; the annotations: 3 submitted, 3 of another text, such as q0"
    ):
        agreement(run, "tone", rows)


def test_the_hash_of_shown_texts_is_stable(tmp_path):
    """The hash of a given text is pinned: were texts shown in another way, no label of before would count any more."""
    case = Case(id="q", question="Is a < b?", answer="Yes.\n  & so on", chunks=[{"id": "c", "text": "chunk"}])
    run = judged(tmp_path / "run", [case], TONE, USE)
    with Store.open(run) as store:
        found = {name: [*hash_contents(store, name, {("q", "")}).values()] for name in ("tone", "use")}
    assert found == {"tone": ["7945ee6d007d6feb"], "use": ["bcaad8e54b6c1bb7"]}
