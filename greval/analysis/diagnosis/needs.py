"""The evidence that an answer needs by its gold: whether each part is in the context, or at which step it was lost."""

from __future__ import annotations

from collections.abc import Iterator

from greval.analysis.diagnosis.evidence_path import EntryNodes, EvidencePath
from greval.analysis.diagnosis.records import Cause, Evidence
from greval.metrics.computed.graph_walk import format_edge
from greval.records.case import Edge


def find_needs(trail: EvidencePath) -> Iterator[Evidence]:
    """Yield every document, edge and node that the gold names as needed, with the step at which it was lost.

    Documents count if the method returns texts, edges and nodes if it traverses a graph or returns triples. If the
    gold names only one of these kinds, it counts for every method.
    """
    gold, case, entry = trail.gold, trail.case, EntryNodes(trail)
    documents, edges, nodes = gold.essential or (), gold.expected_edges or (), gold.expected_nodes or ()
    walks = case.traversal is not None or case.triples is not None
    if case.chunks is not None or not (walks and (edges or nodes)):
        yield from (_trace_document(name, trail, entry) for name in dict.fromkeys(documents))
    if walks or not documents:
        yield from (_trace_edge(edge, trail, entry) for edge in dict.fromkeys(edges))
        yield from (_trace_node(name, trail, entry) for name in dict.fromkeys(nodes))


def _trace_document(name: str, trail: EvidencePath, entry: EntryNodes) -> Evidence:
    """Find the step at which a document was lost."""
    known = trail.holdings.documents if trail.holdings else frozenset()
    if how := _describe_document_in_context(name, trail):
        return Evidence(kind="document", name=name, told=how)
    if known and name not in known:
        return Evidence(kind="document", name=name, lost="not in the index", told="the index does not hold it")
    if how := _describe_document_reached(name, trail):
        return Evidence(kind="document", name=name, lost="dropped", told=f"{how}, and no chunk of it is in the context")
    if entry.is_missed_by_all:
        return Evidence(kind="document", name=name, lost="entry not found", told="no chunk of it is in the context")
    walked = trail.walk is not None and trail.holdings
    reason = f"no chunk of it is in the context{', and no walked node or edge comes from it' if walked else ''}"
    return Evidence(kind="document", name=name, lost="not reached", told=reason)


def _describe_document_in_context(name: str, trail: EvidencePath) -> str | None:
    """Describe how a document is in the context: by a chunk, or by its edges if the method returns no texts."""
    if name in trail.documents:
        return "a chunk of it is in the context"
    edges = trail.gold.expected_edges or ()
    own = [edge for edge in edges if name in (trail.find_sources(edge) or ())] or edges
    if not trail.case.chunks and own and all(trail.find_triple(edge) for edge in own):
        return "the edges that come from it are in the context as triples"
    return None


def _describe_document_reached(name: str, trail: EvidencePath) -> str | None:
    """Describe how the traversal reached a document; None if it did not, or if there is no traversal."""
    if trail.walk is None:
        return None
    if trail.holdings:
        whole = trail.holdings.chunks.get(name, name)
        return "walked nodes or edges come from it" if whole in trail.walked_documents else None
    edges, nodes = trail.gold.expected_edges or (), trail.gold.expected_nodes or ()
    walked = bool(edges or nodes) and all(map(trail.has_followed, edges)) and all(map(trail.has_visited, nodes))
    return "the walk went along all expected edges and nodes" if walked else None


def _trace_edge(edge: Edge, trail: EvidencePath, entry: EntryNodes) -> Evidence:
    """Find the step at which an edge was lost."""
    name = format_edge(*edge)
    if how := _describe_edge_in_context(edge, trail):
        return Evidence(kind="edge", name=name, told=how)
    if trail.has_followed(edge):
        return Evidence(kind="edge", name=name, lost="dropped", told="the walk went along it, and it is in no triple")
    if trail.holdings and trail.holdings.ties and trail.find_sources(edge) is None:
        return Evidence(kind="edge", name=name, lost="not in the index", told=_describe_missing_edge(edge, trail))
    return Evidence(kind="edge", name=name, **_describe_unreached((edge[0], edge[2]), trail, entry))


def _describe_missing_edge(edge: Edge, trail: EvidencePath) -> str:
    """Describe which part of an edge is not in the index: an end, or the edge between two indexed nodes."""
    nodes = trail.holdings.nodes if trail.holdings else {}
    ends = (edge[0], edge[2]) if nodes else ()
    lacking = [end for end in ends if nodes.keys().isdisjoint(trail.names.find_names(end))]
    return f"the index has no node {' and no node '.join(lacking)}" if lacking else "the index does not hold it"


def _describe_edge_in_context(edge: Edge, trail: EvidencePath) -> str | None:
    """Describe how an edge is in the context: as a triple, or in the text of its document."""
    if own := trail.find_triple(edge):
        return f"it is in the context as triple {own}"
    essential = frozenset(trail.gold.essential or ())
    if not essential:
        own = trail.find_chunk_with_nodes((edge[0], edge[2]))
        return f"the text of chunk {own} names both its ends" if own else None
    sources = frozenset(trail.find_sources(edge) or ()) & essential
    if sources & trail.documents or (not sources and essential <= trail.documents):
        return "a document that it comes from is in the context"
    return None


def _trace_node(name: str, trail: EvidencePath, entry: EntryNodes) -> Evidence:
    """Find the step at which a node was lost."""
    if how := _describe_node_in_context(name, trail):
        return Evidence(kind="node", name=name, told=how)
    if trail.has_visited(name):
        reason = "the walk visited it, and it is in no triple and no chunk"
        return Evidence(kind="node", name=name, lost="dropped", told=reason)
    held = trail.holdings.nodes if trail.holdings else {}
    if held and held.keys().isdisjoint(trail.names.find_names(name)):
        return Evidence(kind="node", name=name, lost="not in the index", told="the index has no such node")
    return Evidence(kind="node", name=name, **_describe_unreached((name,), trail, entry))


def _describe_node_in_context(name: str, trail: EvidencePath) -> str | None:
    """Describe how a node is in the context, or return None."""
    if own := trail.find_triple_with_node(name):
        return f"it is in the context in triple {own}"
    if own := trail.find_chunk_with_nodes((name,)):
        return f"the text of chunk {own} names it"
    essential = frozenset(trail.gold.essential or ())
    return "all essential documents are in the context" if essential and essential <= trail.documents else None


def _describe_unreached(names: tuple[str, ...], trail: EvidencePath, entry: EntryNodes) -> dict[str, Cause | str]:
    """Return the step at which an edge or node was lost that is neither in the traversal nor in the context."""
    if trail.walk is None:
        return {"lost": "not reached", "told": "it is in no triple and no chunk"}
    lost = entry.find_loss(names)
    reason = "the walk did not come to it" if lost == "not reached" else "the walk did not begin where it leads to it"
    return {"lost": lost, "told": reason}
