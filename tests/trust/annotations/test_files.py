"""Annotations: files of people's values are read and written, kept with a run, matched by name, and adjudicated."""

import pytest
from agreed_runs import METRICS, said, write
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.trust.annotations.files import keep_annotations, load_annotations, read_run_annotations, write_annotations
from greval.trust.annotations.reading import read_annotations

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


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_written_annotations_are_read_back(ending, tmp_path):
    """Any annotations come back from a file as they were, whatever signs and line breaks are in them."""
    path = tmp_path / f"people.{ending}"

    @given(rows)
    def law(annotations):
        write_annotations(annotations, path)
        file = read_annotations(path)
        assert file.annotations == tuple(annotations)
        assert file.faults == file.ignored == ()

    law()
    assert [other.name for other in tmp_path.iterdir()] == [path.name]


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path):
    """Writing where no folder is, or in an unknown form, is a data error."""
    for path in (tmp_path / "none" / "p.csv", tmp_path / "p.txt"):
        with pytest.raises(DataError, match="p\\."):
            write_annotations([], path)


def test_a_judge_is_not_compared_with_itself(tmp_path):
    """A table of results that was cut down to its verdicts holds no labels; one with other values or reasons does."""
    run = write(tmp_path / "run", "right", ["Yes", "No"])
    (tmp_path / "cut.csv").write_text("id,value,reason,human\nq0,Yes,r,good\nq1,No,r,No\n")
    with pytest.raises(
        DataError, match=r"cut.csv: its column value holds the judge's own verdicts.*label_columns=COLUMN"
    ):
        load_annotations(run, tmp_path / "cut.csv", SCALES, metric="right")
    loaded = load_annotations(run, tmp_path / "cut.csv", SCALES, metric="right", label_columns="human")
    assert [annotation.value for annotation in loaded.annotations] == ["No"]
    (tmp_path / "ana.csv").write_text("id,value,reason\nq0,Yes,r\nq1,Yes,It is.\n")
    assert len(load_annotations(run, tmp_path / "ana.csv", SCALES, metric="right").annotations) == 2


def test_no_value_is_none_wherever_labels_come_from(tmp_path):
    """NaN, infinity and n/a are no label in a file that is read without a scale, and in annotations of a program."""
    run = write(tmp_path / "run", "right", ["Yes"] * 4)
    (tmp_path / "ana.csv").write_text("id,label\nq0,Yes\nq1,n/a\nq2,inf\nq3,NaN\n")
    rows = [*said("right", "ana", ["Yes", "n/a", float("inf"), float("nan")])]
    for source in (tmp_path / "ana.csv", rows):
        for scales in (None, SCALES):
            annotations = load_annotations(run, source, scales, metric="right").annotations
            assert [(item.value, item.status) for item in annotations] == [
                ("Yes", "submitted"),
                *[(None, "pending")] * 3,
            ]


def test_kept_annotations_replace_older_ones(tmp_path):
    """A run's folder keeps one annotation for each thing and annotator: the newest."""
    with pytest.raises(DataError, match="no annotations are there yet"):
        read_run_annotations(tmp_path)
    keep_annotations(tmp_path, said("right", "ana", ["Yes", "No"]))
    keep_annotations(tmp_path, [*said("right", "ana", ["No"]), *said("right", "bob", ["Yes"])])
    assert [
        (annotation.sample_id, annotation.annotator, annotation.value)
        for annotation in read_run_annotations(tmp_path).annotations
    ] == [
        ("q0", "ana", "No"),
        ("q1", "ana", "No"),
        ("q0", "bob", "Yes"),
    ]


def test_a_broken_file_of_a_run_is_not_written_over(tmp_path):
    """Where rows of the kept file cannot be read, keeping more is refused: they would be lost."""
    path = keep_annotations(tmp_path, said("right", "ana", ["Yes"]))
    path.write_text("{\n")
    with pytest.raises(DataError, match=r"annotations.jsonl:1: .*correct or remove the row first"):
        keep_annotations(tmp_path, said("right", "ana", ["Yes"]))
    assert path.read_text() == "{\n"
