"""A value or the reason why there is none: one type, and its JSON."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from greval.stats.interval import Interval, Measured, MeasuredValue, Undefined, build_measured

ANY = TypeAdapter(Measured)
values = st.builds(
    MeasuredValue,
    value=st.floats(allow_nan=False, allow_infinity=False),
    n=st.integers(0, 10**6),
    interval=st.none() | st.just(Interval(low=0.0, high=1.0, method="wilson")),
)


@given(values | st.builds(Undefined, n=st.integers(0, 99), reason=st.text()))
def test_the_json_reads_back_as_the_same_kind(one):
    """Each kind names itself, so that its JSON form can be read without guessing."""
    assert ANY.validate_json(ANY.dump_json(one)) == one


def test_the_json_form_is_stable():
    """Reports and the REST interface hold these fields."""
    assert MeasuredValue(value=0.5, n=3).model_dump() == {
        "status": "known",
        "value": 0.5,
        "n": 3,
        "interval": None,
        "clustered": None,
    }
    assert Undefined(n=0, reason="no label").model_dump() == {"status": "undefined", "n": 0, "reason": "no label"}


@pytest.mark.parametrize("row", [{"value": 1.0, "n": 1}, {"status": "known", "n": 1}, {"status": "undefined", "n": 1}])
def test_a_value_without_its_kind_or_its_parts_is_refused(row):
    """There is no default for a kind, a value or a reason."""
    with pytest.raises(ValidationError):
        ANY.validate_python(row)


@given(st.none() | st.floats(-1, 1), st.integers(0, 9))
def test_a_missing_value_becomes_a_reason(value, n):
    """Only None has no value; 0 is a value as any other."""
    found = build_measured(value, n, "nothing to count")
    if value is None:
        assert found == Undefined(n=n, reason="nothing to count")
    else:
        assert found == MeasuredValue(value=value, n=n)
