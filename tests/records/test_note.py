"""Notes: three kinds told apart by their fields, and shares that must fit the list they count."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from greval.records.note import ListNote, Notes, ShareNote, TextNote, find_share_faults

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


@pytest.mark.parametrize(
    ("share", "fault"),
    [
        ({"share": "advice", "where": {"status": "met"}}, "share: 'advice' is no list note; known: claims"),
        ({"share": "claims", "where": {"state": "met"}}, "'state' is no field of 'claims' with listed words"),
        ({"share": "claims", "where": {"claim": "met"}}, "'claim' is no field of 'claims' with listed words"),
        ({"share": "claims", "where": {"status": ["met", "seen"]}}, "status: 'seen' not among met, missed"),
        ({"share": "claims", "where": {"status": "met"}, "among": {"status": "x"}}, "status: 'x' not among met"),
    ],
)
def test_faults_of_a_share(share, fault):
    """A share names a list note, one of its fields with listed words, and words among them."""
    notes = read(claims=CLAIMS, advice={"means": "m"})
    (fault_found,) = find_share_faults(ShareNote.model_validate(share), notes)
    assert fault_found.startswith(fault)


def test_a_fitting_share_has_no_fault():
    """Words that the list note allows are no fault."""
    share = ShareNote(share="claims", where={"status": "met"}, among={"status": ("met", "missed")})
    assert list(find_share_faults(share, read(claims=CLAIMS))) == []
