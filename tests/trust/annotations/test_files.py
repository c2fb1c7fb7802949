"""Annotations: files of people's values are read and written, kept with a run, matched by name, and adjudicated."""

import json

import pytest
from agreed_runs import METRICS, said
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.trust.annotations.files import keep_annotations, read_annotations, read_run_annotations, write_annotations

SCALES = {name: metric.scale for name, metric in METRICS.items()}
HEAD = "sample_id,metric,annotator,value\n"


ONE_LIST = "a file that is one JSON list is named .json"


def read(tmp_path, name, text, scales=None, **options):
    """Write a file and read it as annotations."""
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_annotations(path, scales, **options)


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
def test_what_is_written_is_read(ending, tmp_path):
    """Any annotations come back from a file as they were, whatever signs and line breaks are in them."""
    path = tmp_path / f"people.{ending}"

    @given(rows)
    def law(annotations):
        write_annotations(annotations, path)
        found = read_annotations(path)
        assert found.annotations == tuple(annotations)
        assert found.faults == found.ignored == ()

    law()
    assert [other.name for other in tmp_path.iterdir()] == [path.name]


def test_every_bad_row_is_told_with_its_line(tmp_path):
    """Bad rows of a table are told with file and line, all that is wrong with each, and stop no other."""
    rows = 'q1,right,ana,Yes\nq2,right\nq3,,,Yes\nq4,right,ana,"two\nlines"\nq5,right,ana,maybe\nq6,right,ana,No\n'
    found = read(tmp_path, "p.csv", HEAD + rows, SCALES)
    assert [one.sample_id for one in found.annotations] == ["q1", "q6"]
    told = {fault.place.rpartition(":")[2]: fault.message for fault in found.faults}
    assert told["3"] == "has 2 cells where the header has 4"
    assert told["4"] == "metric: Field required; annotator: Field required"
    assert "is not one of the categories" in told["5"]
    assert "'maybe' is not one of the categories" in told["7"]
    assert str(tmp_path) in found.faults[0].place


def test_a_missing_quote_loses_one_row(tmp_path):
    """A quote that is not closed, or a byte that is no UTF-8, is told with its line and swallows no other row."""
    text = HEAD.encode() + b'q1,right,"ana,Yes\nq2,right,ana,No\nq3,right,ana,\xff\n\nq4,right,ana,No\n'
    found = read(tmp_path, "p.csv", text, SCALES)
    assert [one.sample_id for one in found.annotations] == ["q2", "q4"]
    assert [fault.place.rpartition(":")[2] for fault in found.faults] == ["2", "4"]
    assert "is no row of a table" in found.faults[0].message
    assert "is not UTF-8" in found.faults[1].message


def test_bad_lines_of_json_are_told(tmp_path):
    """Lines that are no JSON, no object, no UTF-8 or hold what JSON has not are told; blank lines are none."""
    good = b'{"sample_id": "q1", "metric": "depth", "annotator": "ana", "value": 4}\n'
    bad = [
        b"{",
        b"[1]",
        b'{"sample_id": "\xff"}',
        good.strip().replace(b"4", b"NaN"),
        good.strip().replace(b"4", b"true"),
    ]
    found = read(tmp_path, "p.jsonl", b"\xef\xbb\xbf" + good + b"\n" + b"\n".join(bad), SCALES)
    assert [one.value for one in found.annotations] == [4]
    assert [fault.place.rpartition(":")[2] for fault in found.faults] == ["3", "4", "5", "6", "7"]
    assert "is not UTF-8" in found.faults[2].message
    assert found.faults[1].message == "must be an object with the id of a case and a value, got a list; " + ONE_LIST
    assert found.faults[4].message == "value: 'true' is not an integer from 1 to 5"


def test_escaped_texts_are_texts(tmp_path):
    """What other programs escape is read: signs beyond 16 bits, and a backslash before a u; half a sign is told."""
    whole = {"sample_id": "q", "metric": "m", "annotator": "ana", "value": "\U0001f600", "comment": "C:\\uD"}
    half = '{"sample_id": "q", "metric": "m", "annotator": "ana", "value": "\\ud83d"}'
    name = '{"sample_id": "q", "metric": "m", "annotator": "ana", "value": "Yes", "\\ud83d": 1}'
    other = '{"sample_id": "q", "metric": "m", "annotator": "ana", "value": "Yes", "score": NaN}'
    found = read(tmp_path, "p.jsonl", "\n".join((json.dumps(whole), half, name, other)))
    assert [one.value for one in found.annotations] == ["\U0001f600", "Yes", "Yes"]
    assert found.annotations[0].comment == "C:\\uD"
    assert [fault.message for fault in found.faults] == [
        "value: holds half of a character (a lone surrogate), which is no text",
    ]
    assert found.ignored == ("\\ud83d", "score")


