"""What a drawing of a traversal shows: its nodes and edges with their activation, and which of them the gold expects.

An expected edge counts as walked if a walked edge joins the same nodes in either direction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from greval.metrics.computed.graph_walk import GraphWalk, compute_depths, normalise_name, read_walk
from greval.records.case import Case, Edge, Gold, Traversal
from greval.records.result import Skipped

MAX_NODES = 60
"""The most nodes of a drawing; start nodes, gold, and what leads to them are drawn even if they are more."""
MAX_EDGES = 150
"""The most edges of a drawing; gold is drawn even if it is more."""
NOT_DRAWABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What neither XML nor a terminal may contain: control characters, halves of surrogate pairs, and non-characters."""

GoldState = Literal["", "found", "missed"]
"""Whether the gold expects a node or edge, and whether the traversal has it; empty if it is not expected."""


@dataclass(frozen=True)
class WalkNode:
    """A node of a drawing; `depth` is the number of steps from the nearest start node."""

    name: str
    depth: int
    is_start: bool = False
    is_final: bool = False
    gold: GoldState = ""


@dataclass(frozen=True)
class WalkEdge:
    """An edge of a drawing; `source` and `target` are keys of `WalkGraph.nodes`."""

    source: str
    label: str
    target: str
    activation: float | None = None
    gold: GoldState = ""


@dataclass(frozen=True)
class WalkGraph:
    """The nodes and edges to draw, and the numbers of those that are left out."""

    nodes: Mapping[str, WalkNode]
    edges: tuple[WalkEdge, ...]
    nodes_left_out: int = 0
    edges_left_out: int = 0
    expected_edges: int = 0
    expected_edges_walked: int = 0

    @property
    def highest_activation(self) -> float:
        """The highest activation of an edge; 0 if none is known."""
        return max((edge.activation or 0.0 for edge in self.edges), default=0.0)

    @property
    def missed_edges(self) -> tuple[WalkEdge, ...]:
        """The expected edges that were not walked."""
        return tuple(edge for edge in self.edges if edge.gold == "missed")


def build_walk_graph(traversal: Traversal, gold: Gold | None, activation: Mapping[Edge, float] | None) -> WalkGraph:
    """Build what a drawing shows of a traversal.

    With more than `MAX_NODES` nodes it shows the start nodes, the gold, what leads to it, and the edges of the highest
    activation; edges without activation in the order in which they were walked.
    """
    walk = read_walk(Case(question="?", traversal=traversal, gold=gold))
    # Only without a traversal.
    if isinstance(walk, Skipped):
        raise TypeError(walk.reason)
    edges = _list_edges(walk, activation or {})
    return _select(WalkGraph(_list_nodes(walk, edges), edges, *(0, 0), *_count_expected(walk, edges)))


def clean_name(name: str) -> str:
    """Return a name in one line, without characters that neither XML nor a terminal may contain."""
    return NOT_DRAWABLE.sub("\ufffd", " ".join(name.split()))


def _list_edges(walk: GraphWalk, activation: Mapping[Edge, float]) -> tuple[WalkEdge, ...]:
    """List the distinct walked edges in their order, then the expected edges that were not walked."""
    walked: dict[Edge, WalkEdge] = {}
    for edge in walk.traversal.traversed_edges:
        source, label, target = edge
        key = (walk.normalise_node(source), normalise_name(label), walk.normalise_node(target))
        activations = [
            value for value in (activation.get(edge), walked[key].activation if key in walked else None) if value
        ]
        first = walked.get(key) or WalkEdge(key[0], clean_name(label), key[2], activation.get(edge))
        walked[key] = replace(first, activation=max(activations)) if activations else first
    missed: dict[Edge, WalkEdge] = {}
    for expected in walk.gold.expected_edges or ():
        matches = _find_walked(walk, expected, walked)
        walked.update({key: replace(walked[key], gold="found") for key in matches})
        if not matches:
            source, label, target = expected
            key = (walk.normalise_node(source), normalise_name(label), walk.normalise_node(target))
            missed[key] = WalkEdge(key[0], clean_name(label), key[2], gold="missed")
    return (*walked.values(), *missed.values())


def _find_walked(walk: GraphWalk, expected: Edge, walked: Iterable[Edge]) -> list[Edge]:
    """Return the walked edges that are an expected edge."""
    keys = [*walked]
    ends = {walk.normalise_node(expected[0]), walk.normalise_node(expected[2])}
    label = normalise_name(expected[1])
    # A label is compared only if a walked edge has it: a graph may name its relations otherwise than the gold.
    label = label if label in {walked_label for _, walked_label, _ in keys} else ""
    return [key for key in keys if {key[0], key[2]} == ends and (not label or key[1] in ("", label))]


def _count_expected(walk: GraphWalk, edges: Iterable[WalkEdge]) -> tuple[int, int]:
    """Count the distinct expected edges, and those of them that were walked."""
    expected = {
        (walk.normalise_node(source), normalise_name(label), walk.normalise_node(target))
        for source, label, target in walk.gold.expected_edges or ()
    }
    return len(expected), len(expected) - sum(edge.gold == "missed" for edge in edges)


