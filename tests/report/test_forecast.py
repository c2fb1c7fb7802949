"""A forecast for the terminal: calls and cost by metric, and whether caps leave room."""

import pytest
from report_page import find_row, print_page

from greval.report.forecast import render
from greval.runs.forecast import Forecast


def build(*metrics, **more):
    """Return a forecast of metrics with their calls and costs."""
    expected = [
        {"metric": name, "judged": 1000, "calls": calls, "input_tokens": 20, "cost": cost}
        for name, calls, cost in metrics or [("tone", 1000, 0.25)]
    ]
    return Forecast.model_validate({"judge": "m", "expected": expected, "how": "counted", "exact": True, **more})


def test_one_metric_needs_no_sum():
    """A single row is its own total."""
    page = print_page(render, build())
    assert find_row(page, "tone") == ["tone", "1,000", "0", "0", "1,000", "20", "0", "$0.2500"]
    assert "\nall" not in page


def test_several_metrics_are_summed():
    """The last row adds up every column; without a price the cost is unknown, and the remedy is named."""
    priced = print_page(render, build(("tone", 1000, 0.25), ("depth", 500, 0.5)))
    assert find_row(priced, "all") == ["all", "2,000", "0", "0", "1,500", "40", "0", "$0.7500"]
    page = print_page(render, build(("tone", 1000, None), ("depth", 500, None)))
    assert find_row(page, "all")[-1] == "unknown"
    assert "no price is known for m" in page


def test_no_calls_cost_nothing():
    """Metrics that are computed or already judged cost 0 even if no price is known."""
    assert find_row(print_page(render, build(("latency", 0, None))), "latency")[-1] == "$0.0000"


@pytest.mark.parametrize(
    ("spent", "outcome", "left"), [(0, "would be completed", "1,000"), (1, "would stop at it", "999")]
)
def test_a_cap_counts_what_was_spent_before(spent, outcome, left):
    """The run fits if its calls are at most those that earlier commands left."""
    page = print_page(render, build(max_calls=1000, spent={"calls": spent}))
    assert f"--max-calls 1000: the run {outcome}; it leaves {left} calls" in page


@pytest.mark.parametrize(("cap", "outcome"), [(0.25, "would be completed"), (0.2, "would stop at it")])
def test_a_cap_of_cost_is_compared_with_the_cost(cap, outcome):
    """A cost equal to the cap still fits."""
    assert f"--max-cost {cap:g}: the run {outcome}; it leaves ${cap:.4f}" in print_page(render, build(max_cost=cap))


def test_unread_rows_are_counted():
    """Rows that are no cases are not part of the forecast."""
    assert "will not be judged: 3" in print_page(render, build(unread=3))
