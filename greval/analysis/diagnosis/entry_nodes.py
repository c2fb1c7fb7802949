"""The entry nodes of a traversal: whether it began at the required nodes, for each part of the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from greval.analysis.diagnosis.causes import Cause, Evidence
from greval.analysis.diagnosis.evidence_path import EvidencePath
from greval.metrics.computed.graph_walk import compute_depths


class EntryNodes:
    """The start nodes that the gold requires, and those of them at which the traversal began.

    If the gold names no start nodes, the traversal should begin at some node of the expected edges and nodes. If it
    began at a node that expected edges only lead away from, it should begin at all such nodes.

    Args:
        trail: The evidence path of the case.
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

        Args:
            names: Nodes of the gold that the traversal did not reach.
        """
        if self.is_missed_by_all:
            return (
                "not in the index" if self.named and not any(map(self._is_in_index, self.named)) else "entry not found"
            )
        near = self._find_nearest(names) if len(self.matched_nodes) < len(self._roots) else ()
        if not near or any(name in self.matched_nodes for name in near):
            return "not reached"
        return "entry not found" if any(map(self._is_in_index, near)) else "not in the index"

    def iterate_evidence(self) -> Iterator[Evidence]:
        """Yield each start node that the gold names, with the step at which it was lost."""
        for name in self.named if self._trail.walk is not None else ():
            if name in self.matched_nodes:
                yield Evidence(kind="start node", name=name, told="the walk began there")
            elif self._is_in_index(name):
                yield Evidence(kind="start node", name=name, lost="entry not found", told=self._describe_start())
            else:
                yield Evidence(kind="start node", name=name, lost="not in the index", told="the index has no such node")

    def _describe_start(self) -> str:
        """Describe the nodes at which the traversal began."""
        walk = self._trail.walk
        nodes = walk.start_nodes if walk else ()
        return f"the walk began at {', '.join(nodes[:3])}" if nodes else "the walk began at no node"

    def _is_in_index(self, name: str) -> bool:
        """Return whether the index may contain a node."""
        nodes = self._trail.holdings.nodes if self._trail.holdings else {}
        return not nodes or any(own in nodes for own in self._trail.names.find_names(name))

    def _find_nearest(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the required start nodes that are fewest expected edges away; empty if no edges lead to one."""
        edges = [
            (self._find_canonical_name(a), label, self._find_canonical_name(b))
            for a, label, b in self._trail.gold.expected_edges or ()
        ]
        hops = compute_depths(edges, map(self._find_canonical_name, names))
        away = {
            name: hops[self._find_canonical_name(name)]
            for name in self._roots
            if self._find_canonical_name(name) in hops
        }
        return tuple(name for name, far in away.items() if far == min(away.values()))

    def _find_canonical_name(self, name: str) -> str:
        """Return one name for all aliases of a node."""
        return min(self._trail.names.find_names(name))
