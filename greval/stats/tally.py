"""Tallies: results summed up one by one, so that a million of them need not be in memory at once."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from math import fsum, inf

from greval.result import Usage
from greval.stats.interval import Interval, ratio_bootstrap, t_interval, wilson
from greval.stats.outline import Outline, read

MOST_KINDS = 4096
"""So many different outlines are counted at a time; a run of verdicts has a few dozen."""


class Tally:
    """What the results of one metric and group come to; `add` takes each by its outline and its cost.

    Of a measure without an upper end each value may be another: its numbers are kept, 8 bytes each,
    and how often each value was given is not counted.
    """

    def __init__(self, *, unbounded: bool = False) -> None:
        self.statuses: Counter[str] = Counter()
        self.distribution: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.skips: Counter[str] = Counter()
        self.items = 0
        self.items_failed = 0
        self._numbers = array("d") if unbounded else None
        self._kinds: dict[str, int] = {}
        self._costs: list[int | None] = [0 if field.default == 0 else None for field in Usage.model_fields.values()]
        self._sums = array("d")
        self._sizes = array("q")
        self._low, self._high = inf, -inf
        self._binary = True

    def add(self, text: str, costs: Sequence[int | None]) -> None:
        """Take a result.

        Args:
            text: Its outline, `greval.stats.outline.outline`.
            costs: The fields of its `Usage`, in their order.
        """
        kinds = self._kinds
        kinds[text] = kinds.get(text, 0) + 1
        found = read(text)
        if found.numbers:
            self._sums.append(found.total)
            self._sizes.append(len(found.numbers))
        totals = self._costs
        for place, cost in enumerate(costs):
            if cost:
                totals[place] = (totals[place] or 0) + cost
            elif cost is not None and totals[place] is None:
                totals[place] = 0
        if len(kinds) >= MOST_KINDS:
            self.settle()

    def settle(self) -> None:
        """Count what was taken since; the counts are whole only after it."""
        for text, times in self._kinds.items():
            self._count(read(text), times)
        self._kinds = {}

    def _count(self, found: Outline, times: int) -> None:
        self.statuses[found.status] += times
        self.items_failed += found.items_failed * times
        self.items += len(found.values) * times
        if self._numbers is None:
            for value in found.values:
                self.distribution[value] += times
        else:
            self._numbers.extend(found.numbers * times)
        for kind in found.kinds:
            self.failures[kind] += times
        if found.skip is not None:
            self.skips[found.skip] += times
        for number in found.numbers:
            self._low, self._high = min(self._low, number), max(self._high, number)
            self._binary &= number in {0.0, 1.0}

    @property
    def usage(self) -> Usage:
        """What all of it cost."""
        return Usage(**dict(zip(Usage.model_fields, self._costs, strict=True)))

    @property
    def counted(self) -> int:
        """How many judgements read as a number."""
        return sum(self._sizes)

    @property
    def mean(self) -> float | None:
        """The mean over those, None where there is none."""
        return fsum(self._sums) / self.counted if self._sums else None

    def quantile(self, share: float) -> float | None:
        """Give the number below which that share of the kept numbers lies, by linear interpolation; None without any.

        Args:
            share: From 0 to 1; 0.5 gives the median.
        """
        if not self._numbers:
            return None
        import numpy as np  # noqa: PLC0415 - 80 ms, for measures only

        return float(np.quantile(np.frombuffer(self._numbers), share))

    def interval(self, ends: tuple[float, float] | None) -> Interval | None:
        """Choose the interval: by clusters where cases have several items, Wilson's for 0/1, else Student's.

        Equal values have no spread to learn from: their interval comes from the scale's ends alone.
        """
        mean = self.mean
        if mean is None:
            return None
        clustered = max(self._sizes) > 1
        if not clustered and self._binary:
            return wilson(mean, len(self._sums))
        found = None
        if self._low < self._high:
            found = ratio_bootstrap(self._sums, self._sizes) if clustered else t_interval(self._sums)
        if found:
            return found.within(ends)
        return None if ends is None else wilson(mean, len(self._sums), low=ends[0], high=ends[1])
