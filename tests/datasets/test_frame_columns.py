"""Columns of any package are read as texts and numbers, and faults name their row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DataError
from greval.metrics.columns.column_readers import build_chunk, convert_numbers, read_numbers, read_texts
from greval.metrics.columns.text_column import TextColumn


def texts_of(column):
    return column.read(np.arange(len(column)))


@given(ids=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9) | st.integers(-99, 10**12)))
def test_ids_are_read_as_texts(ids):
    """Texts stay as they are, whole numbers are their digits."""
    assert texts_of(read_texts(ids, "ids")) == [str(one) for one in ids]


@given(ids=st.lists(st.text("aé文", max_size=12), max_size=9), start=st.integers(0, 9), kind=st.integers(0, 2))
def test_slices_of_arrow_columns(ids, start, kind):
    """A slice of an Arrow column starts at its offset; plain, large and dictionary columns read the same."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    column = pa.array(ids, pa.large_string() if kind == 1 else pa.string())
    column = column.dictionary_encode() if kind == 2 else column
    assert texts_of(read_texts(column[start:], "ids")) == ids[start:]


def test_a_column_that_was_read_is_returned_itself():
    """Columns of greval are not read again."""
    column = TextColumn([build_chunk([b"a", b"bc"])])
    assert read_texts(column, "ids") is column
    numbers = read_numbers([1, 2], "scores")
    assert read_numbers(numbers, "scores") is numbers


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, float("nan")], "scores, row 2: is no number"),
        ([[1, 2], [3, 4]], "scores: must be one column of numbers"),
        (["high"], "scores: must be a column of numbers"),
        ([None], "scores"),
    ],
)
def test_numbers_that_are_none(values, message):
    """NaN, a table, texts and missing values are faults of the column."""
    with pytest.raises(DataError, match=message):
        read_numbers(values, "scores")


def test_missing_arrow_values_name_their_row():
    """A null in an Arrow column is a fault with its row; a column of floats holds no ids."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    with pytest.raises(DataError, match="ids, row 2: the value is missing"):
        read_texts(pa.array(["a", None]), "ids")
    with pytest.raises(DataError, match="ids must be texts or whole numbers, got double"):
        read_texts(pa.array([0.5]), "ids")
    assert texts_of(read_texts(pa.array([], pa.string()), "ids")) == []


def test_numbers_of_dictionaries():
    """Values of a dictionary become floats; a text is a fault."""
    assert convert_numbers(iter([1, 0.5]), 2, "score").tolist() == [1.0, 0.5]
    with pytest.raises(DataError, match="scores must be numbers"):
        convert_numbers(["x"], 1, "score")
