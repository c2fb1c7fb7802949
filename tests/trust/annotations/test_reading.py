"""Annotations are read from tables of labels, from results to which labels were added, and from exports of Argilla."""

import csv
import io
import json

import pyarrow as pa
import pytest
from agreed_runs import METRICS, write, write_chunks
from pyarrow import parquet

from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.metric_input import hash_json
from greval.records.scale import OffScaleError, ValueScale
from greval.runs.run_reader import add_texts
from greval.runs.store import Store
from greval.runs.store.exports import read_layout, write_csv
from greval.trust.annotations.reading import STATUS_UNKNOWN, parse_annotation_value, read_annotations

SCALES = {name: metric.scale for name, metric in METRICS.items()}
HEAD = "sample_id,metric,annotator,value\n"


def read(tmp_path, name, text, scales=None, **options):
    """Write a file and read it as annotations."""
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_annotations(path, scales, **options)


def test_every_invalid_row_is_reported_with_its_line(tmp_path):
    """Bad rows of a table are told with file and line, all that is wrong with each, and stop no other."""
    rows = 'q1,right,ana,Yes\nq2,right\nq3,,,Yes\nq4,right,ana,"two\nlines"\nq5,right,ana,maybe\nq6,right,ana,No\n'
    file = read(tmp_path, "p.csv", HEAD + rows, SCALES)
    assert [annotation.sample_id for annotation in file.annotations] == ["q1", "q6"]
    told = {fault.place.rpartition(":")[2]: fault.message for fault in file.faults}
    assert told["3"] == "has 2 cells where the header has 4"
    assert told["4"] == "metric: Field required; annotator: Field required"
    assert "is not one of the categories" in told["5"]
    assert "'maybe' is not one of the categories" in told["7"]
    assert str(tmp_path) in file.faults[0].place


def test_escaped_texts_are_texts(tmp_path):
    """What other programs escape is read: signs beyond 16 bits, and a backslash before a u; half a sign is told."""
    whole = {"sample_id": "q", "metric": "m", "annotator": "ana", "value": "\U0001f600", "comment": "C:\\uD"}
    half = '{"sample_id": "q", "metric": "m", "annotator": "ana", "value": "\\ud83d"}'
    name = '{"sample_id": "q", "metric": "m", "annotator": "ana", "value": "Yes", "\\ud83d": 1}'
    other = '{"sample_id": "q", "metric": "m", "annotator": "ana", "value": "Yes", "score": NaN}'
    file = read(tmp_path, "p.jsonl", "\n".join((json.dumps(whole), half, name, other)))
    assert [annotation.value for annotation in file.annotations] == ["\U0001f600", "Yes", "Yes"]
    assert file.annotations[0].comment == "C:\\uD"
    assert [fault.message for fault in file.faults] == [
        "value: holds half of a character (a lone surrogate), which is no text",
    ]
    assert file.ignored == ("\\ud83d", "score")


def test_an_empty_value_is_not_labelled_yet(tmp_path):
    """It is pending and no fault; a row that says that it is submitted needs a value."""
    file = read(tmp_path, "p.csv", "id,label\nq1,4\nq2,\n", SCALES, metric="depth")
    assert [(annotation.sample_id, annotation.status) for annotation in file.annotations] == [
        ("q1", "submitted"),
        ("q2", "pending"),
    ]
    file = read(tmp_path, "p.csv", "id,label,status\nq1,,submitted\nq2,,draft\n", SCALES, metric="depth")
    assert [annotation.sample_id for annotation in file.annotations] == ["q2"]
    assert file.faults[0].message == "value: is submitted without a value; give one, or another status"


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
    file = read(tmp_path, name, text, SCALES, metric="right", label_columns=columns)
    assert [
        (annotation.sample_id, annotation.metric, annotation.annotator, annotation.value)
        for annotation in file.annotations
    ] == [
        ("q1", "right", "ana", "Yes"),
        ("q2", "right", "ana", "No"),
    ]
    assert file.faults == ()


