"""Inventories of LightRAG folders, whole and with missing or broken files."""

from __future__ import annotations

import json

import pytest
from lightrag_folder import EDGE, GRAPH, STORES, write

from greval.errors import DataError
from greval.methods.inventories import read_inventory
from greval.methods.lightrag.index import read_lightrag
from greval.records.inventory import IndexInventory


def test_whole_files(data_set):
    """The files of several documents load; their counts are those of the files themselves."""
    folder = data_set("lightrag_novel_kv")
    entities, relations, status = (
        json.loads((folder / f"kv_store_{name}.json").read_text(encoding="utf-8"))
        for name in ("full_entities", "full_relations", "doc_status")
    )
    inventory = read_inventory(folder)
    assert inventory.documents == {*status}
    assert len(inventory.chunks) == sum(row["chunks_count"] for row in status.values()) > 0
    assert {*inventory.nodes} == {name for row in entities.values() for name in row["entity_names"]}
    pairs = {frozenset(pair) for row in relations.values() for pair in row["relation_pairs"]}
    assert {frozenset((source, target)) for source, _, target in inventory.edges} == pairs
    assert len(inventory.edges) == len(pairs)
    assert {label for _, label, _ in inventory.edges} == {"related"}
    assert inventory.notes == ()


def test_graph_and_names(tmp_path):
    """The graph's file and the names of each document are put together; an end that is no node is told."""
    assert read_lightrag(write(tmp_path)) == IndexInventory(
        documents=frozenset({"doc-1", "doc-2"}),
        chunks={"c1": "doc-1", "c2": "doc-2"},
        nodes={"Ada": ("doc-1", "doc-2"), "Notes": ("doc-1", "doc-2")},
        edges={EDGE: ("doc-1", "doc-2"), ("Ada", "related", "Bob"): ("doc-2",)},
        notes=("1 edge has an end that is not a node of the graph: 'Bob'",),
    )


def test_paths(tmp_path):
    """`?document=path` names documents by their files; where the path is not known the id stands."""
    inventory = read_inventory(f"{write(tmp_path)}?document=path")
    assert inventory.documents == {"one.txt", "doc-2"}
    assert inventory.edges[EDGE] == ("one.txt", "doc-2")
    assert inventory.chunks == {"c1": "one.txt", "c2": "doc-2"}


def test_missing_and_broken_files(tmp_path):
    """What is missing is told; a file that cannot be read is named."""
    write(tmp_path, {"text_chunks": {"c1": {"full_doc_id": "doc-1"}}}, graph=None)
    inventory = read_lightrag(tmp_path)
    assert inventory.documents == {"doc-1"}
    assert [note.split(" are unknown")[0] for note in inventory.notes] == ["its nodes", "its edges"]
    for name in ("kv_store_doc_status.json", "graph_chunk_entity_relation.graphml"):
        (tmp_path / name).write_text("<graphml>[", encoding="utf-8")
        with pytest.raises(DataError, match=rf"{name}: cannot be read as"):
            read_lightrag(tmp_path)
        (tmp_path / name).unlink()
    (tmp_path / "kv_store_text_chunks.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match="holds no object"):
        read_lightrag(tmp_path)
    with pytest.raises(DataError, match="no index of LightRAG"):
        read_lightrag(tmp_path / "nowhere")


def test_quotes_around_names_are_no_part_of_them(tmp_path):
    """Indexes of LightRAG before 2025 and of nano-graphrag keep quotes in names: they read as those without."""
    plain, quoted = tmp_path / "plain", tmp_path / "quoted"
    plain.mkdir()
    quoted.mkdir()
    names = {name: f'"{name}"' for name in ("Ada", "Notes", "Bob")}
    graph, stores = GRAPH, json.dumps(STORES)
    for name, written in names.items():
        graph = graph.replace(f'="{name}"', f'="&quot;{name}&quot;"')
        stores = stores.replace(f'"{name}"', json.dumps(written))
    graph = graph.replace("Ada wrote them.", '"Ada wrote them."')
    assert read_lightrag(write(quoted, json.loads(stores), graph)) == read_lightrag(write(plain))
