"""Tests of page cursors."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greval.serve.problems import ServeError
from greval.serve.schemas.cursors import MAX_ROWS, decode_cursor, decode_row_cursor, encode_cursor

PLACES = st.integers() | st.text(max_size=20) | st.lists(st.integers() | st.text(max_size=8), max_size=3)


@given(PLACES, st.integers(0, MAX_ROWS - 1))
def test_cursors_are_read_as_written(position, row):
    """Any position and any row survive the way through a URL without escaping; first and last pages have no cursor."""
    cursor = encode_cursor(position)
    assert decode_cursor(cursor) == position
    assert cursor.replace("-", "").replace("_", "").isalnum()
    assert decode_row_cursor(encode_cursor(row)) == row
    assert (encode_cursor(None), decode_row_cursor(None)) == (None, 0)


@given(st.text(max_size=40))
@example(urlsafe_b64encode(b"[" * 100_000).decode())
def test_other_texts_are_refused(text):
    """A text that the server did not write is a position by chance, or a 422; it never breaks the server."""
    try:
        decode_cursor(text)
    except ServeError as error:
        assert error.status == 422


@pytest.mark.parametrize("position", [-1, MAX_ROWS, True, 1.5, "1", [1], {}])
def test_positions_that_are_no_rows_are_refused(position):
    """Only whole numbers that a row can have are cursors of rows."""
    with pytest.raises(ServeError, match="cursor"):
        decode_row_cursor(encode_cursor(position))
