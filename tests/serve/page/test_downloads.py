"""Files of a run that are saved from the page, in a real browser."""

from __future__ import annotations

import pytest
from runs_made import run, upload

METRICS = ("correctness", "chunk_evaluation", "latency")


@pytest.fixture(scope="module")
def judged(server, demo):
    """Return the id of a run of two methods."""
    return run(server.url, upload(server.url, demo), METRICS, name="saved")


def save(visit, word):
    """Save a file, and return its name and its content."""
    with visit.at.expect_download() as saved:
        visit.at.get_by_role("button", name=word, exact=True).click()
    return saved.value.suggested_filename, saved.value.path().read_bytes()


def test_files_are_saved_under_the_name_of_the_run(visit, judged):
    """A run and a comparison are saved by a press each; what is in the files is proved with their routes."""
    pages = {
        f"runs/{judged}": {
            "CSV": "results.csv",
            "JSON lines": "results.jsonl",
            "Metric files": "metrics.zip",
            "Chart": "report.svg",
            "HTML report": "report.html",
        },
        f"compare?run={judged}&baseline=local": {"Chart": "compare.svg", "HTML report": "compare.html"},
    }
    for page, files in pages.items():
        visit.open(page)
        for word, file in files.items():
            name, content = save(visit, word)
            assert (name, bool(content)) == (f"{judged}-{file}", True)


@pytest.mark.nightly
def test_an_error_of_a_download_is_shown(visit, judged):
    """What the server refuses is shown, and the other files can still be saved."""
    visit.open(f"runs/{judged}")
    visit.expect("Failed to load|ERR_FAILED")
    visit.at.route("**/report.html*", lambda route: route.abort())
    visit.at.get_by_role("button", name="HTML report").click()
    visit.sees("The server cannot be reached", "[role=alert]")
    assert save(visit, "JSON lines")[1]
