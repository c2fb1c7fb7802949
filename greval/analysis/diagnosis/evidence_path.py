"""The evidence path of a case: its traversal, the nodes at which it began, and the context of the answer.

Each part of the evidence that the gold names as needed is in the context, or was lost at a step.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cached_property

from greval.analysis.diagnosis.records import Cause, Evidence
from greval.analysis.gold.index_lookup import Documents, EdgeIndex, IndexLookup, NodeNames
from greval.metrics.computed.graph_walk import compute_depths, format_edge, normalise_name
from greval.records.case import Case, Edge, Gold


class EvidencePath:
    """The traversal and the context of a case, to be searched for documents, edges and nodes of the gold."""

    def __init__(self, case: Case, gold: Gold, holdings: IndexLookup | None) -> None:
        self.case = case
        self.gold = gold
        self.holdings = holdings
        self.names = NodeNames(gold, holdings)
        self.walk = case.traversal
        edges = self.walk.traversed_edges if self.walk else ()
        self._walked = EdgeIndex(((edge, ()) for edge in edges), self.names.canonical)
        triples = [((t.subject, t.predicate, t.object), (t.id,)) for t in case.triples or ()]
        self._triples = EdgeIndex(triples, self.names.canonical)

    @cached_property
    def start_nodes(self) -> frozenset[str]:
        """The nodes at which the traversal began; all visited nodes if these are not recorded."""
        begun = self.walk.start_nodes if self.walk else ()
        return frozenset(map(self.names.canonical, begun)) or self.visited_nodes

    @cached_property
    def visited_nodes(self) -> frozenset[str]:
        """The nodes of the traversal: its start nodes, the ends of its edges, and its final nodes."""
        if self.walk is None:
            return frozenset()
        ends = (end for source, _, target in self.walk.traversed_edges for end in (source, target))
        return frozenset(map(self.names.canonical, (*self.walk.start_nodes, *ends, *self.walk.final_nodes)))

    @cached_property
    def documents(self) -> frozenset[str]:
        """The documents of the context and the ids of its chunks."""
        chunks = self.case.chunks or ()
        documents_of_chunks = self.holdings.chunks if self.holdings else {}
        # Gold may name documents or chunks.
        names = (name for chunk in chunks for name in (chunk.id, chunk.doc_id, documents_of_chunks.get(chunk.id)))
        return frozenset(name for name in names if name is not None)

    @cached_property
    def walked_documents(self) -> frozenset[str]:
        """The documents from which the traversed edges come, by the index.

        The documents of visited nodes count only if no indexed edge comes from them, or if the traversal records only
        nodes.
        """
        if self.holdings is None or self.walk is None:
            return frozenset()
        of_edges = {name for edge in self.walk.traversed_edges for name in self.find_sources(edge) or ()}
        of_nodes = {name for node in self.visited_nodes for name in self.holdings.nodes.get(node, ())}
        # A node that is named in many documents is no sign that the traversal reached each of them.
        named_by_edges = frozenset() if self._has_nodes_only else self.holdings.told_by_edges
        return frozenset(of_edges | (of_nodes - named_by_edges))

    @cached_property
    def _has_nodes_only(self) -> bool:
        """Return whether the traversal records no edges although it ended at other nodes than it began at."""
        walk = self.walk
        return bool(walk and not walk.traversed_edges and not self.visited_nodes <= self.start_nodes)

    def has_visited(self, name: str) -> bool:
        """Return whether the traversal reached a node."""
        return not self.visited_nodes.isdisjoint(self.names.find_names(name))

    def has_begun_at(self, name: str) -> bool:
        """Return whether the traversal began at a node."""
        return not self.start_nodes.isdisjoint(self.names.find_names(name))

    def has_followed(self, edge: Edge) -> bool:
        """Return whether the traversal followed an edge in either direction.

        If the traversal records only nodes, it must have reached both ends.
        """
        if self._has_nodes_only:
            return self.has_visited(edge[0]) and self.has_visited(edge[2])
        return self._find_documents(edge, self._walked) is not None

    def find_triple(self, edge: Edge) -> str | None:
        """Return the id of the triple in the context that states an edge, or None."""
        triple_ids = self._find_documents(edge, self._triples)
        return triple_ids[0] if triple_ids else None

    def find_triple_with_node(self, name: str) -> str | None:
        """Return the id of a triple in the context that contains a node, or None."""
        node_names = self.names.find_names(name)
        ends = ((t.id, {*map(self.names.canonical, (t.subject, t.object))}) for t in self.case.triples or ())
        return next((triple_id for triple_id, names in ends if not names.isdisjoint(node_names)), None)

    def find_sources(self, edge: Edge) -> Documents | None:
        """Return the documents from which an edge of the index comes; None if it is not in the index."""
        return self._find_documents(edge, self.holdings.ties) if self.holdings else None

    def find_chunk_with_nodes(self, names: Iterable[str]) -> str | None:
        """Return the id of a chunk whose text contains a name of each of the nodes, or None."""
        spellings = [{*map(_normalise_text, self.names.find_spellings(name))} for name in names]
        chunk_ids = (
            chunk_id
            for chunk_id, text in self._texts
            if all(any(_is_named_in(n, text) for n in forms) for forms in spellings)
        )
        return next(chunk_ids, None)

    def find_label(self, edge: Edge) -> str | None:
        """Return the label by which to compare an edge, or None.

        The result is None if the edge has no label, or if the graph has other labels than the gold.
        """
        label = normalise_name(edge[1])
        graph = self.holdings.ties.labels if self.holdings else frozenset()
        used = graph or self._walked.labels | self._triples.labels
        # A graph may name its relations otherwise than the gold; a label that it never uses proves nothing.
        return label if label and label in used else None

    @cached_property
    def _texts(self) -> list[tuple[str, str]]:
        """The ids of the chunks with their normalised texts."""
        # Spaces at both ends, so that a name at the start or the end is between spaces too.
        return [(chunk.id, f" {_normalise_text(chunk.text or '')} ") for chunk in self.case.chunks or ()]

    def _find_documents(self, edge: Edge, ties: EdgeIndex) -> Documents | None:
        """Return the documents of an edge among some edges, by all names of its ends."""
        source, _, target = edge
        return ties.find_documents(self.names.find_names(source), self.find_label(edge), self.names.find_names(target))


class EntryNodes:
    """The start nodes that the gold requires, and those of them at which the traversal began.

    If the gold names no start nodes, the traversal should begin at some node of the expected edges and nodes. If it
    began at a node that expected edges only lead away from, it should begin at all such nodes.
    """

    def __init__(self, trail: EvidencePath) -> None:
        self._trail = trail
        gold = trail.gold
        self.named = gold.start_nodes or ()
        edges = gold.expected_edges or ()
        ends = (end for source, _, target in edges for end in (source, target))
        roots = {source for source, _, _ in edges} - {target for _, _, target in edges}
        any_node = tuple(dict.fromkeys((*ends, *(gold.expected_nodes or ()))))
        self._roots = self.named or (tuple(sorted(roots)) if any(map(trail.has_begun_at, roots)) else ())
        self._needed = self._roots or any_node

    @cached_property
    def matched_nodes(self) -> tuple[str, ...]:
        """The required nodes at which the traversal began."""
        return tuple(name for name in self._needed if self._trail.has_begun_at(name))

    @property
    def is_missed_by_all(self) -> bool:
        """Return whether there is a traversal with required start nodes that began at none of them."""
        return self._trail.walk is not None and bool(self._needed) and not self.matched_nodes

    @property
    def is_unknown(self) -> bool:
        """Return whether there is a traversal whose required start nodes are not known."""
        return self._trail.walk is not None and not self._needed

    def find_loss(self, names: Iterable[str]) -> Cause:
        """Return the step at which evidence at some nodes was lost: at its entry node, or on the way from there.

        The nearest required start nodes along the expected edges decide.
        """
        if self.is_missed_by_all:
            # Entity linking cannot find a node that the index does not have.
            unindexed = self.named and not any(map(self._is_in_index, self.named))
            return "not in the index" if unindexed else "entry not found"
        nearest = self._find_nearest(names) if len(self.matched_nodes) < len(self._roots) else ()
        if not nearest or any(name in self.matched_nodes for name in nearest):
            return "not reached"
        return "entry not found" if any(map(self._is_in_index, nearest)) else "not in the index"

    def iterate_evidence(self) -> Iterator[Evidence]:
        """Yield each start node that the gold names, with the step at which it was lost."""
        for name in self.named if self._trail.walk is not None else ():
            lost, reason = self._trace_start(name)
            yield Evidence(kind="start node", name=name, lost=lost, told=reason)

    def _trace_start(self, name: str) -> tuple[Cause | None, str]:
        """Find the step at which a start node was lost, with the nodes at which the traversal began."""
        if name in self.matched_nodes:
            return None, "the walk began there"
        if not self._is_in_index(name):
            return "not in the index", "the index has no such node"
        nodes = self._trail.walk.start_nodes if self._trail.walk else ()
        return "entry not found", f"the walk began at {', '.join(nodes[:3]) or 'no node'}"

    def _is_in_index(self, name: str) -> bool:
        """Return whether the index may contain a node."""
        nodes = self._trail.holdings.nodes if self._trail.holdings else {}
        return not nodes or any(canonical in nodes for canonical in self._trail.names.find_names(name))

    def _find_nearest(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the required start nodes that are fewest expected edges away; empty if no edges lead to one."""
        canonical = self._find_canonical_name
        edges = [(canonical(a), label, canonical(b)) for a, label, b in self._trail.gold.expected_edges or ()]
        hops = compute_depths(edges, map(canonical, names))
        distances = {name: hops[canonical(name)] for name in self._roots if canonical(name) in hops}
        return tuple(name for name, distance in distances.items() if distance == min(distances.values()))

    def _find_canonical_name(self, name: str) -> str:
        """Return one name for all aliases of a node."""
        return min(self._trail.names.find_names(name))


