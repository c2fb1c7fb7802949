"""The queue of items to label: drawn once, in a fixed order, with weights that make figures of all items."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_runs import CHUNK, TONE, judged

from greval.errors import ArgillaError, DataError
from greval.records.annotation import Annotation
from greval.trust.annotations.files import keep_annotations
from greval.trust.annotations.rendering import escape_text, unescape_text
from greval.trust.labelling.api import DISAGREEMENTS, plan_labels


def label(queue, item, value, annotator="ana", **fields):
    """Give the annotation of an item of a queue, as the page sends it."""
    return Annotation(
        sample_id=item.sample_id,
        method=item.method,
        item=item.item,
        metric=queue.metric,
        annotator=annotator,
        value=value,
        content=item.content,
        weight=item.weight,
        stratum=item.stratum,
        suggested=queue.suggested,
        **fields,
    )


def test_labelled_items_leave_the_queue(tmp_path):
    """A queue goes on where the annotator stopped, with the same items in the same order; others begin at its start."""
    run = judged(tmp_path / "run", TONE, 30)
    first = plan_labels(run, "tone", annotator="ana", sample="random:12", limit=5)
    assert (first.judged, first.drawn, first.labelled, first.discarded, len(first.items)) == (30, 12, 0, 0, 5)
    assert sum(item.weight for item in plan_labels(run, "tone", annotator="ana", sample="random:12").items) == 30
    keep_annotations(run, [label(first, item, "Polite") for item in first.items[:3]])
    keep_annotations(run, [label(first, first.items[3], None, status="discarded")])
    then = plan_labels(run, "tone", annotator="ana", sample="random:12", limit=5)
    assert (then.drawn, then.labelled, then.discarded) == (12, 4, 1)
    assert then.items[0] == first.items[4]
    assert plan_labels(run, "tone", annotator="bob", sample="random:12", limit=5).items == first.items


def test_a_label_that_is_taken_back_is_asked_again(tmp_path):
    """Undoing a label makes it pending, and its item comes again."""
    run = judged(tmp_path / "run", TONE, 4)
    queue = plan_labels(run, "tone", annotator="ana", sample=None)
    keep_annotations(run, [label(queue, queue.items[0], "Rude")])
    keep_annotations(run, [label(queue, queue.items[0], None, status="pending")])
    assert plan_labels(run, "tone", annotator="ana", sample=None).items == queue.items


def test_a_blind_queue_has_no_verdicts(tmp_path):
    """The judge's verdict and reason are in the queue only if they are asked for; texts are as the judge saw them."""
    run = judged(tmp_path / "run", CHUNK, 3)
    blind = plan_labels(run, "chunk_use", annotator="ana", sample=None)
    assert blind.drawn == 9
    assert all(one.judgement is None and one.item for one in blind.items)
    assert "So it reads." not in blind.model_dump_json()
    one = next(one for one in blind.items if one.item == "c1-2")
    assert one.fields == {"question": "What is <number> 1?", "chunk": "chunk 2 of 1"}
    assert blind.titles == {"question": "Question", "chunk": "Chunk to judge"}
    shown = plan_labels(run, "chunk_use", annotator="ana", sample=None, suggestions=True)
    assert {item.judgement.reason for item in shown.items} == {"So it reads."}


def test_disagreements_are_what_others_labelled_differently(tmp_path):
    """Items whose labels differ from the verdict or from each other, with the weights that the labels have."""
    run = judged(tmp_path / "run", TONE, 20)
    queue = plan_labels(run, "tone", annotator="ana", sample="random:10", suggestions=True)
    wrong = {"Polite": "Rude", "Plain": "Rude", "Rude": "Polite"}
    said = [label(queue, item, item.judgement.value) for item in queue.items]
    said[2:4] = [label(queue, item, wrong[item.judgement.value]) for item in queue.items[2:4]]
    said.append(label(queue, queue.items[5], wrong[queue.items[5].judgement.value], "bob"))
    keep_annotations(run, said)
    found = plan_labels(run, "tone", annotator="eva", sample=DISAGREEMENTS)
    assert [item.content for item in found.items] == [queue.items[n].content for n in (2, 3, 5)]
    assert {item.weight for item in found.items} == {2.0}
    assert all(item.labels == {} for item in found.items)
    shown = plan_labels(run, "tone", annotator="eva", sample=DISAGREEMENTS, suggestions=True)
    assert shown.items[2].labels.keys() == {"ana", "bob"}


def test_an_impossible_queue_is_refused(tmp_path):
    """An unknown sample, an unknown metric, and uncertainty that nobody recorded are named."""
    run = judged(tmp_path / "run", TONE, 2)
    with pytest.raises(ArgillaError, match=r"sample: write random:200"):
        plan_labels(run, "tone", annotator="ana", sample="best:3")
    with pytest.raises(ArgillaError, match="certainty of the judge"):
        plan_labels(run, "tone", annotator="ana", sample="uncertain:3")
    with pytest.raises(DataError, match="was not judged by 'depth'"):
        plan_labels(run, "depth", annotator="ana")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1).filter(str.strip))
def test_escaping_is_reversible(text):
    """A text without control characters comes back, but for white space at its ends and no-break spaces."""
    plain = text.strip().replace("\u00a0", " ").replace("\u2003", "\t")
    assert unescape_text(escape_text(text)).replace("\u00a0", " ").replace("\u2003", "\t") == plain
