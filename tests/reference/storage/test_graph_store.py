"""What every graph store promises: held by the embedded one always, by one on a server with the long tests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import bolt_database
import pytest
from stored_graphs import read_stored_entities, read_stored_relations

from greval.errors import DataError
from greval.methods.index_records import Entity, Relation
from greval.reference.storage.graph_store import check_query, open_graph

BRANDS = [
    Entity(name="Volt One", type="Brand", aliases=("Volt", "the 'One'"), chunks=("a#1", "b#2")),
    Entity(name="battery", type="Feature", chunks=("a#1",)),
    Entity(name="Ærø 電池", chunks=("b#1",)),
]
STATED = [
    Relation(source="Volt One", label="HAS_NEGATIVE", target="battery", chunks=("a#1", "b#2", "b#1")),
    Relation(source="Ærø 電池", label="is a", target="battery", chunks=("b#1",)),
    Relation(source="Volt One", label="HAS_POSITIVE", target="battery", chunks=("a#1",)),
    Relation(source="battery", label="loops to", target="battery"),
]


@pytest.fixture(scope="session")
def database(tmp_path_factory):
    """Return a server with an empty database."""
    if not bolt_database.is_installed():
        pytest.skip("arcadedb-embedded is not installed")
    with bolt_database.BoltDatabase(tmp_path_factory.mktemp("bolt")) as started:
        yield started


@pytest.fixture(params=["embedded", pytest.param("bolt", marks=pytest.mark.nightly)])
def location(request, tmp_path, monkeypatch):
    """Return how `open_graph` is called for a store."""
    if request.param == "embedded":
        return "embedded", tmp_path
    server = request.getfixturevalue("database")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server.address, tmp_path


@pytest.fixture
def graph(location):
    """Return a store with the graph of brands."""
    store = open_graph(*location, read_only=False)
    store.write(BRANDS, STATED)
    yield store
    store.close()


def test_what_is_written_is_read(graph):
    """Entities come back by name, relations by source, label and target, with all that they had."""
    assert read_stored_entities(graph) == sorted(BRANDS, key=lambda entity: entity.name)
    assert read_stored_relations(graph) == sorted(STATED, key=lambda edge: (edge.source, edge.label, edge.target))


def test_writing_replaces_the_whole_graph(graph):
    """Nothing of an earlier graph stays; an empty graph can be written too."""
    graph.write([Entity(name="battery")], [])
    assert read_stored_entities(graph) == [Entity(name="battery")]
    assert read_stored_relations(graph) == []
    graph.write([], [])
    assert read_stored_entities(graph) == []


def test_a_query_groups_and_counts(graph):
    """Names of tables, properties and parameters are those that the documentation has."""
    rows = graph.query(
        "MATCH (b:Entity {type: $type})-[r:RELATION {label: 'HAS_NEGATIVE'}]->(f:Entity) "
        "RETURN f.name AS feature, r.weight AS times, r.documents AS documents",
        {"type": "Brand"},
    )
    assert rows == [{"feature": "battery", "times": 3, "documents": ["a", "b"]}]


def test_a_node_is_a_dictionary_of_its_properties(graph):
    """Nodes, relations and paths hold nothing of the database's own."""
    node = {"name": "battery", "type": "Feature", "aliases": [], "chunks": ["a#1"]}
    loop = {"label": "loops to", "chunks": [], "documents": [], "weight": 0}
    cypher = "MATCH p = (e:Entity {name: 'battery'})-[r:RELATION]->(e) RETURN e, r, p, [e.name] AS names"
    path = {"nodes": [node, node], "relations": [loop]}
    assert graph.query(cypher) == [{"e": node, "r": loop, "p": path, "names": ["battery"]}]


@pytest.mark.parametrize(
    ("cypher", "parameters", "fault"),
    [
        ("MATCH (e) DETACH DELETE e", {}, "DETACH: queries only read the graph"),
        ("CREATE (e:Entity {name: 'x'})", {}, "begin with MATCH"),
        ("LOAD FROM '/etc/hostname' (file_format='csv') RETURN *", {}, "begin with MATCH"),
        ("MATCH (e:Entity) set e.type = 'x' RETURN e", {}, "SET: queries only read"),
        ("MATCH (e:Entity {name: $name}) RETURN e", {}, "parameters without a value: name"),
        ("MATCH (e:Entity) RETRN e", {}, r"MATCH \(e:Entity\) RETRN e: "),
        ("", {}, "begin with MATCH"),
    ],
)
def test_a_query_that_cannot_be_answered_is_refused(graph, cypher, parameters, fault):
    """The message names the query or the word at fault, and the graph stays as it was."""
    with pytest.raises(DataError, match=fault):
        graph.query(cypher, parameters)
    assert len(read_stored_entities(graph)) == 3


def test_a_reader_cannot_write(graph, location):
    """A store that is open to be read refuses to write."""
    graph.close()
    reader = open_graph(*location)
    with pytest.raises(DataError, match="open to be read"):
        reader.write([], [])
    assert len(read_stored_entities(reader)) == 3
    reader.close()
    reader.close()


def test_threads_share_a_store(graph):
    """Each thread gets the answers to its own parameters."""

    def find_type(name):
        return graph.query("MATCH (e:Entity {name: $name}) RETURN e.type AS type", {"name": name})

    with ThreadPoolExecutor(8) as pool:
        rows = [*pool.map(find_type, [entity.name for entity in BRANDS] * 20)]
    assert rows == [[{"type": entity.type}] for entity in BRANDS] * 20


@pytest.mark.parametrize("graph", ["sqlite", "http://user:secret@host:7687", "bolt:host"])
def test_a_graph_of_another_kind_is_refused(graph, tmp_path):
    """The message lists what is possible, and holds no password."""
    with pytest.raises(DataError, match="expected 'embedded' or an address") as error:
        open_graph(graph, tmp_path)
    assert "secret" not in str(error.value)


def test_keywords_may_be_names_and_texts():
    """Keywords in quotes, in comments, after a dot or colon, or as part of a word are not refused."""
    check_query("MATCH (e:Set) WHERE e.load = 'CREATE; \\' DROP' RETURN e.settings AS `call` // COPY it", {})
    check_query('MATCH (e) /* DELETE */ WHERE e.name = "MERGE \\" $x" RETURN e.name;', {})
    check_query("unwind $load AS x RETURN x", {"load": [1]})


@pytest.mark.parametrize("cypher", ["MATCH (e) RETURN e; MATCH (f) RETURN f", "MATCH (e) RETURN 'a' /* ' */; DROP x"])
def test_a_second_query_is_refused(cypher):
    """One call is one query."""
    with pytest.raises(DataError):
        check_query(cypher, {})
