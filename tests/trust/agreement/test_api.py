"""Agreement of a judge with people: ceiling and floor beside it, weights kept apart, and nothing made up."""

import pytest
from agreed_runs import MOSTLY, RELEVANT, YES, said, write, write_chunks

from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.trust.agreement.api import agreement
from greval.trust.agreement.records import Agreement
from greval.trust.annotations.files import keep_annotations, write_annotations


def test_files_rows_and_stored_annotations_give_the_same_agreement(run, tmp_path):
    """Annotations come as rows, as files, as several of either, or from the run's folder."""
    ana, bob = said("right", "ana", MOSTLY), said("right", "bob", YES)
    write_annotations(ana, tmp_path / "ana.csv")
    write_annotations(bob, tmp_path / "bob.jsonl")
    expected = agreement(run, "right", [*ana, *bob])
    result = agreement(run, "right", [tmp_path / "ana.csv", tmp_path / "bob.jsonl"])
    assert result.label_columns == ("value of ana.csv", "value of bob.jsonl")
    assert result.model_copy(update={"label_columns": ()}) == expected
    keep_annotations(run, [*ana, *bob])
    assert agreement(run, "right") == expected
    assert Agreement.model_validate_json(expected.model_dump_json()) == expected


def test_people_are_right_and_ties_are_left_out(run):
    """Precision and recall take the people's majority as right; tied things are left out and told."""
    result = agreement(run, "right", [*said("right", "ana", MOSTLY), *said("right", "bob", YES)])
    overall = result.groups[0]
    assert overall.things == 18
    assert overall.judge.figures["accuracy"].value == 1
    assert any(line.startswith("2 items are left out because people are tied") for line in result.warnings)
    assert overall.people.pairs[0].n == 20
    assert overall.people.pairs[0].figures["accuracy"].value == pytest.approx(0.9)


def test_one_annotator_has_no_ceiling(run):
    """One annotator: the agreement of people is not known, and says why; nothing stands in for it."""
    people = agreement(run, "right", said("right", "ana", MOSTLY)).groups[0].people
    assert people.why == "one annotator only; have some items annotated by two people"
    assert people.figures == {}
    assert people.pairs == ()


def test_groups_by_tag_and_method(run):
    """Groups hold their own things only; all things come first."""
    result = agreement(run, "right", said("right", "ana", MOSTLY), by="kind")
    assert [(group.name, group.things) for group in result.groups] == [("", 20), ("a", 10), ("b", 10)]
    with pytest.raises(DataError, match="no tag 'knd' is there; did you mean kind"):
        agreement(run, "right", said("right", "ana", MOSTLY), by="knd")


def test_chunks_have_both_intervals(tmp_path):
    """Of a metric over chunks each figure has an interval per chunk and one by question, and length is a chunk's."""
    verdicts = [[RELEVANT[(n + i) % 3] for i in range(4)] for n in range(12)]
    run = write_chunks(tmp_path / "run", verdicts)
    rows = [
        Annotation(sample_id=f"q{n}", metric="graded", item=f"c{i}", annotator="ana", value=RELEVANT[(n + i * i) % 3])
        for n in range(12)
        for i in range(4)
    ]
    overall = agreement(run, "graded", rows).groups[0]
    assert (overall.things, overall.questions) == (48, 12)
    assert overall.judge.figures["kappa quadratic"].interval
    assert overall.judge.figures["kappa quadratic"].clustered
    assert overall.baselines[1].figures


def test_numbers_are_compared_with_the_mean_of_people(tmp_path):
    """Of a value scale people's mean counts; bias is the judge's less theirs."""
    run = write(tmp_path / "run", "depth", [5, 4, 3, 2, 5, 1], texts=["x" * n for n in range(1, 7)])
    rows = [*said("depth", "ana", [4, 3, 2, 1, 4, 1]), *said("depth", "bob", [5, 4, 3, 2, 5, 1])]
    result = agreement(run, "depth", rows)
    judge = result.groups[0].judge
    assert result.combine == "mean"
    assert judge.figures["bias"].value == pytest.approx(5 / 12)
    assert (judge.people.n, judge.people.min, judge.judge.max) == (6, 1, 5)
    assert judge.judge.mean.value == pytest.approx(20 / 6)
    assert result.groups[0].people.pairs[0].figures["bias"].value == pytest.approx(5 / 6)
    assert [floor.name for floor in result.groups[0].baselines] == ["median of the labels", "length of the text"]


def test_weighted_numbers_stand_beside(tmp_path):
    """Of numbers the weighted bias is that of all things they were drawn from; ranks know of no weights."""
    run = write(tmp_path / "run", "depth", [3, 4, 5, 1])
    rows = said("depth", "ana", [3, 3, 3])
    rows += [label for label in said("depth", "ana", [3] * 4, weight=7.0) if label.sample_id == "q3"]
    overall = agreement(run, "depth", rows).groups[0]
    assert overall.judge.figures["bias"].value == pytest.approx((0 + 1 + 2 - 2) / 4)
    assert overall.weighted["bias"].value == pytest.approx((0 + 1 + 2 - 14) / 10)
    assert "spearman" not in overall.weighted


def test_a_single_item_is_no_error(tmp_path):
    """One annotated thing: what can be said is said, the rest is undefined with its reason."""
    run = write(tmp_path / "run", "right", ["Yes"])
    result = agreement(run, "right", said("right", "ana", ["Yes"]))
    assert result.groups[0].judge.figures["kappa"].reason == "both sides use one and the same category only"
    assert any("only 1 annotated item:" in line for line in result.warnings)


@pytest.mark.parametrize(
    ("metric", "rows", "wishes", "told"),
    [
        ("rigth", [], {}, "no metric 'rigth' is there; did you mean right"),
        ("right", [], {}, "the annotations: none"),
        ("right", said("right", "ana", ["Yes"], status="draft"), {}, "the annotations: 1 draft"),
        ("right", said("other", "ana", ["Yes"]), {}, "1 of other metrics"),
        ("right", said("right", "ana", ["Si"]), {}, "not on the scale: q0, ana: 'Si'"),
        ("right", said("right", "ana", ["Yes"], questions=["q0"]), {}, "not in the run, such as q0 \\(m0\\)"),
        ("right", [*said("right", "a", ["Yes"]), *said("right", "b", ["No"])], {}, "tied on every item"),
        ("right", said("right", "ana", MOSTLY), {"level": 95}, "a number between 0 and 1"),
        ("right", said("right", "ana", MOSTLY), {"combine": "mean"}, "categories have no mean"),
        ("right", None, {}, "no annotations are there yet"),
    ],
)
def test_nothing_to_compare_is_an_error(run, metric, rows, wishes, told):
    """Where nothing can be compared the error says what was there instead."""
    with pytest.raises(DataError, match=told):
        agreement(run, metric, rows, **wishes)
