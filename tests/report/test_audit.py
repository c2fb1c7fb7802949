"""An audit for the terminal: the sizes of what each method was given."""

from report_page import find_row, print_page

from greval.methods.fair_context.context_audit import SIZES, ContextAudit, MethodContext, SizeDistribution
from greval.report.audit import ALIKE, ALONE, render

SIZE = SizeDistribution(cases=3, mean=1234.56, p50=2.0, p95=4.0)


def build(*methods, differences=()):
    """Return an audit of methods that were given chunks only."""
    counts = {"cases": 3, "with_chunks": 3, "with_triples": 0, "with_aggregates": 0}
    sizes = dict.fromkeys(SIZES) | {"chunks": SIZE}
    given = tuple(MethodContext(method=name, failed=failed, **counts, **sizes) for name, failed in methods)
    return ContextAudit(methods=given, differences=differences, tokens_how="counted by words")


def test_sizes_have_one_decimal_and_missing_ones_dashes():
    """The name of a method is printed once, with its failures, and kinds have a share of cases."""
    page = print_page(render, build(("[walk]", 2)))
    assert page.count("[walk] (2 failed)") == 1
    assert find_row(page, "chunks") == ["chunks", "3", "1,234.6", "2.0", "4.0", "3 of 3"]
    assert find_row(page, "triples") == ["triples", "0", "-", "-", "-", "0 of 3"]


def test_the_conclusion_depends_on_the_methods():
    """One method has no other, equal ones are alike, and differences are listed instead."""
    assert ALONE in print_page(render, build(("walk", 0)))
    assert ALIKE in print_page(render, build(("walk", 0), ("", 0)))
    page = print_page(render, build(("walk", 0), ("", 0), differences=("walk got more",)))
    assert "walk got more" in page
    assert ALIKE not in page
    assert "(no method)" in page
