"""Frames of ranked rows: what polars reads of a file is what its rows hold, and faults name their row."""

from __future__ import annotations

import gzip
import json
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.datasets.ranked_rows import QRELS_ROWS, RUN_ROWS
from greval.datasets.row_frames import (
    FrameColumns,
    build_frame,
    read_column,
    read_frame,
    read_frame_by_rows,
    read_regular_frame,
)
from greval.errors import DataError

RUN = FrameColumns(RUN_ROWS, ("score", "rank"), {}, is_required=False)
QRELS = FrameColumns(QRELS_ROWS, ("grade",), {}, is_required=True)
IDS = st.sampled_from(["q1", "q2", "d7", "文書", "#3", '"a"', "a\\b", "0", "NA", "null", ""])
NUMBERS = st.sampled_from(["1", "2.5", "-3", "1e-7", "inf", "nan", "1_0", "x", "", "0x1", "+4", "0.1", ".5"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9)
SPACES = st.sampled_from([" ", " ", " ", " ", " ", "\t", "  ", "\v", "\x1c", "\u00a0"])
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", " \n", "\n\n", ""])


@st.composite
def run_texts(draw):
    """Draw the text of a run, whose lines are regular or not."""
    regular = draw(st.booleans())
    lines = []
    for _ in range(draw(st.integers(1, 5))):
        cells = [draw(IDS), "Q0", draw(IDS), "1", draw(NUMBERS), "mine"][: draw(st.sampled_from([6, 6, 6, 6, 5]))]
        lines.append(cells[0] + "".join((" " if regular else draw(SPACES)) + cell for cell in cells[1:]))
    return "".join(line + ("\n" if regular else draw(ENDS)) for line in lines)


def split_plainly(text):
    """Return the cells of a run as Python splits them, or None if a line is no result."""
    rows = [line.split() for line in text.encode().split(b"\n") if line.strip()]
    try:
        cells = [(row[0].decode(), row[2].decode(), float(row[4])) for row in rows if len(row) >= 6 or row[99]]
    except (ValueError, IndexError):
        return None
    return None if any(isnan(score) for *_, score in cells) else cells


@given(text=run_texts())
def test_any_run_is_read_or_refused_as_plain_python_does(tmp_path_factory, text):
    """What polars reads of a file is what splitting its lines gives, or nothing; other files are read or refused."""
    path = tmp_path_factory.mktemp("run") / "run.txt"
    path.write_bytes(text.encode())
    expected = split_plainly(text)
    regular = read_regular_frame(path, RUN)
    assert regular is None or regular.rows() == expected
    if expected:
        assert read_frame(path, RUN).rows() == expected
    else:
        with pytest.raises(DataError, match=r"run\.txt"):
            read_frame(path, RUN)


@pytest.mark.parametrize("separator", [" ", "\t"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_regular_runs_need_no_reading_line_by_line(tmp_path, separator, is_packed):
    """Runs with one space or one tab between their columns are read by polars, packed or not."""
    text = "".join(separator.join((f"q{n % 7}", "Q0", f"dö{n}", "1", f"{n / 7}", "mine")) + "\n" for n in range(1000))
    path = tmp_path / "run.txt"
    path.write_bytes(text.encode())
    assert read_regular_frame(path, RUN).rows() == split_plainly(text)
    if is_packed:
        path = tmp_path / "run.gz"
        path.write_bytes(gzip.compress(text.encode()))
    assert read_frame(path, RUN).rows() == split_plainly(text)


ODD_FILES = {
    "windows.csv": "qid,docid,score,text\r\nq1,d1,1,a\r\n\r\nq2,d2,2.5,b\r\n",
    "quotes.csv": 'qid,docid,score,text\n"q1","d1",1,"a, b"\nq2,"d2","2.5",c\n',
    "quotes.tsv": 'qid\tdocid\tscore\n"q1"\td1\t1\n"q2"\td2\t2.5',
    "blanks.run": "q1 Q0  d1\t1 1  x\r\n\n  q2 Q0 d2 2 2.5 x and more \n",
    "mark.run": "\ufeffq1 Q0 d1 1 1 x\nq2 Q0 d2 2 2.5 x\n",
    "windows.jsonl": '{"qid": "q1", "docid": "d1", "score": 1}\r\n\r\n{"qid": "q2", "docid": "d2", "score": 2.5}\r\n',
}


@pytest.mark.parametrize("name", ODD_FILES)
def test_odd_files_without_a_fault_are_read_by_polars(tmp_path, name):
    """Ends of lines as in Windows, quotes, blank lines and a mark of the byte order are no reason to read by rows."""
    path = tmp_path / name
    path.write_bytes(ODD_FILES[name].encode())
    assert read_regular_frame(path, RUN).rows() == [("q1", "d1", 1.0), ("q2", "d2", 2.5)]
    assert read_frame_by_rows(path, RUN).rows() == [("q1", "d1", 1.0), ("q2", "d2", 2.5)]


@pytest.mark.parametrize(
    "text",
    [
        "q1 0 d1 1\n# by hand\nq2 0 d2 0\n",
        "#q0 0 d1 1\nq1 0 d1 1\n\n q2\t0 d2  0 ",
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t0\n",
    ],
)
def test_comments_and_headers_of_qrels_are_passed_over(tmp_path, text):
    """A line that begins with # and the header of BEIR are no judgement, and polars reads the others."""
    path = tmp_path / "qrels.txt"
    path.write_bytes(text.encode())
    assert read_regular_frame(path, QRELS).rows() == [("q1", "d1", 1.0), ("q2", "d2", 0.0)]
    assert read_frame(path, QRELS).rows() == [("q1", "d1", 1.0), ("q2", "d2", 0.0)]


@pytest.mark.parametrize(
    "text", ["q1 0 d1 1.5\n", "", "\n", "q1 0 d1\xa01 1\r\n x", "q1 0 d1 1\nq2 0 d2\0 1\n", "q1 0 d1\n"]
)
def test_other_qrels_are_left_to_the_line_reader(tmp_path, text):
    """Grades that are not whole, too few cells, a NUL and empty files are not read by polars."""
    path = tmp_path / "qrels.txt"
    path.write_bytes(text.encode())
    assert read_regular_frame(path, QRELS) is None


@pytest.mark.parametrize(
    "text", ['q1,"d1\nx",1\n', 'q1,"d""1",1\n', 'q1,d"1,1\n', "q1,d1\n", "q1,d1,1,2\n", 'q1, "d1",1\n']
)
def test_tables_with_other_quotes_are_left_to_the_row_reader(tmp_path, text):
    """Quotes within a cell, a line within quotes and other numbers of cells are not read by polars."""
    path = tmp_path / "run.csv"
    path.write_text(f"qid,docid,score\n{text}", encoding="utf-8")
    assert read_regular_frame(path, RUN) is None


LINES = [
    {"qid": "q1", "docid": "d1", "score": 1.5},
    {"qid": "q1", "docid": "a, b: {c}", "score": -2e-05},
    {"qid": "文", "docid": " ", "score": 3},
]


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize(
    "names",
    [("qid", "docid", "score"), ("score", "qid", "docid"), ("text", "docid", "n", "score", "flag", "qid", "a.b")],
)
def test_alike_json_lines_are_read_by_polars(tmp_path, separators, names):
    """Lines of any order of names and of both usual separators give the values of JSON."""
    other_values = {"text": "any text", "n": 7, "flag": True, "a.b": None}
    lines = [
        json.dumps({name: {**row, **other_values}[name] for name in names}, separators=separators) for row in LINES
    ]
    lines[2] = lines[2].encode().decode("unicode_escape")
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert read_regular_frame(path, RUN).rows() == [(*list(row.values())[:2], float(row["score"])) for row in LINES]


@pytest.mark.parametrize(
    "second",
    [
        '{"qid":"q1","docid":"d2","score":2]',
        '{"qid":"q1","docid":"d2","score":}',
        '{"qid":"q1";"docid":"d2","score":2}',
        '{"qid":"q1","docid":"d2","score";2}',
        '{"qid":"q1","docid":"d2","score":Infinity}',
        '{"qid":"q1","docid":"d2","score":null}',
        '{"qid":"q1","docid":"d2","score":"2"}',
        '{"qid":"q1","docid":"d2","score":02}',
        '{"qid":"q1","docid":2,"score":2}',
        '{"qid":"q1","docid":"\\u0064\\u0032","score":2}',
        '{"qid":"q1","other":"d2","score":2}',
        '{"docid":"d2","qid":"q1","score":2}',
        '{"qid":"q1","docid":"","score":2}',
        '{"qid":"","docid":"d2","score":2}',
        '{"qid":"q1","docid":"d2"}',
        '{"qid":"q1","docid":"d2","score":2}\x00',
        "not JSON",
    ],
)
def test_json_lines_unlike_the_first_are_left_to_the_row_reader(tmp_path, second):
    """A line of another form, or without a value, is never taken for one that it is not."""
    path = tmp_path / "run.jsonl"
    path.write_text(f'{{"qid":"q1","docid":"d1","score":1}}\n{second}\n', encoding="utf-8")
    assert read_regular_frame(path, RUN) is None


@given(ids=st.lists(TEXTS | st.integers(-99, 10**12)))
def test_ids_of_columns_are_texts(ids):
    """Texts stay as they are, whole numbers are their digits."""
    assert read_column(ids, "document").to_list() == [str(value) for value in ids]


@given(ids=st.lists(st.text("aé文", min_size=1, max_size=12), max_size=9), start=st.integers(0, 9))
@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_slices_of_arrow_columns(ids, start, kind):
    """A slice of an Arrow column starts at its offset; plain, large and dictionary columns read the same."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    column = pa.array(ids, pa.large_string() if kind == "large_string" else pa.string())
    column = column.dictionary_encode() if kind == "dictionary" else column
    assert read_column(column[start:], "document").to_list() == ids[start:]


@pytest.mark.parametrize(
    ("values", "field", "message"),
    [
        ([1.0, float("nan")], "score", "scores, row 2: the score must be a number, got nan"),
        ([[1, 2], [3, 4]], "score", r"scores, row 1: the score must be a number, got \[1, 2\]"),
        (np.array([1.0, 1.5]), "rank", "ranks, row 2: the rank must be a whole number, got 1.5"),
        ([1, None], "grade", "grades, row 2: the grade must be a whole number, it is missing"),
        (["d1", ""], "document", "documents, row 2: the document must be a text or a whole number, it is missing"),
        (["d1", True], "document", "documents, row 2: the document must be a text or a whole number, got True"),
        ("d1", "document", "documents: must be a column, got str; give a list or an array"),
        (7, "document", "documents: must be a column, got int"),
    ],
)
def test_faults_of_columns_name_their_row(values, field, message):
    """NaN, lists, missing values and texts that are one value are faults of the column."""
    with pytest.raises(DataError, match=message):
        read_column(values, field)


def test_missing_arrow_values_name_their_row():
    """A null in an Arrow column is a fault with its row; a number is the id that it is in a file."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    with pytest.raises(DataError, match=r"documents, row 2: the document must be .*, it is missing"):
        read_column(pa.array(["a", None]), "document")
    assert read_column(pa.array([7.0, 0.5]), "document").to_list() == ["7", "0.5"]
    assert read_column(pa.array([], pa.string()), "document").to_list() == []


def test_columns_are_equally_long():
    """A column that is shorter than another is refused with both lengths."""
    with pytest.raises(DataError, match="questions and scores must be equally long, got 2 and 1 rows"):
        build_frame({"question": ["a", "b"], "document": ["c", "d"], "score": [1]})
