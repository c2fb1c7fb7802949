"""Names and edges of graphs of other systems: quotes around names, labels of relations, and dangling edges."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from greval.records.case import Edge
from greval.records.inventory import RELATED

MAX_LISTED = 3
QUOTES = '""'


def strip_quotes(name: str) -> str:
    """Return an entity's name without the quotes that early versions of GraphRAG and LightRAG put around it.

    Example:
        >>> strip_quotes('"LUMM"'), strip_quotes('the "Gull"')
        ('LUMM', 'the "Gull"')
    """
    return name[1:-1] if len(name) > len(QUOTES) and name[0] + name[-1] == QUOTES else name


def format_edge_label(description: object) -> str:
    """Return the label of an edge: the description of its relation, or `related` if it has no description.

    Example:
        >>> format_edge_label("Ada wrote the notes."), format_edge_label(None)
        ('Ada wrote the notes.', 'related')
    """
    return " ".join(description.split()) or RELATED if isinstance(description, str) else RELATED


def describe_dangling(edges: Iterable[Edge], nodes: Collection[str]) -> list[str]:
    """Describe the edges with an end that is not a node, in one sentence; the list is empty if every end is a node.

    Example:
        >>> describe_dangling([("Ada", "wrote", "Notes"), ("Ada", "met", "Bob")], {"Ada", "Notes"})
        ["1 edge has an end that is not a node of the graph: 'Bob'"]
    """
    loose = [edge for edge in edges if edge[0] not in nodes or edge[2] not in nodes]
    if not loose:
        return []
    ends = sorted({end for edge in loose for end in (edge[0], edge[2]) if end not in nodes})
    count = "1 edge has" if len(loose) == 1 else f"{len(loose)} edges have"
    return [f"{count} an end that is not a node of the graph: {format_names(ends)}"]


def format_names(names: Sequence[str]) -> str:
    """Format the first few names in quotes, and the number of the others."""
    text = ", ".join(repr(name[:60]) for name in names[:MAX_LISTED])
    return f"{text} and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else text
