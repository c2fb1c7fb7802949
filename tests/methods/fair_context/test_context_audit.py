"""What each method was given, as figures and as plain sentences on what was not alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.judging.model.tokens import TokenCounter
from greval.methods.fair_context.context_audit import audit_contexts
from greval.records.case import Case


def case(method, n=0, **fields):
    return Case(id=f"q{n}", question="Who?", method=method, **fields)


def chunks(*documents, text="One two three four."):
    return [{"id": f"c{n}", "text": text, "doc_id": document} for n, document in enumerate(documents)]


def test_figures_of_a_method():
    """Documents, chunks, triples, letters and tokens are those of the cases that record them."""
    cases = [
        case("walk", 0, chunks=chunks("d1", "d1", "d2"), triples=[["a", "b", "c"]], aggregates=["x: 7", "y: 3"]),
        case("walk", 1, chunks=chunks("d1", "d2", "d3", "d4", "d5")),
        case("walk", 2, error="TimeoutError: no response within 30 s"),
        case("walk", 3, answer="No context is recorded."),
    ]
    (walk,) = audit_contexts(cases, tokens=TokenCounter(lambda text: len(text.split()), "words")).methods
    assert (walk.cases, walk.failed) == (3, 1)
    assert (walk.with_chunks, walk.with_triples, walk.with_aggregates) == (2, 1, 1)
    assert (walk.documents.cases, walk.documents.mean, walk.documents.p50) == (2, 3.5, 3.5)
    assert walk.documents.p95 == pytest.approx(2 + 0.95 * 3)
    assert (walk.chunks.mean, walk.triples.mean, walk.triples.cases) == (4, 1, 1)
    assert walk.tokens.mean == (3 * 4 + 3 + 4 + 5 * 4) / 2
    assert walk.characters.mean == (3 * 19 + 5 + 8 + 5 * 19) / 2
    assert (walk.aggregates.mean, walk.aggregate_tokens.mean) == (2, 4)


def test_kinds_that_differ_are_reported():
    """A kind of context that one method has and others have not stands in a sentence of its own."""
    cases = [case("walk", n, chunks=chunks("d1"), aggregates=["x: 7"]) for n in range(20)]
    cases += [case("local", n, chunks=chunks("d1")) for n in range(20)]
    cases += [case("basic", n, chunks=chunks("d1"), aggregates=["x: 7"] if n else []) for n in range(20)]
    audit = audit_contexts(cases)
    assert audit.differences[0] == (
        "walk got aggregates in 20 of 20 cases, basic in 19 of 20, local in none: "
        "differences of answers may come from these"
    )
    assert not audit.alike


def test_sizes_that_differ_are_reported():
    """Means that are more than a quarter apart are told with their factor, others are not."""
    audit = audit_contexts(
        [case("walk", chunks=chunks("d1", "d2", "d3", "d4", "d5")), case("local", chunks=chunks("d1", "d2"))]
    )
    assert audit.differences[0] == (
        "walk got 5.0 documents a case, local 2.0 (2.5 times as many): differences of answers may come from these"
    )
    similar_cases = [case("walk", chunks=chunks("d1", "d2", "d3", "d4", "d5")), case("local", chunks=chunks(*"abcd"))]
    assert audit_contexts(similar_cases).differences == ()


def test_other_questions_are_reported():
    """Where methods did not answer the same questions their means are not comparable as they stand."""
    cases = [case("walk", n, chunks=chunks("d1")) for n in range(3)]
    cases += [case("local", n, chunks=chunks("d1")) for n in range(2)] + [case("local", 2, error="It broke.")]
    assert audit_contexts(cases).differences == (
        "the methods did not answer the same questions (local 2, walk 3, all of them 2): compare these only",
    )


@given(st.lists(st.lists(st.text(max_size=9), min_size=1, max_size=3), min_size=1, max_size=9), st.integers(1, 3))
def test_methods_that_were_given_the_same_are_alike(contexts, methods):
    """Whatever the context is: methods with the same are alike, in any order of their cases."""
    cases = [case(f"m{m}", n, chunks=texts) for m in range(methods) for n, texts in enumerate(contexts)]
    assert audit_contexts(cases).alike
    assert {*audit_contexts(reversed(cases)).methods} == {*audit_contexts(cases).methods}


def test_no_cases():
    """Nothing audited is nothing to tell."""
    assert audit_contexts([]).methods == ()
    assert audit_contexts([case("walk", error="It broke.")]).methods[0].tokens is None
