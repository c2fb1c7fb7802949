"""Labelling on the page in a real browser: by keyboard only, blind or with verdicts, undone, saved, measured."""

from __future__ import annotations

import pytest
from runs_made import read_labels, run, upload

METRICS = ("correctness", "chunk_evaluation", "token_f1")


@pytest.fixture(scope="module")
def dataset(server, demo):
    return upload(server.url, demo)


@pytest.fixture
def judged(server, dataset):
    """Give the id of a run without labels."""
    return run(server.url, dataset, METRICS, name="labelled")


def test_ten_items_by_keyboard(visit, judged):
    """Ten items take ten keys after the form; each label is saved with the weight and the content of its item."""
    visit.open(f"runs/{judged}/label")
    visit.tab_to("input[type=text]")
    visit.at.keyboard.type("ana")
    visit.tab_to("input[type=number]")
    visit.at.keyboard.press("Control+A")
    visit.at.keyboard.type("10")
    visit.press("Enter")
    visit.at.wait_for_selector(".label-item")
    visit.sees("0 of 10 labelled")
    assert "It reads as" not in visit.text()
    for n in range(10):
        visit.press("10"[n % 2])
    visit.sees("All 10 items of this queue are labelled.")
    visit.until(lambda: len(read_labels(visit.url, judged)) == 10)
    found = read_labels(visit.url, judged)
    assert {one["annotator"] for one in found} == {"ana"}
    assert {one["metric"] for one in found} == {"correctness"}
    assert all(one["content"] and one["weight"] > 1 and not one["suggested"] for one in found)
    assert sorted(one["value"] for one in found) == [0] * 5 + [1] * 5
    visit.sees("Judge and people", "aside")
    visit.sees("kappa", "aside")


def test_a_label_is_undone(visit, judged):
    """Undoing takes the last label back, on the server as well, and shows its item again."""
    visit.open(f"runs/{judged}/label?metric=correctness&annotator=bob&sample=random:5")
    name = visit.at.locator(".label-item").get_attribute("aria-label")
    visit.press("1")
    visit.sees("1 of 5 labelled")
    visit.until(lambda: len(read_labels(visit.url, judged)) == 1)
    visit.press("u")
    visit.sees("0 of 5 labelled")
    assert visit.at.locator(".label-item").get_attribute("aria-label") == name
    visit.until(lambda: not read_labels(visit.url, judged))
    visit.press("c")
    visit.at.keyboard.type("1 of the names is missing")
    visit.press("Escape", "0")
    visit.sees("1 of 5 labelled")
    visit.until(lambda: read_labels(visit.url, judged))
    [label] = read_labels(visit.url, judged)
    assert (label["value"], label["comment"]) == (0, "1 of the names is missing")


def test_a_queue_goes_on(visit, judged):
    """Who leaves and comes back goes on with the next item; an item that cannot be judged is not asked again."""
    place = f"runs/{judged}/label?metric=chunk_evaluation&annotator=eva&sample=stratified:6&verdicts=shown"
    visit.open(place)
    visit.sees("It reads as")
    visit.press("x", "1", "2")
    visit.sees("3 of 6 labelled")
    visit.until(lambda: len(read_labels(visit.url, judged)) == 2)
    name = visit.at.locator(".label-item").get_attribute("aria-label")
    visit.open("runs")
    visit.open(place)
    visit.sees("3 of 6 labelled")
    assert visit.at.locator(".label-item").get_attribute("aria-label") == name
    assert all(one["suggested"] for one in read_labels(visit.url, judged))


def test_what_cannot_be_saved_is_kept(visit, judged):
    """A label that the server did not take is told, stays, and is sent again on request."""
    visit.open(f"runs/{judged}/label?metric=correctness&annotator=fay&sample=random:4")
    visit.expect("ERR_FAILED|Failed to load")
    visit.at.route("**/annotations", lambda route: route.abort())
    visit.press("1")
    visit.sees("The server cannot be reached")
    visit.press("1")
    visit.sees("2 of 4 labelled")
    visit.at.unroute("**/annotations")
    visit.at.get_by_role("button", name="Try again").click()
    visit.until(lambda: len(read_labels(visit.url, judged)) == 2)
    assert visit.at.locator("[role=alert]").count() == 0
