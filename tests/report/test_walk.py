"""A drawn traversal: what the tree and the SVG show, that any name is safe in them, and that they do not change."""

from __future__ import annotations

import sys
from math import isfinite
from xml.etree import ElementTree as ET

import pytest
from golden_files import GOLDEN, same
from hypothesis import given
from hypothesis import strategies as st

from greval.records.case import Gold, Traversal
from greval.report.walk import draw_walk_svg, format_walk_tree
from greval.report.walk_graph import MAX_NODES, build_walk_graph, clean_name
from greval.report.walk_layout import compute_layout

SVG = "{http://www.w3.org/2000/svg}"
FERRY = (
    ("Petrel Ferries", "operates", "MV Tern"),
    ("MV Tern", "built by", "Harland Yard"),
    ("Petrel Ferries", "employs", "Ada Quill"),
    ("Ada Quill", "captain of", "MV Tern"),
    ("Skerry Council", "owns", "Harland Yard"),
    ("MV Tern", "sails to", "Skerry"),
    ("Harland Yard", "is located in the harbour town of", "Skerry"),
)
WALK = Traversal(start_nodes=("Petrel Ferries",), traversed_edges=FERRY, final_nodes=("Skerry",))
EXPECTED = Gold(
    expected_edges=(FERRY[0], ("Harland Yard", "built by", "MV Tern"), ("Harland Yard", "founded by", "Ida Ross")),
    start_nodes=("petrel_ferries",),
)
ACTIVATION = {edge: 0.5 ** (1 + place // 3) for place, edge in enumerate(FERRY)}

names = st.text(st.characters(), max_size=20)
edges = st.lists(st.tuples(names, names, names), max_size=12)
walks = st.builds(
    Traversal,
    start_nodes=st.lists(names, max_size=4),
    traversed_edges=edges,
    final_nodes=st.lists(names, max_size=3),
)
golds = st.none() | st.builds(
    Gold, expected_edges=st.none() | edges, start_nodes=st.none() | st.lists(names, max_size=3)
)


def build_star(count):
    """Return a walk from one node to many, each with an activation that falls with its number."""
    star = [("hub", "joins", f"n{number}") for number in range(count)]
    walk = Traversal(start_nodes=("hub",), traversed_edges=star)
    return walk, {edge: 1 - number / count for number, edge in enumerate(star)}


def parse(svg):
    """Return the root of a drawing, which must be valid XML."""
    return ET.fromstring(svg)  # noqa: S314 - our own drawing


def read_texts(svg):
    """Return the texts of a drawing: those that are seen, and those of titles."""
    root = parse(svg)
    return ["".join(one.itertext()) for kind in ("text", "title", "desc") for one in root.iter(SVG + kind)]


def test_the_tree_of_a_walk():
    """The tree has starts as roots, a node once, directions, activation, and the gold that was missed."""
    same(GOLDEN / "walk.txt", format_walk_tree(WALK, EXPECTED, activation=ACTIVATION) + "\n")


def test_the_drawing_of_a_walk():
    """The drawing changes only with its golden file; look at it in a browser."""
    title = "Who founded the yard that built the ferry?"
    same(GOLDEN / "walk.svg", draw_walk_svg(WALK, EXPECTED, title=title, activation=ACTIVATION))


@given(walks, golds, names)
def test_any_name_gives_valid_xml_with_every_start_node(walk, gold, title):
    """Names are data: the drawing is XML whose elements do not depend on them, and each start node is in it."""
    svg = draw_walk_svg(walk, gold, title=title)
    root = parse(svg)
    allowed = {"svg", "g", "defs", "marker", "path", "rect", "text", "title", "desc"}
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= allowed
    assert {name for one in root.iter() for name in one.attrib if name.startswith(("on", "href", "style"))} == set()
    texts = read_texts(svg)
    for key, node in build_walk_graph(walk, gold, None).nodes.items():
        assert not node.is_start or node.name in texts, key
    assert len(svg) == len(draw_walk_svg(walk, gold, title=title))


@given(walks, golds)
def test_the_tree_has_each_walked_edge_once(walk, gold):
    """A line is a root, an edge or a node that was not reached, whatever the names are."""
    graph = build_walk_graph(walk, gold, None)
    lines = format_walk_tree(walk, gold).split("\n")
    branches = [line for line in lines if line.lstrip("│ ").startswith(("├─ ", "└─ "))]
    walked = [edge for edge in graph.edges if edge.gold != "missed"]
    assert len(branches) == len(walked)
    assert not any(ord(character) < ord(" ") for line in lines for character in line)


@given(walks, golds)
def test_equal_arguments_give_equal_drawings(walk, gold):
    """Nothing in a drawing depends on chance, time or the order of a set."""
    again = Traversal.model_validate(walk.model_dump())
    assert draw_walk_svg(walk, gold) == draw_walk_svg(again, gold)


@given(walks, golds)
def test_boxes_do_not_overlap(walk, gold):
    """The boxes of a column are apart, within the drawing, and the ends of edges are on their sides."""
    graph = build_walk_graph(walk, gold, None)
    layout = compute_layout(graph, dict.fromkeys(graph.nodes, 80.0), [50.0] * len(graph.edges))
    boxes = [*layout.nodes.values()]
    for place, one in enumerate(boxes):
        assert isfinite(one.y)
        assert 0 <= one.x <= one.x + one.width <= layout.width
        assert -1e-6 <= one.y <= one.y + one.height <= layout.height + 1e-6
        for port in (*one.left.values(), *one.right.values()):
            assert one.y < port < one.y + one.height
        for other in boxes[place + 1 :]:
            assert one.x != other.x or one.y + one.height < other.y or other.y + other.height < one.y


def test_expected_edges_are_found_in_either_direction():
    """An edge is found by its nodes, and by its label if the walk has such a label."""
    found = {edge.label: edge.gold for edge in build_walk_graph(WALK, EXPECTED, None).edges}
    assert {label for label, gold in found.items() if gold == "found"} == {"operates", "built by"}
    assert found["founded by"] == "missed"
    other = Gold(expected_edges=[("Petrel Ferries", "has ship", "MV Tern"), ("Skerry", "owns", "Harland Yard")])
    found = {edge.label: edge.gold for edge in build_walk_graph(WALK, other, None).edges if edge.gold}
    assert found == {"operates": "found"} | {"owns": "missed"}


def test_a_large_walk_keeps_gold_and_the_most_activated():
    """Of 200 nodes 60 are drawn, the gold among them, and the number of the others is given."""
    walk, activation = build_star(200)
    gold = Gold(expected_edges=[("hub", "joins", "n199"), ("hub", "joins", "elsewhere")])
    graph = build_walk_graph(walk, gold, activation)
    assert len(graph.nodes) == MAX_NODES
    assert {*graph.nodes} == {"hub", "n199", "elsewhere", *(f"n{number}" for number in range(MAX_NODES - 3))}
    assert (graph.nodes_left_out, graph.edges_left_out) == (142, 142)
    note = "left out: 142 nodes and 142 edges, those of the lowest activation"
    assert note in format_walk_tree(walk, gold, activation=activation)
    assert note in draw_walk_svg(walk, gold, activation=activation)
    assert "142 edges, those walked last" in draw_walk_svg(walk, gold)


def test_what_leads_to_gold_is_drawn():
    """The nodes between a start node and a distant expected node are kept, however little they are activated."""
    walk, activation = build_star(100)
    chain = [("hub", "to", "a"), ("a", "to", "b"), ("b", "to", "c")]
    walk = Traversal(start_nodes=("hub",), traversed_edges=(*walk.traversed_edges, *chain))
    graph = build_walk_graph(walk, Gold(expected_nodes=["c"]), activation)
    assert {"a", "b", "c"} <= {*graph.nodes}


def test_activation_is_the_width():
    """An edge with twice the activation has a wider line."""
    walked = (("a", "x", "b"), ("a", "y", "c"))
    svg = draw_walk_svg(
        Traversal(start_nodes=("a",), traversed_edges=walked), activation={walked[0]: 0.5, walked[1]: 1}
    )
    lines = [one for one in parse(svg).iter(SVG + "path") if one.get("marker-end")]
    widths = [float(one.get("stroke-width")) for one in lines if "C" in one.get("d")]
    assert widths == sorted(widths)
    assert len({*widths}) == 2


def test_no_walk():
    """A traversal without nodes has a sentence, and an empty drawing."""
    assert format_walk_tree(Traversal()).startswith("no walk")
    assert parse(draw_walk_svg(Traversal())).get("role") == "img"


def test_a_deep_walk_needs_no_deep_stack():
    """A chain of expected nodes that is longer than the stack of Python is formatted."""
    length = sys.getrecursionlimit() + 100
    chain = [(f"n{number}", "to", f"n{number + 1}") for number in range(length)]
    walk = Traversal(start_nodes=("n0",), traversed_edges=chain)
    assert len(format_walk_tree(walk, Gold(expected_edges=chain)).splitlines()) == length + 2


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", 'a" onload="x', "]]>", "\x00\x1b[31m", "\ud800", "\u202eabc"]
)
def test_names_cannot_leave_their_text(name):
    """A name is in the texts as it is, but for characters that XML does not have."""
    svg = draw_walk_svg(Traversal(start_nodes=(name,), traversed_edges=((name, name, "b"),)), title=name)
    assert clean_name(name) in read_texts(svg)
    assert "<script" not in svg
