"""Lists and objects as Python, pandas and NumPy print them are read; nothing of them is ever called."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.datasets.python_literals import MAX_LITERAL, MAX_TOKENS, InvalidLiteralError, parse_literal

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(-1e9, 1e9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(VALUES, max_size=4))
def test_what_repr_writes_is_read(values):
    """Any list of JSON-like values comes back from its `repr`, quotes and escapes included."""
    assert parse_literal(repr(values)) == values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("['a'\n 'it\\'s']", ["a", "it's"]),
        ("array(['a', 'b'], dtype=object)", ["a", "b"]),
        ("[array(['a'], dtype='<U3') array(['b'])]", [["a"], ["b"]]),
        ("[{'id': 1, 'text': 'x'}\n {'id': 2, 'text': 'y'}]", [{"id": 1, "text": "x"}, {"id": 2, "text": "y"}]),
        ("[1. 2.5 nan]", [1.0, 2.5, None]),
        ("('a', 'b')", ["a", "b"]),
        ("{'b', 'a'}", ["a", "b"]),
        ("{1: 'a'}", {"1": "a"}),
        ("[b'a', b\"it's\"]", ["a", "it's"]),
        ("frozenset({'b', 'a'})", ["a", "b"]),
        ("collections.deque(['a', 'b'], maxlen=5)", ["a", "b"]),
        ("[ObjectId('65a'), UUID('1-2'), Decimal('0.50')]", ["65a", "1-2", "0.50"]),
        ("[Timestamp('2024-01-02 00:00:00', tz='UTC'), PosixPath('a/b.pdf')]", ["2024-01-02 00:00:00", "a/b.pdf"]),
        ("[datetime.date(2024, 1, 2)]", ["datetime.date(2024, 1, 2)"]),
        (
            "[datetime.datetime(2024, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)]",
            ["datetime.datetime(2024, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)"],
        ),
        ("[Document(metadata={'page': 1}, page_content='a')]", [{"metadata": {"page": 1}, "page_content": "a"}]),
    ],
)
def test_how_numpy_and_langchain_print(text, value):
    """Arrays have no commas, documents have names of arguments; sets and tuples are lists."""
    assert parse_literal(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "['a'",
        "['a']]",
        "['a'] and more",
        "[a]",
        "[open('a')]",
        "[f(a=1, 2)]",
        "[x=1]",
        "[1 + 1]",
        "['a' for b in c]",
        "[b'\\xff']",
        "[1e999]",
        f"[{'1' * 30}]",
        "['a' ... 'b']",
        "[" * 5000 + "]" * 5000,
        "[" + "-" * 5000 + "1]",
        f"['{'a' * MAX_LITERAL}']",
        f"[{'1,' * MAX_TOKENS}]",
    ],
)
def test_anything_else_is_refused(text):
    """Calls, names, operators, bytes that are no text, huge numbers, cut arrays and endless texts are no literals."""
    with pytest.raises(InvalidLiteralError):
        parse_literal(text)


@given(st.text("[](){}'\",:=1-.eaN \\\n", max_size=40))
def test_no_text_raises_anything_else(text):
    """Whatever stands in a cell, there is one error to catch."""
    with suppress(InvalidLiteralError):
        parse_literal(text)
