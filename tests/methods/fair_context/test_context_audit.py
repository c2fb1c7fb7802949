"""What each method was given, as figures and as plain sentences on what was not alike."""

from __future__ import annotations

import json

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from greval.cli.audit import audit as command
from greval.judging.model.tokens import TokenCounter
from greval.methods.fair_context.context_audit import audit_contexts
from greval.records.case import Case
from greval.report.audit import ALIKE, ALONE, render


def case(method, n=0, **fields):
    """Give a case of a method."""
    return Case(id=f"q{n}", question="Who?", method=method, **fields)


def chunks(*documents, text="One two three four."):
    """Give a chunk of each document."""
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


def test_kinds_that_differ_are_told():
    """A kind of context that one method has and others have not stands in a sentence of its own."""
    cases = [case("walk", n, chunks=chunks("d1"), aggregates=["x: 7"]) for n in range(20)]
    cases += [case("local", n, chunks=chunks("d1")) for n in range(20)]
    cases += [case("basic", n, chunks=chunks("d1"), aggregates=["x: 7"] if n else []) for n in range(20)]
    found = audit_contexts(cases)
    assert found.differences[0] == (
        "walk got aggregates in 20 of 20 cases, basic in 19 of 20, local in none: "
        "differences of answers may come from these"
    )
    assert not found.alike


def test_sizes_that_differ_are_told():
    """Means that are more than a quarter apart are told with their factor, others are not."""
    found = audit_contexts(
        [case("walk", chunks=chunks("d1", "d2", "d3", "d4", "d5")), case("local", chunks=chunks("d1", "d2"))]
    )
    assert found.differences[0] == (
        "walk got 5.0 documents a case, local 2.0 (2.5 times as many): differences of answers may come from these"
    )
    near = [case("walk", chunks=chunks("d1", "d2", "d3", "d4", "d5")), case("local", chunks=chunks(*"abcd"))]
    assert audit_contexts(near).differences == ()


def test_other_questions_are_told():
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


def printed(found):
    """Give an audit as it is printed on a wide page."""
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123 - closed with the test
    render(found, console)
    console.file.close()
    return console.export_text()


def test_on_paper():
    """The table has a line for each figure; names are shown as they are; what is not recorded is a dash."""
    told = printed(
        audit_contexts([case("[walk]", 0, chunks=chunks("d1"), aggregates=["x: 7"]), case("local", 0, error="No.")])
    )
    assert "[walk]" in told
    assert "local (1 failed)" in told
    assert [line.split() for line in told.splitlines() if line.strip().startswith("aggregates")] == [
        ["aggregates", "1", "1.0", "1.0", "1.0", "1", "of", "1"],
        ["aggregates", "0", "-", "-", "-", "0", "of", "0"],
    ]
    assert ALONE in printed(audit_contexts([case("walk", chunks=chunks("d1"))]))
    assert ALIKE in printed(audit_contexts([case(name, chunks=chunks("d1")) for name in ("walk", "local")]))


def test_command(tmp_path):
    """`greval audit` prints the table or JSON; rows that are no cases are told, with exit code 3."""
    app = typer.Typer()
    app.command("audit")(command)
    rows = [case("walk", chunks=chunks("d1"), aggregates=["x: 7"]), case("local", chunks=chunks("d1"))]
    path = tmp_path / "responses.jsonl"
    path.write_text("".join(f"{row.model_dump_json(exclude_defaults=True)}\n" for row in rows), encoding="utf-8")
    done = CliRunner().invoke(app, [str(path)])
    assert done.exit_code == 0
    assert "walk got aggregates in 1 of 1 cases, local in none" in done.stdout
    told = CliRunner().invoke(app, [str(path), "--format", "json"])
    assert [method["with_aggregates"] for method in json.loads(told.stdout)["methods"]] == [0, 1]
    with path.open("a", encoding="utf-8") as stream:
        stream.write("{}\n")
    broken = CliRunner().invoke(app, [str(path)])
    assert (broken.exit_code, "responses.jsonl:3: question: is missing" in broken.stderr) == (3, True)
