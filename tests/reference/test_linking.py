"""Entities of a question: the longest exact name wins, then similar names with the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_index import SmallIndex

from greval.reference.linking import link_entities, match_names

NAMES = ["Ada", "Ada Quill", "Quill Harbour", "Boeing 747", "load_all", "The Who", "river"]


def make_index(names=NAMES, **more):
    return SmallIndex({"d#1": "Nothing."}, mentions={name: ["d#1"] for name in names}, **more)


def link(question, names=NAMES, threshold=0.85, **more):
    """Return (name, how) of the entities of a question."""
    tables = make_index(names, **more).tables
    return [(each.name, each.how) for each in link_entities(question, tables, threshold=threshold)]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Where was ada quill born?", ["Ada Quill"]),
        ("Did Ada Quill Harbour exist?", ["Ada Quill"]),
        ("Is Ada's river long?", ["Ada", "river"]),
        ("Is Alan at the riverside?", []),
        ("who knows?", []),
        ("When did The Who play?", ["The Who"]),
        ("What does load_all() return?", ["load_all"]),
        ("", []),
        ("?!", []),
    ],
)
def test_the_longest_name_of_whole_words_is_linked(question, names):
    """Names match whole words in any case; a word is part of one name, and a function word is no name."""
    assert link(question) == [(name, "exact") for name in names]


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Where was Ada Quil born?", "Ada Quill"),
        ('Who owns "Quill harbor"?', "Quill Harbour"),
        ("Who wrote `load_al`?", "load_all"),
        ("Who flies the Boeing-747?", "Boeing 747"),
        ("Who flies the Boeing 737?", None),
        ("where was ada quil born?", None),
    ],
)
def test_a_capitalised_or_quoted_phrase_is_linked_to_a_similar_name(question, name):
    """A misspelled phrase finds its name; numbers must be the same."""
    linked = link(question, names=NAMES[1:])
    assert linked in ([], [(name, "exact")], [(name, "fuzzy")])
    assert [each for each, _ in linked] == ([name] if name else [])


def test_an_alias_leads_to_its_entity_once():
    """Two names of one entity are one start node."""
    assert link(
        "Is Petrel the owner of Petrel Ferries?", ["Petrel Ferries"], aliases={"Petrel Ferries": ["Petrel"]}
    ) == [("Petrel Ferries", "exact")]


def test_the_threshold_decides():
    """A similarity below the threshold links nothing."""
    assert link("Where was Ada Quil born?", ["Ada Quill"], threshold=0.99) == []


MIXED = make_index().tables


@given(st.text(max_size=60), st.lists(st.sampled_from(NAMES), max_size=3))
def test_any_question_is_read(text, names):
    """Any text gives entities of the index, each once, with phrases of the question."""
    question = " ".join([text, *names])
    linked = link_entities(question, MIXED, threshold=0.9)
    assert len({each.name for each in linked}) == len(linked)
    for each in linked:
        assert each.phrase in question
        assert MIXED.entities[each.position] == each.name
        assert 0.9 <= each.score <= 1


@given(st.permutations(NAMES[:5]))
def test_every_name_in_a_question_is_linked(names):
    """Names that stand apart are all found, in the order of the question."""
    linked = match_names(" | ".join(names), MIXED.find_entity)
    assert [MIXED.entities[entity] for _, entity in linked] == names


def test_a_shorter_name_is_not_linked_in_place_of_one_that_is_not_allowed():
    """If a filter leaves out the longest name, nothing else of its words is linked."""
    allowed = np.array([name != "Ada Quill" for name in MIXED.entities])
    assert link_entities("Where is Ada Quill?", MIXED, threshold=0.9, allowed=allowed) == ()
