"""Columns of texts are hashed, compared and read as their texts say."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from greval.metrics.columns.column_readers import read_texts
from greval.metrics.columns.text_column import LazyNames


def test_names_are_compared_by_what_they_hold():
    """Names of two columns are equal where their texts are, and equal to a tuple of the same texts."""
    one, other = (LazyNames(read_texts(texts, "names"), np.arange(2)) for texts in (["a", "bé", "c"], ["a", "bé"]))
    assert one == other
    assert one == ("a", "bé")
    assert other != ("a", "c")
    assert one != LazyNames(read_texts(["a", "c"], "names"), np.arange(2))
    assert [one.is_distinct, LazyNames(read_texts(["a", "a"], "names"), np.arange(2)).is_distinct] == [True, False]


@given(texts=st.lists(st.text("ab\0é", max_size=26), min_size=1, max_size=9), whole=st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_hash_is_of_the_text_alone(texts, whole):
    """A text has the same hash whatever stands around it, and is read back as it was."""
    column = read_texts([*texts, "long enough to take several words"], "ids")
    hashes = column.compute_hashes(slice(0, len(texts)), whole=whole)
    alone = [read_texts([text], "ids").compute_hashes(slice(0, 1), whole=whole)[0] for text in texts]
    assert hashes.tolist() == alone
    assert column.compute_hashes(np.arange(len(texts)), whole=whole).tolist() == alone
    assert column.read(np.arange(len(texts))[::-1]) == texts[::-1]
