"""Edges of graphs with an end that is not a node, which the readers of indexes note."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from greval._util.wording import format_names
from greval.records.case import Edge

MAX_LISTED = 3


def describe_dangling(edges: Iterable[Edge], nodes: Collection[str]) -> list[str]:
    """Describe the edges with an end that is not a node, in one sentence; the list is empty if every end is a node."""
    loose = [edge for edge in edges if edge[0] not in nodes or edge[2] not in nodes]
    if not loose:
        return []
    ends = sorted({end for edge in loose for end in (edge[0], edge[2]) if end not in nodes})
    count = "1 edge has" if len(loose) == 1 else f"{len(loose)} edges have"
    return [f"{count} an end that is not a node of the graph: {format_names(map(repr, ends), MAX_LISTED)}"]
