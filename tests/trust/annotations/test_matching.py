"""Tests of the join of annotations with judgements."""

import pytest
from agreed_runs import FAILED, GRADED, METRICS, YES_NO, said, write, write_chunks
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.runs.store import Store
from greval.trust.annotations.matching import (
    AnnotatedItem,
    check_tags,
    fill_in_method,
    group_items,
    match_annotations,
    place_annotations,
)

SCALES = {name: metric.scale for name, metric in METRICS.items()}


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
    assert [(one.item, one.judge) for one in found.things] == [("c1", "Partly")]
    assert found.strange == ("q0 (c7)",)


def annotated(sample_id="q1", value="Yes", **fields):
    """Build an annotation of the metric "right"."""
    return Annotation(**{"sample_id": sample_id, "metric": "right", "annotator": "ana", "value": value, **fields})


@pytest.mark.parametrize(
    ("one", "reason", "fault"),
    [
        (annotated(), None, ""),
        (annotated(content="seen"), None, ""),
        (annotated(status="draft"), "unfinished", ""),
        (annotated(value=None), "unfinished", "is submitted without a value; give one, or another status"),
        (annotated(content="another"), "another_text", ""),
        (annotated(value="Si"), "off_scale", "'Si'"),
        (annotated("q2"), "not_judged", ""),
        (annotated(item="c1"), "not_judged", ""),
        (annotated("q2", value="Si", status="draft", content="another"), "not_judged", ""),
        (annotated(value="Si", content="another"), "another_text", ""),
    ],
)
def test_each_annotation_has_the_first_reason_why_it_does_not_count(one, reason, fault):
    """Of several reasons the first in a fixed order is reported."""
    key = ("q1", "", None)
    (placed,) = place_annotations([one], {key}, {key: "seen"}, YES_NO.scale)
    assert placed.reason == reason
    assert fault in placed.fault
    assert bool(placed.fault) is bool(fault)
    assert placed.key == (one.sample_id, "", one.item)


@given(st.lists(st.sampled_from(["", "walk", "local"]), max_size=6), st.sets(st.sampled_from(["walk", "local"])))
def test_a_missing_method_is_filled_in_only_if_there_is_one(given_methods, methods):
    """Methods that are named stay, whatever the run has."""
    rows = fill_in_method([annotated(method=method) for method in given_methods], methods)
    only = next(iter(methods)) if len(methods) == 1 else ""
    assert [one.method for one in rows] == [method or only for method in given_methods]


def items(*tags):
    """Build an annotated item for each mapping of tags, of the methods m0, m1 and so on."""
    return [
        AnnotatedItem(sample_id=f"q{n}", method=f"m{n % 2}", item=None, tags=each, judge="Yes", values={})
        for n, each in enumerate(tags)
    ]


def test_groups_are_a_partition_after_all_items():
    """The first group has all items; the others have each item once, by name, also those without a tag."""
    things = items({"kind": "b"}, {"kind": "a"}, {}, {"kind": "a"})
    (name, whole), *groups = group_items(things, ["kind", "method"])
    assert (name, [*whole]) == ("", things)
    assert [name for name, _ in groups] == ["(none) · m0", "a · m1", "b · m0"]
    assert sorted(one.sample_id for _, members in groups for one in members) == ["q0", "q1", "q2", "q3"]
    assert [*group_items(things)] == [("", things)]


def test_a_tag_that_no_item_has_is_an_error():
    """The method is always known, a misspelt tag is named with the nearest one."""
    check_tags(items({"kind": "a"}), ["method", "kind"], "runs/first")
    with pytest.raises(DataError, match=r"'kin'.*kind"):
        check_tags(items({"kind": "a"}), ["kin"], "runs/first")
