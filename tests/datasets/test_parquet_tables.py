"""Parquet files are read row by row, or as a whole."""

from __future__ import annotations

import pytest

from greval.datasets.parquet_tables import read_parquet, read_table
from greval.errors import DataError


def test_parquet(tmp_path):
    """Columns of cases are read, others only named; a file of another kind is an error."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")

    path = tmp_path / "cases.parquet"
    parquet.write_table(pa.table({"question": ["A?"], "tags": [{"k": "v"}], "level": [3]}), path)
    (row,) = read_parquet(path)
    assert row.values == {"question": "A?", "tags": {"k": "v"}, "level": 3}
    assert read_table(path, "level", "none") == [{"level": 3, "none": None}]
    (tmp_path / "x.parquet").write_text("x", encoding="utf-8")
    for read in (lambda: [*read_parquet(tmp_path / "x.parquet")], lambda: read_table(tmp_path / "x.parquet", "a")):
        with pytest.raises(DataError, match="cannot be read as Parquet"):
            read()
