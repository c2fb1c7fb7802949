"""Tables are read row by row; a broken row, cell or header is reported with its place."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.datasets.cells import read_cells
from greval.datasets.json_files import RawRow
from greval.datasets.row_sources import read_rows
from greval.errors import DataError

CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r\ufeff"), min_size=1, max_size=8)


def write(folder, content):
    path = folder / "cases.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@given(rows=st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_what_csv_writes_is_read(tmp_path_factory, rows):
    """Cells with quotes, delimiters, line breaks and any script come back as they were."""
    stream = io.StringIO()
    csv.writer(stream).writerows([("question", "note"), *rows])
    path = write(tmp_path_factory.mktemp("table"), stream.getvalue())
    assert [(row.values["question"], row.values["note"]) for row in read_rows(path)] == rows


def test_faults_of_rows(tmp_path):
    """A row of too many cells and a cell that is not UTF-8 are faults with their lines; an empty cell is None."""
    path = write(tmp_path, b'question,answer\nA?,a,x\nB?,\xff\nC?,\n"D?\nD2?",d\n')
    many, encoding, empty, broken_line = read_rows(path)
    assert (many.number, many.faults) == (2, {"": "has 3 cells where the header has 2"})
    assert encoding.faults == {"answer": "is not UTF-8 (0xff in the cell); save the file as UTF-8"}
    assert (empty.values["answer"], empty.number) == (None, 4)
    assert (broken_line.values["question"], broken_line.number) == ("D?\nD2?", 5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("question,question\n", "question is there twice"),
        ("qestion,answer\n", "no column for the question; is it 'qestion'?"),
        ("frage;answer\n", "no column for the question; it may be called question"),
        ("frage;answer\n", "(columns: frage, answer)"),
        (b"question,\xff\n", "is not UTF-8 (0xff in the header)"),
    ],
)
def test_faults_of_the_header(tmp_path, content, message):
    """A header that cannot be used is an error of the whole file."""
    with pytest.raises(DataError) as caught:
        [*read_rows(write(tmp_path, content))]
    assert str(caught.value).startswith(f"{tmp_path / 'cases.csv'}:1: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "cell", "value", "fault"),
    [
        ("chunks", '["a", "b"]', ["a", "b"], None),
        ("gold.answers", '["a"]', ["a"], None),
        ("answer", '["a"]', '["a"]', None),
        ("chunks", "[1] as shown", "[1] as shown", None),
        ("chunks", "['a', \"b\"]", ["a", "b"], None),
        ("Retrieved Contexts", "['a'\n 'b']", ["a", "b"], None),
        ("gold.expected_edges", "[('a', 'knows', 'b')]", [["a", "knows", "b"]], None),
        ("contexts", "[{'text': 'a', 'id': 1}]", [{"text": "a", "id": 1}], None),
        ("chunks", "[Document(page_content='a')]", [{"page_content": "a"}], None),
        ("reference", "['a', 'b']", ["a", "b"], None),
        ("reference", '{"a": 1}', '{"a": 1}', None),
        ("reference", "[1, 2]", "[1, 2]", None),
        ("tags.note", "['a']", "['a']", None),
        ("chunks", "['a', open('b')]", None, "begins like a list or an object but is no JSON"),
        ("chunks", "['a'", None, "begins like a list or an object but is no JSON"),
        ("usage", '{"latency": Infinity}', None, "Infinity is no JSON value"),
    ],
)
def test_json_in_cells(name, cell, value, fault):
    """JSON is parsed in fields that hold lists or objects; what only looks like it is a fault or a text."""
    row = read_cells(RawRow(3, {name: cell}))
    if fault is None:
        assert (row.values[name], row.faults) == (value, {})
    else:
        (message,) = row.faults.values()
        assert message.startswith(fault)
