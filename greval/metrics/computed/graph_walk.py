"""A walk through the graph beside the walk that was expected, with names that are written alike.

An edge without a label stands for any label: between its two ends labels are then not compared, on either side.
Names are compared in Unicode's NFKC form, without case, underscores read as spaces; a node's other
names (`gold.aliases`) count as the name that the gold uses.
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


def plain(name: str) -> str:
    """Give a name as it is compared.

    Example:
        >>> plain("Harbour_Team ")
        'harbour team'
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.replace("_", " ").split())


@dataclass(frozen=True)
class Walk:
    """What was walked and what was expected; each method reads names and edges as they are compared."""

    traversal: Traversal
    gold: Gold
    names: dict[str, str]

    @cached_property
    def _bare(self) -> frozenset[frozenset[str]]:
        """The ends between which an edge without a label was walked or expected, without direction."""
        edges = (*self.traversal.traversed_edges, *(self.gold.expected_edges or ()))
        return frozenset(frozenset((self.node(a), self.node(b))) for a, label, b in edges if not label)

    def node(self, name: str) -> str:
        """Give the name of a node as it is compared."""
        written = plain(name)
        return self.names.get(written, written)

    def edges(self, edges: Iterable[Edge], options: Collection[str]) -> Iterator[Edge]:
        """Give edges as they are compared: without direction or label where an option says so."""
        for source, label, target in edges:
            ends = (self.node(source), self.node(target))
            if UNDIRECTED in options and ends[1] < ends[0]:
                ends = (ends[1], ends[0])
            bare = UNLABELLED in options or frozenset(ends) in self._bare
            yield ends[0], "" if bare else plain(label), ends[1]

    @property
    def nodes(self) -> dict[str, str]:
        """The nodes of the walk as they are compared, with the way each was written first."""
        return self.told(self.traversal.visited)

    def told(self, names: Iterable[str]) -> dict[str, str]:
        """Give nodes as they are compared, with the way each was written first."""
        found: dict[str, str] = {}
        for name in names:
            found.setdefault(self.node(name), name)
        return found

    def told_edges(self, edges: Iterable[Edge], options: Collection[str]) -> dict[Edge, str]:
        """Give edges as they are compared, each once, with the way each was written first."""
        listed = [*edges]
        found: dict[Edge, str] = {}
        for compared, (source, label, target) in zip(self.edges(listed, options), listed, strict=True):
            found.setdefault(compared, write_edge(source, label, target))
        return found


def write_edge(source: str, label: str, target: str) -> str:
    """Return an edge as people read it.

    Example:
        >>> write_edge("Ada", "wrote", "Notes"), write_edge("Ada", "", "Notes")
        ('Ada -wrote-> Notes', 'Ada -> Notes')
    """
    return f"{source} -{label}-> {target}" if label else f"{source} -> {target}"


def read(case: Case) -> Walk | Skipped:
    """Give the walk of a case with what was expected, or why there is none."""
    if case.traversal is None:
        return Skipped(reason="traversal is not recorded")
    gold = case.gold or Gold()
    aliases = {plain(other): plain(name) for name, others in (gold.aliases or {}).items() for other in others}
    own = {plain(name): plain(name) for name in gold.aliases or {}}
    return Walk(case.traversal, gold, {**aliases, **own})


def unwalked(walk: Walk) -> Skipped | None:
    """Say why nothing is known of the edges: a walk that ends elsewhere than it began has walked some."""
    traversal = walk.traversal
    if traversal.traversed_edges or {*walk.told(traversal.final_nodes)} <= {*walk.told(traversal.start_nodes)}:
        return None
    return Skipped(reason="traversal.traversed_edges is not recorded: the walk ends at nodes that no edge leads to")


def depths(edges: Iterable[Edge], starts: Iterable[str]) -> dict[str, int]:
    """Give how many hops each node is from the nearest start, by breadth-first search; an edge leads both ways.

    Example:
        >>> depths([("a", "calls", "b"), ("c", "calls", "b")], ["a"])
        {'a': 0, 'b': 1, 'c': 2}
    """
    neighbours: dict[str, list[str]] = {}
    for source, _, target in edges:
        neighbours.setdefault(source, []).append(target)
        neighbours.setdefault(target, []).append(source)
    found = dict.fromkeys(starts, 0)
    front = [*found]
    while front:
        reached = dict.fromkeys(node for name in front for node in neighbours.get(name, ()) if node not in found)
        found.update(dict.fromkeys(reached, found[front[0]] + 1))
        front = [*reached]
    return found
