"""The embedded graph is one file that is read by many and replaced as a whole."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_graphs import read_stored_entities, read_stored_relations

from greval.errors import DataError
from greval.methods.index_records import Entity, Relation
from greval.reference.storage.ladybug import LadybugStore

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
READ = """
import sys
from pathlib import Path
from greval.reference.storage.ladybug import LadybugStore
print(LadybugStore(Path(sys.argv[1])).query("MATCH (e:Entity) RETURN e.name AS name"))
"""


def write(path, entities, relations=()):
    """Write a graph to a file."""
    store = LadybugStore(path, read_only=False)
    store.write(entities, relations)
    return store


@settings(max_examples=10)
@given(st.lists(st.tuples(TEXTS, TEXTS, st.lists(TEXTS)), unique_by=lambda row: row[0], min_size=1), st.data())
def test_any_text_is_read_as_it_was_written(tmp_path_factory, rows, data):
    """Names, types, labels and ids may be any text; the order of chunks is kept."""
    entities = [Entity(name=name, type=kind, aliases=tuple(texts), chunks=tuple(texts)) for name, kind, texts in rows]
    ends = st.sampled_from([entity.name for entity in entities])
    edges = data.draw(st.lists(st.tuples(ends, TEXTS, ends, st.lists(TEXTS)), unique_by=lambda row: row[:3]))
    relations = [Relation(source=s, label=name, target=t, chunks=tuple(chunks)) for s, name, t, chunks in edges]
    path = tmp_path_factory.mktemp("graph") / "graph.lbug"
    store = write(path, entities, relations)
    assert read_stored_entities(store) == sorted(entities, key=lambda row: row.name)
    assert read_stored_relations(store) == sorted(relations, key=lambda row: (row.source, row.label, row.target))
    store.close()


def test_several_readers_open_one_graph(tmp_path):
    """Two stores of this process and one of another read the same file."""
    path = tmp_path / "graph.lbug"
    write(path, [Entity(name="ferry")]).close()
    first, second = LadybugStore(path), LadybugStore(path)
    process = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    assert process.stdout == "[{'name': 'ferry'}]\n"
    assert read_stored_entities(first) == read_stored_entities(second) == [Entity(name="ferry")]
    first.close()
    assert read_stored_entities(second) == [Entity(name="ferry")]
    second.close()


def test_a_graph_that_was_cut_off_is_replaced(tmp_path):
    """What a killed build left beside the file is removed, and the file itself is complete or absent."""
    path = tmp_path / "graph.lbug"
    for name in ("graph.lbug.new", "graph.lbug.new.wal"):
        (tmp_path / name).write_text("half of it")
    write(path, [Entity(name="ferry")]).close()
    assert [path_found.name for path_found in tmp_path.iterdir()] == ["graph.lbug"]


@pytest.mark.parametrize("content", [None, b"", b"no graph at all" * 1000])
def test_a_file_that_is_no_graph_is_reported(tmp_path, content):
    """The message names the file and what to do."""
    path = tmp_path / "graph.lbug"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"graph\.lbug.*greval index build"):
        LadybugStore(path).query("MATCH (e:Entity) RETURN e.name")


def test_a_query_writes_no_other_file(tmp_path):
    """A query that would export the graph, or load from a file, is refused."""
    store = write(tmp_path / "graph.lbug", [Entity(name="ferry")])
    out = tmp_path / "out.csv"
    for cypher in (f"COPY (MATCH (e:Entity) RETURN e.name) TO '{out}'", f"MATCH (e) RETURN e EXPORT DATABASE '{out}'"):
        with pytest.raises(DataError, match="only read"):
            store.query(cypher)
    assert not out.exists()
    store.close()
