"""Regular TREC files are read by Arrow, and no file is read otherwise than line by line."""

from __future__ import annotations

import gzip
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval import DataError, read_trec_run
from greval.metrics.columns.arrow_trec_reader import read_regular_file

RUN = ("question", "Q0", "document", "rank", "score", "name")
IDS = st.sampled_from(["q1", "q2", "d7", "文書", "#3", '"a"', "a\\b", "0", "NA", "null", ""])
NUMBERS = st.sampled_from(["1", "2.5", "-3", "1e-7", "inf", "nan", "1_0", "x", "", "0x1", "+4", "0.1", ".5"])
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
        cells = [(row[0].decode(), row[2].decode(), float(row[4])) for row in rows if len(row) >= len(RUN) or row[99]]
    except (ValueError, IndexError):
        return None
    return None if any(isnan(score) for *_, score in cells) else cells


def list_rows(found):
    """Return the questions, documents and numbers of columns as rows."""
    rows = np.arange(len(found.questions))
    return list(
        zip(found.questions.read(rows), found.documents.read(rows), found.numbers.read(rows).tolist(), strict=True)
    )


@given(text=run_texts())
def test_reads_what_plain_python_reads(tmp_path_factory, text):
    """What Arrow reads of a file is what splitting its lines gives, or nothing."""
    path = tmp_path_factory.mktemp("run") / "run.txt"
    path.write_bytes(text.encode())
    found = read_regular_file(path, RUN, "score", comments=False)
    assert found is None or list_rows(found) == split_plainly(text)


@given(text=run_texts())
def test_any_file_is_read_or_refused_alike(tmp_path_factory, text):
    """A run is read if plain Python can read it, and refused with its file if not, whichever way it is read."""
    path = tmp_path_factory.mktemp("run") / "run.txt"
    path.write_bytes(text.encode())
    expected = split_plainly(text)
    if expected is None:
        with pytest.raises(DataError, match=r"run\.txt"):
            read_trec_run(path, order="file")
    else:
        asked = read_trec_run(path, order="file").questions
        assert tuple(asked) == tuple(dict.fromkeys(question for question, *_ in expected))


@pytest.mark.parametrize("separator", [" ", "\t"])
@pytest.mark.parametrize("packed", [False, True])
def test_regular_files_need_no_line_reader(tmp_path, separator, packed):
    """Runs with one space or one tab between their columns are read by Arrow, packed or not, and with their name."""
    text = "".join(separator.join((f"q{n % 7}", "Q0", f"dö{n}", "1", f"{n / 7}", "mine")) + "\n" for n in range(1000))
    path = tmp_path / f"run{'.gz' if packed else '.txt'}"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    found = read_regular_file(path, RUN, "score", comments=False)
    assert found is not None
    assert list_rows(found) == split_plainly(text)
    assert found.name == "mine"


@pytest.mark.parametrize(
    "text", ["q1 0 d1 1\n# by hand\n", "#q1 0 d1 1\n", "q1 0 d1 1.5\n", "q1 0 d1 1 \n", "", "\n", "q1 0 d1\xa01 1\r\n"]
)
def test_other_files_are_left_to_the_line_reader(tmp_path, text):
    """Comments, grades that are not whole, empty cells and empty files are not read by Arrow."""
    path = tmp_path / "qrels.txt"
    path.write_bytes(text.encode())
    assert read_regular_file(path, ("question", "iteration", "document", "grade"), "grade", comments=True) is None
