"""Fields are read from the columns, or the places in JSON, that somebody names; a wrong name is an error."""

from __future__ import annotations

import json

import pytest

from greval import evaluate, load_metric
from greval.datasets.case_reader import read_cases
from greval.datasets.case_records import read_records
from greval.datasets.column_map import parse_columns
from greval.datasets.row_faults import RowFault
from greval.errors import DataError
from greval.records.case import Case

COLUMNS = {"question": "Frage", "answer": "Generierte Antwort", "tags.topic": "Thema", "gold.essential_docs": "titel"}
READ = Case(
    id="row-1",
    question="Wer?",
    answer="Ada",
    tags={"topic": "Leute", "jahr": "4"},
    gold={"essential_docs": ["d1", "d2"]},
)
ROW = {"Frage": "Wer?", "generierte antwort": "Ada", "Thema": "Leute", "jahr": 4, "Titel": ["d1", "d2"]}


def wrote(folder, name, content):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def write_form(folder, form):
    """Write the row in one of the formats."""
    if form == "a.csv":
        return wrote(folder, form, ";".join(ROW) + "\nWer?;Ada;Leute;4;\"['d1', 'd2']\"\n")
    if form == "a.parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.Table.from_pylist([ROW]), folder / form)
        return folder / form
    return wrote(folder, form, [ROW] if form == "a.json" else ROW)


@pytest.mark.parametrize("form", ["a.csv", "a.parquet", "a.json", "a.jsonl"])
def test_named_columns_in_each_format(tmp_path, form):
    """A column is found by its name in any case; the notice says what was read as what."""
    reading = read_cases(write_form(tmp_path, form), columns=COLUMNS)
    assert [*reading] == [READ] == [*reading]
    told = "read Frage as question, Generierte Antwort as answer, Thema as tags.topic, titel as gold.essential_docs"
    assert f": {told}; tags are jahr." in reading.notice()


def test_paths_lead_into_json(tmp_path):
    """A path goes through objects and lists, also through JSON in a cell; dots may be a part of a name."""
    hits = {"hits": [{"text": "a"}, {"text": "b"}]}
    columns = {"chunks": "retrieval.hits[*].text", "answer": "out.text"}
    case = Case(id="row-1", question="q", chunks=["a", "b"], answer="x")
    row = {"question": "q", "retrieval": hits, "out.text": "x"}
    assert [*read_cases(wrote(tmp_path, "a.jsonl", row), columns=columns)] == [case]
    cell = json.dumps(hits).replace('"', '""')
    path = wrote(tmp_path, "a.csv", f'question,retrieval,out.text\nq,"{cell}",x\n')
    assert [*read_cases(path, columns=columns)] == [case]


def test_a_named_column_replaces_the_usual_one(tmp_path):
    """What is named counts, even if it is empty: another column is not read in its place."""
    rows = [{"question": "q", "answer": "a", "new": "b"}, {"question": "r", "response": "a", "new": None}]
    path = wrote(tmp_path, "a.json", rows)
    assert [case.answer for case in read_cases(path, columns={"answer": "new"})] == ["b", None]


def test_a_place_that_is_missing_in_a_row_is_a_fault_unless_it_is_optional(tmp_path):
    """A path must lead somewhere in each row, or end with a question mark."""
    path = wrote(tmp_path, "a.json", [{"question": "q", "out": {"text": "a"}}, {"question": "r", "out": {"txt": "a"}}])
    good, bad = read_cases(path, columns={"answer": "out.text"})
    assert good.answer == "a"
    assert isinstance(bad, RowFault)
    assert "answer: nothing is at out.text: out is an object with txt" in bad.message
    assert "end the path with a question mark" in bad.message
    assert [case.answer for case in read_cases(path, columns={"answer": "out.text?"})] == ["a", None]


