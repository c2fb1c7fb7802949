"""Texts are found by their words: scores are those of the formula of BM25, computed here by hand."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import DataError
from greval.reference.storage.words import WordIndex, split_search_words

WORDS = ["ferry", "harbour", "noon", "sails", "retry_limit", "the", "Ärzte", "漢字"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), max_size=8)
QUESTIONS = st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=5).map(" ".join)


def score_by_hand(texts, question, k1=1.5, b=0.75):
    """Return the BM25 scores of Lucene from its formula."""
    rows = [split_search_words(text) for text in texts]
    average = sum(map(len, rows)) / max(1, len(rows))
    scores = []
    for row in rows:
        score = 0.0
        for word in split_search_words(question):
            holding = sum(word in words for words in rows)
            idf = math.log(1 + (len(rows) - holding + 0.5) / (holding + 0.5))
            times = row.count(word)
            if times:
                score += idf * times / (times + k1 * (1 - b + b * len(row) / average))
        scores.append(score)
    return scores


@given(TEXTS, QUESTIONS, st.integers(1, 10), st.data())
def test_scores_are_those_of_the_formula(texts, question, k, data):
    """Any corpus, question and mask: the best first, ties by position, and none with a score of 0."""
    mask = data.draw(st.none() | st.lists(st.booleans(), min_size=len(texts), max_size=len(texts)))
    expected = score_by_hand(texts, question)
    positions, scores = WordIndex.build(texts).search(question, k, None if mask is None else np.array(mask, dtype=bool))
    matching = [n for n, score in enumerate(expected) if score > 0 and (mask is None or mask[n])]
    assert len(positions) == min(k, len(matching))
    assert set(positions) <= set(matching)
    assert np.allclose(scores, [expected[n] for n in positions], rtol=1e-5)
    assert [*positions] == sorted(positions, key=lambda n: (-scores[[*positions].index(n)], n))
    omitted = [expected[n] for n in matching if n not in positions]
    assert not omitted or max(omitted) <= min(scores) * (1 + 1e-5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The ferry, at NOON.", ["ferry", "noon"]),
        ("getUserName", ["getusername", "get", "user", "name"]),
        ("HTTPServer2 x", ["httpserver2", "http", "server2", "x"]),
        ("retry_limit-max", ["retry_limit-max", "retry", "limit", "max"]),
        ("os.path", ["os.path", "os", "path"]),
        ("__init__", ["__init__", "init"]),
        ("Straße", ["strasse"]),
        ("ﬁle", ["file"]),
        ("電池の", ["電池", "池の"]),
        ("電", ["電"]),
        ("USB電池x", ["usb", "電池", "x"]),
        ("naïve café 3.5", ["naïve", "café", "3.5", "3", "5"]),
        ("Батарея", ["батарея"]),
        ("... - _", ["_"]),
        ("", []),
    ],
)
def test_texts_are_split_into_words(text, words):
    """Identifiers of code are kept whole and split; scripts without spaces become pairs."""
    assert split_search_words(text) == words


def test_a_saved_index_finds_the_same(tmp_path):
    """An index that is read from its folder ranks as before."""
    index = WordIndex.build(["the ferry sails", "what sails at noon", "", "harbour"])
    index.save(tmp_path / "words")
    loaded = WordIndex.load(tmp_path / "words")
    assert len(loaded) == 4
    for question in ("What sails?", "the harbour", "nothing"):
        assert [a.tolist() for a in loaded.search(question, 3)] == [a.tolist() for a in index.search(question, 3)]


@pytest.mark.parametrize("texts", [[], ["", "the"]])
def test_an_index_without_words_finds_nothing(tmp_path, texts):
    """No texts, or texts of stop words alone, are no fault."""
    WordIndex.build(texts).save(tmp_path)
    assert WordIndex.load(tmp_path).search("the ferry", 3)[0].tolist() == []


def test_nothing_is_printed_or_logged(tmp_path, capfd, caplog):
    """No progress bars: the callers have their own progress."""
    with caplog.at_level(logging.INFO):
        WordIndex.build(["ferry"] * 50).save(tmp_path)
        WordIndex.load(tmp_path).search("ferry", 3)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_what_does_not_fit_is_refused(tmp_path):
    """The messages say what was expected and what was found."""
    with pytest.raises(DataError, match="greval index build"):
        WordIndex.load(tmp_path)
