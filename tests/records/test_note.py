"""Notes: three kinds told apart by their fields, and shares that must fit the list they count."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from greval.records.note import ListNote, Notes, ShareNote, TextNote

NOTES = TypeAdapter(Notes)
CLAIMS = {"means": "The claims.", "each": {"claim": "one claim", "status": ["met", "missed"]}}


def read(**notes):
    return NOTES.validate_python(notes)


def test_the_kind_of_a_note_follows_from_its_fields():
    """`each` makes a list, `share` a share, anything else a text."""
    notes = read(advice={"means": "m"}, claims=CLAIMS, coverage={"share": "claims", "where": {"status": "met"}})
    assert [type(note) for note in notes.values()] == [TextNote, ListNote, ShareNote]


def test_one_word_is_a_list_of_one():
    """A share may name one word or several, and writes `better` only if it is set."""
    note = ShareNote(share="claims", where={"status": "met"}, among={"status": ["met", "missed"]})
    assert note.where == {"status": ("met",)}
    assert "better" not in note.model_dump()
    assert note.model_copy(update={"better": "higher"}).model_dump()["better"] == "higher"


def test_words_and_descriptions_of_a_list():
    """A field of a list note is a description or its allowed words, of which there is at least one."""
    assert read(claims=CLAIMS)["claims"].each == {"claim": "one claim", "status": ("met", "missed")}
    with pytest.raises(ValidationError):
        read(claims={"means": "m", "each": {"status": []}})
    with pytest.raises(ValidationError):
        read(claims={"means": "m", "each": {}})
