"""Warnings about an estimate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from greval._util.wording import format_count
from greval.runs.run_reader import ItemKey
from greval.stats.sampling import WeightedSample

MIN_ITEMS = 30
"""With fewer single items intervals are approximate. `figures.MIN_QUESTIONS` has the limits for whole questions."""


def find_inconsistent_draws(items: Collection[ItemKey]) -> Iterator[str]:
    """Yield a warning about items whose annotations have different weights or strata."""
    if items:
        count = format_count(len(items), "item")
        yield f"{count} with annotations of different weights or strata: the first of each counts"


def find_unlabelled_items(strata: Mapping[ItemKey, str | None], labelled: Collection[ItemKey]) -> Iterator[str]:
    """Yield warnings about items that were sampled (`strata` has the stratum of each) but have no label."""
    if not labelled:
        return
    if missing := len(strata) - len(labelled):
        yield (
            f"{missing} of {len(strata)} sampled items have no label; the labelled ones of their stratum represent "
            "them, which is right only if they were left out at random"
        )
    represented = {strata[key] for key in labelled}
    empty = Counter(str(stratum) for stratum in strata.values() if stratum not in represented)
    for stratum, count in empty.items():
        yield f"stratum {stratum}: none of its {count} sampled items has a label; those of other strata represent them"


def find_sample_warnings(sample: WeightedSample) -> Iterator[str]:
    """Yield warnings about strata with a single label, and about few sampled items."""
    if sample.joined:
        yield f"strata with a single label: {sample.joined}; each counts with the stratum whose weights are nearest"
    if sample.unit_count < MIN_ITEMS and not sample.clustered:
        rough = f"with fewer than {MIN_ITEMS}, intervals are approximate"
        yield f"only {sample.unit_count} sampled items are labelled: {rough}"


def find_failures(statuses: Counter[str]) -> Iterator[str]:
    """Yield a warning if cases failed, so that the estimate leaves them out."""
    if count := statuses["failed"]:
        yield f"{count} of {statuses.total()} cases failed: the estimate is of the judged ones only"
