"""The rules for gold: what is a fault, what is a remark, and how both read."""

from __future__ import annotations

from gold_cases import EDGE, INDEX, only, told

from greval.analysis.gold.rules import GoldFinding


def test_edges_whose_nodes_are_unknown():
    """The ends of an expected edge must be among the expected nodes, where these are told, and in the index."""
    asked = {"expected_edges": [EDGE], "start_nodes": ["Ada"]}
    assert "Notes not among expected_nodes" in only(told(**asked, expected_nodes=["Ada"]))
    assert told(**asked, expected_nodes=["Notes"]) == []
    assert told(expected_edges=[EDGE]) == []
    message = only(told(INDEX, expected_edges=[("Ada", "wrote", "Letters")]))
    assert "gold.expected_edges: no node Letters in the index" in message
    assert "Charles -wrote-> Notes not in the index" in only(
        told(INDEX, expected_edges=[("Charles", "wrote", "Notes")])
    )
    assert told(INDEX, expected_edges=[("Notes", "written_by_label_of_gold", "Countess")]) == []


def test_a_start_node_need_not_be_expected():
    """Where start nodes are not told an end may be one, unless an edge or an expected node shows that it is not."""
    assert "if the walk begins there" in only(told(expected_edges=[EDGE], expected_nodes=["Notes"]), "remark")
    chain = [EDGE, ("Grace", "read", "Letters")]
    assert "Grace, Letters not among" in only(told(expected_edges=chain, expected_nodes=["Ada", "Notes"]))
    assert [level for level, _ in told(expected_edges=[EDGE], expected_nodes=["Ada", "Note"])] == ["fault", "remark"]


def test_names_that_contradict_each_other():
    """A document is essential or helpful, and a name stands for one node."""
    assert "d1 is essential too" in only(told(essential_docs=["d1"], helpful_docs=["d1", "d2"]))
    shared = {"Ada": ["A."], "Augusta": ["a."]}
    assert "'a.' stands for Ada and Augusta" in only(told(expected_nodes=["Ada", "Augusta"], aliases=shared))
    own = {"Ada": ["Augusta"], "Augusta": []}
    assert "'augusta' stands for" in only(told(expected_nodes=["Ada", "Augusta"], aliases=own))
    assert "gold.start_nodes: Grace on no expected edge" in only(told(expected_edges=[EDGE], start_nodes=["Grace"]))


def test_what_may_not_be_meant_is_a_remark():
    """Empty lists, names listed twice, nodes on no edge and idle aliases are remarks, not faults."""
    assert "leave it out if it is not known" in only(told(essential_docs=["d1"], expected_edges=[]), "remark")
    assert "d1 more than once" in only(told(essential_docs=["d1", "d1"]), "remark")
    loose = told(expected_edges=[EDGE], expected_nodes=["Ada", "Notes", "Grace"])
    assert "Grace on no expected edge" in only(loose, "remark")
    assert "Grace is named nowhere else" in only(told(expected_nodes=["Ada"], aliases={"Grace": ["G."]}), "remark")


def test_empty_names_are_faults():
    """A name without a letter is a fault of whatever list it is in."""
    assert "holds an empty name" in only(told(essential_docs=["d1", " "]))
    assert "an edge is (source, label, target)" in only(told(expected_edges=[("Ada", "wrote", "")]))


def test_a_finding_reads_as_a_line():
    """A finding is printed with its place, its sample, and whether it is a remark."""
    assert str(GoldFinding(place="f:3", sample_id="q1", message="bad")) == "f:3: q1: bad"
    assert str(GoldFinding(place="q1", sample_id="q1", level="remark", message="odd")) == "q1: remark: odd"


def test_grades_that_contradict_the_lists():
    """A document that is listed as relevant and graded as not relevant is a fault, and one that no index has."""
    assert only(told(essential_docs=["d1"], grades={"d1": 0})) == (
        "gold.essential_docs: d1 graded 0 or less in gold.grades; keep one of the two"
    )
    assert only(told(grades={" ": 2})) == "gold.grades: holds an empty name; take it out"
    assert only(told(INDEX, grades={"d1": 3, "d8": 1, "d9": 0})).startswith("gold.grades: d8 not in the index")
    assert told(INDEX, grades={"d1": 3}) == []
