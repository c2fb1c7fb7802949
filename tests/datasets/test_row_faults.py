"""Faults of rows are one line each, the first five, then a count."""

from __future__ import annotations

from greval.datasets.row_faults import describe_row_faults


def test_more_than_five_faults_are_counted():
    """The first five faults are told, then how many rows more."""
    told = describe_row_faults([f"a.csv:{n}: fault {n % 7}" for n in range(14)], count=100)
    assert [line.split(" (")[0] for line in told[:5]] == [f"a.csv:{n}: fault {n}" for n in range(5)]
    assert told[5:] == ["and 90 more rows"]
