"""What a query of LightRAG gave to its model, as chunks, triples and a walk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from greval.methods.edges import label_of
from greval.methods.tables import Row
from greval.records.case import Chunk, Edge, Effort, Response, Traversal, Triple

SEPARATOR = "<SEP>"
"""What LightRAG puts between the descriptions and the sources that it merged."""

UNKNOWN_PATH = "unknown_source"
"""What LightRAG writes for the path of a text that came from no file."""


def edge_of(source: str, target: str, description: object) -> Edge:
    """Give the edge of a relation. LightRAG's have no direction: the ends are in the order of the alphabet.

    Example:
        >>> edge_of("Sam", "Alex", "Alex is the mentor of Sam.<SEP>They work together.")
        ('Alex', 'Alex is the mentor of Sam. They work together.', 'Sam')
    """
    first, last = sorted((source, target))
    told = description.replace(SEPARATOR, " ") if isinstance(description, str) else description
    return first, label_of(told), last


def path_of(row: Mapping[str, Any]) -> str | None:
    """Give the path of the file that a chunk or a document comes from; None where LightRAG was told none."""
    path = row.get("file_path")
    return str(path) if path and path != UNKNOWN_PATH else None


def response_of(
    answer: str, data: Mapping[str, Any], documents: Mapping[str, str], mode: str, usage: Effort | None = None
) -> Response:
    """Give the response that an answer and its context make.

    Relations become triples whose predicate is the description; the descriptions of entities come after
    them (predicate `description`). The walk begins at the entities; in the mode `global` LightRAG finds
    relations and not entities, so there the walk has no start.

    Args:
        answer: The answer.
        data: `data` as LightRAG gives it: lists of entities, relationships and chunks.
        documents: The document of each chunk, by the chunk's id.
        mode: The mode of the query; `naive` has neither triples nor a walk.
        usage: What was spent.
    """
    entities, relations = data.get("entities") or (), data.get("relationships") or ()
    edges = tuple(edge_of(row["src_id"], row["tgt_id"], row.get("description")) for row in relations)
    return Response(
        answer=answer,
        chunks=tuple(_chunks(data.get("chunks") or (), documents)),
        triples=tuple(_triples(edges, entities)),
        traversal=None if mode == "naive" else _walk(edges, entities, mode),
        usage=usage,
    )


def _chunks(rows: Iterable[Row], documents: Mapping[str, str]) -> Iterable[Chunk]:
    for row in rows:
        yield Chunk(id=row["chunk_id"], text=row["content"], doc_id=documents.get(row["chunk_id"]))


def _triples(edges: Iterable[Edge], entities: Iterable[Row]) -> Iterable[Triple]:
    for source, label, target in edges:
        yield Triple(id=f"relation:{source}|{target}", subject=source, predicate=label, object=target)
    for row in entities:
        name, text = row["entity_name"], str(row.get("description") or "").replace(SEPARATOR, " ")
        if text:
            yield Triple(id=f"entity:{name}", subject=name, predicate="description", object=text)


def _walk(edges: tuple[Edge, ...], entities: Iterable[Row], mode: str) -> Traversal:
    names = tuple(row["entity_name"] for row in entities)
    ends = dict.fromkeys((*names, *(end for source, _, target in edges for end in (source, target))))
    return Traversal(start_nodes=() if mode == "global" else names, traversed_edges=edges, final_nodes=tuple(ends))
