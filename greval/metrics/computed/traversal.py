"""Traversal metrics: which expected edges and nodes a graph walk visited, in which order, and which others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Literal

from greval._util.wording import format_count, format_found_share, format_names
from greval.metrics.computed import formulas
from greval.metrics.computed.families import (
    JudgementsOrSkipped,
    MetricFamily,
    MetricSetting,
    build_judgement,
    build_share_scale,
    explain_unmet_ids,
)
from greval.metrics.computed.graph_walk import (
    UNDIRECTED,
    UNLABELLED,
    GraphWalk,
    compute_depths,
    explain_missing_edges,
    read_walk,
)
from greval.records.case import Case, Edge
from greval.records.metric import ComparedIds, ComputedMetric
from greval.records.result import Skipped
from greval.records.scale import MeasureScale

EMPTY_WALK = Skipped(reason="the walk is empty")
NO_EDGE = Skipped(reason="no edge was walked")
MIN_EDGES = 2
"""Minimum number of expected edges: one edge has no order."""

JudgeWalk = Callable[[GraphWalk, MetricSetting], JudgementsOrSkipped]


def _map_expected_nodes(walk: GraphWalk, field: Literal["expected_nodes", "start_nodes"]) -> dict[str, str] | Skipped:
    """Return the distinct nodes that the gold expects, normalised name to original, or why it has none."""
    expected: tuple[str, ...] | None = getattr(walk.gold, field)
    if expected is None:
        return Skipped(reason=f"gold.{field} is not recorded")
    return walk.map_nodes(expected) or Skipped(reason=f"gold.{field} is empty")


def _map_edges(walk: GraphWalk, setting: MetricSetting) -> tuple[dict[Edge, str], dict[Edge, str]] | Skipped:
    """Return the distinct walked and expected edges, normalised edge to original, or why they are unknown."""
    expected = walk.gold.expected_edges
    if not expected:
        return Skipped(reason=f"gold.expected_edges is {'not recorded' if expected is None else 'empty'}")
    options = setting.options
    if missing := explain_missing_edges(walk):
        return missing
    walked, expected_edges = walk.map_edges(walk.traversal.traversed_edges, options), walk.map_edges(expected, options)
    return _explain_unmet_edges(walk, walked, expected_edges) or (walked, expected_edges)


def _explain_unmet_nodes(expected: Mapping[str, str], walked: Mapping[str, str]) -> Skipped | None:
    """Return why expected nodes that the walk did not visit are no miss; both map normalised names to original ones."""
    return explain_unmet_ids(expected, walked, "nodes", {**expected, **walked})


def _explain_unmet_edges(walk: GraphWalk, walked: Collection[Edge], expected: Collection[Edge]) -> Skipped | None:
    """Return why expected edges that were not walked are no miss: their ends or labels are written in another way."""
    missed, unexpected = (
        [edge for edge in expected if edge not in walked],
        [edge for edge in walked if edge not in expected],
    )
    if not missed or not unexpected:
        return None
    edges = (*walk.traversal.traversed_edges, *(walk.gold.expected_edges or ()))
    names = walk.map_nodes(end for source, _, target in edges for end in (source, target))
    ends = [{end: names[end] for source, _, target in side for end in (source, target)} for side in (expected, walked)]
    if reason := _explain_unmet_nodes(*ends):
        return reason
    labels = ((label, walked_label) for a, label, b in missed for c, walked_label, d in unexpected if (a, b) == (c, d))
    reasons = (explain_unmet_ids((label,), (walked_label,), "labels of edges") for label, walked_label in labels)
    return next(filter(None, reasons), None)


def _judge_edge_recall(walk: GraphWalk, setting: MetricSetting) -> JudgementsOrSkipped:
    edges = _map_edges(walk, setting)
    if isinstance(edges, Skipped):
        return edges
    walked, expected = edges
    reason = format_found_share(
        {expected[edge] for edge in walked if edge in expected}, expected.values(), "expected edge", "walked"
    )
    return build_judgement(formulas.recall([edge in expected for edge in walked], len(expected)), reason)


def _judge_edge_share(walk: GraphWalk, setting: MetricSetting, *, spurious: bool) -> JudgementsOrSkipped:
    """Judge the share of walked edges that was expected, or with `spurious` the share that was not."""
    edges = _map_edges(walk, setting)
    if isinstance(edges, Skipped):
        return edges
    walked, expected = edges
    if not walked:
        return NO_EDGE if walk.nodes else EMPTY_WALK
    unexpected = [name for edge, name in walked.items() if edge not in expected]
    counts = [(edge in expected) is not spurious for edge in walked]
    return build_judgement(formulas.precision(counts), _format_expected_share(len(walked), unexpected, "edge"))


def _format_expected_share(walked: int, unexpected: list[str], what: str) -> str:
    """Format how many of the walked edges or nodes were expected, and which were not."""
    reason = f"{walked - len(unexpected):,} of {format_count(walked, f'walked {what}')} expected"
    return f"{reason}; not expected: {format_names(unexpected)}" if unexpected else reason


def _judge_path_order(walk: GraphWalk, setting: MetricSetting) -> JudgementsOrSkipped:
    expected = walk.gold.expected_edges
    if expected is None:
        return Skipped(reason="gold.expected_edges is not recorded")
    if len(expected) < MIN_EDGES:
        return Skipped(reason="fewer than two edges are expected")
    if isinstance(edges := _map_edges(walk, setting), Skipped):
        return edges
    # Lists instead of the mappings above: an edge may be walked or expected twice.
    walked = [*walk.normalise_edges(walk.traversal.traversed_edges, setting.options)]
    expected_order = [*walk.normalise_edges(expected, setting.options)]
    in_order = formulas.lcs_length([edge for edge in walked if edge in expected_order], expected_order)
    in_any_order = len({*walked} & {*expected_order})
    reason = f"{in_order:,} of {format_count(len(expected_order), 'expected edge')} walked in the expected order"
    return build_judgement(
        in_order / len(expected_order),
        f"{reason}; {in_any_order:,} walked in any order" if in_any_order != in_order else reason,
    )


def _judge_node_recall(walk: GraphWalk, _: MetricSetting) -> JudgementsOrSkipped:
    return _judge_nodes_met(walk, walk.nodes, "expected_nodes", "expected node", "on the walk")


def _judge_entry_recall(walk: GraphWalk, _: MetricSetting) -> JudgementsOrSkipped:
    traversal = walk.traversal
    expected = _map_expected_nodes(walk, "start_nodes")
    # A walk that went somewhere began somewhere: its start was not recorded, and is not empty.
    is_unknown = not traversal.start_nodes and (traversal.traversed_edges or traversal.final_nodes)
    if not isinstance(expected, Skipped) and is_unknown:
        return Skipped(reason="traversal.start_nodes is not recorded: the walk began somewhere")
    return _judge_nodes_met(walk, walk.map_nodes(traversal.start_nodes), "start_nodes", "expected start node", "found")


def _judge_nodes_met(
    walk: GraphWalk, walked: Mapping[str, str], field: Literal["expected_nodes", "start_nodes"], noun: str, where: str
) -> JudgementsOrSkipped:
    """Judge the share of the nodes in a field of gold that are among nodes of the walk."""
    expected = _map_expected_nodes(walk, field)
    if isinstance(expected, Skipped):
        return expected
    if unmet := _explain_unmet_nodes(expected, walked):
        return unmet
    met = {name for node, name in expected.items() if node in walked}
    reason = format_found_share(met, expected.values(), noun, where)
    return build_judgement(formulas.recall([node in walked for node in expected], len(expected)), reason)


def _judge_node_precision(walk: GraphWalk, _: MetricSetting) -> JudgementsOrSkipped:
    expected = _map_expected_nodes(walk, "expected_nodes")
    if isinstance(expected, Skipped):
        return expected
    walked = walk.nodes
    if not walked:
        return EMPTY_WALK
    if unmet := _explain_unmet_nodes(expected, walked):
        return unmet
    unexpected = [name for node, name in walked.items() if node not in expected]
    return build_judgement(
        formulas.precision([node in expected for node in walked]),
        _format_expected_share(len(walked), unexpected, "node"),
    )


def _judge_hop_depth(walk: GraphWalk, _: MetricSetting) -> JudgementsOrSkipped:
    traversal = walk.traversal
    if not traversal.start_nodes:
        recorded = traversal.traversed_edges or traversal.final_nodes
        return Skipped(reason="traversal.start_nodes is not recorded") if recorded else EMPTY_WALK
    if missing := explain_missing_edges(walk):
        return missing
    hops = compute_depths(walk.normalise_edges(traversal.traversed_edges, ()), walk.map_nodes(traversal.start_nodes))
    deepest, nodes = max(hops.values()), walk.nodes
    farthest = format_names(nodes[node] for node, depth in hops.items() if depth == deepest)
    reason = f"{format_count(deepest, 'hop')} from the start nodes{f', to {farthest}' if deepest else ''}"
    beyond = len(nodes) - len(hops)
    return build_judgement(
        deepest, f"{reason}; {format_count(beyond, 'node')} not connected to them" if beyond else reason
    )


def _compare_names(
    list_expected: Callable[[GraphWalk], Iterable[str]], list_walked: Callable[[GraphWalk], Iterable[str]]
) -> ComparedIds:
    """Return what a metric compares, given the names of nodes that the gold and the walk have."""

    def list_ids(case: Case) -> tuple[Iterable[str], Iterable[str]]:
        walk = read_walk(case)
        if isinstance(walk, Skipped):
            return (), ()
        return walk.map_nodes(list_expected(walk)), walk.map_nodes(list_walked(walk))

    return ComparedIds(list_ids, ("nodes of the gold", "nodes of the walk"))


EDGE_ENDS = _compare_names(
    lambda walk: (end for source, _, target in walk.gold.expected_edges or () for end in (source, target)),
    lambda walk: walk.traversal.visited,
)
SPURIOUS_ENDS = EDGE_ENDS._replace(value_without_hit=1.0)
NODE_NAMES = _compare_names(lambda walk: walk.gold.expected_nodes or (), lambda walk: walk.traversal.visited)
START_NAMES = _compare_names(lambda walk: walk.gold.start_nodes or (), lambda walk: walk.traversal.start_nodes)


def _build_family(  # noqa: PLR0913 - the parts of a definition
    name: str,
    judge: JudgeWalk,
    description: str,
    *,
    compared_ids: ComparedIds | None = None,
    options: tuple[str, ...] = (),
    scale: MeasureScale | None = None,
    gold: bool = True,
) -> MetricFamily:

    def make(name: str, setting: MetricSetting) -> ComputedMetric:
        def compute(case: Case) -> JudgementsOrSkipped:
            if gold and case.gold is None:
                return Skipped(reason="gold is not recorded")
            walk = read_walk(case)
            return walk if isinstance(walk, Skipped) else judge(walk, setting)

        how = f" ({', '.join(option for option in options if option in setting.options)})" if setting.options else ""
        return ComputedMetric(
            name=name,
            description=f"{description}{how}.",
            needs=("traversal", "gold") if gold else ("traversal",),
            optional=() if gold else ("gold",),
            scale=scale or build_share_scale(),
            compute=compute,
            compared_ids=compared_ids,
        )

    return MetricFamily(name, make, options=options)


_EDGE_OPTIONS = (UNDIRECTED, UNLABELLED)
FAMILIES = (
    _build_family(
        "edge_recall",
        _judge_edge_recall,
        "Share of the expected edges that was walked",
        options=_EDGE_OPTIONS,
        compared_ids=EDGE_ENDS,
    ),
    _build_family(
        "edge_precision",
        partial(_judge_edge_share, spurious=False),
        "Share of the walked edges that was expected",
        options=_EDGE_OPTIONS,
        compared_ids=EDGE_ENDS,
    ),
    _build_family(
        "node_recall", _judge_node_recall, "Share of the expected nodes that is on the walk", compared_ids=NODE_NAMES
    ),
    _build_family(
        "node_precision", _judge_node_precision, "Share of the walk's nodes that was expected", compared_ids=NODE_NAMES
    ),
    _build_family(
        "path_order",
        _judge_path_order,
        "Share of the expected edges walked in the expected order",
        options=_EDGE_OPTIONS,
        compared_ids=EDGE_ENDS,
    ),
    _build_family(
        "hop_depth",
        _judge_hop_depth,
        "How many hops the walk went from its start nodes; fewer are cheaper, not better by themselves",
        scale=MeasureScale(unit="hops", better="lower"),
        gold=False,
    ),
    _build_family(
        "spurious_edge_rate",
        partial(_judge_edge_share, spurious=True),
        "Share of the walked edges that was not expected",
        options=_EDGE_OPTIONS,
        scale=build_share_scale("lower"),
        compared_ids=SPURIOUS_ENDS,
    ),
    _build_family(
        "entry_recall",
        _judge_entry_recall,
        "Share of the expected start nodes where the walk began",
        compared_ids=START_NAMES,
    ),
)
"""The families of traversal metrics."""
