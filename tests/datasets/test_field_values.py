"""Values of fields in short forms and in the forms of other tools."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from greval.datasets.conversations import unwrap_serialised
from greval.datasets.field_values import as_text, read_chunk, read_document, read_message


@given(number=st.integers(-(10**9), 10**9))
def test_equal_numbers_are_one_name(number):
    """A whole number has the same text as an integer, as a float and as a text."""
    assert as_text(number) == as_text(float(number)) == as_text(str(number)) == str(number)


def test_documents_of_langchain():
    """Id, source and score of a document are found under their usual names; its own id wins."""
    metadata = {"chunk_id": 4, "file_path": "a.md", "relevance_score": 0.5, "repo": "core", "page": 2}
    assert read_document("T", metadata, "own") == {
        "text": "T",
        "id": "own",
        "doc_id": "a.md",
        "repo": "core",
        "score": 0.5,
    }
    assert read_document("T", metadata)["id"] == "4"
    assert read_chunk({"content": "T", "doc_id": "d", "extra": None}) == {"text": "T", "doc_id": "d"}
    assert read_chunk({"text": "T", "content": "U"}) == {"text": "T", "content": "U"}


def test_messages_and_serialised_objects():
    """A message is its text, of one or several blocks; what is no message stays as it is."""
    assert read_message({"role": "user", "content": "Hi"}) == "Hi"
    blocks = [{"type": "text", "text": "a"}, {"type": "image"}, "b"]
    assert read_message({"type": "ai", "content": blocks}) == "ab"
    assert read_message({"content": "x"}) == {"content": "x"}
    assert unwrap_serialised({"lc": 1, "kwargs": {"content": "x"}}) == {"content": "x"}
