"""Tests of the summary of a data set: it stays small, whatever the file holds."""

from __future__ import annotations

import json

import pytest

from greval.errors import DataError
from greval.serve.settings import ServerLimits
from greval.serve.state.dataset_files import (
    MAX_LISTED_COLUMNS,
    MAX_MESSAGE,
    MAX_UNREAD_ROWS,
    DatasetFile,
    inspect_dataset,
)


def inspect(folder, *lines):
    """Give the summary of a file of these lines."""
    path = folder / "cases.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return inspect_dataset(DatasetFile(path, "mine", {}), ServerLimits())


def test_the_summary_of_a_hostile_file_is_small(tmp_path):
    """Columns and faults are listed up to a number, and cut."""
    rows = [{f"{n}-{m}{'x' * 500}": [m] for m in range(100)} | {"question": "?"} for n in range(20)]
    chunks = [{"id": "c", "text": n, "y" * 5_000: 1} for n in range(100)]
    summary = inspect(tmp_path, *map(json.dumps, rows), json.dumps({"question": "?", "chunks": chunks}))
    assert (summary.cases, summary.unread_count) == (20, 1)
    assert len(summary.ignored) == MAX_LISTED_COLUMNS
    assert len(summary.unread[0].message) <= MAX_MESSAGE
    assert len(summary.model_dump_json()) < 100_000


def test_a_file_of_rows_that_are_no_cases_is_not_read_to_its_end(tmp_path):
    """Beyond a number of faulty rows the file is refused, with the first of them."""
    with pytest.raises(DataError, match=r"mine: more than 100,000 rows are no cases; .* The first: mine:2: is no JSON"):
        inspect(tmp_path, '{"question": "?"}', *["x"] * (MAX_UNREAD_ROWS + 1))
