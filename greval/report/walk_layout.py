"""The layout of a drawn traversal: a column for each distance from the start nodes, with few crossings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from greval.report.walk_graph import WalkGraph

PASSES = 12
"""The number of passes over the columns, to the right and to the left in turn."""
PORT = 20.0
"""The distance between the ends of two edges at a node; the text of an edge fits into it."""
NARROW_PORT = 11.0
"""The distance between the ends of two edges that have no text there."""
NODE_GAP = 14.0
CURVE = 64.0
"""The width that the curves between two columns have."""


@dataclass(frozen=True)
class PlacedNode:
    """The box of a node; `left` and `right` are the heights at which the edges of either side end, by edge number."""

    x: float
    y: float
    width: float
    height: float
    left: Mapping[tuple[int, int], float] = field(default_factory=dict)
    right: Mapping[tuple[int, int], float] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """The boxes of nodes by key, and for each column the widths kept free for texts to its left and right."""

    nodes: Mapping[str, PlacedNode]
    before: Sequence[float]
    after: Sequence[float]
    width: float
    height: float


def compute_layout(graph: WalkGraph, node_widths: Mapping[str, float], edge_widths: Sequence[float]) -> Layout:
    """Compute the layout of a graph from the widths of the texts of its nodes and edges.

    The nodes of a column are ordered by the mean position of their neighbours, and stand below each other around the
    middle. A node is as tall as the ends of its edges need, so that no text of an edge is on another.
    """
    columns = _order_columns(graph)
    left_gaps, right_gaps = _measure_gaps(graph, edge_widths, len(columns))
    sides = _list_sides(graph)
    heights = {
        key: max(30.0, *(_get_port_distance(graph, ends) * len(ends) + 8 for ends in both))
        for key, both in sides.items()
    }
    column_heights = [sum(heights[key] + NODE_GAP for key in column) - NODE_GAP for column in columns]
    placed: dict[str, PlacedNode] = {}
    x, height = 0.0, max(0.0, *column_heights)
    for number, column in enumerate(columns):
        x += left_gaps[number] + (CURVE if number else 0)
        y = (height - column_heights[number]) / 2
        width = max((node_widths[key] for key in column), default=0.0)
        for key in column:
            placed[key] = PlacedNode(x, y, width, heights[key])
            y += heights[key] + NODE_GAP
        x += width + right_gaps[number]
    placed = {key: _place_ports(graph, key, placed, sides[key]) for key in placed}
    return Layout(placed, left_gaps, right_gaps, x, height)


def _measure_gaps(graph: WalkGraph, widths: Sequence[float], columns: int) -> tuple[list[float], list[float]]:
    """Return for each column the widest text of the edges that end at its left side, and at its right side."""
    left_gaps, right_gaps = [0.0] * columns, [0.0] * columns
    for edge, width in zip(graph.edges, widths, strict=True):
        source, target = graph.nodes[edge.source].depth, graph.nodes[edge.target].depth
        side = right_gaps if source == target else left_gaps
        side[max(source, target)] = max(side[max(source, target)], width)
    return left_gaps, right_gaps


def _order_columns(graph: WalkGraph) -> list[list[str]]:
    """Order the nodes of each column by the mean position of their neighbours, in a few passes."""
    columns: list[list[str]] = [[] for _ in range(max((node.depth for node in graph.nodes.values()), default=0) + 1)]
    for key, node in graph.nodes.items():
        columns[node.depth].append(key)
    neighbours: dict[str, list[str]] = defaultdict(list)
    for edge in graph.edges:
        neighbours[edge.source].append(edge.target)
        neighbours[edge.target].append(edge.source)
    for turn in range(PASSES):
        # In turn from the right and from the left, so that neither side decides alone.
        numbers = range(len(columns)) if turn % 2 else range(len(columns) - 1, -1, -1)
        for number in numbers:
            positions = {
                key: position / max(1, len(column)) for column in columns for position, key in enumerate(column)
            }
            column = columns[number]
            neighbour_positions = [
                [positions[key] for key in neighbours[member] if graph.nodes[key].depth != number] for member in column
            ]
            means = np.array(
                [
                    np.mean(node_positions) if node_positions else positions[member]
                    for member, node_positions in zip(column, neighbour_positions, strict=True)
                ]
            )
            # Ties keep their order, so that nothing in a drawing depends on chance.
            columns[number] = [column[position] for position in np.argsort(means, kind="stable")]
    return columns


def _list_sides(graph: WalkGraph) -> dict[str, tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
    """List the ends of edges at the left and at the right side of each node: (number of the edge, 1 if its target).

    Edges between columns leave to the right and arrive at the left; an edge within a column has both ends at the right.
    """
    sides: dict[str, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {key: ([], []) for key in graph.nodes}
    for number, edge in enumerate(graph.edges):
        depths = graph.nodes[edge.source].depth, graph.nodes[edge.target].depth
        for end, key in enumerate((edge.source, edge.target)):
            # False is the left side, True the right one.
            sides[key][depths[end] <= depths[1 - end]].append((number, end))
    return sides


def _get_port_distance(graph: WalkGraph, ends: Sequence[tuple[int, int]]) -> float:
    """Return the distance between the ends of edges at one side of a node, by whether texts are between them."""
    for number, end in ends:
        edge = graph.edges[number]
        source, target = graph.nodes[edge.source].depth, graph.nodes[edge.target].depth
        if source == target or (target if end else source) == max(source, target):
            return PORT
    return NARROW_PORT


def _place_ports(
    graph: WalkGraph,
    key: str,
    placed: Mapping[str, PlacedNode],
    sides: tuple[list[tuple[int, int]], list[tuple[int, int]]],
) -> PlacedNode:
    """Return the box of a node with the heights of its edges' ends, in the order of their other ends."""
    box = placed[key]
    heights: list[dict[tuple[int, int], float]] = []
    for ends in sides:

        def find_other(end: tuple[int, int]) -> float:
            edge = graph.edges[end[0]]
            neighbour = placed[edge.source if end[1] else edge.target]
            return neighbour.y + neighbour.height / 2

        ordered = sorted(ends, key=find_other)
        distance = _get_port_distance(graph, ordered)
        first = box.y + box.height / 2 - distance * (len(ordered) - 1) / 2
        heights.append({end: first + distance * index for index, end in enumerate(ordered)})
    return PlacedNode(box.x, box.y, box.width, box.height, *heights)
