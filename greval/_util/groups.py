"""Items in groups of a size, as `itertools.batched` of newer Pythons gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def take_groups(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield items in lists of a size; the last one may be shorter. Items are taken when their list is.

    Example:
        >>> list(take_groups("abcde", 2))
        [['a', 'b'], ['c', 'd'], ['e']]
    """
    remaining = iter(items)
    while group := list(islice(remaining, size)):
        yield group
