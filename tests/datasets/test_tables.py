"""Tables are read row by row; a broken row, cell or header is reported with its place."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from greval.datasets.row_sources import read_rows

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
