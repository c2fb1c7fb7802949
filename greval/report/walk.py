"""A traversal as a tree for the terminal, and as a drawing in SVG, with the edges that the gold expects."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple

from greval._util.wording import format_count
from greval.metrics.computed.graph_walk import format_edge
from greval.records.case import Edge, Gold, Traversal
from greval.report.markup import create_environment
from greval.report.tables import shorten_name
from greval.report.walk_graph import WalkEdge, WalkGraph, WalkNode, build_walk_graph, clean_name
from greval.report.walk_layout import Layout, PlacedNode, compute_layout

MAX_NODE_TEXT, MAX_EDGE_TEXT, MAX_HEADING = 28, 24, 90
"""The most characters of the name of a node, the label of an edge, and the heading; wide characters count twice."""
NODE_FONT, EDGE_FONT = 13.0, 11.0
CHARACTER = 0.58
"""The width of a character as a share of the size of its font: an estimate, as fonts differ."""
MARGIN, HEAD, LEGEND_LINE = 24.0, 60.0, 22.0
DIAMOND = 14.0
"""The width of the sign of gold before a text."""


def format_walk_tree(
    traversal: Traversal, gold: Gold | None = None, *, activation: Mapping[Edge, float] | None = None
) -> str:
    """Format a traversal as a tree with the start nodes as roots.

    A node that is reached twice is shown once; the other edges to it refer to it. Expected edges are marked, and those
    that were not walked are listed at the end. `activation` is what each walked edge passed on, as far as it is known;
    of a large traversal the most activated part is shown.

    Example:
        >>> walk = Traversal(start_nodes=["billing"], traversed_edges=[("billing", "depends on", "ledger"),
        ...                                                            ("Petrel", "owns", "ledger")])
        >>> print(format_walk_tree(walk, Gold(expected_edges=[("Petrel", "owns", "ledger")])))
        billing  [start]
        └─ depends on → ledger  [gold]
           └─ ← owns ─ Petrel  [gold edge, gold]
        1 of 1 expected edge walked
    """
    graph = build_walk_graph(traversal, gold, activation)
    if not graph.nodes:
        return "no walk: the traversal has no node and no edge"
    missed = (f"  {_format_graph_edge(graph, edge)}" for edge in graph.missed_edges)
    notes = _describe_counts(graph)
    return "\n".join(
        [*_Tree(graph).format_lines(), *notes, *(["expected, not walked:", *missed] if graph.missed_edges else [])]
    )


class _Tree:
    """The lines of a tree; each walked edge is in one line, and each node has its edges below its first line."""

    def __init__(self, graph: WalkGraph) -> None:
        self._graph = graph
        self._shown: set[str] = set()
        self._parents: dict[str, WalkEdge] = {}
        self._edges: dict[str, list[WalkEdge]] = {key: [] for key in graph.nodes}
        for edge in graph.edges:
            if edge.gold != "missed":
                self._edges[self._find_upper(edge)].append(edge)
                if graph.nodes[edge.source].depth != graph.nodes[edge.target].depth:
                    self._parents.setdefault(self._find_lower(edge), edge)

    def _find_upper(self, edge: WalkEdge) -> str:
        """Return the end of an edge that is nearer to the start nodes."""
        depths = [self._graph.nodes[key].depth for key in (edge.source, edge.target)]
        return edge.source if depths[0] <= depths[1] else edge.target

    def _find_lower(self, edge: WalkEdge) -> str:
        return edge.target if self._find_upper(edge) == edge.source else edge.source

    def _is_below(self, edge: WalkEdge) -> bool:
        return self._parents.get(self._find_lower(edge)) is edge

    def format_lines(self) -> Iterator[str]:
        """Yield the lines, root by root."""
        below = {self._find_lower(edge) for edges in self._edges.values() for edge in edges if self._is_below(edge)}
        for key, node in self._graph.nodes.items():
            if key not in below and node.gold != "missed":
                self._shown.add(key)
                yield f"{node.name}{_format_marks(_list_node_marks(node))}"
                yield from self._format_below(key)
        for node in self._graph.nodes.values():
            if node.gold == "missed":
                yield f"{node.name}  [expected, not reached]"

    def _format_below(self, root: str) -> Iterator[str]:
        """Yield the lines below a node."""
        # A list in place of recursion, because a walk may be deeper than the stack; reversed, as its end comes first.
        waiting = [("", edge, index == 0) for index, edge in enumerate(reversed(self._edges[root]))]
        while waiting:
            indent, edge, is_last = waiting.pop()
            key = self._find_lower(edge)
            is_first = self._is_below(edge)
            reference = "" if is_first else f"  ({'above' if key in self._shown else 'below'})"
            marks = [
                *(["gold edge"] if edge.gold else []),
                *(_list_node_marks(self._graph.nodes[key]) if is_first else []),
            ]
            arrow = f"{edge.label} → " if key == edge.target else f"← {edge.label} ─ "
            arrow = arrow if edge.label else arrow.strip(" ─") + " "
            number = "" if edge.activation is None else f"  {edge.activation:.2f}"
            name = self._graph.nodes[key].name
            yield f"{indent}{'└─' if is_last else '├─'} {arrow}{name}{number}{_format_marks(marks)}{reference}"
            if is_first:
                self._shown.add(key)
                inner = f"{indent}{'   ' if is_last else '│  '}"
                waiting += [(inner, child, index == 0) for index, child in enumerate(reversed(self._edges[key]))]


def _list_node_marks(node: WalkNode) -> list[str]:
    marks = {"start": node.is_start, "end": node.is_final, "gold": node.gold == "found"}
    return [name for name, holds in marks.items() if holds]


def _format_marks(marks: Iterable[str]) -> str:
    text = ", ".join(marks)
    return f"  [{text}]" if text else ""


def _format_graph_edge(graph: WalkGraph, edge: WalkEdge) -> str:
    return format_edge(graph.nodes[edge.source].name, edge.label, graph.nodes[edge.target].name)


def _describe_counts(graph: WalkGraph) -> list[str]:
    """Describe how many expected edges were walked, and what is left out."""
    lines = []
    if graph.expected_edges:
        expected = format_count(graph.expected_edges, "expected edge")
        lines.append(f"{graph.expected_edges_walked} of {expected} walked")
    if graph.nodes_left_out or graph.edges_left_out:
        nodes, edges = format_count(graph.nodes_left_out, "node"), format_count(graph.edges_left_out, "edge")
        has_activation = any(edge.activation is not None for edge in graph.edges)
        lines.append(
            f"left out: {nodes} and {edges}, those {'of the lowest activation' if has_activation else 'walked last'}"
        )
    return lines


def draw_walk_svg(
    traversal: Traversal,
    gold: Gold | None = None,
    *,
    title: str = "",
    activation: Mapping[Edge, float] | None = None,
    prefix: str = "",
) -> str:
    """Draw a traversal as an SVG that needs no other file, and that can be part of an HTML page.

    Nodes are in columns by their distance from the start nodes. The width of an edge is its activation. Expected edges
    are orange with a diamond; those that were not walked are dashed with an open diamond. Equal arguments give equal
    text; `prefix` gives equal drawings of one page different ids. Of a traversal with more than 60 nodes it draws the
    gold and the most activated part.

    Example:
        >>> walk = Traversal(start_nodes=["billing"], traversed_edges=[("billing", "depends on", "ledger")])
        >>> draw_walk_svg(walk, title="Who owns <ledger>?").count("&lt;ledger&gt;")
        2
    """
    graph = build_walk_graph(traversal, gold, activation)
    heading = clean_name(title) or "Walk through the graph"
    names = {key: _shorten_to_width(node.name, MAX_NODE_TEXT) for key, node in graph.nodes.items()}
    texts = [_shorten_edge_text(edge) for edge in graph.edges]
    layout = compute_layout(
        graph,
        {key: _measure(name, NODE_FONT) + 28 + DIAMOND * bool(graph.nodes[key].gold) for key, name in names.items()},
        [
            _measure(text, EDGE_FONT) + 24 + DIAMOND * bool(edge.gold)
            for text, edge in zip(texts, graph.edges, strict=True)
        ],
    )
    counts, short_heading = "; ".join(_describe_counts(graph)), _shorten_to_width(heading, MAX_HEADING)
    legend, legend_width = _list_legend(graph)
    widest = max(layout.width, _measure(short_heading, 15), _measure(counts, 12), legend_width, 240.0)
    # SVG draws in this order: gold comes last, on top of the others.
    order = sorted(range(len(graph.edges)), key=lambda number: bool(graph.edges[number].gold))
    # Ids must differ from those of other drawings on the page, and be the same for equal arguments.
    name = f"walk-{sha256(repr((heading, graph, *([prefix] if prefix else []))).encode()).hexdigest()[:12]}"
    return (
        create_environment()
        .get_template("walk.svg")
        .render(
            graph=graph,
            layout=layout,
            names=names,
            legend=legend,
            id=name,
            number=_number,
            heading=heading,
            short_heading=short_heading,
            counts=counts,
            description=_describe(graph),
            lines=[_route_edge(graph, layout, number, texts[number]) for number in order],
            width=widest + 2 * MARGIN,
            height=HEAD + layout.height + LEGEND_LINE + 2 * MARGIN,
            head=HEAD,
            margin=MARGIN,
            node_font=NODE_FONT,
            edge_font=EDGE_FONT,
            gold_width=DIAMOND,
        )
        + "\n"
    )


def _describe(graph: WalkGraph) -> str:
    """Describe a drawing for those who cannot see it."""
    nodes, edges = format_count(len(graph.nodes), "node"), format_count(len(graph.edges), "edge")
    starts = [node.name for node in graph.nodes.values() if node.is_start]
    missed = [_format_graph_edge(graph, edge) for edge in graph.missed_edges]
    parts = [f"{nodes} and {edges}", *([f"it starts at {', '.join(starts)}"] if starts else [])]
    parts += [*_describe_counts(graph), *([f"expected, not walked: {', '.join(missed)}"] if missed else [])]
    return f"{'; '.join(parts)}."


class _EdgeLine(NamedTuple):
    """The line of an edge, which leads away from the start nodes, and the place of its text."""

    edge: WalkEdge
    title: str
    path: str
    width: float
    is_reversed: bool
    text: str
    x: float
    y: float


def _route_edge(graph: WalkGraph, layout: Layout, number: int, text: str) -> _EdgeLine:
    """Route the line of an edge, with its text at the end that is farther from the start."""
    edge = graph.edges[number]
    boxes = [layout.nodes[key] for key in (edge.source, edge.target)]
    depths = [graph.nodes[key].depth for key in (edge.source, edge.target)]
    upper = int(depths[1] < depths[0])
    begin = _find_port(boxes[upper], (number, upper), is_left=False)
    end = _find_port(boxes[1 - upper], (number, 1 - upper), is_left=depths[0] != depths[1])
    turn = begin[0] + layout.after[depths[upper]]
    if depths[0] == depths[1]:
        bulge = turn + min(44.0, 16 + abs(begin[1] - end[1]) / 8)
        points = (bulge, begin[1]), (bulge, end[1]), (turn, end[1])
        x = end[0] + 14
    else:
        stop = end[0] - layout.before[depths[1 - upper]]
        bend = max(24.0, (stop - turn) * 0.55)
        points = (turn + bend, begin[1]), (stop - bend, end[1]), (stop, end[1])
        x = stop + 6
    path = f"M{_point(begin)}H{_number(turn)}C{' '.join(map(_point, points))}H{_number(end[0])}"
    title = _format_graph_edge(graph, edge) + ("" if edge.activation is None else f", activation {edge.activation:.3g}")
    title += {"": "", "found": ", expected", "missed": ", expected, not walked"}[edge.gold]
    return _EdgeLine(edge, title, path, _compute_width(graph, edge), bool(upper), text, x, end[1] - 4)


def _compute_width(graph: WalkGraph, edge: WalkEdge) -> float:
    """Compute the width of a line: by activation if it is known."""
    if edge.activation is None or not graph.highest_activation:
        return {"": 1.4, "found": 2.6, "missed": 1.8}[edge.gold]
    return 0.8 + 2.4 * max(0.0, edge.activation) / graph.highest_activation + 0.8 * bool(edge.gold)


def _list_legend(graph: WalkGraph) -> tuple[list[tuple[float, WalkNode | str, str]], float]:
    """List the place, the sign (a node, or what the gold says of an edge) and the meaning of each sign that occurs.

    Return it with its width.
    """
    nodes, edges = graph.nodes.values(), graph.edges
    signs: list[tuple[bool, WalkNode | str, str]] = [
        (any(node.is_start for node in nodes), WalkNode("", 0, is_start=True), "start"),
        (any(node.is_final for node in nodes), WalkNode("", 0, is_final=True), "end"),
        (any(node.gold == "missed" for node in nodes), WalkNode("", 0, gold="missed"), "expected, not reached"),
    ]
    walked = "walked, wider if more activated" if graph.highest_activation else "walked"
    meanings = {"": walked, "found": "expected and walked", "missed": "expected, not walked"}
    signs += [(any(edge.gold == kind for edge in edges), kind, text) for kind, text in meanings.items()]
    legend, x = [], 0.0
    for occurs, sign, text in signs:
        if occurs:
            legend.append((x, sign, text))
            x += 38 + _measure(text, 12) + 18
    return legend, x


def _find_port(box: PlacedNode, end: tuple[int, int], *, is_left: bool) -> tuple[float, float]:
    """Return the point at which an end of an edge meets the box of its node."""
    return (box.x, box.left[end]) if is_left else (box.x + box.width, box.right[end])


def _shorten_edge_text(edge: WalkEdge) -> str:
    number = "" if edge.activation is None else f"{edge.activation:.2f}"
    return " ".join(part for part in (_shorten_to_width(edge.label, MAX_EDGE_TEXT), number) if part)


def _count_columns(text: str) -> int:
    """Return the width of a text in columns; wide characters, such as those of Chinese, have two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _shorten_to_width(text: str, most: int) -> str:
    """Shorten a text by leaving out its middle, to a width in columns."""
    length = min(len(text), most)
    # Wide characters need two columns, so that the number of characters that fit is found by trying.
    while _count_columns(shorter := shorten_name(text, length)) > most and length > most // 2:
        length -= 1
    return shorter


def _measure(text: str, size: float) -> float:
    return _count_columns(text) * size * CHARACTER


def _point(point: tuple[float, float]) -> str:
    return f"{_number(point[0])} {_number(point[1])}"


def _number(value: float) -> str:
    """Write a coordinate with one decimal, or none if it is whole; never as -0."""
    # Adding zero makes 0.0 of -0.0.
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")
