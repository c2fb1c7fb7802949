"""Scales in formulas: what mixes several is found with its place and a way out, and conversions are left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.metrics.lint import find_mixed_scales
from greval.records.formula import read_formula
from greval.records.scale import CategoricalScale, MeasureScale, ValueScale

SCALES = {
    "right": ValueScale(range=(0, 1), levels={0: "n", 1: "y"}),
    "found": MeasureScale(high=1),
    "tone": CategoricalScale(categories={"Polite": {"score": 1}, "Curt": {"score": 0.5}, "Rude": {"score": 0}}),
    "depth": ValueScale(range=(1, 5), levels={1: "n", 5: "y"}),
    "clarity": ValueScale(range=(1, 5), levels={1: "n", 5: "y"}),
    "rated": CategoricalScale(categories={"Good": {"score": 10}, "Bad": {"score": 0}}),
    "kind": CategoricalScale(categories={"News": {}, "Story": {}}),
    "latency": MeasureScale(unit="s", better="lower"),
    "tokens": MeasureScale(unit="tokens", better="lower"),
}


def find(text):
    return [str(fault) for fault in find_mixed_scales(read_formula(text), SCALES)]


@pytest.mark.parametrize(
    "text",
    [
        "0.7 * right + 0.3 * found",
        "mean(right, found, tone)",
        "(2 * right + found) / 3",
        "mean(depth, clarity)",
        "(depth + clarity) / 2 - clarity",
        "mean(right, scaled(depth, 1, 5), scaled(latency, 10, 0))",
        "right + (depth - 1) / 4",
        "0.5 * right + 0.5 * (depth / 5)",
        "right * depth",
        "right if latency <= 2 else 0.5 * right",
        "right if depth >= 3 and latency < 2 else 0",
        "mean(depth >= 3, right, not found)",
        'mean(right, tone == "Rude")',
        "1 - right + found",
        "right + unknown + kind",
        "latency / tokens",
    ],
)
def test_what_has_one_scale_or_is_converted_is_left_alone(text):
    """Weights, means of one scale, conversions, conditions and metrics of which nothing is known are no mix."""
    assert find(text) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("0.5 * right + 0.5 * depth", "column 1: mixes right (0 to 1) with depth (1 to 5); write scaled(depth, 1, 5)"),
        ("0.4 * right + 0.3 * found + 0.3 * depth", "column 1: mixes 0.4 * right + 0.3 * found (0 to 1) with depth"),
        ("mean(tone, rated)", "column 1: mixes tone (0 to 1) with rated (0 to 10); write scaled(rated, 0, 10)"),
        ("1 - mean(right, found, depth)", "column 5: mixes right (0 to 1) with depth (1 to 5)"),
        ("mean(depth, rated)", "write scaled(depth, 1, 5) and scaled(rated, 0, 10)"),
        ("max(right, latency)", "write scaled(latency, A, B) with the numbers A and B that count as 0 and as 1"),
        ("latency + tokens", "mixes latency (0 and more s) with tokens (0 and more tokens)"),
        ("1 if right > depth else 0", "column 6: mixes right (0 to 1) with depth (1 to 5)"),
        ("depth if right >= 0.5 else found", "column 1: mixes depth (1 to 5) with found (0 to 1)"),
        ("all(right < depth, found > 0)", "column 5: mixes right"),
        ("scaled(right + depth, 1, 6)", "column 8: mixes right"),
        ("right * (found - depth)", "column 10: mixes found"),
        ("mean(right, scaled(depth, 1, 5)) + depth", "mixes mean(right, scaled(depth, 1, 5)) (0 to 1) with depth"),
    ],
)
def test_a_mix_is_found_with_its_place_and_a_way_out(text, fault):
    """Sums, means, extremes, comparisons and choices of different scales are named with both scales."""
    (faults,) = find(text)
    assert fault in faults


def test_columns_count_characters():
    """The column is that of the text as it is written, with blanks before it and letters of several bytes in it."""
    scales = {"größe": SCALES["depth"], "right": SCALES["right"]}
    (fault,) = find_mixed_scales(read_formula("  1 - mean(größe, größe) * 0 - (right + größe)"), scales)
    assert fault.column == 33


OPERANDS = st.recursive(
    st.sampled_from([*SCALES, "0.5", "2"]),
    lambda parts: st.one_of(
        st.tuples(parts, st.sampled_from("+-*/"), parts).map(lambda one: f"({one[0]} {one[1]} {one[2]})"),
        st.tuples(parts, parts).map(lambda both: f"mean({both[0]}, {both[1]})"),
        parts.map(lambda part: f"scaled({part}, 1, 5)"),
        st.tuples(parts, parts, parts).map(lambda one: f"({one[0]} if {one[1]} >= 1 else {one[2]})"),
    ),
    max_leaves=8,
)


@given(OPERANDS)
def test_any_formula_is_looked_through(text):
    """No formula is too strange, and one whose metrics all have one scale has no mix."""
    formula = read_formula(text)
    assert not formula.faults
    assert all(fault.text.startswith("mixes ") for fault in find_mixed_scales(formula, SCALES))
    assert find_mixed_scales(formula, dict.fromkeys(SCALES, SCALES["right"])) == ()
