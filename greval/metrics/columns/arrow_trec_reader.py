"""Reads TREC files whose lines are regular by Arrow, without a Python object for each cell.

A file is regular if one character, a space or a tab, separates all columns and no other white space occurs in it, if
each line has as many columns as the first, and if Arrow can read each number. Any other file has to be read line by
line, which also finds the line that is at fault.
"""

from __future__ import annotations

import gzip
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from greval.metrics.columns.chunked_array import NumberColumn
from greval.metrics.columns.column_readers import read_texts
from greval.metrics.columns.text_column import TextColumn

SEPARATORS = (b" ", b"\t")
OTHER_WHITE_SPACE = (b"\r", b"\v", b"\f")
BLOCK_BYTES = 1 << 22
SPACE, NON_ASCII = 0x20, 0x80
Content = bytes | mmap.mmap


class TrecColumns(NamedTuple):
    """The columns of a TREC file that are used, and the last cell of its first line."""

    questions: TextColumn
    documents: TextColumn
    numbers: NumberColumn
    name: str


def read_regular_file(path: Path, columns: Sequence[str], number: str, *, comments: bool) -> TrecColumns | None:
    """Read the questions, the documents and one column of numbers of a regular file.

    Args:
        path: The file, which is unpacked if its name ends in `.gz`.
        columns: The names of all columns of the file in order; the first are the questions, the third the documents.
        number: The name of the column of numbers, which must be whole numbers unless they are scores.
        comments: Whether lines that begin with # are comments.

    Returns:
        None if the file is not regular, or pyarrow is not installed.

    Raises:
        OSError: If the file cannot be read.
    """
    try:
        import pyarrow as pa
        from pyarrow import csv
    except ImportError:
        return None
    content = _load_content(path)
    cells = content[:BLOCK_BYTES].split(b"\n", 1)[0]
    separator = next((one for one in SEPARATORS if one in cells), b"")
    if not separator or not _is_regular(content, separator) or (comments and _has_comments(content)):
        return None
    used = {columns[0]: pa.string(), columns[2]: pa.string(), number: pa.float64()}
    try:
        table = csv.read_csv(
            pa.BufferReader(pa.py_buffer(content)),
            csv.ReadOptions(column_names=[*columns], block_size=BLOCK_BYTES, use_threads=False),
            csv.ParseOptions(delimiter=separator.decode(), quote_char=False),
            csv.ConvertOptions(include_columns=[*used], column_types=used, null_values=[]),
        )
    except pa.ArrowInvalid:
        return None
    return _convert_table(table, number, cells.rsplit(separator, 1)[-1].decode())


def _load_content(path: Path) -> Content:
    """Return the content of a file, unpacked if it is packed, and else without reading it into memory."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    with path.open("rb") as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""


def _is_regular(content: Content, separator: bytes) -> bool:
    """Return whether a text is UTF-8, has no white space but this separator and ends of lines, and no empty cell."""
    others = (*(one for one in SEPARATORS if one != separator), *OTHER_WHITE_SPACE)
    if any(content.find(text) >= 0 for text in others) or content[:1] <= b" ":
        return False
    codes = np.frombuffer(content, np.uint8)
    if any(_has_empty_cell(codes[first : first + BLOCK_BYTES + 1]) for first in range(0, len(codes), BLOCK_BYTES)):
        return False
    if codes.max() < NON_ASCII:
        return True
    try:
        str(content, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _has_empty_cell(codes: npt.NDArray[np.uint8]) -> bool:
    """Return whether two white spaces follow each other."""
    blank = codes <= SPACE
    return bool((blank[1:] & blank[:-1]).any())


def _has_comments(content: Content) -> bool:
    return content[:1] == b"#" or content.find(b"\n#") >= 0


def _convert_table(table: Any, number: str, name: str) -> TrecColumns | None:  # noqa: ANN401 - pyarrow is untyped
    """Convert an Arrow table; None if a number has to be rejected."""
    questions, documents, values = table.columns
    chunks = [np.from_dlpack(chunk) for chunk in values.chunks]  # `to_numpy` imports pandas
    if any((np.isnan(one) if number == "score" else one != np.floor(one)).any() for one in chunks):
        return None
    return TrecColumns(
        read_texts(questions, "questions"), read_texts(documents, "documents"), NumberColumn(chunks), name
    )
