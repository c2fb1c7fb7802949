"""Items in groups of a size."""

from __future__ import annotations

from itertools import count, islice

from hypothesis import given
from hypothesis import strategies as st

from greval._util.groups import take_groups


@given(st.lists(st.integers()), st.integers(1, 5))
def test_groups_are_full_and_hold_every_item_in_order(items, size):
    """Every group but the last has the size, none is empty, and together they are the items."""
    groups = [*take_groups(items, size)]
    assert [item for group in groups for item in group] == items
    assert all(len(group) == size for group in groups[:-1])
    assert all(groups)


def test_items_are_taken_when_their_group_is():
    """An endless source can be split, because no item of a later group is read."""
    source = count()
    assert [*islice(take_groups(source, 3), 2)] == [[0, 1, 2], [3, 4, 5]]
    assert next(source) == 6
