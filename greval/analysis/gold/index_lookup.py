"""The contents of an index, prepared for many look-ups, and the names under which a case looks up nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product

from greval.metrics.computed.graph_walk import normalise_name
from greval.records.case import Edge, Gold
from greval.records.inventory import RELATED, IndexInventory

Documents = tuple[str, ...]


class EdgeIndex:
    """Edges by the names of their ends, without direction, because a traversal may follow an edge either way.

    An edge without a label matches any label.
    """

    def __init__(self, edges: Iterable[tuple[Edge, Documents]], canonical: Callable[[str], str]) -> None:
        self._by_ends: dict[tuple[str, str], dict[str, Documents]] = {}
        for (source, label, target), documents in edges:
            # A traversal may follow an edge either way, so that the ends have no order.
            labels = self._by_ends.setdefault(_sort_ends(canonical(source), canonical(target)), {})
            listed = labels.get(normalise_name(label), ())
            labels[normalise_name(label)] = (*listed, *(name for name in documents if name not in listed))
        self.labels = frozenset(label for labels in self._by_ends.values() for label in labels)

    def __bool__(self) -> bool:
        return bool(self._by_ends)

    def find_documents(self, sources: Iterable[str], label: str | None, targets: Iterable[str]) -> Documents | None:
        """Return the documents of the edges between any of the names, or None if there is no such edge.

        `label` is normalised, and None for any. The label `related` names no specific relation: it matches any label,
        and an edge with this label matches any wanted label.
        """
        between = [self._by_ends.get(_sort_ends(*pair), {}) for pair in product(sources, targets)]
        # `related` names no specific relation, and an edge may have no label: both match any.
        fitting = {label, RELATED, ""}
        matches = [
            labels[edge_label]
            for labels in between
            for edge_label in labels
            if label in {None, RELATED} or edge_label in fitting
        ]
        return tuple(dict.fromkeys(name for documents in matches for name in documents)) if matches else None


def _sort_ends(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first <= second else (second, first)


class IndexLookup:
    """An inventory indexed once for the diagnosis of many cases."""

    def __init__(self, inventory: IndexInventory) -> None:
        aliases = ((alias, name) for name, spellings in inventory.aliases.items() for alias in spellings)
        self._canonical = {normalise_name(alias): normalise_name(name) for alias, name in aliases}
        self.written: dict[str, set[str]] = {}
        for alias, canonical in self._canonical.items():
            self.written.setdefault(canonical, set()).add(alias)
        self.chunks: Mapping[str, str] = inventory.chunks
        self.documents = _list_documents(inventory)
        self.nodes: dict[str, Documents] = {}
        for name, documents in inventory.nodes.items():
            canonical = self.canonical(name)
            self.nodes[canonical] = (*self.nodes.get(canonical, ()), *documents)
        self.ties = EdgeIndex(inventory.edges.items(), self.canonical)
        self.told_by_edges = frozenset(name for documents in inventory.edges.values() for name in documents)

    def canonical(self, name: str) -> str:
        """Return the normalised name under which the index holds a node, with aliases resolved."""
        normalised = normalise_name(name)
        return self._canonical.get(normalised, normalised)


def _list_documents(inventory: IndexInventory) -> frozenset[str]:
    """Return the names that gold may use for documents: their ids and those of their chunks."""
    names = {*inventory.documents, *inventory.chunks, *inventory.chunks.values()} - {""}
    tables = (inventory.nodes, inventory.edges)
    return frozenset(names or (name for table in tables for documents in table.values() for name in documents))


class NodeNames:
    """The names of the same node in a case: those of the gold's aliases and of the index."""

    def __init__(self, gold: Gold, holdings: IndexLookup | None) -> None:
        self.canonical: Callable[[str], str] = holdings.canonical if holdings else normalise_name
        self._known = holdings.written if holdings else {}
        self._groups: dict[str, frozenset[str]] = {}
        self._written: dict[str, set[str]] = {}
        for name, spellings in (gold.aliases or {}).items():
            for spelling in (name, *spellings):
                self._written.setdefault(self.canonical(spelling), set()).add(normalise_name(spelling))
            group = frozenset(map(self.canonical, (name, *spellings)))
            for member in group:
                # Two entries of aliases may share a name: then all of them are one node.
                self._groups[member] = self._groups.get(member, group) | group

    def find_names(self, name: str) -> frozenset[str]:
        """Return every canonical name of a node."""
        canonical = self.canonical(name)
        return self._groups.get(canonical, frozenset({canonical}))

    def find_spellings(self, name: str) -> frozenset[str]:
        """Return every spelling of a node's name in a text, normalised as by `plain`."""
        names = self.find_names(name)
        spellings = (
            form for canonical in names for forms in (self._known, self._written) for form in forms.get(canonical, ())
        )
        return frozenset((normalise_name(name), *names, *spellings))
