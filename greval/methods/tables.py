"""Reader of Parquet tables: selected columns, row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from greval.errors import DataError, MissingExtraError

Row = dict[str, Any]


def read_table(path: Path, *columns: str) -> list[Row]:
    """Read columns of a Parquet file; a missing column is None in each row.

    Args:
        path: The file.
        columns: The names of the columns. Others are not loaded.

    Raises:
        DataError: If the file cannot be read as Parquet.
        MissingExtraError: If pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("stats", "pyarrow") from error
    try:
        with parquet.ParquetFile(path) as table:
            there = {*table.schema_arrow.names}
            found = table.read(columns=[name for name in columns if name in there]).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet: {error}; write the index anew") from error
    return [dict.fromkeys(columns) | row for row in found]