def _normalise_text(text: str) -> str:
    """Normalise a text so that a name can be found between spaces."""
    return " ".join(word.strip(".,;:!?()[]\"'«»“”") for word in normalise_name(text).split())


def _is_named_in(name: str, text: str) -> bool:
    """Return whether a text contains a name, between spaces unless its script is written without spaces."""
    # Lo are the letters of scripts without case, of which Chinese, Japanese and Thai have no spaces.
    together = any(unicodedata.category(letter) == "Lo" for letter in name)
    return (name if together else f" {name} ") in text


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
    documents = trail.holdings.documents if trail.holdings else frozenset()
    if how := _describe_document_in_context(name, trail):
        return Evidence(kind="document", name=name, told=how)
    if documents and name not in documents:
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
    document_edges = [edge for edge in edges if name in (trail.find_sources(edge) or ())] or edges
    # A method that returns no texts gives a document by what its edges say.
    if not trail.case.chunks and document_edges and all(trail.find_triple(edge) for edge in document_edges):
        return "the edges that come from it are in the context as triples"
    return None


def _describe_document_reached(name: str, trail: EvidencePath) -> str | None:
    """Describe how the traversal reached a document; None if it did not, or if there is no traversal."""
    if trail.walk is None:
        return None
    if trail.holdings:
        document = trail.holdings.chunks.get(name, name)
        return "walked nodes or edges come from it" if document in trail.walked_documents else None
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
    # An index without any edge is one that lists no edges, not one that lacks this one.
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
    if source_id := trail.find_triple(edge):
        return f"it is in the context as triple {source_id}"
    essential = frozenset(trail.gold.essential or ())
    if not essential:
        source_id = trail.find_chunk_with_nodes((edge[0], edge[2]))
        return f"the text of chunk {source_id} names both its ends" if source_id else None
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
    nodes = trail.holdings.nodes if trail.holdings else {}
    if nodes and nodes.keys().isdisjoint(trail.names.find_names(name)):
        return Evidence(kind="node", name=name, lost="not in the index", told="the index has no such node")
    return Evidence(kind="node", name=name, **_describe_unreached((name,), trail, entry))


def _describe_node_in_context(name: str, trail: EvidencePath) -> str | None:
    """Describe how a node is in the context, or return None."""
    if source_id := trail.find_triple_with_node(name):
        return f"it is in the context in triple {source_id}"
    if source_id := trail.find_chunk_with_nodes((name,)):
        return f"the text of chunk {source_id} names it"
    essential = frozenset(trail.gold.essential or ())
    return "all essential documents are in the context" if essential and essential <= trail.documents else None


def _describe_unreached(names: tuple[str, ...], trail: EvidencePath, entry: EntryNodes) -> dict[str, Cause | str]:
    """Return the step at which an edge or node was lost that is neither in the traversal nor in the context."""
    if trail.walk is None:
        return {"lost": "not reached", "told": "it is in no triple and no chunk"}
    lost = entry.find_loss(names)
    reason = "the walk did not come to it" if lost == "not reached" else "the walk did not begin where it leads to it"
    return {"lost": lost, "told": reason}
