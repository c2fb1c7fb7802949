"""Metrics that compare ids: a figure is given only if the ids of gold and response can meet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval._util.joins import are_of_other_kinds, find_near_ids
from greval._util.wording import UNMET
from greval.metrics.library import load_metric
from greval.records.case import Case
from greval.records.result import Skipped

DOCUMENT_METRICS = (
    *("recall", "precision@3", "ndcg@3", "mrr", "map", "hit_rate@2"),
    *("essential_recall", "perfect_recall"),
)
WALK_METRICS = ("edge_recall", "edge_precision", "spurious_edge_rate", "node_recall", "node_precision", "path_order")
IDS = st.sampled_from(
    [
        *(f"d{n}" for n in range(4)),
        *("D1", "d2.txt", "docs/d3", "d0\u00a0", "1.0", "1", "01", '"d1"'),
        *("https://example.org/d1", "5f3a9c02-11d2-4b7e-9f00-aa12bb34cc56"),
    ]
)
ID_LISTS = st.lists(IDS, min_size=1, max_size=5, unique=True)


def judge(name, **fields):
    """Return the reason of a skip, or the value of a metric."""
    outcome = load_metric(name).compute(Case(question="?", **fields))
    return outcome.reason if isinstance(outcome, Skipped) else outcome[0].value


@given(expected=ID_LISTS, retrieved=ID_LISTS)
def test_a_metric_whose_sides_do_not_meet_is_never_a_number(expected, retrieved):
    """For any two sets of ids, recall is the share that met if they can meet, and skipped otherwise."""
    chunks = [{"id": f"x{n}", "doc_id": name, "text": ""} for n, name in enumerate(retrieved)]
    figures = {
        name: judge(name, chunks=chunks, gold={"essential_docs": expected}) for name in ("recall", "ndcg", "mrr", "map")
    }
    missed = [name for name in expected if name not in retrieved]
    unexpected = [name for name in retrieved if name not in expected]
    is_unlike = len(missed) == len(expected) and are_of_other_kinds(missed, unexpected)
    if find_near_ids(missed, unexpected) or is_unlike:
        assert all(str(reason).startswith(UNMET) for reason in figures.values())
    else:
        assert figures["recall"] == (len(expected) - len(missed)) / len(expected)
        assert all(not isinstance(value, str) for value in figures.values())


@pytest.mark.parametrize("name", DOCUMENT_METRICS)
def test_chunks_without_ids_are_no_misses(name):
    """Chunks that are texts have no ids: the metric is skipped with the reason, also if only some have none."""
    gold = {"essential_docs": ["d1"]}
    assert judge(name, chunks=["A text.", "Noise."], gold=gold) == (
        "ids do not meet: the chunks have no ids; give each its doc_id, such as 'd1'"
    )
    partly_named = [{"id": "k1", "doc_id": "d1", "text": ""}, "Noise."]
    assert judge(name, chunks=partly_named, gold=gold).startswith("ids do not meet: some chunks have no id;")
    assert judge(name, chunks=[], gold=gold) == 0
    assert judge(name, chunks=[{"id": "d7", "text": ""}], gold=gold) == 0


def test_gold_texts_are_compared_with_texts():
    """If the gold names documents by their texts, the texts of chunks are compared, whatever their blanks and case."""
    chunks = ["Lumm was  founded by Ines.\n", {"id": "k7", "text": "Noise about nothing."}]
    gold = {"essential_docs": ["lumm was founded by Ines."]}
    assert judge("recall@2", chunks=chunks, gold=gold) == 1
    assert judge("precision@2", chunks=chunks, gold=gold) == 1 / 2
    (judgement,) = load_metric("recall@2").compute(Case(question="?", chunks=chunks, gold=gold))
    assert judgement.reason.endswith("; compared by their text")
    assert judge("recall@2", chunks=["Gulls are built in Lumm now."], gold=gold) == 0
    titles = {"essential_docs": ["Ines Marrow"]}
    assert judge("recall@2", chunks=["Lumm was founded by Ines."], gold=titles).startswith(UNMET)


@pytest.mark.parametrize(
    ("expected", "retrieved", "why"),
    [
        ("d1", "D1", "differ only in case"),
        ("d1", "d1\u200b", "differ only in blanks or invisible characters"),
        ("1", "1.0", "differ only in a trailing .0"),
        ("d1", "https://example.org/x", "are of two kinds, so that none can meet"),
    ],
)
def test_the_reason_names_an_id_of_each_side(expected, retrieved, why):
    """The reason of a skip says what differs, and shows an id of the gold and one of the response."""
    chunks = [{"id": retrieved, "text": ""}, {"id": "d9" if "only" in why else retrieved, "text": ""}]
    reason = judge("recall", chunks=chunks, gold={"essential_docs": [expected]})
    assert reason.startswith(f"ids do not meet: documents of gold and response {why}")
    assert reason.endswith(f", such as {expected!r} and {retrieved!r}")


@pytest.mark.parametrize("name", WALK_METRICS)
@pytest.mark.parametrize("spelling", ['"{}"', "{}.txt", "nodes/{}", "[{}]"])
def test_nodes_in_another_form_are_no_misses(name, spelling):
    """Nodes of a walk that differ from those of the gold in their form are not counted as missed."""
    edges = [["a", "calls", "b"], ["b", "calls", "c"]]
    written = [[spelling.format(source), label, spelling.format(target)] for source, label, target in edges]
    gold = {"expected_edges": edges, "expected_nodes": ["a", "b"]}
    reason = judge(name, traversal={"start_nodes": [spelling.format("a")], "traversed_edges": written}, gold=gold)
    assert str(reason).startswith("ids do not meet: nodes of gold and response differ only in")
    other_edges = [["x", "calls", "y"], ["y", "calls", "z"]]
    missed = judge(name, traversal={"start_nodes": ["x"], "traversed_edges": other_edges}, gold=gold)
    assert missed == (1 if name == "spurious_edge_rate" else 0)


def test_labels_and_start_nodes_in_another_form_are_no_misses():
    """Labels of edges and the nodes at which a walk begins are compared in the same way."""
    walk = {"start_nodes": ['"a"'], "traversed_edges": [["a", '"calls"', "b"]]}
    gold = {"expected_edges": [["a", "calls", "b"]], "start_nodes": ["a"]}
    assert "labels of edges of gold and response differ only in quotes" in judge(
        "edge_recall", traversal=walk, gold=gold
    )
    assert judge("edge_recall-unlabelled", traversal=walk, gold=gold) == 1
    assert "differ only in quotes" in judge("entry_recall", traversal=walk, gold=gold)


@pytest.mark.parametrize("name", ["repo_recall", "cross_repo_precision"])
def test_repositories_in_another_form_are_no_misses(name):
    """A repository that is named with its owner, or as a URL, is not counted as missed."""
    gold = {"essential_repos": ["core"]}
    for repo in ("acme/core", "https://example.org/acme/core", "Core", "core.git"):
        assert str(judge(name, chunks=[{"id": "k1", "text": "", "repo": repo}], gold=gold)).startswith(UNMET)
    assert judge(name, chunks=[{"id": "k1", "text": "", "repo": "other"}], gold=gold) == 0
