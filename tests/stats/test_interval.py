"""Intervals: against independent oracles, and what makes them undefined."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from greval.stats.interval import effective_wilson, student_interval, sum_by_cluster, wilson_interval


def test_no_mean_of_a_scale_lies_beyond_its_ends():
    """Student's interval of shares near 1 ends at 1; one of a measure without an end is left as it is."""
    interval = student_interval(sum_by_cluster(np.array([1.0, 1.0, 1.0, 0.8]), None), level=0.95)
    assert interval.high > 1
    assert interval.clip((0.0, 1.0)).high == 1.0
    assert interval.clip((0.0, 1.0)).low == interval.low
    assert interval.clip(None) == interval


@given(st.floats(0, 1, exclude_min=True, exclude_max=True), st.integers(2, 30))
@example(np.nextafter(1.0, 0.0).item(), 2)
@example(5e-324, 4)
def test_every_level_has_ends(level, n):
    """Intervals of levels next to 1 are wide, and those of levels next to 0 narrow, but none is undefined."""
    numbers = sum_by_cluster(np.arange(n, dtype=float), None)
    for interval in (
        wilson_interval(0.5, n, level=level),
        student_interval(numbers, level=level),
        effective_wilson(numbers, (0.0, float(n)), level=level),
    ):
        assert np.isfinite([interval.low, interval.high]).all()
        assert interval.low <= interval.high
