"""An index that an evaluation makes of documents says what it does."""

from __future__ import annotations

from greval.reference import updating
from greval.reference.building import BuildProgress, BuildReport


def test_a_long_index_reports_how_far_it_is(tmp_path, monkeypatch):
    """A sentence is due every ten seconds, and one before a long embedding."""
    reports = []

    def build(documents, folder, settings, on_progress):
        for second in range(0, 31, 3):
            forecast = {3: 900.0, 6: 9.0}.get(second)
            progress = BuildProgress(step="embedding", done=second * 2, total=1_000, seconds=second, forecast=forecast)
            on_progress(progress)
        return BuildReport(folder=str(folder), rebuilt=False)

    monkeypatch.setattr(updating, "build_index", build)
    updating.update_index(tmp_path, tmp_path, reports.append)
    assert reports[1:] == [
        "embedding 1,000 chunks will take about 900 s",
        "embedding 24 of 1,000, 12 s",
        "embedding 48 of 1,000, 24 s",
    ]
