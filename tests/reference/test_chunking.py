"""Chunks: sentences are found, whole and in order, and each is in a chunk."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.reference.chunking import (
    LONGEST_SENTENCE,
    PART,
    chunk_document,
    find_sentences,
    split_sentences,
)
from greval.reference.records import Document
from greval.reference.settings import IndexSettings

PIECES = [
    "Ada wrote.",
    "Dr. B. left!",
    "# Head",
    "- item",
    "| a | b |",
    "```",
    "\n",
    "\n\n",
    " ",
    "e.g. x",
    "3.5",
    "終わり。",
    "\u2028",
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=25).map(" ".join)
LINES = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=25).map("\n".join)
SETTINGS = st.builds(IndexSettings, chunk_chars=st.integers(1, 60), overlap=st.integers(0, 3))


def join(texts):
    return "".join("".join(texts).split())


SENTENCES = """
One. | Two! | Three? | Four… | Five
Dr. E. B. White and Mr. Fox met Prof. Low. | They left.
The U.S. Senate met at 5 p.m. on Monday. | It paid 3.5 million.
Boats, e.g. Ferries, leave. | See Fig. 3. | No. 7 is late.
Is it late? | No. | It left.
Acme Inc. is old. | Ltd. too.
"Go!" she said. | (He went.) | "Stay."
He left... and came back. | Why?! | Because.
यह सच है। | वह गया।
Version 1.2.3 of pkg.mod is out. | Use it.
"""
"""Texts whose sentences a mark separates here."""


@pytest.mark.parametrize("line", SENTENCES.strip().splitlines())
def test_sentences_end_as_a_reader_would_end_them(line):
    """Abbreviations, initials and decimals end no sentence."""
    assert split_sentences(line.replace(" | ", " ")) == line.split(" | ")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("猫が好き。「はい。」そう\uff01本当\uff1f", ["猫が好き。", "「はい。」", "そう\uff01", "本当\uff1f"]),
        (
            "A line\nthat goes on.\n\nA paragraph without end\n\nNext.",
            ["A line\nthat goes on.", "A paragraph without end", "Next."],
        ),
        ("# Head\nText.\n## Sub\n- one\n- two. Three.", ["# Head", "Text.", "## Sub", "- one", "- two.", "Three."]),
        ("```py\na = 1. \n# no\n```\nEnd.", ["```py", "a = 1.", "# no", "```", "End."]),
        (" \n ", []),
    ],
)
def test_lines_and_marks_of_other_scripts_end_sentences(text, sentences):
    """Headings, list items, lines of code and empty lines do, and so do marks without a space behind them."""
    assert split_sentences(text) == sentences


@given(TEXTS | LINES)
def test_sentences_are_the_whole_text(text):
    """Joined, the sentences are the text, white space aside; none is empty or overlaps with another."""
    spans = find_sentences(text)
    assert join(split_sentences(text)) == join([text])
    assert all(each.end <= two.start for each, two in pairwise(spans))
    assert all(text[span.start : span.end].strip() == text[span.start : span.end] != "" for span in spans)


@given(TEXTS | LINES, SETTINGS)
def test_every_sentence_is_in_a_chunk(text, settings):
    """No sentence is lost, and chunks keep the order of the text."""
    chunks = chunk_document(Document(id="d", text=text), settings)
    assert [chunk.id for chunk in chunks] == [f"d#{number}" for number in range(1, len(chunks) + 1)]
    assert all(any(sentence in chunk.text for chunk in chunks) for sentence in split_sentences(text))
    assert all(chunk.text in text for chunk in chunks)


@given(TEXTS | LINES, st.integers(1, 60))
def test_chunks_without_overlap_are_the_text(text, chunk_chars):
    """Joined, they are the text, white space aside; one that is too long is a single sentence."""
    chunks = chunk_document(Document(id="d", text=text), IndexSettings(chunk_chars=chunk_chars, overlap=0))
    assert join(chunk.text for chunk in chunks) == join([text])
    assert all(len(chunk.text) <= chunk_chars or chunk.text in split_sentences(text) for chunk in chunks)


def test_a_chunk_repeats_sentences_that_fit():
    """The last sentences of a chunk begin the next, as many as are set and fit with a new one."""
    text = "Aaaa one. Bbbb two. Cccc three. Dddd four."
    chunks = chunk_document(Document(id="d", text=text), IndexSettings(chunk_chars=21, overlap=1))
    assert [chunk.text for chunk in chunks] == ["Aaaa one. Bbbb two.", "Bbbb two. Cccc three.", "Dddd four."]


def test_headings_start_chunks():
    """A heading starts a chunk and is repeated from none; headings in a row stay with the text below them."""
    text = "Intro.\n# One\n## Two\nText of two.\n## Three\nText."
    chunks = chunk_document(Document(id="d", text=text), IndexSettings(overlap=2))
    assert [chunk.text for chunk in chunks] == ["Intro.", "# One\n## Two\nText of two.", "## Three\nText."]


def test_chunks_have_the_fields_of_their_document():
    """Title, repository, version and tags of a document are those of its chunks."""
    document = Document(id="d", title="T", text="One.", repo="r", version="v", tags={"k": "x"})
    (chunk,) = chunk_document(document, IndexSettings())
    assert (chunk.doc_id, chunk.title, chunk.repo, chunk.version, chunk.tags) == ("d", "T", "r", "v", {"k": "x"})
    assert chunk.content == "T. One."


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("INFO request handled in 3 ms\n" * 300, "ms"),
        ("ferry harbour " * 500, ("ferry", "harbour")),
        ("船" * 5000, "船"),
        ("." * 1_000_000, "."),
        ("# " + "heading " * 500, "heading"),
    ],
)
def test_what_is_longer_than_any_sentence_is_cut(text, ends):
    """A log is cut after lines, a text without full stops after words, and another one anywhere; nothing is lost."""
    parts = split_sentences(text)
    assert join(parts) == join([text])
    assert max(map(len, parts)) <= PART
    assert all(part.endswith(ends) for part in parts)
    assert sum(span.heading for span in find_sentences(text)) == text.startswith("#")
    chunks = chunk_document(Document(id="d", text=text), IndexSettings())
    assert max(len(chunk.text) for chunk in chunks) <= IndexSettings().chunk_chars


def test_a_long_sentence_is_whole():
    """A sentence that a person could have written is not cut."""
    text = f"{'and so on ' * (LONGEST_SENTENCE // 10 - 1)}it goes."
    assert split_sentences(text) == [text]
