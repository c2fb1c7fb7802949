"""Formulas and limits: equal to Python's own arithmetic, closed against everything else, and exact about places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.records.formula import (
    FUNCTIONS,
    MAX_CHARACTERS,
    SIGNS,
    TOLERANCE,
    FormulaError,
    FormulaInput,
    SkippedInputError,
    parse_limit,
    read_formula,
    split_comparison,
)

NAMES = ("a", "b", "c")
numbers = st.integers(-8, 8).map(lambda number: number / 4)


def compute(text, **found):
    formula = read_formula(text)
    assert formula.faults == ()
    return formula.compute({name: as_input(value) for name, value in found.items()})


def as_input(value):
    if isinstance(value, str):
        return FormulaInput(label=value, reason="it has no score")
    return FormulaInput(float(value))


def combine(parts):
    """Combine expressions to larger ones, each in parentheses."""
    pairs = st.tuples(parts, parts)
    signs = st.sampled_from(["+", "-", "*"])
    compared = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    return st.one_of(
        st.tuples(signs, pairs).map(lambda given: f"({given[1][0]} {given[0]} {given[1][1]})"),
        st.tuples(compared, pairs).map(lambda given: f"({given[1][0]} {given[0]} {given[1][1]})"),
        st.tuples(parts, parts, parts).map(lambda given: f"({given[0]} if {given[1]} else {given[2]})"),
        st.tuples(st.sampled_from(["min", "max"]), pairs).map(lambda given: f"{given[0]}({', '.join(given[1])})"),
        parts.map(lambda part: f"(-{part})"),
    )


expressions = st.recursive(st.sampled_from(NAMES) | st.sampled_from(["0", "1", "0.5", "2"]), combine, max_leaves=12)


@given(expressions, st.tuples(numbers, numbers, numbers))
def test_arithmetic_is_that_of_python(text, values):
    """Whatever is combined, the value is Python's own for the same numbers."""
    numbers_by_name = dict(zip(NAMES, values, strict=True))
    expected = eval(text, {"__builtins__": {"min": min, "max": max}}, numbers_by_name)  # noqa: S307 - the oracle
    assert compute(text, **numbers_by_name) == pytest.approx(float(expected))


@given(st.text(max_size=60) | st.text("ab01.+-*/()<>= ,'\"[]{}:\n", max_size=60))
def test_any_text_is_read_or_refused(text):
    """Whatever is written is a formula, or has faults with columns inside the text; nothing is raised."""
    formula = read_formula(text)
    assert all(1 <= fault.column <= max(len(text), 1) for fault in formula.faults)
    if not formula.faults:
        assert formula.fill({name: FormulaInput(label="x") for name in formula.names})


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", ["column 1: is empty; write one such as mean(correctness, faithfulness)"]),
        ("a ** 2 + len(b)", ["column 1: 'a ** 2': expected + - * or /", "column 10: 'len' is no function of formulas"]),
        ("ä + maen(b)", ["column 5: 'maen' is no function of formulas; did you mean mean?"]),
        ("  a + True", ["column 7: 'True': expected a number such as 0.5"]),
        ("mean", ["column 1: 'mean' is a function; write mean(a, b)"]),
        ("mean()", ["column 1: 'mean()': write mean(a, b)"]),
        ("min(a, key=b)", ["column 1: 'min(a, key=b)': write min(a, b)"]),
        ("scaled(a, 1, 1)", ["column 1: 'scaled(a, 1, 1)': write scaled(a, 1, 5)"]),
        ("scaled(a, b, 1)", ["column 1: 'scaled(a, b, 1)': write scaled(a, 1, 5)"]),
        ("a < 'x'", ["column 1: \"a < 'x'\": a category is compared with one metric, by == or !="]),
        ("1 + 'x'", ["column 5: 'x': a category is compared with one metric, as in tone == 'x'"]),
        ("a in b", ["column 1: 'a in b': expected < <= > >= == or !="]),
        ("~a", ["column 1: '~a' is not allowed"]),
        ("a.b", ["column 1: 'a.b' is not allowed"]),
        ("(lambda: a)()", ["column 1: 'lambda: a' is no function of formulas"]),
        ("mean(*a)", ["column 6: '*a' is not allowed"]),
        ("a +", ["column 1: is no expression"]),
        ("a) + (b", ["column 2: is no expression"]),
        (f"{'9' * 400} + a", ["column 1: '99999"]),
        ("-" * 100 + "a", ["column 62: is nested more than 60 deep; make a metric of a part of it"]),
        ("a" * (MAX_CHARACTERS + 1), ["column 1: is longer than 2,000 characters; make a metric of a part of it"]),
        ("a\x00", ["column"]),
        ("(" * 1_000, ["column"]),
        ("-" * 1_999 + "a", ["column"]),
    ],
)
def test_faults_have_their_places(text, faults):
    """Every fault is found, each with its column and what to write."""
    messages = [str(fault) for fault in read_formula(text).faults]
    assert len(messages) == len(faults)
    assert all(message.startswith(start) for message, start in zip(messages, faults, strict=True)), messages


