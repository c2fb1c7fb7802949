"""A chunk gives its title, its names and what it states of them, without a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.methods.index_records import IndexedChunk
from greval.records.inventory import RELATED
from greval.reference.extraction.rules import MAX_STATEMENTS, extract_with_rules
from greval.reference.names import ALIAS


def extract(text, title="", **fields):
    return extract_with_rules(IndexedChunk(id="d#1", doc_id="d", title=title, text=text, **fields))


def names_of(extraction):
    return [mention.name for mention in extraction.mentions]


def facts_of(extraction):
    return [(each.subject, each.predicate, each.object) for each in extraction.statements]


def test_the_title_comes_first_with_and_without_its_qualifier():
    """A title with a qualifier is two mentions, and a place also names what it lies in."""
    assert names_of(extract("", "Algiers (film)")) == ["Algiers (film)", "Algiers"]
    assert names_of(extract("", "Laie, Hawaii")) == ["Laie, Hawaii", "Laie", "Hawaii"]
    assert names_of(extract("Ada lives in Rome.", "Ada Lovelace"))[0] == "Ada Lovelace"


def test_the_verb_phrase_between_two_names_is_the_predicate():
    """The predicate is in lower case, without articles and numbers, with auxiliary verbs as written."""
    extraction = extract(
        "Volta Motors is owned by Acme Holding. Acme Holding was founded in 1990 by the Jane Doe Trust."
    )
    assert ("Volta Motors", "is owned by", "Acme Holding") in facts_of(extraction)
    assert ("Acme Holding", "was founded in by", "Jane Doe Trust") in facts_of(extraction)


@pytest.mark.parametrize(("words", "predicate"), [("outbids", "outbids"), ("also outbids", "also outbids")])
def test_a_verb_in_no_list_is_known_by_its_place(words, predicate):
    """A word in -s directly behind a name, and before the next one, is a verb."""
    assert facts_of(extract(f"Volta Motors {words} Acme Holding.")) == [("Volta Motors", predicate, "Acme Holding")]


def test_names_without_a_verb_between_them_are_related():
    """Neighbours in a list are related, with no word of how."""
    assert facts_of(extract("They met in Oslo, Bergen.")) == [("Oslo", RELATED, "Bergen")]


@pytest.mark.parametrize("start", ["The film", "It", "This film"])
def test_a_pronoun_stands_for_the_title(start):
    """A sentence that begins with a pronoun or "The film" is about the title."""
    extraction = extract(
        f"Maximum Overdrive is a film. {start} was directed by Stephen King.", "Maximum Overdrive (film)"
    )
    assert ("Maximum Overdrive (film)", "was directed by", "Stephen King") in facts_of(extraction)


def test_the_type_of_the_title_is_its_definition():
    """A text "X is a peer-reviewed academic journal published by ..." makes X a journal."""
    text = "Adolescence is a peer-reviewed academic journal published by Wiley."
    assert extract(text, "Adolescence").mentions[0].type == "journal"


def test_last_names_stand_for_the_full_name_of_the_chunk():
    """A last name is the full name of its chunk in statements, and another name of it for other chunks."""
    extraction = extract("Ed Sheeran wrote with Amy Wadge. Later Sheeran recorded in Surrey.")
    assert ("Ed Sheeran", ALIAS, "Sheeran") in facts_of(extraction)
    assert ("Ed Sheeran", "recorded in", "Surrey") in facts_of(extraction)


def test_acronyms_and_other_names_are_stated():
    """A text "Full Name (FN)" and "also known as" state another name; other brackets do not."""
    facts = facts_of(extract("He joined the National Football League (NFL) and the Dandi March (Gujarat) there."))
    assert ("National Football League", ALIAS, "NFL") in facts
    assert ("Dandi March", ALIAS, "Gujarat") not in facts
    assert ("Salt March", ALIAS, "Dandi March") in facts_of(
        extract("The Salt March, also known as the Dandi March, was long.", "Salt March")
    )


def test_a_full_name_at_the_start_is_the_person_of_the_title():
    """A biography begins with the full name of its title."""
    extraction = extract("Christopher Edward Nolan (born 1970) is a director. He made Tenet.", "Christopher Nolan")
    assert facts_of(extraction) == [
        ("Christopher Nolan", ALIAS, "Christopher Edward Nolan"),
        ("Christopher Nolan", "made", "Tenet"),
    ]


def test_single_words_at_the_start_of_a_sentence_need_evidence():
    """A common word, and a word that the text also writes in lower case, are no names at the start of a sentence."""
    assert names_of(extract("Players wait. Debt grows, and debt stays. Recently it fell. Bergen is wet.")) == ["Bergen"]
    assert "Debt" in names_of(extract("Debt won. He saw Debt again."))


def test_components_of_software_are_related():
    """Services in lower case are names if the title is one."""
    extraction = extract("ledger calls identity to learn more. It is owned by Team Petrel.", "ledger")
    assert facts_of(extraction) == [("ledger", "calls", "identity"), ("ledger", "is owned by", "Team Petrel")]


def test_without_a_title_the_first_name_stands_behind_pronouns():
    """A pronoun stands for the name with which an untitled text begins; a coordinated verb has the same subject."""
    text = "fare-engine is owned by Team Tern and written in Rust. It calls tide-clock. Ada met Bo."
    assert facts_of(extract(text)) == [
        ("fare-engine", "is owned by", "Team Tern"),
        ("fare-engine", "written in", "Rust"),
        ("fare-engine", "calls", "tide-clock"),
        ("Ada", "met", "Bo"),
    ]


def test_a_text_that_does_not_name_its_title_is_not_related_to_it():
    """A later page of a novel mentions the novel, but says nothing of it."""
    chunk = IndexedChunk(id="d#7", doc_id="d", title="Bleak House", text="Esther met Ada Clare. She knew Richard.")
    extraction = extract_with_rules(chunk)
    assert extraction.mentions[0].name == "Bleak House"
    assert not [each for each in extraction.statements if "Bleak House" in {each.subject, each.object}]


def test_names_go_on_over_the_lines_of_wrapped_text():
    """A line without room for the next word goes on; a short line, as of a table, ends."""
    wrapped = "At last they found the tall and silent Ines\nMarrow, who was then in the old harbour of the\nGrey Gull."
    assert names_of(extract(wrapped)) == ["Ines Marrow", "Grey Gull"]
    listed = "owner of this old ferry: Team Petrel\nLumm: port"
    assert "Team Petrel" in names_of(extract(listed))


def test_a_sentence_has_a_limited_number_of_statements():
    """A list of a hundred names does not have as many statements as it has pairs."""
    text = "Ada met " + ", ".join(f"Person{chr(65 + n % 26)} Name{chr(65 + n // 26)}" for n in range(100)) + "."
    assert len(extract(text, "Ada Lovelace").statements) <= MAX_STATEMENTS + 1


PARTS = (
    "Ada Lovelace|Lovelace|Algiers|Algiers (film)|he|It|The film|is a|was|founded by|of|,|.|(|)|AL|also known as|"
    "“Tenet”|fare-engine|II III|\n|not|and|Texas"
)
PIECES = st.lists(st.sampled_from(PARTS.split("|")), max_size=30)


@given(st.one_of(st.text(max_size=150), PIECES.map(" ".join)), st.one_of(st.text(max_size=20), PIECES.map(" ".join)))
def test_statements_are_between_mentions(text, title):
    """Any text is read; both ends of a statement are mentions, which are unique, and a predicate is never empty."""
    extraction = extract(text, title)
    names = names_of(extraction)
    assert len({*names}) == len(names)
    assert not title.strip() or names[0] == title.strip()
    for subject, predicate, object_ in facts_of(extraction):
        assert {subject, object_} <= {*names}
        assert subject != object_
        assert predicate
        assert len(predicate.split()) <= 6
