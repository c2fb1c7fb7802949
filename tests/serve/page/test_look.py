"""How the page holds in every window: narrow and wide, light and dark, without anything jumping about."""

from __future__ import annotations

from pathlib import Path

import pytest
from accessibility import find_violations
from runs_made import run, upload
from visit import Visit

CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8").partition("*/")[2]
METRICS = ("correctness", "answer_quality", "chunk_evaluation", "triple_evaluation", "ndcg@10", "latency")
BROKEN_WORDS = """
() => [...document.querySelectorAll("td, th")].flatMap((cell) => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const broken = [];
  while (texts.nextNode()) {
    for (const word of texts.currentNode.data.matchAll(/[\\p{L}\\p{N}_]+/gu)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word[0]);
    }
  }
  return broken;
})
"""
WIDTHS = (320, 400, 768, 1024, 1280, 1600)


@pytest.fixture(scope="module")
def places(server, demo):
    data = upload(server.url, demo)
    run_id = run(server.url, data, METRICS, name="seen")
    earlier = run(server.url, data, METRICS[:1], name="earlier")
    return (
        "",
        "library",
        "library/answer_completeness",
        "library/correctness",
        "playground?metric=correctness&metric=triple_evaluation&metric=edge_recall",
        "new-run",
        "import",
        f"new-run?again={run_id}&of=failed&metric=correctness",
        "data",
        f"data/{data}",
        "runs",
        f"runs/{run_id}",
        f"runs/{run_id}?tab=cases&sort=latency&case=q10&answer=walk",
        f"runs/{run_id}?tab=cases&method=walk&beside=method%3Alocal&case=q10",
        f"runs/{run_id}?tab=cases",
        f"runs/{run_id}/case?sample_id=q10&method=walk",
        f"runs/{run_id}/label",
        f"runs/{run_id}/label?metric=chunk_evaluation&annotator=ana&verdicts=shown",
        f"runs/{run_id}?by=query_type",
        f"runs/{run_id}?tab=cases&beside=run%3A{earlier}",
        f"compare?run={run_id}&baseline=local",
        f"compare?run={run_id}&against={earlier}",
        "history",
        "history?metric=correctness",
        "history?metric=answer_quality",
    )


def unfold(visit):
    """Open all that is folded, and wait for what it loads."""
    visit.at.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
    visit.at.wait_for_load_state("networkidle")


@pytest.mark.nightly
def test_fits_every_width(visit, places):
    """No view is wider than the window, from a small telephone to a wide screen."""
    for view in places:
        visit.open(view)
        unfold(visit)
        for width in WIDTHS:
            visit.at.set_viewport_size({"width": width, "height": 900})
            visit.at.wait_for_timeout(30)
            assert visit.at.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{view} at {width} px"


@pytest.mark.nightly
def test_no_word_of_a_table_is_broken(visit, places):
    """A word stands on one line: the cells of a table are as wide as their longest word."""
    for view in places:
        visit.open(view)
        for width in (1280, 1024):
            visit.at.set_viewport_size({"width": width, "height": 900})
            visit.at.wait_for_timeout(30)
            assert visit.at.evaluate(BROKEN_WORDS) == [], f"{view} at {width} px"


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(chromium, server, places, scheme):
    """Every text stands out from what is behind it as WCAG AA wants it."""
    with Visit(chromium, server.url, color_scheme=scheme) as visit:
        for view in places:
            visit.open(view)
            visit.at.wait_for_timeout(200)
            unfold(visit)
            assert visit.at.evaluate(CONTRAST) == [], view


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_accessible(chromium, server, places, scheme):
    """axe-core finds no violation of WCAG 2.2 AA on any view, on a telephone, a tablet and a desk."""
    with Visit(chromium, server.url, color_scheme=scheme) as visit:
        for view in places:
            visit.open(view)
            visit.at.wait_for_load_state("networkidle")
            unfold(visit)
            assert find_violations(visit.at) == [], view


@pytest.mark.nightly
def test_nothing_jumps(visit, places):
    """While a view loads, nothing that is shown moves much."""
    for view in places:
        visit.open(view)
        visit.at.wait_for_timeout(300)
        assert visit.at.evaluate("window.shift") < 0.1, view


def test_follows_the_system_until_someone_chooses(chromium, server):
    """Dark where the system is dark; the button turns to light and dark, and the choice is kept."""
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    with Visit(chromium, server.url, color_scheme="dark") as visit:
        visit.open("library")
        dark = visit.at.evaluate(ground)
        visit.at.get_by_role("button", name="Theme").click()
        light = visit.at.evaluate(ground)
        assert light != dark
        visit.open("runs")
        assert visit.at.evaluate(ground) == light
        visit.at.get_by_role("button", name="Theme").click()
        assert visit.at.evaluate(ground) == dark
