"""The axes of differences: one for equal units, long enough for every interval, with ends that are easy to read."""

from __future__ import annotations

import pytest
from compared_runs import write
from hypothesis import given
from hypothesis import strategies as st

from greval import compare
from greval.analysis.comparison.api import MIN_SHARE, find_axes
from greval.analysis.comparison.records import Contrast
from greval.records.scale import ScaleDirection
from greval.report.finding_plots import plot_comparison

SCALES = {
    "right": ScaleDirection(low=0, high=1),
    "ndcg@10": ScaleDirection(low=0, high=1),
    "depth": ScaleDirection(low=1, high=5),
    "latency": ScaleDirection(low=0, unit="s"),
}
SIDES = {"group": "", "method": "a", "baseline": "b", "better": "higher", "questions": 9, "n": 9}


def build(metric, low, difference, high):
    """Return a contrast with an interval."""
    interval = {"low": low, "high": high, "method": "t"}
    return Contrast.model_validate({**SIDES, "metric": metric, "difference": difference, "interval": interval})


NUMBERS = st.lists(st.floats(-5_000, 5_000), min_size=3, max_size=3).map(sorted)


@given(st.lists(st.tuples(st.sampled_from([*SCALES, "unknown"]), NUMBERS), min_size=1, max_size=9))
def test_every_interval_is_on_the_axis_of_its_unit(rows):
    """Each metric is on one axis, which holds all of its differences and is not much longer than needed."""
    contrasts = [build(metric, *numbers) for metric, numbers in rows]
    axes = [*find_axes(contrasts, SCALES)]
    assert sorted(metric for axis in axes for metric in axis.metrics) == sorted({metric for metric, _ in rows})
    for axis in axes:
        reach = max(abs(number) for metric, numbers in rows if metric in axis.metrics for number in numbers)
        scale = SCALES.get(axis.metrics[0], ScaleDirection())
        least = MIN_SHARE * (scale.ends[1] - scale.ends[0]) if scale.ends else 0
        assert reach <= axis.end * (1 + 1e-6)
        assert axis.end <= 1.51 * max(reach, least) or not max(reach, least)


def test_metrics_of_one_unit_share_an_axis():
    """Scales of equal width are one unit, and so are measures that name the same; others are not."""
    contrasts = [build(name, -0.1, 0.1, 0.35) for name in ("right", "depth", "latency", "ndcg@10")]
    assert [(axis.unit, axis.metrics, axis.end) for axis in find_axes(contrasts, SCALES)] == [
        ("", ("right", "ndcg@10"), 0.4),
        ("", ("depth",), 1.0),
        ("s", ("latency",), 0.4),
    ]


def test_plots_of_one_unit_have_equal_ends(tmp_path):
    """The drawn axes are those of the comparison, and a measure names its unit."""
    figures = {
        ("a", "right"): [0, 1, 1, 1],
        ("b", "right"): [0, 0, 0, 1],
        ("a", "ndcg@10"): [0.5, 0.6, 0.5, 0.6],
        ("b", "ndcg@10"): [0.5, 0.5, 0.5, 0.5],
        ("a", "latency"): [1.0, 2.0, 3.0, 4.0],
        ("b", "latency"): [1.5, 2.5, 3.0, 4.0],
    }
    found = compare(write(tmp_path, figures), baseline="b")
    right, ndcg, latency = plot_comparison(found)
    assert right.limits == ndcg.limits == pytest.approx((-found.axes[0].end, found.axes[0].end))
    assert latency.title == "latency: difference in s, a less b (lower is better)"
