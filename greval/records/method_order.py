"""The order of methods, the same wherever several are listed or compared."""

from __future__ import annotations

from collections.abc import Iterable


def sort_methods(names: Iterable[str], baseline: str | None = None) -> tuple[str, ...]:
    """Sort the names of methods, each once: the baseline first, the others by name.

    It is not the order in which responses came, because that differs between two runs on the same data, and with it the
    sign of a difference would.

    Example:
        >>> sort_methods(["walk", "local", "walk", "basic"], "local")
        ('local', 'basic', 'walk')
    """
    return tuple(sorted(set(names), key=lambda name: (name != baseline, name)))
