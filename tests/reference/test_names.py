"""Names are normalised, and resolved to entities in steps that are reported."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.reference.names import ALIAS, normalise_spelling, resolve_entities, split_qualifier
from greval.reference.records import Extraction, Mention, Statement
from greval.reference.settings import ResolutionSettings

SETTINGS = ResolutionSettings()
EXACT = ResolutionSettings(similarity=1)


def chunk_of(*names, facts=()):
    """Return an extraction of names, each with its type behind a slash, and statements."""
    mentions = [Mention(name=name.partition("/")[0], type=name.partition("/")[2]) for name in names]
    statements = [Statement(subject=subject, predicate=label, object=object_) for subject, label, object_ in facts]
    return Extraction(mentions=tuple(mentions), statements=tuple(statements))


def resolve(*chunks, settings=SETTINGS):
    return resolve_entities([(f"d#{n}", chunk) for n, chunk in enumerate(chunks, start=1)], settings)


def groups_of(graph):
    return {frozenset((entity.name, *entity.aliases)) for entity in graph.entities}


def is_one(first, second, settings=SETTINGS):
    return len(resolve(chunk_of(first), chunk_of(second), settings=settings).entities) == 1


NORMALISED = """
Acme Corp. = acme | ACME = acme | Acme, Inc. = acme | Foo S.A. = foo | Foo GmbH & Co. = foo gmbh and
batteries = battery | boxes = box | Texas = texas | glass = glass | Series = series | The Beatles = beatle
Churchill's = churchill | Zoë = zoe | Øresund = oresund | Łódź = lodz | J. K. Rowling = jk rowling
J.K. Rowling = jk rowling | U.S. = us | fare-engine = fare engine | INC-12 = inc 12 | v4.1 = v4.1 | Node.js = node.js
C++ = c++ | C# = c# | \uff21\uff23\uff2d\uff25 = acme | Procter & Gamble = procter and gamble
Algiers  (film) = algiers (film) | The The = the | !!! = !!! | हिन्दी = हिन्दी |  = |   =
"""


@pytest.mark.parametrize("pair", re.split(r"[|\n]", NORMALISED.strip("\n")))
def test_names_are_normalised(pair):
    """Case, accents, punctuation, possessives, articles, legal forms and plurals do not count."""
    text, _, normalised = pair.partition("=")
    assert normalise_spelling(text) == normalised.strip()


PARTS = "The a Acme Corp. Inc , 's (film) ( ) batteries S.A. U.S. & . é ß İ C++ co Ltd \ufb01 \u0149 \u2019"


@given(st.text(max_size=30) | st.lists(st.sampled_from(PARTS.split()), max_size=8).map(" ".join))
def test_a_normalised_name_is_normal(text):
    """Normalising twice changes nothing, and only white space has an empty form."""
    normalised = normalise_spelling(text)
    assert normalise_spelling(normalised) == normalised
    assert bool(normalised) == bool(normalised.split())


@pytest.mark.parametrize("name", ["Crosby, Stills, Nash", "Go, and see"])
def test_other_commas_begin_no_qualifier(name):
    """A qualifier is in brackets at the end, or a place behind one comma."""
    assert split_qualifier(name) == (name, "")


def test_spellings_of_a_company_are_one_entity():
    """The names "Acme Corp.", "ACME" and "Acme" are one entity, named by its most frequent spelling."""
    graph = resolve(
        chunk_of("Acme Corp.", "batteries"), chunk_of("ACME"), chunk_of("Acme", "battery"), chunk_of("ACME")
    )
    assert groups_of(graph) == {frozenset({"ACME", "Acme", "Acme Corp."}), frozenset({"battery", "batteries"})}
    assert [entity.name for entity in graph.entities] == ["ACME", "batteries"]
    assert graph.entities[0].chunks == ("d#1", "d#2", "d#3", "d#4")


def test_ties_of_spellings_go_to_the_longest_and_then_the_first():
    """Of equally frequent spellings the longest is the name, and of those the first in alphabetical order."""
    assert resolve(chunk_of("ACME"), chunk_of("Acme Corp."), chunk_of("Acme Inc.")).entities[0].name == "Acme Corp."
    assert resolve(chunk_of("Acme Ltd."), chunk_of("ACME Ltd.")).entities[0].name == "ACME Ltd."


DIFFERENT = """
INC-12 | INC-13; Order number 12345678 | Order number 12345679; Henry IV | Henry V; Boeing 747 | Boeing 737
Battle of Foo 1 | Battle of Foo 2; University of North Carolina | University of South Carolina; Bulgaria | Bulgarian
Hill | Hull; Rolling Stone | Rolling Stones; WHO | Who; Republic | Republican; John Paul I | John Paul II
Great Northern War | Great Southern War; Algiers (film) | Algiers (city)
"""
SAME = """
Winston Churchill | Winston Churchil; Mississippi River | Missisippi River; fare-engine | fareengine
Frederick Douglass | Frederick Douglas; Beyoncé | Beyonce; The Hague | Hague
"""


def split_pairs(text):
    return [tuple(map(str.strip, pair.split("|"))) for pair in re.split(r"[;\n]", text.strip())]


@pytest.mark.parametrize(("first", "second"), split_pairs(DIFFERENT))
def test_different_things_stay_apart(first, second):
    """Numbers, numerals, codes, short names and different words are never alike enough."""
    assert not is_one(first, second)


@pytest.mark.parametrize(("first", "second"), split_pairs(SAME))
def test_slips_of_spelling_are_one_entity(first, second):
    """One letter of a long word, a space, an accent or an article do not make another entity."""
    assert is_one(first, second)


def test_similar_names_of_one_chunk_are_two_entities():
    """A text that writes both names means two things."""
    assert len(resolve(chunk_of("Paul Johnson", "Paul Johnston")).entities) == 2


def test_given_aliases_are_used():
    """A given name is used, even through a chain, a circle, and if no text has it."""
    settings = ResolutionSettings(aliases={"battery life": "battery", "charge": "energy", "power": "Charge"})
    graph = resolve(chunk_of("Battery Life", "batteries"), chunk_of("power", "charge"), settings=settings)
    assert groups_of(graph) == {
        frozenset({"battery", "batteries", "Battery Life"}),
        frozenset({"energy", "power", "charge"}),
    }
    circle = ResolutionSettings(aliases={"a1": "b1", "b1": "a1"})
    assert len(resolve(chunk_of("a1", "b1"), settings=circle).entities) == 1


def test_a_qualified_name_is_the_plain_one_if_it_is_the_only_one():
    """The name "Algiers" is "Algiers (film)" unless there is another Algiers with a qualifier."""
    assert is_one("Algiers (film)", "Algiers")
    graph = resolve(chunk_of("Algiers (film)"), chunk_of("Algiers"), chunk_of("Algiers (city)"))
    assert len(graph.entities) == 3


def test_stated_aliases_are_merged_if_they_are_stated_of_one_entity():
    """An acronym that two entities have stays on its own."""
    first = chunk_of(facts=[("Associated Press", ALIAS, "AP")])
    second = chunk_of(facts=[("Andhra Pradesh", ALIAS, "AP")])
    assert len(resolve(first).entities) == 1
    graph = resolve(first, second)
    assert len(graph.entities) == 3
    assert len(graph.relations) == 2


def test_a_last_name_is_not_merged_with_a_rarer_full_name():
    """A city is not a person because one text calls the person by the same word."""
    stated = chunk_of(facts=[("Denzel Washington", ALIAS, "Washington")])
    assert len(resolve(stated).entities) == 1
    graph = resolve(stated, chunk_of("Washington"), chunk_of("Washington"))
    assert groups_of(graph) == {frozenset({"Denzel Washington"}), frozenset({"Washington"})}
    assert graph.relations == ()


def test_relations_are_merged_and_those_to_itself_are_dropped():
    """Relations between the same entities with the same label are one, with its chunks in order."""
    first = chunk_of(facts=[("Acme", "makes", "batteries"), ("Acme", "is", "Acme Corp.")])
    second = chunk_of(facts=[("ACME", "makes", "battery"), ("Acme", "sells", "battery")])
    graph = resolve_entities([("d#10", first), ("d#9", second)], SETTINGS)
    assert [(each.label, each.chunks) for each in graph.relations] == [("makes", ("d#9", "d#10")), ("sells", ("d#9",))]


def test_the_type_of_an_entity_is_its_most_frequent():
    """Mentions without a type do not count; ties go to the first in alphabetical order."""
    graph = resolve(chunk_of("Acme/Firm"), chunk_of("ACME/Brand"), chunk_of("Acme Corp./Brand"), chunk_of("Acme"))
    assert graph.entities[0].type == "Brand"
    assert resolve(chunk_of("Acme/Firm"), chunk_of("Acme/Brand")).entities[0].type == "Brand"


def test_merged_names_add_up():
    """The names less the merged ones are the entities."""
    graph = resolve(
        chunk_of("Acme", "Algiers (film)"),
        chunk_of("ACME", "Algiers"),
        chunk_of("Winston Churchill"),
        chunk_of("Winston Churchil", facts=[("Associated Press", ALIAS, "AP")]),
    )
    assert graph.merged == {"normalisation": 1, "stated aliases": 1, "qualifiers": 1, "similarity": 1}
    assert graph.names - sum(graph.merged.values()) == len(graph.entities)
    apart = resolve(chunk_of("Winston Churchill"), chunk_of("Winston Churchil"), settings=EXACT)
    assert (len(apart.entities), "similarity" in apart.merged) == (2, False)


SPELLINGS = (
    "Acme|ACME|Acme Corp.|acmes|Algiers|Algiers (film)|Algiers (city)|Henry IV|Henry V|battery|batteries|Battery|"
    "Winston Churchill|Winston Churchil|Winston Churchhill|Churchill|AP|Ap|ap|Associated Press|Andhra Pradesh|"
    "Rolling Stone|Rolling Stones|rolling stones|Laie, Hawaii|Laie| "
)
NAMES = st.sampled_from(SPELLINGS.split("|"))
CHUNKS = st.lists(
    st.tuples(
        st.lists(NAMES, max_size=3),
        st.lists(st.tuples(NAMES, st.sampled_from(["makes", "has", ALIAS]), NAMES), max_size=3),
    ).map(lambda drawn: chunk_of(*drawn[0], facts=drawn[1])),
    max_size=6,
)
ALL = st.sampled_from([SETTINGS, EXACT, ResolutionSettings(aliases={"Churchill": "Winston Churchill", "AP": "press"})])


@given(CHUNKS, ALL, st.randoms(use_true_random=False))
def test_the_order_of_the_chunks_does_not_matter(chunks, settings, random):
    """The graph and its report are the same in any order of the extractions."""
    pairs = [(f"d#{n}", chunk) for n, chunk in enumerate(chunks)]
    shuffled = random.sample(pairs, len(pairs))
    assert resolve_entities(shuffled, settings) == resolve_entities(pairs, settings)


@given(CHUNKS, ALL)
def test_every_name_is_in_one_entity(chunks, settings):
    """No name is lost or in two entities, names are unique, and ends of relations are entities with their chunks."""
    graph = resolve(*chunks, settings=settings)
    members = [name for entity in graph.entities for name in (entity.name, *entity.aliases)]
    assert len({*members}) == len(members)
    written = {each.name for chunk in chunks for each in chunk.mentions}
    written |= {
        end
        for chunk in chunks
        for each in chunk.statements
        if each.object.strip() and each.subject.strip()
        for end in (each.subject, each.object)
    }
    assert {name for name in written if name.strip()} <= {*members}
    chunks_of = {entity.name: {*entity.chunks} for entity in graph.entities}
    for relation in graph.relations:
        assert relation.source != relation.target
        assert {*relation.chunks} <= chunks_of[relation.source] & chunks_of[relation.target]
    assert graph.names - sum(graph.merged.values()) == len(graph.entities)


@given(CHUNKS, ALL)
def test_resolving_a_resolved_graph_changes_nothing(chunks, settings):
    """Extractions whose names are those of the entities are resolved to the same entities."""
    # A merged name may lose the text's evidence for another name.
    plain = [tuple(each for each in chunk.statements if each.predicate != ALIAS) for chunk in chunks]
    chunks = [chunk.model_copy(update={"statements": stated}) for chunk, stated in zip(chunks, plain, strict=True)]
    graph = resolve(*chunks, settings=settings)
    repeated = {f"d#{n}": chunk_of() for n in range(1, len(chunks) + 1)}
    for chunk in repeated:
        repeated[chunk] = chunk_of(
            *(entity.name for entity in graph.entities if chunk in entity.chunks),
            facts=[(each.source, each.label, each.target) for each in graph.relations if chunk in each.chunks],
        )
    second = resolve_entities(repeated.items(), settings)
    assert {(each.name, each.chunks) for each in second.entities} == {
        (each.name, each.chunks) for each in graph.entities
    }
    assert second.relations == graph.relations
