"""Inventories hold what an index contains."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from greval.records.inventory import IndexInventory


def test_an_empty_inventory_contains_nothing():
    """Each field is empty unless it is given, and inventories do not share their mappings."""
    one, other = IndexInventory(), IndexInventory()
    assert (one.documents, one.notes) == (frozenset(), ())
    assert [one.chunks, one.nodes, one.edges, one.aliases] == [{}, {}, {}, {}]
    assert one.chunks is not other.chunks


def test_inventories_are_compared_by_content_and_frozen():
    """Two inventories of the same content are equal; a field cannot be set."""
    one = IndexInventory(documents=frozenset({"d1"}), edges={("a", "calls", "b"): ("d1",)})
    assert one == IndexInventory(documents=frozenset({"d1"}), edges={("a", "calls", "b"): ("d1",)})
    assert one != IndexInventory(documents=frozenset({"d2"}))
    with pytest.raises(FrozenInstanceError):
        one.documents = frozenset()
