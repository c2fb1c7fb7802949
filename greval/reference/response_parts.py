"""The parts of a response, from what a search found: chunks, triples and the traversal."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from greval.records.case import Chunk, NodeSource, Traversal, Triple

if TYPE_CHECKING:
    from greval.reference.index import ReferenceIndex
    from greval.reference.searches import SearchFindings, WalkedEdge, Where

SEPARATOR = "|"


def read_found_chunks(index: ReferenceIndex, findings: SearchFindings) -> tuple[Chunk, ...]:
    """Read the chunks that a search found, best first, with the titles of their documents in front."""
    read = index.read_chunks([index.chunk_ids[position] for position, _ in findings.chunks])
    return tuple(
        Chunk(id=chunk.id, text=chunk.content, doc_id=chunk.doc_id, repo=chunk.repo, version=chunk.version, score=score)
        for chunk, (_, score) in zip(read, findings.chunks, strict=True)
    )


def select_triples(index: ReferenceIndex, findings: SearchFindings, limit: int) -> tuple[Triple, ...]:
    """Return the followed relations: first those that the returned chunks state, then those of highest activation."""
    walked: dict[tuple[str, str, str], WalkedEdge] = {}
    for edge in findings.edges:
        walked.setdefault(edge[:3], edge)
    chosen: dict[tuple[str, str, str], None] = {}
    if walked:
        tables, edges = index.tables, index.edges
        for position, _ in findings.chunks:
            stated = [
                (tables.entities[edges.source[stating]], edges.label(stating), tables.entities[edges.target[stating]])
                for stating in tables.stated_edges.get_items(position).tolist()
            ]
            here = [triple for triple in stated if triple in walked]
            chosen.update(dict.fromkeys(sorted(here, key=lambda triple: -walked[triple].activation)))
            if len(chosen) >= limit:
                break
    unstated = (triple for triple in walked if triple not in chosen)
    more = heapq.nsmallest(max(limit - len(chosen), 0), unstated, key=lambda triple: -walked[triple].activation)
    return tuple(build_triple(*triple) for triple in [*chosen, *more][:limit])


def build_triple(source: str, label: str, target: str) -> Triple:
    """Build a triple whose id names the relation, so that it is the same in every response.

    A separator within a name is escaped, so that two relations never have one id.

    Example:
        >>> build_triple("billing", "depends on", "ledger").id
        'billing|depends on|ledger'
    """
    parts = (part.replace("\\", "\\\\").replace(SEPARATOR, f"\\{SEPARATOR}") for part in (source, label, target))
    return Triple(id=SEPARATOR.join(parts), subject=source, predicate=label, object=target)


def build_traversal(index: ReferenceIndex, findings: SearchFindings, where: Where | None = None) -> Traversal:
    """Return the traversal of a search. Its final nodes are the reached ones that the returned chunks mention.

    Sources of nodes are read from the chunks that the filter of the search selects.
    """
    by_chunk = index.mentions.entities
    mentioned = {index.entities[entity] for chunk, _ in findings.chunks for entity in by_chunk.get_items(chunk)}
    traversal = Traversal(
        start_nodes=findings.start_nodes,
        traversed_edges=tuple(edge[:3] for edge in findings.edges),
        final_nodes=tuple(node for node in findings.nodes if node in mentioned),
    )
    return traversal.model_copy(update={"nodes": _find_sources(index, traversal.visited, where)})


def _find_sources(
    index: ReferenceIndex, names: tuple[str, ...], where: Where | None = None
) -> dict[str, NodeSource] | None:
    """Return the document, repository and version of entities, each as far as all chunks of the entity have the same.

    An entity without a repository and a version is left out. None if the documents of the index have neither. Only the
    chunks that the filter selects count.
    """
    columns = {name: index.get_column(name) for name in ("doc_id", "repo", "version")}
    if not columns["repo"].values and not columns["version"].values:
        return None
    positions = [position for name in names if (position := index.find_entity(name)) is not None]
    chunks, places = index.mentions.chunks.gather_items(np.array(positions, dtype=np.int64))
    if (allowed := index.select_chunks(where or {})) is not None:
        chunks, places = chunks[allowed[chunks]], places[allowed[chunks]]
    fields: list[dict[str, str]] = [{} for _ in positions]
    for name, column in columns.items():
        codes = column.codes[chunks]
        # All chunks of an entity have the same value if the lowest code is the highest; -1 stands for none.
        lowest, highest = np.full(len(positions), len(column.values)), np.full(len(positions), -1)
        np.minimum.at(lowest, places, codes)
        np.maximum.at(highest, places, codes)
        for row in np.flatnonzero((lowest == highest) & (highest >= 0)).tolist():
            fields[row][name] = column.values[highest[row]]
    return {
        index.entities[entity]: NodeSource(**source)
        for entity, source in zip(positions, fields, strict=True)
        if "repo" in source or "version" in source
    }
