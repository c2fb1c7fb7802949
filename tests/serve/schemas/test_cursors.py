"""Tests of page cursors."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.serve.problems import ServeError
from greval.serve.schemas.cursors import MAX_ROWS, decode_cursor, decode_row_cursor, encode_cursor

PLACES = st.integers() | st.text(max_size=20) | st.lists(st.integers() | st.text(max_size=8), max_size=3)


@given(PLACES)
def test_cursors_are_read_as_written(place):
    """Any position survives the way through a URL, and needs no escaping there."""
    cursor = encode_cursor(place)
    assert decode_cursor(cursor) == place
    assert cursor.replace("-", "").replace("_", "").isalnum()


def test_the_last_page_has_no_cursor():
    """None means that there is no further page."""
    assert encode_cursor(None) is None


@given(st.text(max_size=40))
def test_other_texts_are_refused(text):
    """A text that the server did not write is a position by chance, or a 422; it never breaks the server."""
    try:
        decode_cursor(text)
    except ServeError as error:
        assert error.status == 422


@given(st.integers(0, MAX_ROWS - 1))
def test_rows_are_read_as_written(row):
    """A row comes back; the first page has no cursor."""
    assert decode_row_cursor(encode_cursor(row)) == row
    assert decode_row_cursor(None) == 0


@pytest.mark.parametrize("place", [-1, MAX_ROWS, True, 1.5, "1", [1], {}])
def test_what_is_no_row_is_refused(place):
    """Only whole numbers that a row can have are cursors of rows."""
    with pytest.raises(ServeError, match="cursor"):
        decode_row_cursor(encode_cursor(place))


def test_deep_nesting_is_refused():
    """A cursor that a parser cannot read without deep recursion is refused like any other."""
    with pytest.raises(ServeError, match="cursor"):
        decode_cursor(urlsafe_b64encode(b"[" * 100_000).decode())
