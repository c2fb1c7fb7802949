"""An index that an evaluation makes of documents says what it does."""

from __future__ import annotations

from greval.reference.building import BuildProgress
from greval.reference.updating import _ProgressReporter


def test_a_long_index_reports_how_far_it_is():
    """A sentence is due every ten seconds, however many snapshots there are in between."""
    reports = []
    reporter = _ProgressReporter(reports.append)
    for second in range(0, 31, 3):
        reporter(BuildProgress(step="embedding", done=second * 2, total=1_000, seconds=second))
    assert reports == ["embedding 24 of 1,000, 12 s", "embedding 48 of 1,000, 24 s"]
