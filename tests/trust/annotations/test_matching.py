"""How annotations meet verdicts: items, ids that nearly meet, annotators of two spellings, and other scales."""

from __future__ import annotations

import pytest
from agreed_runs import FAILED, GRADED, METRICS, YES_NO, said, write, write_chunks
from hypothesis import given
from hypothesis import strategies as st

from greval import evaluate, load_metric
from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.runs.store import Store
from greval.trust.agreement.api import agreement
from greval.trust.annotations.adjudication import adjudicate, unite_annotators
from greval.trust.annotations.matching import (
    AnnotatedItem,
    check_tags,
    fill_in_method,
    group_items,
    match_annotations,
    place_annotations,
)
from greval.trust.estimates.api import estimate

SCALES = {name: metric.scale for name, metric in METRICS.items()}


def test_items_are_matched_by_their_ids_and_metric(tmp_path):
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
        matches = match_annotations(store, "right", rows, SCALES["right"])
    assert [(thing.sample_id, thing.values) for thing in matches.things] == [("q0", {"ana": "Yes", "bob": "Yes"})]
    assert matches.unjudged == ("q1",)
    assert matches.strange == ("q3",)
    assert matches.faults == ('q2, ana: \'Perhaps\' is not one of the categories "Yes", "No"',)
    assert (matches.others, matches.replaced, matches.statuses) == (1, 1, {"submitted": 6, "draft": 1})


def test_items_shown_differently_to_annotators_are_reported(tmp_path):
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
        matches = match_annotations(store, "graded", rows, GRADED.scale)
    assert [(thing.item, thing.judge) for thing in matches.things] == [("c1", "Partly")]
    assert matches.strange == ("q0 (c7)",)


def annotated(sample_id="q1", value="Yes", **fields):
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
    assert [row.method for row in rows] == [method or only for method in given_methods]


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
    assert sorted(item.sample_id for _, members in groups for item in members) == ["q0", "q1", "q2", "q3"]
    assert [*group_items(things)] == [("", things)]


def test_a_tag_that_no_item_has_is_an_error():
    """The method is always known, a misspelt tag is named with the nearest one."""
    check_tags(items({"kind": "a"}), ["method", "kind"], "runs/first")
    with pytest.raises(DataError, match=r"'kin'.*kind"):
        check_tags(items({"kind": "a"}), ["kin"], "runs/first")


@pytest.fixture
def run(tmp_path):
    """A run of which the latency of six cases was measured."""
    cases = [{"id": f"q{n}", "question": "?", "usage": {"latency": n}} for n in range(6)]
    return evaluate(cases, [load_metric("latency")], out=tmp_path / "run")


def label(sample_id, value, annotator="Ana"):
    return Annotation(sample_id=sample_id, metric="latency", annotator=annotator, value=value)


@pytest.mark.parametrize("spelling", ["ana", " Ana", "Ana ", "A\u200bna", "Ana\u00a0", "ＡNA"])  # noqa: RUF001
def test_two_spellings_of_a_name_are_one_person(run, spelling):
    """A person whose name differs in case, blanks or invisible characters is one annotator, with a remark."""
    rows = [label(f"q{n}", n, spelling if n == 3 else "Ana") for n in range(6)]
    result = agreement(run, "latency", rows)
    assert result.annotators == ("Ana",)
    assert any("is taken as the annotator 'Ana'" in line for line in result.warnings)
    assert any("is taken as the annotator 'Ana'" in line for line in estimate(run, "latency", rows).warnings)
    (verdict,) = adjudicate([label("q1", 1, "Ana"), label("q1", 2, spelling)])
    assert verdict.value == 2


def test_two_people_stay_two():
    """Names that differ in more than their form are left alone."""
    rows = [label("q1", 1, name) for name in ("Ana", "Anna", "Ana2")]
    assert unite_annotators(rows) == (rows, ())


def test_an_id_with_an_invisible_blank_is_named(run):
    """An item that is in the run but for what cannot be seen is shown with it, and the difference is named."""
    rows = [*(label(f"q{n}", n) for n in range(5)), label("q5\u00a0", 5)]
    told = r"1 annotated item not in the run: 'q5\xa0'; 'q5\xa0' and 'q5' differ only in blanks or invisible characters"
    assert told in agreement(run, "latency", rows).warnings
    assert any(line.startswith(r"'q5\xa0' and 'q5' differ") for line in estimate(run, "latency", rows).warnings)


def test_labels_of_which_none_meets_are_an_error(run):
    """If no label is of an item of the run, the error shows an id of each side and what differs."""
    rows = [label(f"Q{n}", n) for n in range(6)]
    with pytest.raises(DataError, match="'Q0' and 'q0' differ only in case"):
        agreement(run, "latency", rows)
    with pytest.raises(DataError, match="'Q0' and 'q0' differ only in case"):
        estimate(run, "latency", rows)


def test_few_labels_that_meet_come_first(run):
    """If less than half of the labels are of items of the run, the first warning counts them."""
    rows = [label("q0", 0), label("q1", 1), *(label(f"x{n}", n) for n in range(3))]
    for found in (agreement(run, "latency", rows), estimate(run, "latency", rows)):
        assert found.warnings[0].startswith("FEW IDS MET: 2 of 5 annotated items met 2 of 6 judged items")


def test_labels_on_another_scale_give_no_verdict(tmp_path):
    """If most labels are off the judge's scale, the first warning says so and the judge is neither trusted nor not."""
    cases = [{"id": f"q{n}", "question": "?", "answer": "a", "expected_answer": "a"} for n in range(6)]
    run = evaluate(cases, [load_metric("exact_match")], out=tmp_path / "run")
    path = tmp_path / "labels.csv"
    path.write_text("id,label\nq0,1\nq1,0\nq2,4\nq3,7\nq4,9\nq5,10\n", encoding="utf-8")
    result = agreement(run, "exact_match", path)
    assert result.warnings[0].startswith("OFF SCALE: 4 of 6 labels are not on the scale of the verdicts (")
    assert "labels.csv:4: value: " in result.warnings[0]
    assert (result.verdict.use, result.verdict.why) == (
        "nothing yet",
        "too many labels are not on the scale of the verdicts",
    )
    assert estimate(run, "exact_match", path).warnings[0].startswith("OFF SCALE: 4 of 6 labels")


@pytest.mark.parametrize(
    ("labels", "is_another"),
    [
        pytest.param("111155", True, id="a third of 1 to 5"),
        pytest.param("101190", False, id="a slip"),
        pytest.param("1011uu", False, id="words"),
    ],
)
def test_numbers_of_a_longer_scale_give_no_verdict(labels, is_another, tmp_path):
    """Where people used 1 to 5, a 1 is the worst and not the best; one wrong digit and words are no other scale."""
    cases = [{"id": f"q{n}", "question": "?", "answer": "a", "expected_answer": "a"} for n in range(6)]
    run = evaluate(cases, [load_metric("exact_match")], out=tmp_path / "run")
    path = tmp_path / "labels.csv"
    rows = [f"q{n},{label}\n" for n, label in enumerate(labels)]
    path.write_text(f"id,label\n{''.join(rows)}", encoding="utf-8")
    result = agreement(run, "exact_match", path)
    assert result.warnings[0].startswith("OFF SCALE: 2 of 6 labels") == is_another
    assert (result.verdict.why == "too many labels are not on the scale of the verdicts") == is_another
    assert any(line.startswith("OFF SCALE") for line in estimate(run, "exact_match", path).warnings) == is_another