def test_functions():
    """Each function computes what it is named for; a condition counts as 1 or 0."""
    assert compute("mean(a, b, 3)", a=1, b=2) == 2
    assert compute("min(a, b) + max(a, b)", a=1, b=2) == 3
    assert compute("all(a >= 1, b >= 1)", a=1, b=0) == 0
    assert compute("any(a >= 1, b >= 1)", a=1, b=0) == 1
    assert compute("scaled(a, 1, 5)", a=4) == 0.75
    assert compute("scaled(a, 10, 0)", a=2) == 0.8
    assert compute("not a or b and 0", a=0, b=1) == 1
    assert compute("0 <= a < 1", a=1) == 0
    assert {*FUNCTIONS} == {"mean", "min", "max", "all", "any", "scaled"}


def test_equal_figures_are_equal():
    """A figure that misses a limit by rounding only meets it, as in a gate."""
    assert compute("a - 0.02 >= 0.68", a=0.7) == 1
    assert compute("a + 0.2 == 0.3", a=0.1) == 1


def test_a_decision_tree():
    """Nested conditions are a decision tree over categories and numbers."""
    text = 'a if tone == "Polite" else b if tone != "Rude" else 0'
    assert [compute(text, tone=tone, a=1, b=0.5) for tone in ("Polite", "Curt", "Rude")] == [1, 0.5, 0]
    assert compute('"Rude" == tone', tone="Rude") == 1


def test_only_the_branch_that_counts_is_read():
    """A skipped metric matters only if the formula comes to it."""
    formula = read_formula("a if b >= 0.5 else 0")
    skipped = FormulaInput(reason="answer is not recorded", skipped=True)
    assert formula.compute({"a": skipped, "b": FormulaInput(0.0)}) == 0
    with pytest.raises(SkippedInputError, match="a is skipped: answer is not recorded"):
        formula.compute({"a": skipped, "b": FormulaInput(1.0)})


def test_what_has_no_value():
    """A division by 0, a number that is not there and a category that is not there are errors that say which."""
    with pytest.raises(FormulaError, match=r"it divides by 'b - 1', at column 6, which is 0"):
        compute("a / (b - 1)", a=1, b=1)
    with pytest.raises(FormulaError, match="tone has no number: it has no score"):
        compute("tone + 1", tone="Rude")
    with pytest.raises(FormulaError, match="a has no category"):
        compute("a == 'Rude'", a=1)


def test_filled_in():
    """The filled text has numbers and categories in the place of the names, and the names of what was skipped."""
    formula = read_formula("0.5 * a +\n b if tone == 'Rude' else skipped")
    inputs = {"a": FormulaInput(1 / 3), "b": FormulaInput(2.0), "tone": as_input("Curt"), "skipped": FormulaInput()}
    assert formula.fill(inputs) == "0.5 * 0.3333 +  2 if \"Curt\" == 'Rude' else skipped"


@given(st.floats(-100, 100), st.sampled_from(sorted(SIGNS)))
def test_a_number_meets_itself_if_the_sign_has_an_equals_sign(number, sign):
    """A limit is the number that is written; figures that are equal but for rounding are equal."""
    limit = parse_limit(f"{sign} {number!r}")
    assert (limit.sign, limit.compute_bound()) == (sign, number)
    assert limit.is_met(number) == limit.is_met(number + 1e-12) == ("=" in sign)
    assert limit.is_met(number + 1) == (">" in sign)
    assert limit.is_met(number - 2 * TOLERANCE - abs(number) * 1e-9) == ("<" in sign)


def test_the_last_digit_decides_nothing():
    """0.1 + 0.2 is a little more than 0.3: the figure 0.3 is not below it all the same."""
    _, below = split_comparison("m < baseline + 0.2", ["baseline"])
    assert below.compute_bound(baseline=0.1) > 0.3
    assert not below.is_met(0.3, baseline=0.1)
    assert parse_limit(">= 0.1 + 0.2").is_met(0.3)


@pytest.mark.parametrize("text", ["", "0.7", ">= high", "== 1", ">= 1 2", ">= nan", "=> 1", "x >= 1", ">= 1 / 0"])
def test_anything_else_is_refused(text):
    """The error shows what to write."""
    with pytest.raises(ValueError, match=r"write < <= > or >= and a number, such as '>= 0\.7'"):
        parse_limit(text)
