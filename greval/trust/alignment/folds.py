"""Which labelled things belong together, and folds that keep them together."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence


def clusters(marks: Sequence[Sequence[Hashable]]) -> list[int]:
    """Number things so that those that share a mark, directly or over others, have the same number.

    Args:
        marks: The marks of each thing, such as its sample, its question and its content.

    Example:
        >>> clusters([("q1", "Who?"), ("q2", "Where?"), ("q3", "Who?"), ("q3", "When?")])
        [0, 1, 0, 0]
    """
    parent = [*range(len(marks))]
    first: dict[Hashable, int] = {}

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for number, each in enumerate(marks):
        for mark in each:
            one, other = root(number), root(first.setdefault(mark, number))
            parent[max(one, other)] = min(one, other)
    return [root(number) for number in range(len(marks))]


def folds(numbers: Sequence[int], count: int, *, seed: int) -> dict[int, int]:
    """Give the fold of each cluster, from 1; folds hold about as many things, and no cluster is split.

    Args:
        numbers: The cluster of each thing.
        count: How many folds, at most as many as there are clusters.
        seed: Decides which clusters come together.

    Example:
        >>> sorted(folds([7, 7, 8, 9], 2, seed=0).values())
        [1, 2, 2]
    """
    sizes = {number: numbers.count(number) for number in dict.fromkeys(numbers)}
    names = sorted(sizes)
    random.Random(seed).shuffle(names)  # noqa: S311 - no secret
    names.sort(key=lambda name: -sizes[name])  # stable: the large ones first, each kind in its drawn order
    held = [0] * count
    found: dict[int, int] = {}
    for name in names:
        fold = held.index(min(held))
        held[fold] += sizes[name]
        found[name] = fold + 1
    return found


def within(numbers: Sequence[int], most: int, *, seed: str) -> set[int]:
    """Draw clusters at random that together hold at most so many things.

    Example:
        >>> within([7, 7, 8], 3, seed="s"), within([7, 7], 1, seed="s")
        ({8, 7}, set())
    """
    sizes = {number: numbers.count(number) for number in dict.fromkeys(numbers)}
    names = sorted(sizes)
    random.Random(seed).shuffle(names)  # noqa: S311 - no secret
    found: set[int] = set()
    held = 0
    for name in names:
        if held + sizes[name] <= most:
            found.add(name)
            held += sizes[name]
    return found
