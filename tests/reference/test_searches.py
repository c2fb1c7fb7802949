"""Searches of an index: what each finds, filters that never add, and results that are in the index."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_index import SmallIndex, make_harbour_index, read_value

from greval.errors import DataError, MethodError
from greval.methods.index_records import IndexedChunk
from greval.reference.searches import search_chunks
from greval.reference.settings import SearchSettings

SEARCHES = ("basic", "bm25", "graph", "local", "hybrid")
GRAPHS = ("activation", "pagerank")
FUSIONS = ("weighted", "minmax", "rrf")
QUESTION = "In which town was the ferry MV Tern built?"
WORDS = ["amber", "birch", "cedar", "delta", "ember"]
NAMES = [f"{one} {other}" for one in WORDS for other in WORDS[:2]]
EVERYTHING = {"k": 1000, "top_k": 1000, "neighbours": 1000}


@st.composite
def indexes(draw):
    """Return a random index: chunks of few words in two repositories, and relations between few names."""
    count = draw(st.integers(1, 8))
    chunks = {
        f"d{number % 3}#{number}": IndexedChunk(
            id=f"d{number % 3}#{number}",
            doc_id=f"d{number % 3}",
            text=" ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))),
            repo=draw(st.sampled_from(["left", "right"])),
            tags={"level": draw(st.sampled_from(["easy", "hard"]))},
        )
        for number in range(count)
    }
    ids = st.lists(st.sampled_from([*chunks]), min_size=1, max_size=3, unique=True)
    relation = st.tuples(st.sampled_from(NAMES), st.sampled_from(["owns", "knows"]), st.sampled_from(NAMES))
    relations = draw(st.dictionaries(relation, ids, max_size=12))
    return SmallIndex(chunks, [(*edge, findings) for edge, findings in relations.items()])


QUESTIONS = st.lists(st.sampled_from([*NAMES, "who", "?"]), max_size=3).map(" ".join)
SETTINGS = st.builds(
    SearchSettings,
    k=st.integers(1, 5),
    top_k=st.integers(1, 5),
    depth=st.integers(0, 3),
    decay=st.sampled_from([0.0, 0.5, 1.0]),
    alpha=st.floats(0, 1),
    words=st.sampled_from([0.0, 0.5, 1.0]),
    fusion=st.sampled_from(FUSIONS),
    graph=st.sampled_from(GRAPHS),
    neighbours=st.integers(1, 4),
)


def names_of(index, findings):
    return [index.chunk_ids[position] for position, _ in findings.chunks]


@given(indexes(), QUESTIONS, st.sampled_from(SEARCHES), SETTINGS)
def test_everything_found_is_in_the_index(index, question, search, settings):
    """Chunks, nodes and edges exist, at most k chunks are found, each once, and the best is first."""
    findings = search_chunks(index, question, search, settings)
    chunks = names_of(index, findings)
    assert len(chunks) == len(set(chunks)) <= settings.k
    scores = [score for _, score in findings.chunks]
    assert scores == sorted(scores, reverse=True)
    stored = {(each.source, each.label, each.target) for each in index.relations}
    assert {edge[:3] for edge in findings.edges} <= stored
    assert {*findings.nodes, *findings.cut, *findings.start_nodes} <= {*index.entities}
    assert bool(findings.fallback) == (search in {"graph", "local", "hybrid"} and not findings.linked)


@given(indexes(), QUESTIONS, st.sampled_from(SEARCHES), SETTINGS)
def test_activation_never_rises_along_a_path(index, question, search, settings):
    """No edge passes on more than the best edge to its origin did; at a start node, than its activation."""
    findings = search_chunks(index, question, search, settings)
    arrived = dict.fromkeys(findings.start_nodes, 1.0)
    for edge in findings.edges:
        origin, end = (edge.source, edge.target) if edge.forward else (edge.target, edge.source)
        assert edge.activation <= arrived[origin] + 1e-9
        arrived[end] = max(arrived.get(end, 0.0), edge.activation)


@given(indexes(), QUESTIONS, st.sampled_from(SEARCHES), SETTINGS, st.sampled_from(["repo", "level", "doc_id"]))
def test_a_filter_never_adds(index, question, search, settings, field):
    """What is found with a filter is found without it if nothing is cut, and it is what the filter selects."""
    settings = settings.model_copy(update=EVERYTHING)
    values = sorted({read_value(chunk, field) for chunk in index.chunks.values()})
    part = search_chunks(index, question, search, settings, {field: values[:1]})
    assert all(read_value(index.chunks[name], field) == values[0] for name in names_of(index, part))
    selected = {name for name, chunk in index.chunks.items() if read_value(chunk, field) == values[0]}
    stating = {(each.source, each.label, each.target): {*each.chunks} for each in index.relations}
    assert all(stating[edge[:3]] & selected for edge in part.edges)
    everything = search_chunks(index, question, search, settings)
    if bool(everything.fallback) == bool(part.fallback):  # else vectors alone were searched, which have every chunk
        assert {*names_of(index, part)} <= {*names_of(index, everything)}
        assert {*part.start_nodes} <= {*everything.start_nodes}


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_graph_finds_what_words_and_vectors_do_not(graph):
    """A chunk that shares no word with the question is reached over two relations."""
    index = make_harbour_index()
    question = "Whose ferry is MV Tern?"
    settings = SearchSettings(graph=graph, k=7, fusion="weighted")
    assert "owner#1" in names_of(index, search_chunks(index, question, "graph", settings))
    assert "owner#1" in names_of(index, search_chunks(index, question, "hybrid", settings))
    assert "owner#1" not in names_of(index, search_chunks(index, question, "bm25", settings))
    assert "weather#1" not in names_of(index, search_chunks(index, question, "graph", settings))


def test_the_graph_search_has_the_published_activations():
    """The best activation of the entities of a chunk is its score: 1, then 0.5, then 0.25."""
    index = make_harbour_index()
    findings = search_chunks(index, QUESTION, "graph", SearchSettings(graph="activation"))
    scores = {index.chunk_ids[position]: score for position, score in findings.chunks}
    assert scores == {"tern#1": 1.0, "tern#2": 1.0, "owner#1": 0.5, "yard#1": 0.5, "skerry#1": 0.25, "skerry#2": 0.25}
    assert findings.nodes["Skerry"] == 0.25


@pytest.mark.parametrize("words", [0, 0.25])
def test_the_hybrid_search_has_the_published_sum(words):
    """0.6 of the scores of texts by their highest, of which words may have a part, and 0.4 of the activation by its."""
    index = make_harbour_index()
    settings = SearchSettings(graph="activation", fusion="weighted", words=words)
    weights = {"basic": 0.6 * (1 - words), "bm25": 0.6 * words, "graph": 0.4}
    expected = Counter()
    for search, weight in weights.items():
        scores = dict(search_chunks(index, QUESTION, search, settings).chunks)
        expected.update({position: weight * score / max(scores.values()) for position, score in scores.items()})
    findings = search_chunks(index, QUESTION, "hybrid", settings)
    assert dict(findings.chunks) == pytest.approx(dict(expected))


def test_the_local_search_stays_with_the_neighbours():
    """The chunks of an entity that is two relations away are not found."""
    index = make_harbour_index()
    findings = search_chunks(index, QUESTION, "local", SearchSettings())
    assert {*names_of(index, findings)} == {"tern#1", "tern#2", "yard#1", "owner#1"}
    assert {*findings.nodes} == {"MV Tern", "Petrel Ferries", "Harland Yard"}


@pytest.mark.parametrize(("search", "words"), [("graph", 0.5), ("local", 0.5), ("hybrid", 0)])
def test_without_an_entity_vectors_are_searched_and_it_says_so(search, words):
    """The chunks are those of the basic search."""
    index = make_harbour_index()
    findings = search_chunks(index, "how bad is the weather?", search, SearchSettings(words=words))
    assert findings.chunks == search_chunks(index, "how bad is the weather?", "basic", SearchSettings()).chunks
    assert findings.fallback == "no entity of the question is in the graph"
    assert findings.edges == ()


@pytest.mark.parametrize("fusion", FUSIONS)
def test_without_an_entity_the_hybrid_search_fuses_vectors_and_words(fusion):
    """The chunk with the words is first, there are as many chunks as with vectors, and the graph adds nothing."""
    index = make_harbour_index()
    question = "how bad is the weather?"
    findings = search_chunks(index, question, "hybrid", SearchSettings(fusion=fusion, k=4, top_k=1))
    basic = search_chunks(index, question, "basic", SearchSettings(k=4))
    assert findings.chunks[0][0] == search_chunks(index, question, "bm25", SearchSettings()).chunks[0][0]
    assert len(findings.chunks) == len(basic.chunks)
    assert (findings.fallback, findings.edges) == ("no entity of the question is in the graph", ())


def test_an_entity_that_only_other_chunks_mention_is_not_linked():
    """With a filter, the graph is that of the selected chunks."""
    index = make_harbour_index()
    findings = search_chunks(index, "Where is Skerry, and MV Tern?", "hybrid", SearchSettings(), {"repo": "fleet"})
    assert findings.start_nodes == ("MV Tern",)
    assert {*names_of(index, findings)} == {"tern#1", "tern#2"}
    both = search_chunks(index, "Where is Skerry?", "graph", SearchSettings(), {"kind": ["place"], "version": "2"})
    assert names_of(index, both) == ["skerry#2"]


def test_what_cannot_be_searched_is_refused():
    """A field that no chunk has, and the search that needs a model."""
    index = make_harbour_index()
    with pytest.raises(DataError, match="colour"):
        search_chunks(index, QUESTION, "basic", SearchSettings(), {"colour": "red"})
    with pytest.raises(MethodError, match="tog"):
        search_chunks(index, QUESTION, "tog", SearchSettings())


def test_activation_does_not_rise_beyond_a_node_of_low_pagerank():
    """A node that many chunks relate to another has a high rank; the path to it does not."""
    chunks = {f"d#{number}": "Nothing." for number in range(1, 41)}
    relations = [
        ("Ada", "knows", "Bob", ["d#1"]),
        ("Bob", "knows", "Cem", ["d#2"]),
        ("Cem", "knows", "Dora", [*chunks]),
    ]
    settings = SearchSettings(graph="pagerank", depth=3, damping=0.95)
    findings = search_chunks(SmallIndex(chunks, relations), "Who is Ada?", "graph", settings)
    assert findings.nodes["Dora"] > findings.nodes["Bob"]
    assert [edge.target for edge in findings.edges] == ["Bob", "Cem", "Dora"]
    first, second, third = (edge.activation for edge in findings.edges)
    assert first >= second >= third