def test_a_value_off_the_scale_is_never_moved(tmp_path):
    """6 on a scale to 5, 3.5 on whole numbers, and a word are faults; 4 may be written as text or as 4.0."""
    values = ["4", "4.0", "6", "3.5", "four"]
    found = read(tmp_path, "p.csv", HEAD + "".join(f"q{n},depth,ana,{v}\n" for n, v in enumerate(values)), SCALES)
    assert [one.value for one in found.annotations] == [4, 4]
    assert [fault.id for fault in found.faults] == ["q2", "q3", "q4"]


def test_an_empty_value_is_not_labelled_yet(tmp_path):
    """It is pending and no fault; a row that says that it is submitted needs a value."""
    found = read(tmp_path, "p.csv", "id,label\nq1,4\nq2,\n", SCALES, metric="depth")
    assert [(one.sample_id, one.status) for one in found.annotations] == [("q1", "submitted"), ("q2", "pending")]
    found = read(tmp_path, "p.csv", "id,label,status\nq1,,submitted\nq2,,draft\n", SCALES, metric="depth")
    assert [one.sample_id for one in found.annotations] == ["q2"]
    assert found.faults[0].message == "value: is submitted without a value; give one, or another status"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ana.csv", "id,human_label\nq1,yes\nq2,NO\n"),
        ("ana.tsv", "Question ID\tLabel\nq1\tYes\nq2\tfalse\n"),
        ("all.csv", "sample_id;rater;rating\nq1;ana;true\nq2;ana;0\n"),
        ("ana.jsonl", '{"id": "q1", "verdict": true}\n{"id": "q2", "verdict": false}\n'),
        ("ana.json", '[{"case_id": "q1", "score": 1}, {"case_id": "q2", "score": 0}]'),
        ("wide.csv", "id,ana\nq1,Yes\nq2,No\n"),
    ],
)
def test_labels_need_no_ceremony(tmp_path, name, text):
    """An id and a value are enough: the metric is named once, the annotator is the file, and yes and no are values."""
    columns = ["ana"] if name == "wide.csv" else []
    found = read(tmp_path, name, text, SCALES, metric="right", label_columns=columns)
    assert [(one.sample_id, one.metric, one.annotator, one.value) for one in found.annotations] == [
        ("q1", "right", "ana", "Yes"),
        ("q2", "right", "ana", "No"),
    ]
    assert found.faults == ()


def test_each_label_column_is_an_annotator(tmp_path):
    """Several columns are several people; an empty cell is no label, and a missing column is an error."""
    text = "id,annotator1,annotator2,annotator3\nq1,Yes,No,Yes\nq2,Yes,Yes,\n"
    names = ["annotator1", "annotator2", "annotator3"]
    found = read(tmp_path, "p.csv", text, SCALES, metric="right", label_columns=names)
    assert [(one.sample_id, one.annotator, one.value) for one in found.annotations if one.status == "submitted"] == [
        ("q1", "annotator1", "Yes"),
        ("q1", "annotator2", "No"),
        ("q1", "annotator3", "Yes"),
        ("q2", "annotator1", "Yes"),
        ("q2", "annotator2", "Yes"),
    ]
    with pytest.raises(DataError, match=r"'annotator4'.* is not there; is it 'annotator"):
        read(tmp_path, "p.csv", text, SCALES, metric="right", label_columns=["annotator4"])


def test_other_columns_are_named(tmp_path):
    """A column that is no field of an annotation is ignored, and named."""
    found = read(tmp_path, "p.csv", "sample_id,metric,annotator,value,mood\nq1,right,ana,Yes,good\n")
    assert found.ignored == ("mood",)
    assert len(found.annotations) == 1


@pytest.mark.parametrize(("name", "told"), [("p.docx", "is not known"), ("none.csv", "no such file")])
def test_files_that_cannot_be_read_are_told(tmp_path, name, told):
    """An unknown ending and a missing file are data errors that name the file."""
    (tmp_path / "p.docx").write_bytes(b"PK")
    with pytest.raises(DataError, match=told) as raised:
        read_annotations(tmp_path / name)
    assert name in str(raised.value)


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path):
    """Writing where no folder is, or in an unknown form, is a data error."""
    for path in (tmp_path / "none" / "p.csv", tmp_path / "p.txt"):
        with pytest.raises(DataError, match="p\\."):
            write_annotations([], path)


def test_kept_annotations_replace_older_ones(tmp_path):
    """A run's folder keeps one annotation for each thing and annotator: the newest."""
    with pytest.raises(DataError, match="no annotations are there yet"):
        read_run_annotations(tmp_path)
    keep_annotations(tmp_path, said("right", "ana", ["Yes", "No"]))
    keep_annotations(tmp_path, [*said("right", "ana", ["No"]), *said("right", "bob", ["Yes"])])
    assert [(one.sample_id, one.annotator, one.value) for one in read_run_annotations(tmp_path).annotations] == [
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
