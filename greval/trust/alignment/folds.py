"""Clusters of labelled items that share content, and folds that never split a cluster."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence


def number_clusters(marks: Sequence[Sequence[Hashable]]) -> list[int]:
    """Number items so that those that share a mark, directly or through other items, have the same number.

    Args:
        marks: The marks of each item, such as its sample, its question and its content.

    Example:
        >>> number_clusters([("q1", "Who?"), ("q2", "Where?"), ("q3", "Who?"), ("q3", "When?")])
        [0, 1, 0, 0]
    """
    parent = [*range(len(marks))]
    first: dict[Hashable, int] = {}

    def find_root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for number, each in enumerate(marks):
        for mark in each:
            one, other = find_root(number), find_root(first.setdefault(mark, number))
            parent[max(one, other)] = min(one, other)
    return [find_root(number) for number in range(len(marks))]


def assign_folds(numbers: Sequence[int], count: int, *, seed: int) -> dict[int, int]:
    """Assign each cluster to a fold, numbered from 1. Folds have similar sizes, and no cluster is split.

    Args:
        numbers: The cluster of each item.
        count: The number of folds, at most the number of clusters.
        seed: The random seed.

    Example:
        >>> sorted(assign_folds([7, 7, 8, 9], 2, seed=0).values())
        [1, 2, 2]
    """
    sizes = {number: numbers.count(number) for number in dict.fromkeys(numbers)}
    names = sorted(sizes)
    random.Random(seed).shuffle(names)  # noqa: S311 - no secret
    names.sort(key=lambda name: -sizes[name])  # a stable sort: largest first, ties in random order
    held = [0] * count
    found: dict[int, int] = {}
    for name in names:
        fold = held.index(min(held))
        held[fold] += sizes[name]
        found[name] = fold + 1
    return found


def draw_clusters(numbers: Sequence[int], max_items: int, *, seed: str) -> set[int]:
    """Draw clusters at random that contain at most `max_items` items in total.

    Example:
        >>> draw_clusters([7, 7, 8], 3, seed="s"), draw_clusters([7, 7], 1, seed="s")
        ({8, 7}, set())
    """
    sizes = {number: numbers.count(number) for number in dict.fromkeys(numbers)}
    names = sorted(sizes)
    random.Random(seed).shuffle(names)  # noqa: S311 - no secret
    found: set[int] = set()
    held = 0
    for name in names:
        if held + sizes[name] <= max_items:
            found.add(name)
            held += sizes[name]
    return found
