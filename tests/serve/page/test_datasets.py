"""Data sets on the page: the list, the rows as they were read, the file, and deleting one."""

from __future__ import annotations

import json

import httpx
import pytest
from runs_made import read_json, upload
from waiting import SECONDS


def test_shows_rows_as_they_were_read(visit, demo):
    """Each row has its texts and what else was read; rows that are none are named; more rows come on request."""
    dataset = upload(visit.url, demo, "seen-rows")
    visit.open("data")
    visit.at.get_by_role("link", name="seen-rows").first.click()
    visit.sees("40 cases")
    visit.sees("1 row cannot be read")
    rows = visit.at.locator("table.rows-read tbody tr")
    visit.until(lambda: rows.count() == 20)
    cases = read_json(visit.url, f"/v1/datasets/{dataset}/cases", limit=20)["cases"]
    first = rows.first.inner_text()
    assert cases[0]["question"] in first
    assert cases[0]["answer"] in first
    assert f"{len(cases[0]['chunks'])} chunks" in first
    rows.first.get_by_text("As read").click()
    assert json.loads(rows.first.locator("pre").inner_text()) == cases[0]
    visit.at.get_by_role("button", name="More rows").click()
    visit.until(lambda: rows.count() == 40)
    visit.at.get_by_role("button", name="More rows").click()
    visit.sees("1 row of these could not be read:")
    with visit.at.expect_download() as saved:
        visit.at.get_by_role("button", name="The file as it was sent").click()
    assert saved.value.path().read_bytes() == demo


@pytest.mark.nightly
def test_starts_a_run_of_a_data_set(visit, demo):
    """One press leads to a new run of the data set."""
    dataset = upload(visit.url, demo, "to-run")
    visit.open(f"data/{dataset}")
    visit.at.get_by_role("link", name="Start a run").click()
    visit.sees("in to-run")
    visit.at.get_by_role("link", name="See its rows").click()
    visit.at.get_by_role("heading", name="to-run").wait_for()


@pytest.mark.nightly
def test_deletes_a_data_set_when_sure(visit, demo):
    """Deleting asks first; then it is gone from the list and from the server."""
    dataset = upload(visit.url, demo, "old")
    visit.open(f"data/{dataset}")
    visit.at.get_by_role("button", name="Delete").click()
    visit.at.get_by_role("button", name="Close").click()
    visit.at.get_by_role("button", name="Delete").click()
    visit.at.get_by_role("button", name="Delete it").click()
    visit.at.get_by_role("heading", name="Data", exact=True).wait_for()
    visit.until(lambda: visit.at.locator(f"li[data-id='{dataset}']").count() == 0)
    assert httpx.get(f"{visit.url}/v1/datasets/{dataset}", timeout=SECONDS).status_code == 404


def test_the_columns_of_a_file_are_chosen(visit):
    """A file whose columns have unknown names is refused with selects of them; each choice reads the file again."""
    visit.expect("422")
    content = "frage,antwort,ort\nWer?,Oda,Kiel\nWann?,Montag,Bremen\n"
    visit.open("new-run")
    visit.at.set_input_files("#file", {"name": "fremd.csv", "mimeType": "text/csv", "buffer": content.encode()})
    visit.at.get_by_label("Question", exact=True).select_option("frage")
    visit.sees("2 cases")
    visit.at.get_by_label("Answer", exact=True).select_option("antwort")
    visit.sees("antwort → answer")
    listed = read_json(visit.url, "/v1/datasets")["datasets"]
    columns = [dataset["columns"] for dataset in listed if dataset["name"] == "fremd"]
    assert columns == [{"question": "frage", "answer": "antwort"}]
