"""The context of a LightRAG query, converted to chunks, triples and a traversal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from greval.datasets.field_values import find_first
from greval.records.case import Chunk, Edge, Response, ResponseUsage, Traversal, Triple
from greval.records.inventory import format_edge_label, strip_quotes

if TYPE_CHECKING:
    from greval.datasets.parquet_tables import Row

SEPARATOR = "<SEP>"
"""The separator of merged descriptions and sources in LightRAG."""

UNKNOWN_PATH = "unknown_source"
"""The path that LightRAG writes for a text that has no file."""


def build_edge(source: str, target: str, description: object) -> Edge:
    """Return the edge of a relation, with its ends in alphabetical order.

    Example:
        >>> build_edge("Sam", "Alex", "Alex is the mentor of Sam.<SEP>They work together.")
        ('Alex', 'Alex is the mentor of Sam. They work together.', 'Sam')
    """
    # LightRAG's relations have no direction.
    first, last = sorted((source, target))
    text = " ".join(map(strip_quotes, description.split(SEPARATOR))) if isinstance(description, str) else description
    return first, format_edge_label(text), last


def find_file_path(row: Mapping[str, Any]) -> str | None:
    """Return the path of the source file of a chunk or a document, or None if LightRAG has none."""
    path = row.get("file_path")
    return str(path) if path and path != UNKNOWN_PATH else None


def clean_context(data: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the context of a reply with the names of today's LightRAG, without rows that lack what is needed."""
    return {
        part: [row for item in data[part] if (row := _clean_row(part, item)) is not None]
        for part in _NAMES
        if data.get(part) is not None
    }


_NAMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "entities": {"entity_name": ("entity_name", "entity")},
    "relationships": {"src_id": ("src_id", "entity1"), "tgt_id": ("tgt_id", "entity2")},
    "chunks": {"content": ("content", "text")},
}
"""The needed columns of each part, each with its names in the versions of LightRAG."""


def _clean_row(part: str, item: object) -> dict[str, Any] | None:
    if isinstance(item, str) and part == "chunks":
        return {"content": item}
    if not isinstance(item, Mapping):
        return None
    needed = {name: find_first(item, names) for name, names in _NAMES[part].items()}
    return {**item, **needed} if all(isinstance(value, str) for value in needed.values()) else None


def build_response(
    answer: str | None,
    data: Mapping[str, Any],
    documents: Mapping[str, str] | None = None,
    mode: str | None = None,
    usage: ResponseUsage | None = None,
) -> Response:
    """Build a response from an answer and the `data` of LightRAG's result.

    `documents` has the document of each chunk, which is that of its path by default. Relations become triples whose
    predicate is the description. The descriptions of entities (predicate `description`) follow them. The traversal
    starts at the entities. In the mode `global` it has no start nodes, because LightRAG retrieves relations and not
    entities. The mode `naive` has neither triples nor a traversal.
    """
    entities, relations = data.get("entities") or (), data.get("relationships") or ()
    edges = tuple(
        build_edge(strip_quotes(row["src_id"]), strip_quotes(row["tgt_id"]), row.get("description"))
        for row in relations
    )
    return Response(
        answer=answer,
        chunks=tuple(_build_chunks(data.get("chunks") or (), documents)),
        triples=tuple(_build_triples(edges, entities)),
        traversal=None if mode == "naive" else _build_traversal(edges, entities, mode),
        usage=usage,
    )


def _build_chunks(rows: Iterable[Row], documents: Mapping[str, str] | None) -> Iterable[Chunk]:
    for number, row in enumerate(rows, 1):
        name = str(find_first(row, ("chunk_id", "id")) or f"c{number}")
        document = find_file_path(row) if documents is None else documents.get(name)
        yield Chunk(id=name, text=row["content"], doc_id=document)


def _build_triples(edges: Iterable[Edge], entities: Iterable[Row]) -> Iterable[Triple]:
    for source, label, target in edges:
        yield Triple(id=f"relation:{source}|{target}", subject=source, predicate=label, object=target)
    for row in entities:
        name, text = strip_quotes(row["entity_name"]), str(row.get("description") or "").replace(SEPARATOR, " ")
        if text:
            yield Triple(id=f"entity:{name}", subject=name, predicate="description", object=text)


def _build_traversal(edges: tuple[Edge, ...], entities: Iterable[Row], mode: str | None) -> Traversal:
    names = tuple(strip_quotes(row["entity_name"]) for row in entities)
    ends = dict.fromkeys((*names, *(end for source, _, target in edges for end in (source, target))))
    return Traversal(start_nodes=() if mode == "global" else names, traversed_edges=edges, final_nodes=tuple(ends))
