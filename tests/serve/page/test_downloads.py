"""Files of a run that are saved from the page, in a real browser."""

from __future__ import annotations

import csv
import io
import json
from zipfile import ZipFile

import pytest
from runs_made import run, upload
from svg_texts import read_svg_texts

from greval.metrics.files import parse_metric

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


def test_results_are_saved(visit, judged):
    """CSV has the texts beside each verdict, JSON lines each result as it is."""
    visit.open(f"runs/{judged}")
    name, content = save(visit, "CSV")
    rows = [*csv.DictReader(io.StringIO(content.decode()))]
    assert name == f"{judged}-results.csv"
    assert {row["metric"] for row in rows} == {*METRICS}
    assert any(row["question"] and row["answer"] for row in rows)
    name, content = save(visit, "JSON lines")
    assert name == f"{judged}-results.jsonl"
    assert {json.loads(line)["metric"] for line in content.splitlines()} == {*METRICS}


@pytest.mark.nightly
def test_metrics_are_saved_as_they_judged(visit, judged):
    """The archive has a valid metric file for each judged metric, and none for a computed one."""
    visit.open(f"runs/{judged}")
    name, content = save(visit, "Metric files")
    assert name == f"{judged}-metrics.zip"
    with ZipFile(io.BytesIO(content)) as archive:
        assert {*archive.namelist()} == {"correctness.yaml", "chunk_evaluation.yaml"}
        assert parse_metric(archive.read("correctness.yaml").decode()).name == "correctness"


@pytest.mark.nightly
def test_charts_and_comparisons_are_saved(visit, judged):
    """A run and a comparison are saved as drawings, of the groups that are shown; a comparison as a report, too."""
    visit.open(f"runs/{judged}?by=method")
    name, content = save(visit, "Chart")
    assert name == f"{judged}-report.svg"
    assert {"correctness: mean", "walk", "local"} <= read_svg_texts(content)
    visit.open(f"compare?run={judged}&baseline=local")
    name, content = save(visit, "Chart")
    assert name == f"{judged}-compare.svg"
    assert any(text.startswith("correctness: difference") for text in read_svg_texts(content))
    name, content = save(visit, "HTML report")
    assert (name, b"walk" in content) == (f"{judged}-compare.html", True)


@pytest.mark.nightly
def test_an_error_of_a_download_is_shown(visit, judged):
    """What the server refuses is shown, and the other files can still be saved."""
    visit.open(f"runs/{judged}")
    visit.expect("Failed to load|ERR_FAILED")
    visit.at.route("**/report.html*", lambda route: route.abort())
    visit.at.get_by_role("button", name="HTML report").click()
    visit.sees("The server cannot be reached", "[role=alert]")
    assert save(visit, "JSON lines")[1]
