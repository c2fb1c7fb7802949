"""Tests of adjudication by majority."""

from agreed_runs import said
from hypothesis import given
from hypothesis import strategies as st

from greval.trust.annotations.adjudication import adjudicate, find_majority


@given(st.lists(st.sampled_from("abc"), max_size=7))
def test_the_majority_is_the_only_most_frequent_value(values):
    """A value is the majority's where no other has as many votes; else it stays open."""
    counts = sorted(((values.count(value), value) for value in set(values)), reverse=True)
    expected = counts[0][1] if counts and (len(counts) == 1 or counts[0][0] > counts[1][0]) else None
    assert find_majority(values) == expected


def test_ties_stay_open():
    """Adjudication counts submitted values only, keeps things apart, and leaves ties open."""
    rows = [
        *said("right", "ana", ["Yes", "Yes"]),
        *said("right", "bob", ["No", "Yes"]),
        *said("right", "eve", ["No"], status="discarded"),
    ]
    first, second = adjudicate(rows)
    assert (first.value, first.is_tied, first.votes) == (None, True, {"Yes": 1, "No": 1})
    assert (second.value, second.annotators) == ("Yes", ("ana", "bob"))
