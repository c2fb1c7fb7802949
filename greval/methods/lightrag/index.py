"""Readers of the files in a LightRAG working folder: as an inventory, and as a graph with texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

# The file is the user's own index, and expat limits the expansion of entities.
from xml.etree import ElementTree as ET

from greval.datasets.replies.lightrag import SEPARATOR, build_edge, find_file_path
from greval.errors import DataError
from greval.methods.index_records import Entity, IndexedChunk, IndexGraph, Relation, describe_dangling, map_documents
from greval.methods.lightrag.method import DocumentName
from greval.records.case import Edge
from greval.records.inventory import IndexInventory, strip_quotes

STORE_FILE = "kv_store_{}.json"
STORE_NAMES = ("doc_status", "full_docs", "text_chunks", "full_entities", "full_relations")
GRAPH_FILE = "graph_chunk_entity_relation.graphml"
PART_FILES = {
    "documents": ("kv_store_doc_status.json", "kv_store_full_docs.json", "kv_store_text_chunks.json"),
    "chunks": ("kv_store_doc_status.json", "kv_store_text_chunks.json"),
    "nodes": (GRAPH_FILE, "kv_store_full_entities.json"),
    "edges": (GRAPH_FILE, "kv_store_full_relations.json"),
}
"""The files from which each part of the index can be read; any one of them is enough."""
XML = "{http://graphml.graphdrawing.org/xmlns}"


def read_lightrag(folder: str | Path, *, document: DocumentName = "id") -> IndexInventory:
    """Read the inventory of a LightRAG index that is stored in files, as LightRAG does by default.

    The folder is the working folder or, if a workspace is used, its subfolder of that name. A document is identified by
    its `id` or by the `path` of its file. The graph is read from its GraphML file, and the names that LightRAG stores
    for each document are added. Relations have no predicate: the label of an edge is the description of the relation,
    as in the triples of the adapter, or `related` if only the pair of names is stored. Relations have no direction: the
    ends of an edge are in alphabetical order.
    """
    path = _require_folder(folder)
    stores = {name: _read_store(path / STORE_FILE.format(name)) for name in STORE_NAMES}
    names = _read_document_names(stores, document)
    chunks = _read_chunks(stores, names)
    entities, relations = _read_graph(path / GRAPH_FILE)
    nodes = map_documents(((entity.name, entity.chunks) for entity in entities), chunks)
    edges = map_documents((((edge.source, edge.label, edge.target), edge.chunks) for edge in relations), chunks)
    _add_names(stores, names, nodes, edges)
    notes = _describe_missing(path) + (describe_dangling(edges, nodes) if nodes else [])
    documents = frozenset({*names.values(), *chunks.values()} - {""})
    return IndexInventory(documents, chunks, nodes, edges, notes=tuple(notes))


def read_lightrag_graph(folder: str | Path, *, document: DocumentName = "id") -> IndexGraph:
    """Read the chunks of a LightRAG index with their texts, its entities and its relations.

    Names, labels and documents are those of `read_lightrag`. Names that the graph's file lacks have no chunk, and are
    not read.
    """
    path = _require_folder(folder)
    required = (STORE_FILE.format("text_chunks"), GRAPH_FILE)
    if lost := [name for name in required if not (path / name).is_file()]:
        raise DataError(
            f"{folder}: expected {' and '.join(required)}, found no {' and no '.join(lost)}; give the folder in which "
            "LightRAG keeps its chunks and its graph as files, or the folder of its documents"
        )
    stores = {name: _read_store(path / STORE_FILE.format(name)) for name in STORE_NAMES}
    documents = _read_chunks(stores, _read_document_names(stores, document))
    chunks = [
        IndexedChunk(id=chunk, doc_id=documents.get(chunk, ""), text=str(row.get("content") or ""))
        for chunk, row in stores["text_chunks"].items()
    ]
    return IndexGraph(chunks, *_read_graph(path / GRAPH_FILE))


def _require_folder(folder: str | Path) -> Path:
    """Return the path of a folder; raise `DataError` if it has no file of an index."""
    path = Path(folder)
    if not has_lightrag_files(path):
        raise DataError(
            f"{folder}: no index of LightRAG: neither {GRAPH_FILE} nor a {STORE_FILE.format('*')} file is there"
        )
    return path


def has_lightrag_files(folder: Path) -> bool:
    """Return whether a folder has any file of a LightRAG index."""
    return len(_describe_missing(folder)) < len(PART_FILES)


def _describe_missing(folder: Path) -> list[str]:
    lost = {part: names for part, names in PART_FILES.items() if not any((folder / name).is_file() for name in names)}
    return [f"its {part} are unknown: none of {', '.join(names)} is there" for part, names in lost.items()]


def _read_store(path: Path) -> dict[str, Any]:
    """Read a key-value store; a missing file is an empty store."""
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as JSON: {error}; build the index anew") from error
    if not isinstance(content, dict):
        raise DataError(f"{path}: holds no object; is it a file of LightRAG's?")
    return content


def _read_document_names(stores: Mapping[str, Mapping[str, Any]], document: DocumentName) -> dict[str, str]:
    """Return the name of each document by its id; an unknown path is replaced by the id."""
    rows = {**stores["full_docs"], **stores["doc_status"]}
    return {doc: (document == "path" and find_file_path(row)) or doc for doc, row in rows.items()}


def _read_chunks(stores: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> dict[str, str]:
    documents = {chunk: doc for doc, row in stores["doc_status"].items() for chunk in row.get("chunks_list") or ()}
    documents |= {chunk: row.get("full_doc_id") or "" for chunk, row in stores["text_chunks"].items()}
    return {chunk: names.get(doc, doc) for chunk, doc in documents.items()}


def _read_graph(path: Path) -> tuple[list[Entity], list[Relation]]:
    """Read the nodes and the edges of a GraphML file, with the ids of their chunks."""
    entities: list[Entity] = []
    relations: list[Relation] = []
    for names, fields in _iterate_elements(path):
        chunk_ids = tuple(chunk_id for chunk_id in fields.get("source_id", "").split(SEPARATOR) if chunk_id)
        if len(names) == 1:
            entities.append(Entity(name=names[0], type=strip_quotes(fields.get("entity_type", "")), chunks=chunk_ids))
        else:
            source, label, target = build_edge(names[0], names[1], fields.get("description"))
            relations.append(Relation(source=source, label=label, target=target, chunks=chunk_ids))
    return entities, relations


def _iterate_elements(path: Path) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """Iterate over the nodes (one name) and edges (two names) of a GraphML file, each with its data."""
    if not path.is_file():
        return
    keys: dict[str, str] = {}
    try:
        for _, element in ET.iterparse(path):  # noqa: S314 - see the import
            kind = element.tag.removeprefix(XML)
            if kind == "key":
                keys[element.attrib["id"]] = element.attrib["attr.name"]
            if kind in {"node", "edge"}:
                ends = ("id",) if kind == "node" else ("source", "target")
                fields = {keys[data.attrib["key"]]: data.text or "" for data in element}
                # LightRAG before 2025 and nano-graphrag keep quotes in names, which no gold and no question has.
                yield tuple(strip_quotes(element.attrib[end]) for end in ends), fields
                # The elements of a large graph would stay in memory.
                element.clear()
    except (ET.ParseError, KeyError, OSError) as error:
        raise DataError(f"{path}: cannot be read as GraphML: {error}; build the index anew") from error


def _add_names(
    stores: Mapping[str, Mapping[str, Any]],
    names: Mapping[str, str],
    nodes: dict[str, tuple[str, ...]],
    edges: dict[Edge, tuple[str, ...]],
) -> None:
    """Add the entity names and pairs that are recorded for each document, and that the graph file may lack."""
    for document, row in stores["full_entities"].items():
        for name in map(strip_quotes, row.get("entity_names") or ()):
            nodes[name] = tuple(dict.fromkeys((*nodes.get(name, ()), names.get(document, document))))
    # A pair that the graph has keeps the label that it has there.
    edges_by_ends = {(source, target): (source, label, target) for source, label, target in edges}
    for document, row in stores["full_relations"].items():
        for source, target in row.get("relation_pairs") or ():
            built = build_edge(strip_quotes(source), strip_quotes(target), None)
            edge = edges_by_ends.get((built[0], built[2]), built)
            edges[edge] = tuple(dict.fromkeys((*edges.get(edge, ()), names.get(document, document))))
