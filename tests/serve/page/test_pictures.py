"""The pictures of docs/page.md: `GREVAL_WRITE_GOLDEN=1 make test-browser` takes them anew."""

from __future__ import annotations

import os
import struct

import pytest
from doc_pages import PAGES, ROOT
from runs_made import run, upload
from visit import Visit

METRICS = ("correctness", "chunk_evaluation", "recall@3", "token_f1")
WINDOW = {"width": 1280, "height": 860}
VIEWS = {
    "page-run.png": ("runs/{run}", "recall@3"),
    "page-cases.png": ("runs/{run}?tab=cases&sort=recall%403&of=walk&case=q06&answer=walk", "Expected answer"),
    "page-case.png": ("runs/{run}/case?sample_id=q06&method=walk", "q06"),
    "page-compare.png": ("compare?run={run}&baseline=local", "recall@3"),
}
"""The view of each picture, and a text that it shows."""


@pytest.fixture(scope="module")
def judged(server, demo):
    """Return the id of a run of the shipped cases."""
    return run(server.url, upload(server.url, demo), METRICS, name="ferries")


@pytest.mark.nightly
@pytest.mark.parametrize("name", VIEWS)
def test_a_picture_shows_a_view_of_today(chromium, server, judged, name):
    """The page of the documentation has the picture, taken in this window, of a view that is still there."""
    view, text = VIEWS[name]
    picture = ROOT / "docs" / "images" / name
    with Visit(chromium, server.url, viewport=WINDOW, color_scheme="light") as visit:
        visit.open(view.format(run=judged)).until(lambda: text in visit.text())
        if os.environ.get("GREVAL_WRITE_GOLDEN"):
            visit.at.wait_for_timeout(300)
            visit.at.screenshot(path=picture)
    assert struct.unpack(">II", picture.read_bytes()[16:24]) == (WINDOW["width"], WINDOW["height"])
    assert f"](images/{name})" in PAGES["docs/page.md"].read_text(encoding="utf-8")
