"""Tallies: running totals of results, so that a million of them need not be in memory at once."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

from greval.records.outline import Outline, read_outline
from greval.records.result import Usage
from greval.stats.interval import Interval
from greval.stats.mean_interval import mean_interval
from greval.stats.number_range import NumberRange

MAX_OUTLINES = 4096
"""The number of different outlines that are buffered; a run of verdicts has a few dozen."""


class TallySpread(NamedTuple):
    """The distribution of numbers: median, sample standard deviation (n - 1), extremes and 95th percentile.

    `deviation` is missing (None) for a single number. Quantiles are linearly interpolated.
    """

    median: float
    deviation: float | None
    lowest: float
    highest: float
    p95: float


class ResultTally:
    """The totals of the results of one metric and group; `add` takes each result by its outline and its cost.

    Every number is kept, 8 bytes each, so that median and quantiles are exact; so are the sum and the
    number of judgements of each result, 16 bytes. The counts of values are kept unless the
    scale has no upper end, because all its values may differ.

    Args:
        numbers: The range of numbers of the scale; None if it has no numbers or is not known.
    """

    def __init__(self, numbers: NumberRange | None = None) -> None:
        self.statuses: Counter[str] = Counter()
        self.distribution: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.skips: Counter[str] = Counter()
        self.items = 0
        self.items_failed = 0
        self._range = numbers
        self._numbers = array("d")
        self._kinds: dict[str, int] = {}
        self._costs: list[int | None] = [0 if field.default == 0 else None for field in Usage.model_fields.values()]
        self._sums = array("d")
        self._sizes = array("q")

    @property
    def is_open(self) -> bool:
        """True if the scale has no upper end."""
        return self._range is not None and self._range.high is None

    def add(self, text: str, costs: Sequence[int | None]) -> None:
        """Add a result.

        Args:
            text: Its outline, from `greval.records.outline.format_outline`.
            costs: The fields of its `Usage`, in their order.
        """
        kinds = self._kinds
        kinds[text] = kinds.get(text, 0) + 1
        totals = self._costs
        for place, cost in enumerate(costs):
            if cost:
                totals[place] = (totals[place] or 0) + cost
            elif cost is not None and totals[place] is None:
                totals[place] = 0
        if len(kinds) >= MAX_OUTLINES:
            self.count_pending()

    def count_pending(self) -> None:
        """Count the buffered outlines; the totals are complete only after this."""
        for text, times in self._kinds.items():
            self._count_outline(read_outline(text), times)
        self._kinds = {}

    def _count_outline(self, found: Outline, times: int) -> None:
        self.statuses[found.status] += times
        self.items_failed += found.items_failed * times
        self.items += len(found.values) * times
        if found.numbers:
            self._numbers.extend(found.numbers * times)
            self._sums.extend((found.total,) * times)
            self._sizes.extend((len(found.numbers),) * times)
        if not self.is_open:
            for value in found.values:
                self.distribution[value] += times
        for kind in found.kinds:
            self.failures[kind] += times
        if found.skip is not None:
            self.skips[found.skip] += times

    @property
    def usage(self) -> Usage:
        """The total usage of all results."""
        return Usage(**dict(zip(Usage.model_fields, self._costs, strict=True)))

    @property
    def number_count(self) -> int:
        """The number of judgements that read as a number."""
        return sum(self._sizes)

    @property
    def mean(self) -> float | None:
        """The mean of these numbers, or None without numbers."""
        return fsum(self._sums) / self.number_count if self._sums else None

    def compute_spread(self) -> TallySpread | None:
        """Compute the distribution of the numbers, or None without numbers; their order does not matter."""
        if not self._numbers:
            return None
        import numpy as np

        ranked = np.sort(np.asarray(self._numbers))
        lowest, highest = float(ranked[0]), float(ranked[-1])
        median, p95 = (float(number) for number in np.quantile(ranked, (0.5, 0.95)))
        deviation = 0.0 if lowest == highest else float(ranked.std(ddof=1))  # equal numbers can give a tiny one
        return TallySpread(median, deviation if len(ranked) > 1 else None, lowest, highest, p95)

    def compute_interval(self, spread: TallySpread | None) -> Interval | None:
        """Return the 95 % interval of the mean by the scale, see `greval.stats.mean_interval`.

        Args:
            spread: The result of `compute_spread`.

        Returns:
            The interval. None without numbers, if the scale has no numbers or is not known, or if a
            number is outside its ends, so that it is not the scale of these numbers.
        """
        if spread is None or self._range is None or not self._range.contains(spread.lowest, spread.highest):
            return None
        return mean_interval(self._sums, self._sizes, self._range)
