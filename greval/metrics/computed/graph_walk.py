"""A graph walk and the expected walk, with normalised names so that they can be compared.

An edge without a label matches any label: labels between its two ends are ignored on both sides. Names are compared
in Unicode NFKC form, case-folded, with underscores as spaces. A node's other names (`gold.aliases`) are replaced by
the name that the gold uses.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from greval.records.case import Case, Edge, Gold, Traversal
from greval.records.result import Skipped

UNDIRECTED = "undirected"
UNLABELLED = "unlabelled"


def normalise_name(name: str) -> str:
    """Return the normalised form of a name."""
    # Twice, because case folding can leave characters that are not in NFKC form.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.replace("_", " ").split())


@dataclass(frozen=True)
class GraphWalk:
    """The walk of a case and the gold; methods normalise names and edges. `names` maps aliases to gold names."""

    traversal: Traversal
    gold: Gold
    names: dict[str, str]

    @cached_property
    def _unlabelled_ends(self) -> frozenset[frozenset[str]]:
        """The pairs of ends, without direction, between which an edge without a label was walked or expected."""
        edges = (*self.traversal.traversed_edges, *(self.gold.expected_edges or ()))
        return frozenset(
            frozenset((self.normalise_node(a), self.normalise_node(b))) for a, label, b in edges if not label
        )

    def normalise_node(self, name: str) -> str:
        """Return the normalised name of a node, with aliases resolved."""
        written = normalise_name(name)
        return self.names.get(written, written)

    def normalise_edges(self, edges: Iterable[Edge], options: Collection[str]) -> Iterator[Edge]:
        """Yield the normalised edges; the options may drop direction and label."""
        for source, label, target in edges:
            ends = (self.normalise_node(source), self.normalise_node(target))
            # Sorted ends make both directions one edge.
            if UNDIRECTED in options and ends[1] < ends[0]:
                ends = (ends[1], ends[0])
            bare = UNLABELLED in options or frozenset(ends) in self._unlabelled_ends
            yield ends[0], "" if bare else normalise_name(label), ends[1]

    @property
    def nodes(self) -> dict[str, str]:
        """The normalised nodes of the walk, each with its first original spelling."""
        return self.map_nodes(self.traversal.visited)

    def map_nodes(self, names: Iterable[str]) -> dict[str, str]:
        """Return the normalised nodes, each with its first original spelling."""
        spellings: dict[str, str] = {}
        for name in names:
            spellings.setdefault(self.normalise_node(name), name)
        return spellings

    def map_edges(self, edges: Iterable[Edge], options: Collection[str]) -> dict[Edge, str]:
        """Return the distinct normalised edges, each with its first original spelling."""
        listed = [*edges]
        spellings: dict[Edge, str] = {}
        for compared, (source, label, target) in zip(self.normalise_edges(listed, options), listed, strict=True):
            spellings.setdefault(compared, format_edge(source, label, target))
        return spellings


def format_edge(source: str, label: str, target: str) -> str:
    """Format an edge as text."""
    return f"{source} -{label}-> {target}" if label else f"{source} -> {target}"


def read_walk(case: Case) -> GraphWalk | Skipped:
    """Return the walk of a case with its gold, or why it is undefined."""
    if case.traversal is None:
        return Skipped(reason="traversal is not recorded")
    gold = case.gold or Gold()
    aliases = {
        normalise_name(alias): normalise_name(name)
        for name, other_names in (gold.aliases or {}).items()
        for alias in other_names
    }
    gold_names = {normalise_name(name): normalise_name(name) for name in gold.aliases or {}}
    # The gold's own names come last: one that is also listed as an alias of another stays itself.
    return GraphWalk(case.traversal, gold, {**aliases, **gold_names})


def explain_missing_edges(walk: GraphWalk) -> Skipped | None:
    """Return why the walked edges are unknown, None if they are known.

    They are unknown if no edge is recorded although the walk ends at other nodes than it began.
    """
    traversal = walk.traversal
    if traversal.traversed_edges or {*walk.map_nodes(traversal.final_nodes)} <= {
        *walk.map_nodes(traversal.start_nodes)
    }:
        return None
    return Skipped(reason="traversal.traversed_edges is not recorded: the walk ends at nodes that no edge leads to")


def compute_depths(edges: Iterable[Edge], starts: Iterable[str]) -> dict[str, int]:
    """Return the number of hops from the nearest start to each node, whatever the direction of edges."""
    neighbours: dict[str, list[str]] = {}
    for source, _, target in edges:
        neighbours.setdefault(source, []).append(target)
        neighbours.setdefault(target, []).append(source)
    depths = dict.fromkeys(starts, 0)
    front = [*depths]
    while front:
        reached = dict.fromkeys(node for name in front for node in neighbours.get(name, ()) if node not in depths)
        depths.update(dict.fromkeys(reached, depths[front[0]] + 1))
        front = [*reached]
    return depths