def test_each_label_column_is_an_annotator(tmp_path):
    """Several columns are several people; an empty cell is no label, and a missing column is an error."""
    text = "id,annotator1,annotator2,annotator3\nq1,Yes,No,Yes\nq2,Yes,Yes,\n"
    names = ["annotator1", "annotator2", "annotator3"]
    file = read(tmp_path, "p.csv", text, SCALES, metric="right", label_columns=names)
    assert [
        (annotation.sample_id, annotation.annotator, annotation.value)
        for annotation in file.annotations
        if annotation.status == "submitted"
    ] == [
        ("q1", "annotator1", "Yes"),
        ("q1", "annotator2", "No"),
        ("q1", "annotator3", "Yes"),
        ("q2", "annotator1", "Yes"),
        ("q2", "annotator2", "Yes"),
    ]
    with pytest.raises(DataError, match=r"'annotator4'.* is not there; is it 'annotator"):
        read(tmp_path, "p.csv", text, SCALES, metric="right", label_columns=["annotator4"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,anna,ben,note\nq1,1,0,x\n", "found anna, ben, note; .* label_columns: anna, ben$"),
        ("id,first rater\nq1,good\n", "found first rater; .* label_columns: first rater$"),
        ("question,label\nWho?,1\n", "expected a column id .* found label, question; name one of them id$"),
    ],
)
def test_a_column_that_is_missing_is_named_once(tmp_path, text, message):
    """Without ids or labels there is one error, with the columns that may be meant, and not one for each row."""
    path = tmp_path / "people.csv"
    path.write_text(text, encoding="utf-8")
    scale = ValueScale(range=(0, 1), levels={0: "No.", 1: "Yes."})
    with pytest.raises(DataError, match=message):
        read_annotations(path, {"polite": scale}, metric="polite")


def test_other_columns_are_named(tmp_path):
    """A column that is no field of an annotation is ignored, and named."""
    file = read(tmp_path, "p.csv", "sample_id,metric,annotator,value,mood\nq1,right,ana,Yes,good\n")
    assert file.ignored == ("mood",)
    assert len(file.annotations) == 1


def export(run, columns, *, texts=True):
    """Return the rows of a run's results as a table, with columns that people added; a function gives each cell."""
    file = io.StringIO()
    with Store.open(run) as store:
        lines = [*store.lines()]
        write_csv(add_texts(store, lines), file, read_layout(store.fact("metrics")).model_copy(update={"texts": texts}))
    rows = [*csv.reader(io.StringIO(file.getvalue()))]
    return [
        [*rows[0], *columns],
        *([*row, *(cell(n) for cell in columns.values())] for n, row in enumerate(rows[1:])),
    ]


def write_table(rows, *, delimiter=","):
    """Write rows as a spreadsheet program saves them."""
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows(rows)
    return file.getvalue()


@pytest.fixture
def run(tmp_path):
    """Write a run of four answers to three questions; the judge says Yes, No, and fails once."""
    return write(tmp_path / "run", "right", ["Yes", "No", "Yes", None], texts=["Ada.", "Bob.", "=1+1", "Dan."])


def human(n):
    return ["No", "No", "", "Yes"][n]


@pytest.mark.parametrize(
    ("delimiter", "mark", "dropped"),
    [
        (",", "", ()),
        (";", "\ufeff", ()),
        ("\t", "", ("status", "tags")),
        (",", "", ("value", "status", "reason", "tier")),
    ],
)
def test_labels_are_what_people_added_to_results(run, tmp_path, delimiter, mark, dropped):
    """An export is no label file by its own columns, as a spreadsheet saves it, and with columns deleted or moved."""
    header, *rows = export(run, {"human": human})
    places = [n for n, name in enumerate(header) if name not in dropped][::-1]
    table = [[row[n] for n in places] for row in (header, *rows)]
    file = read(tmp_path, "lab.csv", mark + write_table(table, delimiter=delimiter), SCALES)
    assert [
        (annotation.sample_id, annotation.annotator, annotation.status, annotation.value)
        for annotation in file.annotations
    ] == [
        ("q0", "human", "submitted", "No"),
        ("q1", "human", "submitted", "No"),
        ("q2", "human", "pending", None),
        ("q3", "human", "submitted", "Yes"),
    ]
    assert file.faults == ()
    assert file.label_columns == ("human",)
    assert all(
        annotation.comment is None and annotation.suggested == ("value" not in dropped)
        for annotation in file.annotations
    )
    assert "labels are read from human" in file.notes[0]


