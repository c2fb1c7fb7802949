"""Chunked arrays read as one array does, and nothing is allocated at import."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from greval.metrics.columns.chunked_array import REUSED_BYTES, NumberColumn, expand_ranges

CHUNKS = st.lists(st.lists(st.integers(-9, 9), max_size=5), max_size=5)


def column_of(chunks):
    """Return a column of chunks, and the same numbers as one array."""
    arrays = [np.array(chunk, dtype=np.int64) for chunk in chunks]
    return NumberColumn(arrays), np.concatenate([np.empty(0, np.int64), *arrays])


@given(chunks=CHUNKS, data=st.data())
def test_ranges_and_rows_read_as_of_one_array(chunks, data):
    """Any range and any rows, in any order and repeated, are those of the concatenated chunks."""
    column, whole = column_of(chunks)
    assert len(column) == len(whole)
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(whole))] * 2)))
    assert column.read(slice(start, stop)).tolist() == whole[start:stop].tolist()
    rows = data.draw(st.lists(st.integers(0, len(whole) - 1))) if len(whole) else []
    assert column.read(np.array(rows, dtype=np.intp)).tolist() == whole[rows].tolist()


@given(chunks=CHUNKS.filter(lambda chunks: any(map(len, chunks))), data=st.data())
def test_each_row_is_located_once(chunks, data):
    """`locate_rows` covers each asked row once, with the chunk and the local row that hold it."""
    column, whole = column_of(chunks)
    rows = np.array(data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1)), dtype=np.intp)
    found = np.full(len(rows), -100)
    counts = np.zeros(len(rows), dtype=int)
    for which, part, local in column.locate_rows(rows):
        found[which] = part[local]
        counts[which] += 1
    assert found.tolist() == whole[rows].tolist()
    assert counts.tolist() == [1] * len(rows)


@given(ranges=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6)), max_size=8))
def test_expanded_ranges(ranges):
    """Ranges are laid one after the other, empty ones included."""
    starts, lengths = np.array(ranges, dtype=np.intp).reshape(-1, 2).T
    expected = [row for start, length in ranges for row in range(start, start + length)]
    assert expand_ranges(starts, lengths).tolist() == expected


def test_numbers_of_different_types_share_one():
    """Whole and broken numbers in two chunks are read as floats, an empty column as floats too."""
    column = NumberColumn([np.array([1, 2]), np.array([0.5])])
    assert column.read(np.array([2, 0])).tolist() == [0.5, 1.0]
    assert NumberColumn([]).read(slice(0, 0)).dtype == np.float64


def test_import_allocates_nothing_large():
    """Importing the ranking measures allocates a fraction of the block that the first measurement reserves."""
    code = (
        "import numpy, tracemalloc, greval.records.case, greval.errors\n"
        "tracemalloc.start()\n"
        "import greval.metrics.columns\n"
        "print(tracemalloc.get_traced_memory()[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < REUSED_BYTES // 4
