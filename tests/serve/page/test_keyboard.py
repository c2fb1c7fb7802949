"""The page without a mouse, in a real browser."""

from __future__ import annotations

import pytest
from runs_made import run, upload

RING = """
() => {
  const at = document.activeElement;
  return [at, at.nextElementSibling, at.parentElement].filter(Boolean).map((one) => getComputedStyle(one))
    .some(({ outlineStyle, outlineWidth }) => outlineStyle !== "none" && parseFloat(outlineWidth) >= 2);
}
"""


def test_judges_a_case_without_a_mouse(visit):
    """Metric, example, judging and reading the verdict: all by keys."""
    visit.open("playground")
    visit.press("/")
    assert "Search metrics" in visit.focus()
    visit.at.keyboard.type("correctness")
    visit.press("Tab", "Space")
    visit.tab_to(".case-head button")
    visit.press("Enter")
    visit.tab_to("button.primary")
    visit.press("Enter")
    visit.sees("1 result: 1 scored")
    visit.tab_to("article[aria-label=correctness] a")


@pytest.mark.nightly
def test_reads_a_metric_without_a_mouse(visit):
    """The list is searched, a metric opened with Enter, and the focus stays where it was."""
    visit.open("library")
    visit.press("/")
    visit.at.keyboard.type("triple_evaluation")
    visit.tab_to(".metric-list a")
    visit.press("Enter")
    visit.sees("best first", "article.metric")
    assert "triple_evaluation" in visit.focus()
    visit.press("/", "Escape")
    assert visit.at.get_by_role("searchbox").input_value() == ""


@pytest.mark.nightly
def test_every_stop_shows_the_focus(visit):
    """Wherever Tab leads, the focus can be seen."""
    for view in ("library/correctness", "playground", "new-run", "runs", "compare"):
        visit.open(view)
        for _ in range(25):
            visit.press("Tab")
            if visit.at.evaluate("document.activeElement === document.body"):
                break
            assert visit.at.evaluate(RING), f"{view}: {visit.focus()}"


@pytest.mark.nightly
def test_skips_to_the_content(visit):
    """The first stop of a page skips the navigation, and leaves the address as it is."""
    visit.open("library")
    visit.at.evaluate("document.activeElement.blur()")
    visit.press("Tab")
    assert "Skip to content" in visit.focus()
    visit.press("Enter")
    assert visit.at.evaluate("document.activeElement.id") == "main"
    assert visit.at.evaluate("location.hash") == "#/library"


@pytest.mark.nightly
def test_a_new_view_is_announced(visit):
    """Who goes to another view by keys is put on its heading, and told of it."""
    visit.open("library")
    visit.at.get_by_role("link", name="Runs").focus()
    visit.press("Enter")
    visit.until(lambda: visit.at.evaluate("document.activeElement.tagName") == "H1")
    assert visit.at.evaluate("document.title") == "Runs · greval"
    visit.until(lambda: visit.at.locator("#live").text_content() == "Runs")


@pytest.mark.nightly
def test_a_narrow_window_keeps_the_focus(visit):
    """Where list and metric do not fit beside each other, the focus goes to the one that is shown."""
    visit.at.set_viewport_size({"width": 400, "height": 800})
    visit.open("library")
    visit.tab_to("a[data-name=answer_quality]")
    visit.press("Enter")
    visit.until(lambda: "answer_quality" in visit.focus() and "<h2" in visit.focus())
    assert not visit.at.locator(".metric-list").is_visible()
    visit.at.go_back()
    visit.until(lambda: 'data-name="answer_quality"' in visit.focus())


@pytest.mark.nightly
def test_dialogs_give_the_focus_back(visit, server, demo):
    """A dialog takes the focus, Escape closes it, and the focus goes back."""
    run(server.url, upload(server.url, demo), ["latency"], name="kept")
    visit.open("runs")
    visit.tab_to("button.danger")
    visit.press("Enter")
    assert visit.at.locator("dialog[open]").count() == 1
    visit.press("Escape")
    visit.until(lambda: visit.at.locator("dialog").count() == 0)
    assert "Delete kept" in visit.focus()
