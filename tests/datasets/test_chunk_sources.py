"""Repositories and versions are filled in from ids by a pattern, and never overwritten."""

from __future__ import annotations

import pytest

from greval.datasets.chunk_sources import CHECKED_CASES, EXAMPLE, fill_sources, read_pattern
from greval.datasets.row_faults import RowFault
from greval.errors import DataError
from greval.records.case import Case


def fill(*rows, pattern=EXAMPLE):
    return list(fill_sources(rows, pattern))


def test_what_is_recorded_stays():
    """A recorded repository stays, the missing version is filled in; an id without a match stays as it is."""
    chunks = [
        {"text": "", "doc_id": "core@v2/a.py", "repo": "own"},
        {"id": "web@v1/b.py", "text": ""},
        {"id": "notes.md", "text": ""},
    ]
    (case,) = fill(Case(question="?", chunks=chunks))
    assert [(chunk.repo, chunk.version) for chunk in case.chunks] == [("own", "v2"), ("web", "v1"), (None, None)]


def test_nodes_by_their_document_or_name():
    """A visited node is matched by its document, else by its name; a node without a match gets no entry."""
    walk = {"traversed_edges": [("a", "core@v1/x"), ("core@v1/x", "plain")], "nodes": {"a": {"doc_id": "web@v3/y"}}}
    (case,) = fill(Case(question="?", traversal=walk))
    assert {name: (node.repo, node.version) for name, node in case.traversal.nodes.items()} == {
        "a": ("web", "v3"),
        "core@v1/x": ("core", "v1"),
    }


def test_faulty_rows_pass_and_cases_without_ids_are_no_fault():
    """Rows that are no cases pass unchanged; without any id there is nothing that the pattern could miss."""
    fault = RowFault(place="a.jsonl:1", message="is no JSON")
    bare = Case(question="?")
    assert fill(fault, bare) == [fault, bare]


def test_a_pattern_that_matches_nothing_is_an_error():
    """The error names the pattern, the number of cases that were checked and an id."""
    with pytest.raises(DataError, match=r"matches no id of a chunk or node in the first 1 cases, such as 'd1'"):
        fill(Case(question="?", chunks=[{"text": "", "doc_id": "d1"}]))


def test_only_the_first_cases_are_checked():
    """A match after the checked cases comes too late; a match among them lets all others pass."""
    plain = [Case(id=str(n), question="?", chunks=[{"id": "d", "text": ""}]) for n in range(CHECKED_CASES)]
    good = Case(question="?", chunks=[{"id": "core@v1/a", "text": ""}])
    with pytest.raises(DataError, match="in the first 1,000 cases"):
        fill(*plain, good)
    assert fill(good, *plain)[0].chunks[0].repo == "core"


@pytest.mark.parametrize(("pattern", "message"), [("(", "no regular expression"), ("x", "has no group named repo")])
def test_patterns_that_cannot_be_used(pattern, message):
    """An invalid pattern and one without a group are refused before any row is read."""
    with pytest.raises(DataError, match=message):
        read_pattern(pattern)
