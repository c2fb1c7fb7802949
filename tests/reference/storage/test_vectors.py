"""Vectors are found by cosine similarity, as plain sorting finds them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from greval.errors import DataError
from greval.reference.storage.vectors import VectorIndex, select_best


def make_unit(rows):
    """Return rows of unit length."""
    rows = np.asarray(rows, dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def make_vectors(rows, columns=16, seed=0):
    """Return random rows of unit length around a few centres, as those of texts are."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((20, columns))
    return make_unit(centres[random.integers(0, 20, rows)] + 0.5 * random.standard_normal((rows, columns)))


def rank_all(scores, k, allowed=None):
    """Return the positions of the best scores by plain sorting."""
    positions = [n for n in range(len(scores)) if allowed is None or allowed[n]]
    return sorted(positions, key=lambda n: (-scores[n], n))[:k]


SCORES = arrays.arrays(np.float32, st.integers(0, 30), elements=st.sampled_from([-1.0, 0.0, 0.5, 0.25, 2.0]))


@given(SCORES, st.integers(0, 35), st.data())
def test_the_best_are_those_of_plain_sorting(scores, k, data):
    """Any k, any mask, and ties by position."""
    mask = data.draw(st.none() | arrays.arrays(bool, len(scores)))
    positions, best_scores = select_best(scores, k, None if mask is None else np.flatnonzero(mask))
    assert positions.tolist() == rank_all(scores, k, mask)
    assert np.array_equal(best_scores, scores[positions])


@given(st.integers(1, 60), st.integers(1, 70), st.integers(0, 9), st.data())
def test_a_filter_never_adds(rows, k, seed, data):
    """What is found with a mask is allowed, and is the unfiltered ranking without the rest."""
    vectors = make_vectors(rows, columns=4, seed=seed)
    mask = data.draw(arrays.arrays(bool, rows))
    index = VectorIndex(vectors)
    every, _ = index.search(vectors[0], rows)
    positions, scores = index.search(vectors[0], k, mask)
    assert positions.tolist() == [n for n in every if mask[n]][:k]
    assert np.allclose(scores, vectors[positions] @ vectors[0], atol=1e-6)


def test_a_saved_index_finds_the_same(tmp_path):
    """Also if a larger one was saved in the same folder before."""
    VectorIndex(make_vectors(300, seed=5)).save(tmp_path)
    vectors = make_vectors(200)
    VectorIndex(vectors).save(tmp_path)
    loaded = VectorIndex.load(tmp_path)
    assert len(loaded) == 200
    for query in vectors[:5]:
        assert [a.tolist() for a in loaded.search(query, 7)] == [
            a.tolist() for a in VectorIndex(vectors).search(query, 7)
        ]


def test_an_index_of_nothing_finds_nothing(tmp_path):
    """No rows is no fault."""
    VectorIndex(np.empty((0, 8), dtype=np.float32)).save(tmp_path)
    positions, scores = VectorIndex.load(tmp_path).search(np.ones(8, dtype=np.float32), 5)
    assert (len(positions), len(scores)) == (0, 0)


def test_what_does_not_fit_is_refused(tmp_path):
    """The messages say what was expected and what was found."""
    vectors = make_vectors(5)
    index = VectorIndex(vectors)
    with pytest.raises(DataError, match=r"shape \(3,\), the index \(16,\)"):
        index.search(np.ones(3, dtype=np.float32), 2)
    with pytest.raises(DataError, match="row 1 of the vectors is not of unit length"):
        VectorIndex(vectors * np.array([[1], [2], [1], [0], [1]])).save(tmp_path)
    with pytest.raises(DataError, match="row 0 of the vectors"):
        VectorIndex(np.full((2, 3), np.nan)).save(tmp_path)
    with pytest.raises(DataError, match=r"a row for each chunk, got the shape \(16,\)"):
        VectorIndex(vectors[0])
    with pytest.raises(DataError, match="greval index build"):
        VectorIndex.load(tmp_path)