@pytest.mark.parametrize("form", ["a.csv", "a.parquet", "a.json", "a.jsonl"])
def test_a_column_that_is_not_there_is_an_error_before_anything_is_read(tmp_path, form):
    """The error has the nearest column and lists the others."""
    path = write_form(tmp_path, form)
    with pytest.raises(DataError, match=r"'Generierte Antwrot', which is to be answer, is not there; is it ") as caught:
        next(iter(read_cases(path, columns={**COLUMNS, "answer": "Generierte Antwrot"})))
    assert "jahr" in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"anwser": "x"}, "'anwser' is no field of a case; did you mean answer?"),
        ({"gold.essential_doc": "x"}, "did you mean gold.essential_docs?"),
        ({"answer": ""}, "name the column of the file"),
    ],
)
def test_what_is_no_field_is_refused(tmp_path, columns, told):
    """A misspelt field is an error with the nearest one."""
    with pytest.raises(DataError) as caught:
        read_cases(wrote(tmp_path, "a.jsonl", ROW), columns=columns)
    assert told in str(caught.value)


def test_a_digest_covers_the_columns(tmp_path):
    """The same file with other columns is another source, so that a run does not go on with other cases."""
    path = wrote(tmp_path, "a.jsonl", ROW)
    plain, named_columns = (read_cases(path, columns=columns).identify_source() for columns in (None, COLUMNS))
    assert plain.digest != named_columns.digest


def frames():
    """Return the row as a table of pandas, and as records of a generator and of a list."""
    pandas = pytest.importorskip("pandas")
    return {"pandas": pandas.DataFrame([ROW]), "list": [ROW], "generator": (row for row in [ROW])}


@pytest.mark.parametrize("form", ["pandas", "list", "generator"])
def test_named_columns_of_a_program(form):
    """Tables and records take a column map as files do; a wrong name is an error if the rows can be read twice."""
    assert [*read_records(frames()[form], columns=COLUMNS)] == [READ]
    wrong = {**COLUMNS, "answer": "Generierte Antwrot"}
    if form == "generator":
        reading = read_records(frames()[form], columns=wrong)
        assert next(iter(reading)).answer is None
        assert "no row has Generierte Antwrot, which is to be answer" in reading.notice()
    else:
        with pytest.raises(DataError, match="is not there; is it 'generierte antwort'"):
            read_records(frames()[form], columns=wrong)


def test_a_missing_value_of_a_named_column_counts():
    """NaN in a named column means not recorded, and no other column is read in its place."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([{"question": "q", "answer": "old", "new": "a"}, {"question": "r", "answer": "old"}])
    assert [case.answer for case in read_records(table, columns={"answer": "new"})] == ["a", None]


def test_evaluate_takes_a_column_map(tmp_path):
    """`evaluate(table, columns=...)` reads the columns that are named; a reader of a file has its own."""
    rows = [{"q": "Who?", "gen": "Ada", "truth": {"best": "Ada"}}]
    columns = {"question": "q", "answer": "gen", "expected_answer": "truth.best"}
    run = evaluate(rows, [load_metric("token_f1")], out=tmp_path / "run", columns=columns)
    assert [judgement.number for result in run.results() for judgement in result.judgements] == [1.0]
    with pytest.raises(DataError, match="pass them to read_cases"):
        read_records(read_cases(wrote(tmp_path, "a.json", rows)), columns=columns)


@pytest.mark.parametrize(
    ("lines", "told"),
    [(["answer"], "write it as FIELD=NAME"), (["answer=a", "answer=b"], "has the column 'a' already")],
)
def test_lines_that_name_no_column(lines, told):
    """A line without a column, and a second column of one field, are refused."""
    with pytest.raises(DataError, match=told):
        parse_columns(lines)


@pytest.mark.parametrize(("column", "seconds"), [("Dauer (ms)", 1.5), ("took", 1500.0), ("run.time_min", 90_000.0)])
def test_a_column_of_times_is_read_by_its_unit(column, seconds):
    """A time is converted to seconds if the name of its column ends with another unit."""
    reading = read_records([{"question": "Who?", column: "1500"}], columns={"usage.latency": column})
    [case] = reading
    assert case.usage.latency == seconds
