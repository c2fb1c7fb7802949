"""`greval gold check`: all faults of a file with their places, and an exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("empty_folder")


def write(*rows, path="gold.jsonl"):
    """Write rows as JSON lines."""
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_good_gold_has_no_findings(greval_says):
    """Two samples with documents: one line with the counts, and exit code 0."""
    path = write({"id": "q1", "essential_docs": ["d1"]}, {"id": "q2", "essential_docs": ["d2"]})
    assert greval_says("gold", "check", path) == (0, "gold.jsonl: 2 samples, 0 faults, 0 remarks\n", "")


def test_each_fault_is_counted_and_ends_with_2(greval_says):
    """Rows that cannot be read, empty gold and repeated names are reported with their lines."""
    path = write(
        {"id": "q1", "essential_docs": []},
        {"id": "q2", "essential_docs": 4},
        {"id": "q3", "essential_docs": ["d", "d"]},
    )
    code, out, _ = greval_says("gold", "check", path)
    *findings, last = out.splitlines()
    assert code == 2
    assert sorted(line.split(": ")[0] for line in findings) == [f"{path}:{n}" for n in (1, 2, 3)]
    assert last == f"{path}: 2 samples, 2 faults, 1 remark"


def test_the_index_must_hold_what_the_gold_names(greval_says):
    """With --index, a document that no row of the index names is a fault."""
    path = write({"id": "q1", "essential_docs": ["d1", "d2"]})
    index = write({"document": "d1"}, path="index.jsonl")
    code, out, _ = greval_says("gold", "check", path, "--index", index)
    assert code == 2
    assert "d2" in out.splitlines()[0]
    assert "d1" not in out.splitlines()[0].partition("gold.")[2]
