"""Tones, plots and tables of a page: their laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.records.scale import CategoricalScale, MeasureScale, ValueScale
from greval.report.html.plots import find_axis, plot_distribution, plot_interval
from greval.report.html.tones import find_tone, format_values, is_best_value
from greval.stats.interval import Interval

LEVELS = ValueScale(range=(1, 5), levels={1: "Shallow.", 5: "Deep."})
SECONDS = MeasureScale(unit="s", better="lower")
SHARE = MeasureScale(low=0.0, high=1.0)
SCORED = CategoricalScale.model_validate(
    {"categories": {"Yes": {"score": 1}, "Half": {"score": 0.5}, "No": {"score": 0}}}
)
ORDERED = CategoricalScale.model_validate({"categories": {"Good": "", "Fair": "", "Poor": ""}})
KINDS = CategoricalScale.model_validate({"categories": {"Ship": "", "Quay": ""}, "ordered": False})
finite = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("scale", "tones"),
    [
        (LEVELS, {"1": 0, "3": 2, "5": 4, "failed: timeout": None}),
        (LEVELS.model_copy(update={"better": "lower"}), {"1": 4, "5": 0}),
        (SHARE, {"0.0": 0, "0.5": 2, "1.0": 4, "nan": None, "inf": None}),
        (SECONDS, {"0.0": None}),
        (SCORED, {"Yes": 4, "Half": 2, "No": 0, "skipped": None}),
        (ORDERED, {"Good": 4, "Fair": 2, "Poor": 0}),
        (KINDS, {"Ship": None}),
        (None, {"1": None}),
    ],
)
def test_a_tone_follows_the_direction_of_the_scale(scale, tones):
    """The best value has tone 4, the worst 0, and what has no order or no end has none."""
    assert {value: find_tone(scale, value) for value in tones} == tones


def test_only_the_best_value_is_the_best():
    """A value near the best has its tone, and is still worse."""
    assert find_tone(SHARE, "0.95") == find_tone(SHARE, "1.0") == 4
    assert [is_best_value(SHARE, value) for value in ("0.95", "1.0")] == [False, True]


def test_values_of_a_case_are_formatted_by_their_scale():
    """A measure has its unit, several numbers their mean and count, several categories the most frequent."""
    assert format_values(SECONDS, ["7.93456"], [7.93456]) == "7.93 s"
    assert format_values(LEVELS, ["1", "4"], [1.0, 4.0]) == "2.5 n=2"
    assert format_values(KINDS, ["Quay", "Ship", "Quay"], []) == "Quay 2 of 3"


@given(finite, finite, finite, st.lists(finite, max_size=5))
def test_an_interval_stays_on_its_axis(value, one, other, others):
    """Every place is on the axis, and the ends are in order."""
    low, high = sorted((one, other))
    plot = plot_interval(value, Interval(low=low, high=high, method="t"), find_axis([value, *others], None), zero=True)
    assert 0 <= plot.low <= plot.high <= 100
    assert all(0 <= place <= 100 for place in (plot.at, plot.zero))


@given(st.dictionaries(st.integers(0, 40).map(str), st.integers(0, 1000), max_size=30))
def test_a_distribution_is_drawn_whole(distribution):
    """The parts of a bar fill it and are as many as the values; columns count each value once."""
    plot = plot_distribution(distribution, None, list(distribution)[:12])
    total = sum(distribution.values())
    if not total:
        assert plot is None
        return
    assert plot is not None
    if plot.ends is None:
        assert sum(segment.size for segment in plot.segments) == pytest.approx(100, abs=0.1)
        assert len(plot.segments) == sum(count > 0 for count in distribution.values())
    else:
        assert sum(int(segment.text.rpartition(" ")[2].replace(",", "")) for segment in plot.segments) == total
        assert max(segment.size for segment in plot.segments) == 100


def test_categories_without_a_list_are_not_drawn():
    """Many values that are not numbers have no columns."""
    assert plot_distribution({f"kind {n}": 1 for n in range(20)}, None, []) is None