def _list_nodes(walk: GraphWalk, edges: tuple[WalkEdge, ...]) -> dict[str, WalkNode]:
    """List the visited nodes in their order, then the expected nodes that were not visited."""
    gold, traversal = walk.gold, walk.traversal
    ends = (end for source, _, target in gold.expected_edges or () for end in (source, target))
    expected = [*(gold.start_nodes or ()), *ends, *(gold.expected_nodes or ())]
    expected_keys, visited = walk.map_nodes(expected), walk.map_nodes(traversal.visited)
    starts, finals = walk.map_nodes(traversal.start_nodes), walk.map_nodes(traversal.final_nodes)
    names = walk.map_nodes((*traversal.visited, *expected))
    depths = _compute_all_depths(edges, [*starts], [*names])
    return {
        key: WalkNode(
            clean_name(name) or "(no name)",
            depths[key],
            is_start=key in starts,
            is_final=key in finals,
            gold=("found" if key in visited else "missed") if key in expected_keys else "",
        )
        for key, name in names.items()
    }


def _compute_all_depths(edges: tuple[WalkEdge, ...], starts: list[str], keys: list[str]) -> dict[str, int]:
    """Return the depth of every node: along walked edges if possible, else along expected ones, else 1.

    Without start nodes, the first node of each unconnected part is at depth 0.
    """
    walked = [(edge.source, "", edge.target) for edge in edges if edge.gold != "missed"]
    joined = [(edge.source, "", edge.target) for edge in edges]
    depths = compute_depths(walked, starts) if starts else {}
    for key in keys:
        if key not in depths:
            distances = compute_depths(joined, [key])
            neighbour_depths = [
                depths[neighbour] + steps for neighbour, steps in distances.items() if neighbour in depths
            ]
            depth = min(neighbour_depths) if neighbour_depths else int(bool(starts))
            # From there on only edges between nodes without a depth count: the others keep that of the walk.
            reached = compute_depths([edge for edge in joined if depths.keys().isdisjoint((edge[0], edge[2]))], [key])
            depths.update({neighbour: depth + steps for neighbour, steps in reached.items() if neighbour not in depths})
    return depths


def _select(graph: WalkGraph) -> WalkGraph:
    """Leave out what exceeds the limits: all but the start nodes, the gold, and the edges of highest activation."""
    ranked = sorted(graph.edges, key=lambda edge: (not edge.gold, inf if edge.activation is None else -edge.activation))
    if len(graph.nodes) > MAX_NODES:
        selected = _select_nodes(graph, ranked)
        ranked = [edge for edge in ranked if edge.source in selected and edge.target in selected]
    else:
        selected = {*graph.nodes}
    # Gold is drawn even beyond the limit: what was missed is what the drawing is for.
    limit = max(MAX_EDGES, sum(bool(edge.gold) for edge in ranked))
    edges = {*ranked[:limit]}
    return replace(
        graph,
        nodes={key: node for key, node in graph.nodes.items() if key in selected},
        edges=tuple(edge for edge in graph.edges if edge in edges),
        nodes_left_out=len(graph.nodes) - len(selected),
        edges_left_out=len(graph.edges) - len(edges),
    )


def _select_nodes(graph: WalkGraph, ranked: Iterable[WalkEdge]) -> set[str]:
    """Return the nodes to draw: start nodes and gold, what leads to them, then the ends of the best edges."""
    parents = _find_parents(graph)
    selected: set[str] = set()
    for key, node in graph.nodes.items():
        if node.is_start or node.gold:
            selected.update(_list_ancestors(key, parents))
    for edge in ranked:
        # A node is drawn with all that leads to it, or it would hang in the air.
        more = {*_list_ancestors(edge.source, parents), *_list_ancestors(edge.target, parents)} - selected
        if len(selected) + len(more) <= MAX_NODES:
            selected |= more
    for key in graph.nodes:
        if len(selected) < MAX_NODES:
            selected.update(
                _list_ancestors(key, parents) if parents.get(key, key) in selected or key not in parents else ()
            )
    return selected


def _find_parents(graph: WalkGraph) -> dict[str, str]:
    """Return for each node the neighbour nearer to a start node by which it was first reached."""
    parents: dict[str, str] = {}
    # Walked edges first: a node hangs on an expected edge only if no walked one leads to it.
    for edge in sorted(graph.edges, key=lambda edge: edge.gold == "missed"):
        for key, neighbour in ((edge.target, edge.source), (edge.source, edge.target)):
            if graph.nodes[neighbour].depth < graph.nodes[key].depth:
                parents.setdefault(key, neighbour)
    return parents


def _list_ancestors(key: str, parents: Mapping[str, str]) -> list[str]:
    """List a node and all nodes that lead to it."""
    ancestors = [key]
    while ancestors[-1] in parents:
        ancestors.append(parents[ancestors[-1]])
    return ancestors
