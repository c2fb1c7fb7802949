"""A sign and a number: what can be written, and when a figure meets it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.records.formula import SIGNS, TOLERANCE, parse_limit, split_comparison


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
