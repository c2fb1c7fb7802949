"""The library of the page in a real browser."""

from __future__ import annotations

import pytest

from greval.metrics.library import predefined


def test_lists_every_metric(visit):
    """Every metric of the server is listed."""
    visit.open("library")
    visit.sees(f"{len(predefined())} metrics")
    assert visit.at.locator(".metric-list a").count() == len(predefined())


@pytest.mark.nightly
def test_searches_and_filters(visit):
    """Words, kind and what is judged narrow the list, stand in the address, and an empty list says what to do."""
    visit.open("library")
    visit.at.get_by_role("searchbox").fill("chunk")
    visit.at.get_by_role("radio", name="Judged").check()
    assert visit.at.locator(".metric-list a").count() < 6
    visit.at.get_by_role("radio", name="Chunks").check()
    assert visit.at.locator(".metric-list .mono").all_inner_texts() == ["chunk_evaluation"]
    assert visit.at.evaluate("location.hash") == "#/library?q=chunk&kind=judged&over=chunks"
    visit.at.get_by_role("searchbox").fill("nothing is called so")
    visit.sees("No metric fits.")


def test_shows_a_metric_in_full(visit):
    """A link to a metric shows its description, each step, each category with what it means, and its needs."""
    metric = predefined()["chunk_evaluation"]
    visit.open("library/chunk_evaluation")
    visit.sees(metric.description, "article.metric")
    shown_text = visit.text("article.metric")
    for category in metric.scale.categories:
        assert category.name in shown_text
        assert category.means in shown_text
    for words in (*metric.steps, *metric.needs):
        assert words in shown_text


@pytest.mark.nightly
def test_shows_the_file(visit):
    """The metric's file is there to read, and a button copies it."""
    visit._context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.open("library/correctness")
    visit.at.get_by_text("Metric file").click()
    assert "range: [0, 1]" in visit.text(".file pre")
    visit.at.get_by_role("button", name="Copy").click()
    visit.sees("Copied")
    assert "range: [0, 1]" in visit.at.evaluate("navigator.clipboard.readText()")


@pytest.mark.nightly
def test_unknown_metrics_and_addresses_are_shown_as_such(visit):
    """A metric that is not there is told as the server says it, and the list stays; so is an address of no view."""
    visit.expect("404")
    visit.open("library/no_such_metric")
    visit.sees("no_such_metric", "[role=alert]")
    assert visit.at.locator(".metric-list a").count()
    visit.open("what/is/this/place")
    visit.sees("Nothing is here")
