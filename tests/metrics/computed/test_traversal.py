"""The walk through the graph: edges, nodes, order, depth and entry, with names written in any way."""

from __future__ import annotations

import pytest
from computed_figures import compute
from hypothesis import given
from hypothesis import strategies as st

from greval import Case
from greval.metrics.computed.traversal import FAMILIES
from greval.metrics.library import load_metric
from greval.records.result import Skipped

AB, BC, CD = ("a", "calls", "b"), ("b", "owns", "c"), ("c", "calls", "d")
NAMES = [family.name for family in FAMILIES]


def case(edges=(), starts=(), finals=(), **gold):
    """Make a case of a walk and what was expected."""
    walk = {"start_nodes": starts, "traversed_edges": edges, "final_nodes": finals}
    return Case(question="?", traversal=walk, gold=gold)


class TestEdges:
    def test_recall(self):
        """The share of the expected edges that was walked, the missed named as the gold writes them."""
        walk = case([AB, AB, CD], expected_edges=[AB, BC])
        assert compute("edge_recall", walk) == (1 / 2, "1 of 2 expected edges walked; missed: b -owns-> c")

    def test_precision_and_its_opposite(self):
        """Walked edges count once each, expected or spurious."""
        walk = case([AB, AB, CD, BC], expected_edges=[AB, BC])
        told = "2 of 3 walked edges expected; not expected: c -calls-> d"
        assert compute("edge_precision", walk) == (2 / 3, told)
        assert compute("spurious_edge_rate", walk) == (1 / 3, told)
        assert load_metric("spurious_edge_rate").scale.better == "lower"

    def test_direction_and_label(self):
        """An edge the other way round, or of another label, counts where an option says so."""
        turned = case([("b", "calls", "a")], expected_edges=[AB])
        relabelled = case([("a", "reads", "b")], expected_edges=[AB])
        both = case([("b", "reads", "a")], expected_edges=[AB])
        options = ("", "-undirected", "-unlabelled", "-undirected-unlabelled")
        for walk, expected in ((turned, (0, 1, 0, 1)), (relabelled, (0, 0, 1, 1)), (both, (0, 0, 0, 1))):
            assert tuple(compute(f"edge_recall{option}", walk)[0] for option in options) == expected

    def test_aliases(self):
        """Another name of a node counts as the name of the gold, an alias that is a name of its own does not."""
        gold = {"expected_edges": [("UN", "in", "New York")], "aliases": {"UN": ["United_Nations"]}}
        assert compute("edge_recall", case([("united nations", "in", "new york")], **gold))[0] == 1
        gold["aliases"] = {"UN": ["New York"], "New York": []}
        assert compute("edge_recall", case([("new york", "in", "new york")], **gold))[0] == 0

    def test_empty_walk(self):
        """A walk that was recorded and is empty has found nothing; of what it walked there is nothing to say."""
        assert compute("edge_recall", case(expected_edges=[AB]))[0] == 0
        for name in ("edge_precision", "spurious_edge_rate", "node_precision"):
            gold = {"expected_edges": [AB], "expected_nodes": ["a"]}
            assert compute(name, case(**gold)) == Skipped(reason="the walk is empty")
        stayed = case(starts=["a"], finals=["A"], expected_edges=[AB])
        assert compute("edge_precision", stayed) == Skipped(reason="no edge was walked")
        assert compute("edge_recall", stayed)[0] == 0

    def test_edges_that_were_not_recorded(self):
        """A walk that ends elsewhere than it began has edges that nobody wrote down: no 0 is made of that."""
        told = "traversal.traversed_edges is not recorded: the walk ends at nodes that no edge leads to"
        walk = case(starts=["a"], finals=["b"], expected_edges=[AB, BC])
        for name in ("edge_recall", "edge_precision", "spurious_edge_rate", "path_order", "hop_depth"):
            assert compute(name, walk) == Skipped(reason=told)


class TestNodes:
    def test_all_nodes_of_the_walk(self):
        """Start nodes, ends of edges and final nodes are the nodes of the walk, each once."""
        walk = case([AB], starts=["A", "s"], finals=["f", "b"], expected_nodes=["a", "f", "x"])
        assert compute("node_recall", walk) == (2 / 3, "2 of 3 expected nodes on the walk; missed: x")
        assert compute("node_precision", walk) == (2 / 4, "2 of 4 walked nodes expected; not expected: s, b")

    def test_entry(self):
        """The start nodes that were expected are sought among those of the walk only."""
        walk = case([AB], starts=["B"], start_nodes=["a", "b"])
        assert compute("entry_recall", walk) == (1 / 2, "1 of 2 expected start nodes found; missed: a")
        assert compute("entry_recall", case(start_nodes=["a"]))[0] == 0
        told = "traversal.start_nodes is not recorded: the walk began somewhere"
        assert compute("entry_recall", case([AB], start_nodes=["a"])) == Skipped(reason=told)

    def test_no_entry_is_guessed(self):
        """Where the gold names no start node, the first expected edge does not stand for one."""
        walk = case([AB], starts=["a"], expected_edges=[AB])
        assert compute("entry_recall", walk) == Skipped(reason="gold.start_nodes is not recorded")


