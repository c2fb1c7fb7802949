"""Columns of texts are hashed, compared and read as their texts say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from greval.metrics.columns.column_readers import read_texts
from greval.metrics.columns.text_column import LazyNames, TextColumn


def test_names_are_compared_by_what_they_hold():
    """Names of two columns are equal where their texts are, and equal to a tuple of the same texts."""
    one, other = (LazyNames(read_texts(texts, "names"), np.arange(2)) for texts in (["a", "bé", "c"], ["a", "bé"]))
    assert one == other
    assert one == ("a", "bé")
    assert other != ("a", "c")
    assert one != LazyNames(read_texts(["a", "c"], "names"), np.arange(2))
    assert [one.is_distinct, LazyNames(read_texts(["a", "a"], "names"), np.arange(2)).is_distinct] == [True, False]


@given(texts=st.lists(st.text("ab\0é", max_size=26), min_size=1, max_size=9), whole=st.booleans())
def test_a_hash_is_of_the_text_alone(texts, whole):
    """A text has the same hash whatever stands around it, and is read back as it was."""
    column = read_texts([*texts, "long enough to take several words"], "ids")
    hashes = column.compute_hashes(slice(0, len(texts)), whole=whole)
    alone = [read_texts([text], "ids").compute_hashes(slice(0, 1), whole=whole)[0] for text in texts]
    assert hashes.tolist() == alone
    assert column.compute_hashes(np.arange(len(texts)), whole=whole).tolist() == alone
    assert column.read(np.arange(len(texts))[::-1]) == texts[::-1]


TEXTS = st.lists(st.text("ab\0é文", max_size=20), min_size=1, max_size=12)


@given(texts=TEXTS, cuts=st.lists(st.integers(0, 12), max_size=3), data=st.data())
def test_texts_are_read_as_they_were_written(texts, cuts, data):
    """Rows in any order and over any chunks are the texts themselves: empty, with NUL, ASCII or not."""
    edges = [0, *sorted(min(cut, len(texts)) for cut in cuts), len(texts)]
    parts = [part for a, b in pairwise(edges) for part in read_texts(texts[a:b], "texts").parts]
    column = TextColumn(parts)
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1)))
    assert column.read(np.array(rows, dtype=np.intp)) == [texts[row] for row in rows]


@given(texts=TEXTS)
def test_runs_end_where_texts_change(texts):
    """The edges of runs are the rows that differ from the row before, and the end."""
    changes = [n for n in range(1, len(texts)) if texts[n] != texts[n - 1]]
    assert read_texts(texts, "texts").find_runs().tolist() == [0, *changes, len(texts)]


@given(texts=TEXTS, others=TEXTS)
def test_comparison_is_that_of_python(texts, others):
    """Two columns are equal in those rows in which their texts are."""
    count = min(len(texts), len(others))
    rows = np.arange(count)
    equal = read_texts(texts, "texts").compare(rows, read_texts(others, "others"), rows)
    assert equal.tolist() == [a == b for a, b in zip(texts[:count], others[:count], strict=True)]
