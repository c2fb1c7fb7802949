"""Traversal metrics: which expected edges and nodes a graph walk visited, in which order, and which others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from greval._util.wording import counted, names, shares
from greval.metrics.computed import formulas
from greval.metrics.computed.families import Family, Setting, judged, share
from greval.metrics.computed.graph_walk import UNDIRECTED, UNLABELLED, Walk, depths, read, unwalked
from greval.records.case import Case, Edge
from greval.records.metric import ComputedMetric
from greval.records.result import Judgement, Skipped
from greval.records.scale import MeasureScale

EMPTY = Skipped(reason="the walk is empty")
NO_EDGE = Skipped(reason="no edge was walked")
FEWEST = 2
"""Minimum number of expected edges: one edge has no order."""

Given = tuple[Judgement, ...] | Skipped
Give = Callable[[Walk, Setting], Given]


def _due(walk: Walk, field: Literal["expected_nodes", "start_nodes"]) -> dict[str, str] | Skipped:
    """Return the distinct nodes that the gold expects, normalised name to original, or why it has none."""
    expected: tuple[str, ...] | None = getattr(walk.gold, field)
    if expected is None:
        return Skipped(reason=f"gold.{field} is not recorded")
    return walk.told(expected) or Skipped(reason=f"gold.{field} is empty")


def _edges(walk: Walk, setting: Setting) -> tuple[dict[Edge, str], dict[Edge, str]] | Skipped:
    """Return the distinct walked and expected edges, normalised edge to original, or why they are unknown."""
    expected = walk.gold.expected_edges
    if not expected:
        return Skipped(reason=f"gold.expected_edges is {'not recorded' if expected is None else 'empty'}")
    options = setting.options
    walked = walk.told_edges(walk.traversal.traversed_edges, options)
    return unwalked(walk) or (walked, walk.told_edges(expected, options))


def _edge_recall(walk: Walk, setting: Setting) -> Given:
    edges = _edges(walk, setting)
    if isinstance(edges, Skipped):
        return edges
    walked, due = edges
    told = shares({due[edge] for edge in walked if edge in due}, due.values(), "expected edge", "walked")
    return judged(formulas.recall([edge in due for edge in walked], len(due)), told)


def _edge_precision(walk: Walk, setting: Setting) -> Given:
    return _stray(walk, setting, spurious=False)


def _spurious_edge_rate(walk: Walk, setting: Setting) -> Given:
    return _stray(walk, setting, spurious=True)


def _stray(walk: Walk, setting: Setting, *, spurious: bool) -> Given:
    """Judge the share of walked edges that was expected, or with `spurious` the share that was not."""
    edges = _edges(walk, setting)
    if isinstance(edges, Skipped):
        return edges
    walked, due = edges
    if not walked:
        return NO_EDGE if walk.nodes else EMPTY
    others = [told for edge, told in walked.items() if edge not in due]
    counts = [(edge in due) is not spurious for edge in walked]
    return judged(formulas.precision(counts), _against(len(walked), others, "edge"))


def _against(walked: int, others: list[str], what: str) -> str:
    """Format how many of the walked edges or nodes were expected, and which were not."""
    told = f"{walked - len(others):,} of {counted(walked, f'walked {what}')} expected"
    return f"{told}; not expected: {names(others)}" if others else told


def _path_order(walk: Walk, setting: Setting) -> Given:
    expected = walk.gold.expected_edges
    if expected is None:
        return Skipped(reason="gold.expected_edges is not recorded")
    if len(expected) < FEWEST:
        return Skipped(reason="fewer than two edges are expected")
    if found := unwalked(walk):
        return found
    walked = [*walk.edges(walk.traversal.traversed_edges, setting.options)]
    due = [*walk.edges(expected, setting.options)]
    kept = formulas.common_order([edge for edge in walked if edge in due], due)
    there = len({*walked} & {*due})
    told = f"{kept:,} of {counted(len(due), 'expected edge')} walked in the expected order"
    return judged(kept / len(due), f"{told}; {there:,} walked in any order" if there != kept else told)


def _node_recall(walk: Walk, _: Setting) -> Given:
    due = _due(walk, "expected_nodes")
    if isinstance(due, Skipped):
        return due
    walked = walk.nodes
    found = [node in walked for node in due]
    told = shares({due[node] for node in due if node in walked}, due.values(), "expected node", "on the walk")
    return judged(formulas.recall(found, len(due)), told)


def _node_precision(walk: Walk, _: Setting) -> Given:
    due = _due(walk, "expected_nodes")
    if isinstance(due, Skipped):
        return due
    walked = walk.nodes
    if not walked:
        return EMPTY
    others = [told for node, told in walked.items() if node not in due]
    return judged(formulas.precision([node in due for node in walked]), _against(len(walked), others, "node"))


def _entry_recall(walk: Walk, _: Setting) -> Given:
    due = _due(walk, "start_nodes")
    if isinstance(due, Skipped):
        return due
    traversal = walk.traversal
    if not traversal.start_nodes and (traversal.traversed_edges or traversal.final_nodes):
        return Skipped(reason="traversal.start_nodes is not recorded: the walk began somewhere")
    began = walk.told(traversal.start_nodes)
    found = [node in began for node in due]
    told = shares({due[node] for node in due if node in began}, due.values(), "expected start node", "found")
    return judged(formulas.recall(found, len(due)), told)


def _hop_depth(walk: Walk, _: Setting) -> Given:
    traversal = walk.traversal
    if not traversal.start_nodes:
        known = traversal.traversed_edges or traversal.final_nodes
        return Skipped(reason="traversal.start_nodes is not recorded") if known else EMPTY
    if found := unwalked(walk):
        return found
    hops = depths(walk.edges(traversal.traversed_edges, ()), walk.told(traversal.start_nodes))
    deepest, nodes = max(hops.values()), walk.nodes
    far = names(nodes[node] for node, depth in hops.items() if depth == deepest)
    told = f"{counted(deepest, 'hop')} from the start nodes{f', to {far}' if deepest else ''}"
    beyond = len(nodes) - len(hops)
    return judged(deepest, f"{told}; {counted(beyond, 'node')} not connected to them" if beyond else told)


def _family(
    name: str,
    give: Give,
    description: str,
    *,
    options: tuple[str, ...] = (),
    scale: MeasureScale | None = None,
    gold: bool = True,
) -> Family:
    """Build the metric family of a measure of the walk."""

    def make(name: str, setting: Setting) -> ComputedMetric:
        def compute(case: Case) -> Given:
            if gold and case.gold is None:
                return Skipped(reason="gold is not recorded")
            walk = read(case)
            return walk if isinstance(walk, Skipped) else give(walk, setting)

        how = f" ({', '.join(option for option in options if option in setting.options)})" if setting.options else ""
        told = f"{description}{how}."
        return ComputedMetric(
            name=name,
            description=told,
            needs=("traversal", "gold") if gold else ("traversal",),
            optional=() if gold else ("gold",),
            scale=scale or share(),
            compute=compute,
        )

    return Family(name, make, options=options)


_HOW = (UNDIRECTED, UNLABELLED)
FAMILIES = (
    _family("edge_recall", _edge_recall, "Share of the expected edges that was walked", options=_HOW),
    _family("edge_precision", _edge_precision, "Share of the walked edges that was expected", options=_HOW),
    _family("node_recall", _node_recall, "Share of the expected nodes that is on the walk"),
    _family("node_precision", _node_precision, "Share of the walk's nodes that was expected"),
    _family("path_order", _path_order, "Share of the expected edges walked in the expected order", options=_HOW),
    _family(
        "hop_depth",
        _hop_depth,
        "How many hops the walk went from its start nodes; fewer are cheaper, not better by themselves",
        scale=MeasureScale(unit="hops", better="lower"),
        gold=False,
    ),
    _family(
        "spurious_edge_rate",
        _spurious_edge_rate,
        "Share of the walked edges that was not expected",
        options=_HOW,
        scale=share("lower"),
    ),
    _family("entry_recall", _entry_recall, "Share of the expected start nodes where the walk began"),
)
"""The families of traversal metrics."""
