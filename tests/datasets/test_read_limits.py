"""Tests of the limits of what a file of cases may hold."""

from __future__ import annotations

import json
import zipfile

import pytest

from greval.datasets.case_reader import MAX_COLUMNS, read_cases
from greval.datasets.row_faults import MAX_ROW_BYTES, MAX_ROW_FIELDS, MAX_ROW_VALUES, MAX_UNPACKED_BYTES
from greval.errors import DataError

GOOD = {"question": "Who?"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"question": "' + "a" * MAX_ROW_BYTES + '"}', "takes more than 32 MB"),
        ('{"question": "Who?", "chunks": [' + "[]," * MAX_ROW_VALUES + "[]]}", "holds more than 1,000,000 values"),
        (json.dumps(GOOD | {f"k{n}": n for n in range(MAX_ROW_FIELDS)}), "has 10,001 fields"),
    ],
    ids=["bytes", "values", "fields"],
)
def test_a_line_that_is_too_large_is_a_fault(tmp_path, line, message):
    """It is told with what a row may hold, and stops no other row."""
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(GOOD)}\n{line}\n{json.dumps(GOOD)}\n", encoding="utf-8")
    first, fault, last = read_cases(tmp_path / "a.jsonl")
    assert (first.id, last.id) == ("row-1", "row-3")
    assert fault.place.endswith("a.jsonl:2")
    assert fault.message.startswith(message)
    assert "the most of a row; leave out what is no field of a case" in fault.message
    assert read_cases(tmp_path / "a.jsonl").count() == 3


def test_a_line_of_the_most_fields_is_read(tmp_path):
    """The limit belongs to what a row may have."""
    line = json.dumps(GOOD | {f"k{n}": n for n in range(MAX_ROW_FIELDS - 1)})
    (tmp_path / "a.jsonl").write_text(line, encoding="utf-8")
    (case,) = read_cases(tmp_path / "a.jsonl")
    assert case.question == "Who?"


def test_commas_and_brackets_of_a_text_are_no_values(tmp_path):
    """A long text with more separators than a row may have values is read."""
    case = GOOD | {"answer": ",[{" * (MAX_ROW_VALUES // 2)}
    (tmp_path / "a.jsonl").write_text(json.dumps(case), encoding="utf-8")
    (read,) = read_cases(tmp_path / "a.jsonl")
    assert read.answer == case["answer"]


def test_a_table_of_too_many_columns_is_refused(tmp_path):
    """A header of more columns than a row may have fields is an error of the file."""
    names = ",".join(["question", *(f"c{n}" for n in range(MAX_ROW_FIELDS))])
    (tmp_path / "a.csv").write_text(f"{names}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.csv:1: has 10,001 fields"):
        [*read_cases(tmp_path / "a.csv")]


def test_a_workbook_that_stands_for_much_is_refused(tmp_path):
    """The size of what is packed is checked before it is read."""
    with (
        zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as book,
        book.open("x", "w") as part,
    ):
        for _ in range(MAX_UNPACKED_BYTES // 2**24 + 1):
            part.write(bytes(2**24))
    with pytest.raises(DataError, match=r"holds 1,040 MB when unpacked, more than 1,024 MB; split it"):
        [*read_cases(tmp_path / "a.xlsx")]


def test_columns_that_differ_in_each_row_are_not_kept_without_end(tmp_path):
    """What is reported of columns stays small, whatever the rows hold."""
    rows = [GOOD | {f"tag{n}": n, f"list{n}": [n]} for n in range(2 * MAX_COLUMNS)]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    reader = read_cases(tmp_path / "a.jsonl")
    assert len([*reader]) == 2 * MAX_COLUMNS
    assert len(reader.mapping) == len(reader.ignored_columns) == MAX_COLUMNS