class TestOrder:
    @pytest.mark.parametrize(
        ("walked", "expected"),
        [
            ([AB, BC, CD], 1),
            ([AB, CD], 2 / 3),
            ([CD, BC, AB], 1 / 3),
            ([BC, CD, AB], 2 / 3),
            ([("x", "y", "z"), AB, AB, ("x", "y", "z"), BC, AB, CD], 1),
            ([], 0),
        ],
    )
    def test_share_in_order(self, walked, expected):
        """As many expected edges as were walked in the expected order, whatever was walked between."""
        assert compute("path_order", case(walked, expected_edges=[AB, BC, CD]))[0] == expected

    def test_reason(self):
        """The reason tells the order from the finding."""
        told = "1 of 3 expected edges walked in the expected order; 3 walked in any order"
        assert compute("path_order", case([CD, BC, AB], expected_edges=[AB, BC, CD]))[1] == told

    def test_options(self):
        """Direction and label can be left out here too."""
        walked = [("b", "x", "a"), ("c", "y", "b")]
        walk = case(walked, expected_edges=[AB, BC])
        assert compute("path_order", walk)[0] == 0
        assert compute("path_order-undirected-unlabelled", walk)[0] == 1

    def test_one_edge(self):
        """One edge has no order."""
        walk = case([AB], expected_edges=[AB])
        assert compute("path_order", walk) == Skipped(reason="fewer than two edges are expected")


class TestDepth:
    def test_hops(self):
        """Hops are counted from the nearest start node, along edges in either direction."""
        walk = case([AB, BC, ("d", "calls", "c"), ("x", "y", "z")], starts=["A"])
        told = "3 hops from the start nodes, to d; 2 nodes not connected to them"
        assert compute("hop_depth", walk) == (3, told)
        assert compute("hop_depth", case([AB, BC], starts=["a", "c"]))[0] == 1
        assert compute("hop_depth", case(starts=["a"])) == (0, "0 hops from the start nodes")

    def test_without_start(self):
        """Without start nodes there is nothing to count from; no gold is needed."""
        assert compute("hop_depth", case([AB])) == Skipped(reason="traversal.start_nodes is not recorded")
        assert compute("hop_depth", case()) == Skipped(reason="the walk is empty")
        bare = Case(question="?", traversal={"start_nodes": ["a"], "traversed_edges": [AB]})
        assert compute("hop_depth", bare)[0] == 1


FIELDS = {"node_recall": "expected_nodes", "node_precision": "expected_nodes", "entry_recall": "start_nodes"}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "hop_depth"])
def test_skipped_without_gold(name):
    """Without gold, or with none of what is looked at, each is skipped with the field's name."""
    field = FIELDS.get(name, "expected_edges")
    empty = "fewer than two edges are expected" if name == "path_order" else f"gold.{field} is empty"
    assert compute(name, case([AB], ["a"])) == Skipped(reason=f"gold.{field} is not recorded")
    assert compute(name, case([AB], ["a"], **{field: []})) == Skipped(reason=empty)
    assert compute(name, Case(question="?", traversal={})) == Skipped(reason="gold is not recorded")


@pytest.mark.parametrize("name", NAMES)
def test_skipped_without_a_walk(name):
    """Where no walk was recorded, each is skipped."""
    gold = {"expected_edges": [AB], "expected_nodes": ["a"], "start_nodes": ["a"]}
    assert compute(name, Case(question="?", gold=gold)) == Skipped(reason="traversal is not recorded")


nodes = st.sampled_from("abcd")
edges = st.lists(st.tuples(nodes, st.sampled_from("xy"), nodes), max_size=6)
OPTIONS = [""] + [f"-{option}" for option in ("undirected", "unlabelled", "undirected-unlabelled")]


@given(edges, edges.filter(bool), st.lists(nodes, min_size=1))
def test_laws(walked, expected, starts):
    """Shares are of 0 to 1; an option loses nothing that was found; the expected walk itself is perfect."""
    gold = {"expected_edges": expected, "expected_nodes": [*starts], "start_nodes": starts}
    for name in ("edge_recall", "path_order", "node_recall", "entry_recall", "edge_precision", "spurious_edge_rate"):
        outcome = compute(name, case(walked, starts, **gold))
        assert isinstance(outcome, Skipped) or 0 <= outcome[0] <= 1
    strict, *loose = (compute(f"edge_recall{option}", case(walked, starts, **gold))[0] for option in OPTIONS)
    assert all((outcome > 0) >= (strict > 0) and (outcome == 1) >= (strict == 1) for outcome in loose)
    assert compute("edge_recall", case(expected, starts, **gold))[0] == 1
    assert compute("edge_precision", case(expected, starts, **gold))[0] == 1
    if walked:
        expected_share, stray = (
            compute(name, case(walked, starts, **gold))[0] for name in ("edge_precision", "spurious_edge_rate")
        )
        assert expected_share + stray == pytest.approx(1)
