"""Labelling on the page in a real browser: by keyboard only, blind or with verdicts, undone, saved, measured."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from argilla_stand_in import KEY, serve_argilla
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
    labels = read_labels(visit.url, judged)
    assert {label["annotator"] for label in labels} == {"ana"}
    assert {label["metric"] for label in labels} == {"correctness"}
    assert all(label["content"] and label["weight"] > 1 and not label["suggested"] for label in labels)
    assert sorted(label["value"] for label in labels) == [0] * 5 + [1] * 5
    visit.sees("Judge and people", "aside")
    visit.sees("kappa", "aside")


@pytest.mark.nightly
def test_a_label_is_undone(visit, judged):
    """Undoing takes the last label back, on the server as well, and shows its item again."""
    visit.open(f"runs/{judged}/label?metric=correctness&annotator=bob&sample=random:5")
    name = visit.at.locator(".label-item").get_attribute("aria-label")
    assert not {"local", "walk"} & {*name.split()}  # a person who listens does not know the method either
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


@pytest.mark.nightly
def test_figures_of_a_label_that_is_undone_are_not_awaited(visit, judged):
    """Undoing the only label ends the request for figures of it, which the server could no longer answer."""
    visit.open(f"runs/{judged}/label?metric=correctness&annotator=gil&sample=random:5")
    visit.sees("They appear with the first labels.", "aside")
    held_requests = []
    visit.at.route("**/agreement?*", lambda route: held_requests.append(route))  # noqa: PLW0108 - playwright marks what it is given
    visit.press("1")
    visit.until(lambda: held_requests)
    visit.press("u")
    visit.until(lambda: not read_labels(visit.url, judged))
    held_requests.pop().continue_()
    visit.at.unroute("**/agreement?*")
    visit.press("1")
    visit.sees("kappa", "aside")
    visit.press("u")
    visit.sees("They appear with the first labels.", "aside")


@pytest.mark.nightly
def test_figures_wait_for_a_value(visit, judged):
    """An item that cannot be judged has no figures, neither in its session nor in the next one."""
    address = f"runs/{judged}/label?metric=correctness&annotator=hal&sample=random:5"
    visit.open(address)
    with visit.at.expect_response("**/annotations"):
        visit.press("x")
    visit.sees("They appear with the first labels.", "aside")
    visit.open("runs")
    visit.open(address)
    visit.sees("1 of 5 labelled")
    visit.sees("They appear with the first labels.", "aside")
    visit.press("0")
    visit.sees("kappa", "aside")


@pytest.mark.nightly
def test_a_queue_goes_on(visit, judged):
    """Who leaves and comes back goes on with the next item; an item that cannot be judged is not asked again."""
    address = f"runs/{judged}/label?metric=chunk_evaluation&annotator=eva&sample=stratified:6&verdicts=shown"
    visit.open(address)
    visit.sees("It reads as")
    visit.press("x", "1", "2")
    visit.sees("3 of 6 labelled")
    visit.until(lambda: len(read_labels(visit.url, judged)) == 2)
    name = visit.at.locator(".label-item").get_attribute("aria-label")
    visit.open("runs")
    visit.open(address)
    visit.sees("3 of 6 labelled")
    assert visit.at.locator(".label-item").get_attribute("aria-label") == name
    assert all(row["suggested"] for row in read_labels(visit.url, judged))


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_labels_go_out_and_in_as_files(visit, judged):
    """A file of labels is added, or refused with its wrong row; what is saved is what the run holds."""
    rows = "sample_id,method,metric,annotator,value\n"
    label = "q01,walk,correctness,eva,1\n"

    def add(name, text):
        visit.at.get_by_label("Add a file of labels").set_input_files(
            {"name": name, "mimeType": "", "buffer": text.encode()}
        )

    visit.open(f"runs/{judged}/label")
    add("labels.txt", rows)
    visit.sees("This kind of file is not read")
    visit.expect("422")
    add("wrong.csv", f"{rows}{label}q02,walk,correctness,eva,7\n")
    visit.sees("line 3")
    assert not read_labels(visit.url, judged)
    add("right.csv", f"{rows}{label}q02,walk,correctness,eva,0\n")
    visit.sees("2 labels of right.csv are stored; the run has 2 now.")
    assert [(row["sample_id"], row["value"]) for row in read_labels(visit.url, judged)] == [
        ("q01", 1),
        ("q02", 0),
    ]
    with visit.at.expect_download() as saved:
        visit.at.get_by_role("button", name="CSV").click()
    table = csv.DictReader(io.StringIO(Path(saved.value.path()).read_text(encoding="utf-8")))
    assert [(row["sample_id"], row["annotator"], row["value"]) for row in table] == [
        ("q01", "eva", "1"),
        ("q02", "eva", "0"),
    ]


@pytest.mark.nightly
def test_items_go_to_argilla_and_labels_come_back(visit, judged, monkeypatch):
    """Without a server of the operator the page says so; with one, items are pushed and labels are pulled."""
    visit.open(f"runs/{judged}/label")
    visit.at.locator("summary", has_text="Argilla").click()
    push = visit.at.get_by_role("button", name="Push items")
    push.click()
    visit.sees("Name the dataset in Argilla")
    visit.at.get_by_label("Dataset in Argilla").fill("people")
    visit.expect("501")
    for name in ("ARGILLA_API_URL", "ARGILLA_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    push.click()
    visit.sees("the server has no Argilla server")
    with serve_argilla() as argilla:
        monkeypatch.setenv("ARGILLA_API_URL", argilla.url)
        monkeypatch.setenv("ARGILLA_API_KEY", KEY)
        push.click()
        visit.sees("records are new in the dataset people")
        visit.at.get_by_role("button", name="Pull labels").click()
        visit.sees("0 submitted labels of the dataset people are stored.")
