"""The parts of a response: ids of triples, the sources of nodes, and the texts of chunks."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from small_index import SmallIndex, make_harbour_index

from greval.methods.index_records import IndexedChunk
from greval.records.case import NodeSource
from greval.reference.response_parts import build_traversal, build_triple, read_found_chunks
from greval.reference.searches import SearchFindings, WalkedEdge, search_chunks
from greval.reference.settings import SearchSettings

NAMES = st.text(st.sampled_from("a|\\"), max_size=4)
WALKED = SearchFindings(edges=(WalkedEdge("MV Tern", "belongs to", "Petrel Ferries", 0.5),), nodes={"Skerry": 0.25})


@given(st.tuples(NAMES, NAMES, NAMES), st.tuples(NAMES, NAMES, NAMES))
def test_two_relations_never_have_one_id(first, second):
    """Ids of triples are equal only if the triples are, also if a name holds the separator."""
    assert (build_triple(*first).id == build_triple(*second).id) == (first == second)


def test_nodes_have_the_sources_that_their_chunks_agree_on():
    """A walked entity has the repository of its chunks; a field in which they differ is not known."""
    findings = replace(WALKED, chunks=((0, 1.0), (3, 0.5)))
    nodes = build_traversal(make_harbour_index(), findings).nodes
    assert nodes == {
        "MV Tern": NodeSource(doc_id="tern", repo="fleet", version="1"),
        "Petrel Ferries": NodeSource(version="1"),
        "Skerry": NodeSource(repo="places"),
    }


def test_a_filter_leaves_one_source_of_a_node():
    """Only chunks that the filter selects say where a node is from, so that its version is known."""
    findings = replace(WALKED, chunks=((4, 1.0),))
    nodes = build_traversal(make_harbour_index(), findings, {"version": "2"}).nodes
    assert nodes == {"Skerry": NodeSource(doc_id="skerry", repo="places", version="2")}


def test_nodes_are_not_recorded_without_repositories_and_versions():
    """Not recorded differs from recorded and empty."""
    index = SmallIndex({"d#1": "Ada wrote the Notes."}, [("Ada", "wrote", "Notes", ["d#1"])])
    walked = search_chunks(index, "What did Ada write?", "graph", SearchSettings())
    assert build_traversal(index, walked).nodes is None


def test_chunks_have_their_titles():
    """The text of a chunk is what was embedded and searched: the title, then the passage."""
    index = SmallIndex({"d#1": IndexedChunk(id="d#1", doc_id="d", title="Ferry", text="It sails at nine.")})
    (chunk,) = read_found_chunks(index, SearchFindings(chunks=((0, 0.5),)))
    assert (chunk.text, chunk.score) == ("Ferry. It sails at nine.", 0.5)
