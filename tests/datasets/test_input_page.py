"""The page on input says what each row becomes, and that is what it becomes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from greval.datasets.case_records import read_records
from greval.records.case import Case

PAGE = Path(__file__).parents[2] / "docs" / "input_fields.md"
ROW = re.compile(r"^\| (?P<title>[^|`]+) \| `(?P<row>\{.*\})` \| `(?P<case>\{.*\})` \|$", re.MULTILINE)
ROWS = {match["title"]: match for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))}
ITEM_LISTS = ("chunks", "triples")


def select_fields(case: Case, names: set[str]) -> dict[str, Any]:
    """Return some fields of a case as JSON has them; ids of items that are made from their places are left out."""
    fields = case.model_dump(mode="json", include=names, exclude_none=True)
    for name in names & {*ITEM_LISTS}:
        for item in fields[name]:
            del item["id"]
    return fields


@pytest.mark.parametrize("title", ROWS)
def test_each_row_of_the_page_becomes_what_it_says(title):
    """Each row is read as the page says."""
    row, expected = (json.loads(ROWS[title][part].replace(r"\|", "|")) for part in ("row", "case"))
    question = {} if {"user_input", "input", "inputs", "question", "messages"} & row.keys() else {"question": "Who?"}
    (case,) = read_records([{**question, **row}])
    assert select_fields(case, {*expected}) == expected


def test_the_page_has_its_table():
    """The rows of the table are found."""
    assert len(ROWS) >= 23
