"""Tests of the warnings about an estimate."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from greval.stats.sampling import build_weighted_sample
from greval.trust.estimates.warnings import (
    find_failures,
    find_inconsistent_draws,
    find_sample_warnings,
    find_unlabelled_items,
)

KEYS = [(f"q{n}", "", None) for n in range(4)]


def test_strata_without_labels_are_named_with_their_size():
    """The count of all sampled items without a label comes first."""
    warnings = [*find_unlabelled_items(dict(zip(KEYS, "aabb", strict=True)), KEYS[:1])]
    assert [line.partition(";")[0] for line in warnings] == [
        "3 of 4 sampled items have no label",
        "stratum b: none of its 2 sampled items has a label",
    ]


def test_counts_are_those_of_items_and_cases():
    """A failed case has no judgement to estimate from."""
    assert "2 items with annotations of different weights" in next(find_inconsistent_draws(KEYS[:2]))
    assert next(find_failures(Counter(scored=3, failed=2))).startswith("2 of 5 cases failed")


@pytest.mark.parametrize(("count", "warned"), [(29, True), (30, False)])
def test_few_single_items_are_warned_of(count, warned):
    """From 30 on the intervals hold."""
    sample = build_weighted_sample(np.ones(count), population=100)
    assert any("intervals are approximate" in line for line in find_sample_warnings(sample)) is warned
