"""Parquet files are read row by row, or as a whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

from greval.datasets.case_reader import read_cases
from greval.datasets.parquet_tables import read_table
from greval.datasets.row_faults import MAX_ROW_BYTES
from greval.datasets.row_sources import read_rows
from greval.errors import DataError

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet")


def test_parquet(tmp_path):
    """Columns of cases are read, others only named; a file of another kind is an error."""
    path = tmp_path / "cases.parquet"
    parquet.write_table(pa.table({"question": ["A?"], "tags": [{"k": "v"}], "level": [3]}), path)
    (row,) = read_rows(path)
    assert row.values == {"question": "A?", "tags": {"k": "v"}, "level": 3}
    assert read_table(path, "level", "none") == [{"level": 3, "none": None}]
    (tmp_path / "x.parquet").write_text("x", encoding="utf-8")
    for read in (lambda: [*read_rows(tmp_path / "x.parquet")], lambda: read_table(tmp_path / "x.parquet", "a")):
        with pytest.raises(DataError, match="cannot be read as Parquet"):
            read()


@pytest.mark.nightly
def test_a_small_file_that_stands_for_much_takes_little_memory(tmp_path):
    """Rows that share a text of the dictionary are unpacked one after another, not all at once."""
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * 256, pa.int32()), pa.array(["a" * 7_900_000]))
    columns = {"question": shared, "answer": shared, "expected_answer": shared}
    # without Arrow's schema, which would say that the columns are dictionaries
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet", compression="zstd", store_schema=False)
    assert (tmp_path / "a.parquet").stat().st_size < 10_000
    code = f"""
import resource
from greval.datasets.case_reader import read_cases
rows = iter(read_cases({str(tmp_path / "a.parquet")!r}))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert [len(next(rows).answer) for _ in range(8)] == [7_900_000] * 8
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 8 * MAX_ROW_BYTES // 2**20


def test_a_row_that_is_too_large_is_a_fault(tmp_path):
    """A row of more bytes than a row may have stops no other, also where its texts are in lists."""
    texts = ["a" * (MAX_ROW_BYTES // 2)] * 3
    rows = [
        {"question": "Who?", "chunks": [{"id": "c", "text": text} for text in chunks]} for chunks in ([], texts, [])
    ]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    first, fault, last = read_cases(tmp_path / "a.parquet")
    assert (first.id, last.id) == ("row-1", "row-3")
    assert fault.message == "takes more than 32 MB, the most of a row; leave out what is no field of a case"
