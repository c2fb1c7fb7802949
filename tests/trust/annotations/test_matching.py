"""Tests of the join of annotations with judgements."""

from agreed_runs import FAILED, GRADED, METRICS, said, write, write_chunks
from hypothesis import strategies as st

from greval.records.annotation import Annotation
from greval.runs.store import Store
from greval.trust.annotations.matching import match_annotations

SCALES = {name: metric.scale for name, metric in METRICS.items()}


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


rows = st.lists(
    st.builds(
        Annotation,
        sample_id=texts,
        method=st.just("") | texts,
        metric=texts,
        item=st.none() | texts,
        annotator=texts,
        status=st.sampled_from(["submitted", "draft", "discarded", "pending"]),
        value=texts,
        comment=st.none() | texts,
        weight=st.floats(0.01, 1e6),
        stratum=st.none() | texts,
        suggested=st.booleans(),
    ),
    max_size=6,
)


def test_things_are_matched_by_name(tmp_path):
    """Sample, method, metric and item name a thing; what is not in the run or has no verdict is told."""
    run = write(tmp_path / "run", "right", ["Yes", FAILED, "No"])
    rows = [
        *said("right", "ana", ["Yes", "Yes", "Perhaps", "Yes"]),
        *said("graded", "ana", ["Relevant"]),
        *said("right", "bob", ["No"]),
        *said("right", "bob", ["Yes"]),
        *said("right", "eve", ["No"], status="draft"),
    ]
    with Store.open(run) as store:
        found = match_annotations(store, "right", rows, SCALES["right"])
    assert [(one.sample_id, one.values) for one in found.things] == [("q0", {"ana": "Yes", "bob": "Yes"})]
    assert found.unjudged == ("q1",)
    assert found.strange == ("q3",)
    assert found.faults == ('q2, ana: \'Perhaps\' is not one of the categories "Yes", "No"',)
    assert (found.others, found.replaced, found.statuses) == (1, 1, {"submitted": 6, "draft": 1})


def test_annotators_who_saw_different_things_are_told(tmp_path):
    """Where two annotators were shown other contents the thing is named; unknown content is no difference."""
    run = write(tmp_path / "run", "right", ["Yes", "No"])
    rows = [
        *said("right", "ana", ["Yes", "No"], content="old"),
        *said("right", "bob", ["Yes", None], content="new"),
        *said("right", "eve", ["Yes", "No"]),
    ]
    with Store.open(run) as store:
        assert match_annotations(store, "right", rows).differing == ("q0",)


def test_items_are_matched_by_their_id(tmp_path):
    """An annotation of a chunk belongs to the verdict on that chunk, whatever the order."""
    run = write_chunks(tmp_path / "run", [["Relevant", "Partly"]])
    rows = [
        Annotation(sample_id="q0", metric="graded", item=item, annotator="ana", value="Partly") for item in ("c1", "c7")
    ]
    with Store.open(run) as store:
        found = match_annotations(store, "graded", rows, GRADED.scale)
    assert [(one.item, one.judgement.value) for one in found.things] == [("c1", "Partly")]
    assert found.strange == ("q0 (c7)",)
