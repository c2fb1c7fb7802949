"""Rows are grouped by question, in blocks and in order."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from greval.metrics.columns.grouping import iterate_blocks


@given(lengths=st.lists(st.integers(0, 9) | st.integers(0, 300), max_size=40), size=st.integers(1, 100))
@settings(max_examples=100, deadline=None)
def test_blocks_hold_every_question_once_and_stay_small(lengths, size):
    """Ranges of questions follow one another, and their tables have at most twice the size asked for."""
    ranges = list(iterate_blocks(np.array(lengths, dtype=np.intp), size))
    assert [n for first, last in ranges for n in range(first, last)] == list(range(len(lengths)))
    assert all(last - first == 1 or (last - first) * max(lengths[first:last]) <= 2 * size for first, last in ranges)