def test_a_frame_of_results_with_a_column_of_labels(run, tmp_path):
    """The frame of a run, saved by pandas with its index, is read in the same way, and so are JSON lines."""
    with Store.open(run) as store:
        frame = store.frame()
        rows = [{**json.loads(line), "label": human(n)} for n, line in enumerate(store.lines())]
    frame["label"] = [1.0, 0.0, None, 1.0]
    frame.to_csv(tmp_path / "ana.csv")
    file = read_annotations(tmp_path / "ana.csv", SCALES)
    assert [(annotation.annotator, annotation.value) for annotation in file.annotations if annotation.value] == [
        ("ana", "Yes"),
        ("ana", "No"),
        ("ana", "Yes"),
    ]
    lines = read(tmp_path, "ana.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows), SCALES)
    assert [annotation.value for annotation in lines.annotations] == ["No", "No", None, "Yes"]


def test_several_added_columns_are_asked_about(run, tmp_path):
    """Annotator and comment are known by their names; of others a person says which hold labels, never the judge's."""
    columns = {"ana": human, "bob": human, "rater": lambda n: "eve", "comment": lambda n: "So."}
    text = write_table(export(run, columns))
    with pytest.raises(DataError, match=r"several were: ana, bob; name those .* label_columns="):
        read(tmp_path, "lab.csv", text, SCALES)
    both = read(tmp_path, "lab.csv", text, SCALES, label_columns=["ana", "bob"])
    assert {annotation.annotator for annotation in both.annotations} == {"ana", "bob"}
    annotation = read(tmp_path, "lab.csv", text, SCALES, label_columns=["bob"])
    assert {(label.annotator, label.comment) for label in annotation.annotations} == {("eve", "So.")}
    for column in ("value", "status", "reason"):
        with pytest.raises(DataError, match=f"{column} is a column of the results that greval exported"):
            read(tmp_path, "lab.csv", text, SCALES, label_columns=[column])
    with pytest.raises(DataError, match="none was; add a column"):
        read(tmp_path, "lab.csv", write_table(export(run, {})), SCALES)


def test_a_table_that_was_cut_down_is_asked_about(tmp_path):
    """If nothing but value tells results from labels, a second column of labels is not passed over in silence."""
    text = "sample_id,value,human,length\nq0,Yes,No,7\nq1,No,,9\n"
    with pytest.raises(DataError, match=r"the labels could be value or human, .* label_columns=NAME"):
        read(tmp_path, "cut.csv", text, SCALES, metric="right")
    file = read(tmp_path, "cut.csv", text, SCALES, metric="right", label_columns=["human"])
    assert [annotation.value for annotation in file.annotations] == ["No", None]
    assert [
        annotation.value
        for annotation in read(
            tmp_path, "cut.csv", text.replace("human", "kind").replace("No,7", "a,7"), SCALES, metric="right"
        ).annotations
    ] == ["Yes", "No"]


def test_rows_without_the_label_are_not_labelled_yet(tmp_path):
    """JSON may leave the label out, and so may a row of results."""
    lines = '{"id": "q0", "label": "Yes"}\n{"id": "q1"}\n'
    file = read(tmp_path, "p.jsonl", lines, SCALES, metric="right")
    assert [annotation.status for annotation in file.annotations] == ["submitted", "pending"]


def test_labels_of_chunks_find_their_chunks(tmp_path):
    """Each row of an export of chunks names its chunk, and a label beside it is of this chunk."""
    run = write_chunks(tmp_path / "run", [["Relevant", "Irrelevant"], ["Partly"]])
    table = export(run, {"label": lambda n: ["Partly", "Relevant", ""][n]})
    file = read(tmp_path, "lab.csv", write_table(table), SCALES)
    assert [(annotation.sample_id, annotation.item, annotation.value) for annotation in file.annotations] == [
        ("q0", "c0", "Partly"),
        ("q0", "c1", "Relevant"),
        ("q1", "c0", None),
    ]


def build_record(sample_id, answers, *, metric="right", text="?", **metadata):
    """Build a record as `to_list` of Argilla's SDK gives it: flat, and nested without the statuses."""
    fields = {"question": "?", "answer": text}
    pushed = {"metric": metric, "sample_id": sample_id, "method": "", "weight": 2.0, "suggested": "no", "team": "a"}
    meta = {**pushed, "content": hash_json({"question": "?", "answer": "?"}), **metadata}
    head = {"id": f"hash of {sample_id}", "status": "completed", "_server_id": "s"}
    flat = {**head, **fields, **meta}
    for name, given in answers.items():
        values, users, statuses = zip(*given, strict=True)
        flat |= {f"{name}.responses": [*values], f"{name}.responses.users": [*users]}
        flat |= {f"{name}.responses.status": [*statuses]}
    listed = {name: [{"value": v, "user_id": u} for v, u, _ in given] for name, given in answers.items()}
    nested = {**head, "fields": fields, "metadata": meta, "suggestions": {}, "responses": listed, "vectors": {}}
    return flat, nested


ANSWERS = {"right": [("Yes", "u1", "submitted"), ("No", "u2", "draft")], "right_comment": [("So.", "u1", "submitted")]}
RECORDS = [
    build_record("q0", ANSWERS),
    build_record(
        "q1", {"right": [(None, "u1", "discarded"), ("no", "u2", "submitted")], "other": [(1, "u1", "submitted")]}
    ),
    build_record("q2", {}, item=None),
    build_record("q3", {"right": [("Maybe", "u1", "submitted")]}),
    build_record("q4", {"right": [("Yes", "u1", "submitted")]}, text="edited"),
]


def save_records(path, rows):
    """Save rows as JSON, JSON lines or Parquet, with all columns in each as Argilla has them."""
    whole = [{name: row.get(name) for name in dict.fromkeys(name for row in rows for name in row)} for row in rows]
    match path.suffix:
        case ".json":
            path.write_text(json.dumps(whole))
        case ".jsonl":
            path.write_text("".join(f"{json.dumps(row)}\n" for row in whole))
        case _:
            parquet.write_table(pa.Table.from_pylist(whole), path)
    return path


@pytest.mark.parametrize("ending", ["json", "jsonl", "parquet"])
def test_flat_exports_of_argilla_are_read(ending, tmp_path):
    """Each answer is an annotation with its status; a value off the scale is named, and edited texts are others."""
    file = read_annotations(save_records(tmp_path / f"all.{ending}", [flat for flat, _ in RECORDS]), SCALES)
    assert [
        (annotation.sample_id, annotation.annotator, annotation.status, annotation.value, annotation.comment)
        for annotation in file.annotations
    ] == [
        ("q0", "u1", "submitted", "Yes", "So."),
        ("q0", "u2", "draft", "No", None),
        ("q1", "u1", "discarded", None, None),
        ("q1", "u2", "submitted", "No", None),
        ("q4", "u1", "submitted", "Yes", None),
    ]
    assert [fault.message for fault in file.faults] == ['value: \'Maybe\' is not one of the categories "Yes", "No"']
    assert {annotation.metric for annotation in file.annotations} == {"right"}
    assert {annotation.weight for annotation in file.annotations} == {2.0}
    assert [*file] == [*file.annotations]
    assert len({annotation.content for annotation in file.annotations}) == 2
    assert file.notes == ()


def test_the_question_of_a_data_set_of_one_metric_may_be_called_judgement(tmp_path):
    """Data sets that people build themselves name no metric in the question; its comment goes with it."""
    answers = {name.replace("right_", "").replace("right", "judgement"): given for name, given in ANSWERS.items()}
    file = read_annotations(save_records(tmp_path / "all.json", [build_record("q0", answers)[0]]), SCALES)
    assert [(label.metric, label.annotator, label.value, label.comment) for label in file.annotations] == [
        ("right", "u1", "Yes", "So."),
        ("right", "u2", "No", None),
    ]


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_nested_exports_of_argilla_say_what_is_not_known(ending, tmp_path):
    """`to_json` has no statuses: its answers count, and a note in front says that there may be drafts among them."""
    file = read_annotations(save_records(tmp_path / f"all.{ending}", [nested for _, nested in RECORDS]), SCALES)
    assert [(annotation.sample_id, annotation.annotator, annotation.value) for annotation in file.annotations] == [
        ("q0", "u1", "Yes"),
        ("q0", "u2", "No"),
        ("q1", "u2", "No"),
        ("q4", "u1", "Yes"),
    ]
    assert file.notes[0].startswith(STATUS_UNKNOWN)
    assert "all 5 count as submitted; greval argilla pull" in file.notes[0]


def test_questions_of_several_metrics_are_kept_apart(tmp_path):
    """A question has the name of its metric; the text that each judge saw is not known of such a record."""
    answers = {
        "right": [("Yes", "u1", "submitted")],
        "right_comment": [("So.", "u1", "submitted")],
        "depth": [(4, "u1", "submitted")],
        "why": [("?", "u1", "submitted")],
    }
    flat, nested = build_record("q0", answers, metric=["right", "depth"])
    for rows in ([flat], [nested]):
        annotations = read_annotations(save_records(tmp_path / "both.json", rows), SCALES).annotations
        assert [(item.metric, item.value, item.comment, item.content) for item in annotations] == [
            ("right", "Yes", "So.", None),
            ("depth", 4, None, None),
        ]


def test_a_question_of_another_name_is_named(tmp_path):
    """If no question is known to be the metric's, the message lists them, and --label-column names one."""
    flat, _ = build_record("q0", {"is_right": [("Yes", "u1", "submitted")]})
    path = save_records(tmp_path / "all.json", [flat])
    with pytest.raises(DataError, match=r"the questions are is_right; name the one .* label_columns=QUESTION"):
        read_annotations(path, SCALES, metric="right")
    file = read_annotations(path, SCALES, metric="right", label_columns=["is_right"])
    assert [annotation.value for annotation in file.annotations] == ["Yes"]


def test_lists_in_a_table_are_not_guessed(tmp_path):
    """CSV has no lists, so the message says in which form to save an export."""
    table = "id,sample_id,judgement.responses,judgement.responses.users\nr1,q0,['Yes' 'No'],['u1' 'u2']\n"
    file = read(tmp_path, "all.csv", table, SCALES)
    assert not file.annotations
    assert "save the export as JSON, JSON lines or Parquet" in file.faults[0].message


def build_annotation(**fields):
    return Annotation(**{"sample_id": "q1", "metric": "depth", "annotator": "ana", **fields})


def test_decisions_of_prodigy(tmp_path):
    """A label that was rejected is none, one that was ignored does not count, and a list of one label is this label."""
    decisions = [("Yes", "accept"), (["No"], "accept"), ("Yes", "reject"), ("Yes", "ignore")]
    rows = [
        {"id": f"q{n}", "label": label, "answer": decision, "_input_hash": n, "_annotator_id": "ana"}
        for n, (label, decision) in enumerate(decisions, 1)
    ]
    file = read(tmp_path, "prodigy.jsonl", "\n".join(map(json.dumps, rows)), SCALES, metric="right")
    assert [(row.sample_id, row.value, row.status) for row in file] == [
        ("q1", "Yes", "submitted"),
        ("q2", "No", "submitted"),
        ("q4", "Yes", "discarded"),
    ]
    assert {row.annotator for row in file} == {"ana"}
    (fault,) = file.faults
    assert (fault.id, "the label was rejected" in fault.message) == ("q3", True)


def test_only_submitted_values_of_known_metrics_are_parsed():
    """Drafts stay as they are, and so do values of metrics whose scale is not known."""
    scales = {"depth": SCALES["depth"]}
    assert parse_annotation_value(build_annotation(value="4"), scales).value == 4
    for kept in (build_annotation(value="99", status="draft"), build_annotation(value="99", metric="other")):
        assert parse_annotation_value(kept, scales) is kept
    with pytest.raises(OffScaleError, match="is submitted without a value"):
        parse_annotation_value(build_annotation(), scales)
    with pytest.raises(OffScaleError):
        parse_annotation_value(build_annotation(value="99"), scales)
