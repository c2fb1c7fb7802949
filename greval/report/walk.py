"""A traversal as a tree for the terminal, and as a drawing in SVG, with the edges that the gold expects."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from html import escape

from greval._util.wording import format_count
from greval.metrics.computed.graph_walk import format_edge
from greval.records.case import Edge, Gold, Traversal
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
GREY, BLUE, ORANGE = "#767676", "#0072b2", "#d55e00"
"""Colours that differ in any colour vision; each can be read on white and on black."""
PAPER, INK, WARM = "#f4f4f2", "#1c1c1c", "#fff3e8"


def format_walk_tree(
    traversal: Traversal, gold: Gold | None = None, *, activation: Mapping[Edge, float] | None = None
) -> str:
    """Format a traversal as a tree with the start nodes as roots.

    A node that is reached twice is shown once; the other edges to it refer to it. Expected edges are marked, and those
    that were not walked are listed at the end. Of a large traversal the most activated part is shown.

    Args:
        traversal: The traversal.
        gold: The gold of the sample.
        activation: The activation that each walked edge passed on, as far as it is known.

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
        """Return whether the node at the lower end of an edge is shown below this edge."""
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
    text. Of a traversal with more than 60 nodes it draws the gold and the most activated part.

    Args:
        traversal: The traversal.
        gold: The gold of the sample.
        title: The heading, such as the question.
        activation: The activation that each walked edge passed on, as far as it is known.
        prefix: What makes the ids of the drawing different from those of an equal one on the same page.

    Example:
        >>> walk = Traversal(start_nodes=["billing"], traversed_edges=[("billing", "depends on", "ledger")])
        >>> draw_walk_svg(walk, title="Who owns <ledger>?").count("&lt;ledger&gt;")
        2
    """
    graph = build_walk_graph(traversal, gold, activation)
    heading = clean_name(title) or "Walk through the graph"
    texts = [_shorten_edge_text(edge) for edge in graph.edges]
    node_widths = {
        key: _measure(_shorten_to_width(node.name, MAX_NODE_TEXT), NODE_FONT) + 28 for key, node in graph.nodes.items()
    }
    node_widths = {key: width + DIAMOND * bool(graph.nodes[key].gold) for key, width in node_widths.items()}
    edge_widths = [
        _measure(text, EDGE_FONT) + 24 + DIAMOND * bool(edge.gold)
        for text, edge in zip(texts, graph.edges, strict=True)
    ]
    layout = compute_layout(graph, node_widths, edge_widths)
    # Ids must differ from those of other drawings on the page, and be the same for equal arguments.
    name = f"walk-{sha256(repr((heading, graph, *([prefix] if prefix else []))).encode()).hexdigest()[:12]}"
    drawing = _SvgDrawing(graph, layout, texts, name)
    return drawing.draw(heading)


class _SvgDrawing:
    """The parts of a drawing as SVG."""

    def __init__(self, graph: WalkGraph, layout: Layout, texts: list[str], name: str) -> None:
        self._graph = graph
        self._layout = layout
        self._texts = texts
        self._name = name
        self._highest = max((edge.activation or 0.0 for edge in graph.edges), default=0.0)

    def draw(self, heading: str) -> str:
        """Draw heading, edges, nodes and legend."""
        counts, short = _describe_counts(self._graph), _shorten_to_width(heading, MAX_HEADING)
        legend, legend_width = self._draw_legend()
        wide = max(_measure(short, 15), _measure("; ".join(counts), 12), legend_width)
        width = max(self._layout.width, wide, 240.0) + 2 * MARGIN
        height = HEAD + self._layout.height + LEGEND_LINE + 2 * MARGIN
        head = [
            _write("g", {"font-weight": "600"}, _draw_text(0, 18, short, size=15, fill=GREY)),
            *([_draw_text(0, 38, "; ".join(counts), size=12, fill=GREY)] if counts else []),
        ]
        edges = [self._draw_edge(number) for number in self._order_edges()]
        nodes = [_draw_box(node, self._layout.nodes[key]) for key, node in self._graph.nodes.items()]
        body = [
            *head,
            _write("g", {"transform": f"translate(0 {_number(HEAD)})"}, *edges, *nodes),
            _write("g", {"transform": f"translate(0 {_number(HEAD + self._layout.height + MARGIN)})"}, *legend),
        ]
        return (
            _write(
                "svg",
                {
                    "xmlns": "http://www.w3.org/2000/svg",
                    "viewBox": f"0 0 {_number(width)} {_number(height)}",
                    "width": _number(width),
                    "height": _number(height),
                    "role": "img",
                    "aria-labelledby": f"{self._name}-title {self._name}-desc",
                    # Styles are attributes, because a style sheet would apply to a whole page.
                    "font-family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
                },
                _write("title", {"id": f"{self._name}-title"}, escape(heading)),
                _write("desc", {"id": f"{self._name}-desc"}, escape(self._describe())),
                _write("defs", {}, *(self._draw_arrow(kind) for kind in ("", "found", "missed"))),
                _write("g", {"transform": f"translate({_number(MARGIN)} {_number(MARGIN / 2)})"}, *body),
            )
            + "\n"
        )

    def _describe(self) -> str:
        """Describe the drawing for those who cannot see it."""
        nodes, edges = format_count(len(self._graph.nodes), "node"), format_count(len(self._graph.edges), "edge")
        starts = [node.name for node in self._graph.nodes.values() if node.is_start]
        missed = [_format_graph_edge(self._graph, edge) for edge in self._graph.missed_edges]
        parts = [f"{nodes} and {edges}", *([f"it starts at {', '.join(starts)}"] if starts else [])]
        parts += [*_describe_counts(self._graph), *([f"expected, not walked: {', '.join(missed)}"] if missed else [])]
        return f"{'; '.join(parts)}."

    def _order_edges(self) -> list[int]:
        """Return the numbers of the edges in the order of drawing."""
        # SVG draws in this order: gold comes last, on top of the others.
        return sorted(range(len(self._graph.edges)), key=lambda number: bool(self._graph.edges[number].gold))

    def _draw_arrow(self, kind: str) -> str:
        colour = ORANGE if kind else GREY
        fill = {"fill": "none", "stroke": colour, "stroke-width": "1.4"} if kind == "missed" else {"fill": colour}
        size = {"viewBox": "0 0 10 10", "refX": "9", "refY": "5", "markerWidth": "12", "markerHeight": "12"}
        how = {"id": self._get_arrow_id(kind), "markerUnits": "userSpaceOnUse", "orient": "auto-start-reverse", **size}
        return _write("marker", how, _write("path", {"d": "M1 1.4 9 5 1 8.6z", "stroke-linejoin": "round", **fill}))

    def _get_arrow_id(self, kind: str) -> str:
        return f"{self._name}-arrow{kind and '-'}{kind}"

    def _draw_edge(self, number: int) -> str:
        """Draw the line of an edge with its arrow, and its text at the end that is farther from the start."""
        edge = self._graph.edges[number]
        boxes = [self._layout.nodes[key] for key in (edge.source, edge.target)]
        depths = [self._graph.nodes[key].depth for key in (edge.source, edge.target)]
        upper = int(depths[1] < depths[0])
        begin = _find_port(boxes[upper], (number, upper), is_left=False)
        end = _find_port(boxes[1 - upper], (number, 1 - upper), is_left=depths[0] != depths[1])
        run = self._layout.after[depths[upper]]
        if depths[0] == depths[1]:
            bulge = begin[0] + run + min(44.0, 16 + abs(begin[1] - end[1]) / 8)
            path = f"M{_point(begin)}H{_number(begin[0] + run)}C{_point((bulge, begin[1]))} {_point((bulge, end[1]))} "
            path += f"{_point((begin[0] + run, end[1]))}H{_number(end[0])}"
            text_at = (end[0] + 14, end[1] - 4)
        else:
            stop = end[0] - self._layout.before[depths[1 - upper]]
            bend = max(24.0, (stop - begin[0] - run) * 0.55)
            path = f"M{_point(begin)}H{_number(begin[0] + run)}C{_point((begin[0] + run + bend, begin[1]))} "
            path += f"{_point((stop - bend, end[1]))} {_point((stop, end[1]))}H{_number(end[0])}"
            text_at = (stop + 6, end[1] - 4)
        # Lines are drawn away from the start nodes, so that an edge which leads back has its arrow at its start.
        arrow = "marker-start" if upper else "marker-end"
        line = {
            "d": path,
            "fill": "none",
            "stroke": ORANGE if edge.gold else GREY,
            "stroke-width": _number(self._compute_width(edge)),
            "stroke-linecap": "butt" if edge.gold == "missed" else "round",
            arrow: f"url(#{self._get_arrow_id(edge.gold)})",
            **({"stroke-dasharray": "6 5"} if edge.gold == "missed" else {}),
        }
        title = _format_graph_edge(self._graph, edge)
        title += "" if edge.activation is None else f", activation {edge.activation:.3g}"
        title += {"": "", "found": ", expected", "missed": ", expected, not walked"}[edge.gold]
        parts = [_write("title", {}, escape(title)), _write("path", line)]
        if edge.gold:
            parts.append(_draw_diamond(text_at[0] + 4, text_at[1] - 4, is_open=edge.gold == "missed"))
        if self._texts[number]:
            x = text_at[0] + (DIAMOND if edge.gold else 0)
            parts.append(
                _draw_text(x, text_at[1], self._texts[number], size=EDGE_FONT, fill=ORANGE if edge.gold else GREY)
            )
        return _write("g", {}, *parts)

    def _compute_width(self, edge: WalkEdge) -> float:
        """Compute the width of a line: by activation if it is known."""
        if edge.activation is None or not self._highest:
            return {"": 1.4, "found": 2.6, "missed": 1.8}[edge.gold]
        return 0.8 + 2.4 * max(0.0, edge.activation) / self._highest + 0.8 * bool(edge.gold)

    def _draw_legend(self) -> tuple[list[str], float]:
        """Draw what each sign means, of those that occur; return it with its width."""
        nodes, edges = self._graph.nodes.values(), self._graph.edges
        box = PlacedNode(0, -8, 30, 16)
        plain = "walked, wider if more activated" if self._highest else "walked"
        signs = (
            (any(node.is_start for node in nodes), _draw_box(WalkNode("", 0, is_start=True), box), "start"),
            (any(node.is_final for node in nodes), _draw_box(WalkNode("", 0, is_final=True), box), "end"),
            (
                any(node.gold == "missed" for node in nodes),
                _draw_box(WalkNode("", 0, gold="missed"), box),
                "expected, not reached",
            ),
            (any(not edge.gold for edge in edges), self._draw_sign(""), plain),
            (any(edge.gold == "found" for edge in edges), self._draw_sign("found"), "expected and walked"),
            (any(edge.gold == "missed" for edge in edges), self._draw_sign("missed"), "expected, not walked"),
        )
        drawn: list[str] = []
        x = 0.0
        for occurs, sign, text in signs:
            if occurs:
                label = _draw_text(38, 4, text, size=12, fill=GREY)
                drawn.append(_write("g", {"transform": f"translate({_number(x)} 0)"}, sign, label))
                x += 38 + _measure(text, 12) + 18
        return drawn, x

    def _draw_sign(self, kind: str) -> str:
        line = {"d": "M0 0H30", "stroke": ORANGE if kind else GREY, "stroke-width": "2.2"}
        dashes = {"stroke-dasharray": "6 5"} if kind == "missed" else {}
        arrow = {"marker-end": f"url(#{self._get_arrow_id(kind)})"}
        diamond = [_draw_diamond(12, 0, is_open=kind == "missed")] if kind else []
        return _write("g", {}, _write("path", {**line, **dashes, **arrow}), *diamond)


def _draw_box(node: WalkNode, box: PlacedNode) -> str:
    """Draw the box of a node: round for a start node, a double frame for a final one, dashed if not reached."""
    missed = node.gold == "missed"
    fill, ink = (BLUE, "#ffffff") if node.is_start else (WARM if missed else PAPER, INK)
    stroke = ORANGE if node.gold else BLUE if node.is_start else GREY
    radius = min(15.0, box.height / 2) if node.is_start else 4.0
    frame = {"x": box.x, "y": box.y, "width": box.width, "height": box.height, "rx": radius}
    style = {"fill": fill, "stroke": stroke, "stroke-width": "2" if node.gold else "1.2"}
    dashes = {"stroke-dasharray": "6 4"} if missed else {}
    parts = [_write("title", {}, escape(node.name))] if node.name else []
    parts.append(_write("rect", {**{name: _number(value) for name, value in frame.items()}, **style, **dashes}))
    if node.is_final:
        inner = {"x": box.x + 3.5, "y": box.y + 3.5, "width": box.width - 7, "height": box.height - 7}
        inner["rx"] = max(1.5, radius - 3.5)
        line = {"fill": "none", "stroke": "#ffffff" if node.is_start else stroke, "stroke-width": "1"}
        parts.append(_write("rect", {**{name: _number(value) for name, value in inner.items()}, **line}))
    middle, x = box.y + box.height / 2, box.x + 14
    if node.gold and node.name:
        parts.append(_draw_diamond(x + 3, middle, is_open=missed, colour="#ffffff" if node.is_start else ORANGE))
        x += DIAMOND
    if node.name:
        parts.append(_draw_text(x, middle + 4.5, _shorten_to_width(node.name, MAX_NODE_TEXT), size=NODE_FONT, fill=ink))
    return _write("g", {}, *parts)


def _draw_diamond(x: float, y: float, *, is_open: bool, colour: str = ORANGE) -> str:
    style = {"fill": PAPER if is_open else colour, "stroke": colour, "stroke-width": "1.3"}
    return _write("path", {"d": f"M{_number(x - 4)} {_number(y)}l4 -4 4 4 -4 4z", **style})


def _draw_text(x: float, y: float, text: str, *, size: float, fill: str) -> str:
    return _write("text", {"x": _number(x), "y": _number(y), "font-size": _number(size), "fill": fill}, escape(text))


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
    """Estimate the width of a text."""
    return _count_columns(text) * size * CHARACTER


def _write(element: str, attributes: Mapping[str, str], *content: str) -> str:
    """Write an element of XML; the content is XML, and the attributes are text."""
    attribute_text = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{element}{attribute_text}>{''.join(content)}</{element}>" if content else f"<{element}{attribute_text}/>"


def _point(point: tuple[float, float]) -> str:
    return f"{_number(point[0])} {_number(point[1])}"


def _number(value: float) -> str:
    """Write a coordinate with one decimal, or none if it is whole; never as -0."""
    # Adding zero makes 0.0 of -0.0.
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")
