"""Excel workbooks are read as people keep them: notes before the table, several sheets, dates, and cells left empty."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import pytest

from greval.datasets.case_reader import read_cases
from greval.datasets.row_faults import RowFault
from greval.errors import DataError
from greval.records.case import Case

openpyxl = pytest.importorskip("openpyxl")


def saved(folder, **sheets):
    """Save a workbook with these rows in its sheets."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(folder / "a.xlsx")
    return folder / "a.xlsx"


DAY = dt.datetime(2026, 11, 22)  # noqa: DTZ001 - Excel knows no time zones
TABLE = [
    [],
    ["Id", "User Input", "Response", "Contexts", "asked on", None, "level"],
    [1, "Who?", 1843, "['Ada wrote it.', 'b']", DAY, None, 2.0],
    [None] * 7,
    [2.0, "When?", None, None, DAY.replace(hour=9, minute=30), None, True],
    [3, "Why?", "#N/A", None, None, None, None],
    ["q4", "Where?", "Here.", None, None, None, "#REF!"],
]
READ = [
    Case(
        id="1",
        question="Who?",
        answer="1843",
        chunks=["Ada wrote it.", "b"],
        tags={"asked on": "2026-11-22", "level": "2"},
    ),
    Case(id="2", question="When?", tags={"asked on": "2026-11-22 09:30:00", "level": "true"}),
    Case(id="q4", question="Where?", answer="Here."),
]


def test_cells_are_read_as_texts(tmp_path):
    """Numbers are written without `.0`, dates as ISO has them, empty cells are not recorded, empty rows no rows."""
    reading = read_cases(saved(tmp_path, Cases=TABLE))
    rows = [*reading]
    assert [row for row in rows if isinstance(row, Case)] == READ
    (fault,) = (row for row in rows if isinstance(row, RowFault))
    assert (fault.place, fault.message) == (f"{tmp_path / 'a.xlsx'}, row 6", "Response: is #N/A, a formula that failed")
    assert "sheet" not in reading.notice()
    assert reading.count() == 4


def test_the_first_sheet_with_cases_is_read_and_named(tmp_path):
    """A sheet of notes is passed over; the notice says which sheet was read and which were not."""
    path = saved(tmp_path, Notes=[["made in May"]], Cases=TABLE, Other=[["question"], ["Else?"]], Empty=[])
    reading = read_cases(path)
    assert [row for row in reading if isinstance(row, Case)] == READ
    assert "read the sheet 'Cases', not Notes, Other, Empty" in reading.notice()


def test_columns_can_be_named(tmp_path):
    """A column map chooses the sheet too, and lists in cells are read by the field that they are."""
    path = saved(tmp_path, A=[["Frage"], ["x"]], B=[["Frage", "Titel"], ["Wer?", "['d1', 'd2']"]])
    reading = read_cases(path, columns={"question": "Frage", "gold.essential_docs": "Titel"})
    assert [case.gold.essential_docs for case in reading] == [("d1", "d2")]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "holds no cases"),
        ([["Frage", "Antwort"], ["Wer?", "Ada"]], "sheet 'S': no column for the question"),
        ([["question", "question"], ["a", "b"]], "sheet 'S': question is there twice"),
    ],
)
def test_a_workbook_without_cases_is_refused(tmp_path, rows, message):
    """The error names the sheet and its columns."""
    with pytest.raises(DataError) as caught:
        [*read_cases(saved(tmp_path, S=rows))]
    assert message in str(caught.value)


def test_what_is_no_workbook_is_refused(tmp_path):
    """Another file with the ending, and endings of other spreadsheets, say what to save."""
    (tmp_path / "a.xlsx").write_text("question,answer\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"save it as \.xlsx or as CSV"):
        [*read_cases(tmp_path / "a.xlsx")]
    (tmp_path / "a.ods").write_text("x", encoding="utf-8")
    with pytest.raises(DataError, match=r"save the table as \.xlsx or \.csv \(known are"):
        read_cases(tmp_path / "a.ods")


def test_a_cell_beyond_the_header_is_a_fault(tmp_path):
    """A row with more cells than the header has is not guessed at."""
    rows = [*read_cases(saved(tmp_path, S=[["question", "answer"], ["q", "a", "b"], ["r"]]))]
    assert rows[0].message == "has a cell beyond the last column: b"
    assert rows[1].question == "r"


def test_without_openpyxl_it_says_what_to_install(tmp_path):
    """Where the package is missing, the error has the command that installs it."""
    path = saved(tmp_path, S=[["question"], ["q"]])
    code = (
        "import sys; sys.modules['openpyxl'] = None\n"
        "from greval import read_cases\nfrom greval.errors import MissingExtraError\n"
        "try:\n"
        f"    [*read_cases({str(path)!r})]\n"
        "except MissingExtraError as error:\n"
        "    print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "openpyxl is not installed: pip install 'greval[excel]'\n"
