"""The history of metrics on the page in a real browser."""

from __future__ import annotations

import pytest
from accessibility import find_violations
from runs_made import read_json, run, upload
from visit import Visit

RIGHT_ANSWERS = {"monday": 36, "tuesday": 35, "wednesday": 36, "thursday": 8}
"""How many of 40 questions each run answers right, the oldest first; the last one is another level."""


def build_cases(right, first=0):
    return [
        {
            "id": f"q{n}",
            "question": "Who?",
            "expected_answer": "Ada",
            "answer": "Ada" if n - first < right else "Nobody",
        }
        for n in range(first, first + 40)
    ]


@pytest.fixture(scope="module")
def runs(server):
    """Return the ids of runs, oldest first: the last but one is worse, and the last one is of other questions."""
    cases = [(name, build_cases(right)) for name, right in RIGHT_ANSWERS.items()]
    cases.append(("friday", build_cases(30, first=100)))
    return [run(server.url, upload(server.url, rows, name), ["exact_match"], name=name) for name, rows in cases]


def test_a_metric_without_runs_has_no_history(visit):
    """A metric that no run judged by says so, and what to do; it is found from the library."""
    visit.open("library/token_f1")
    visit.at.get_by_role("link", name="History").click()
    visit.sees("A history needs two runs.")
    assert visit.at.get_by_role("link", name="Start one").get_attribute("href") == "#/new-run?metric=token_f1"


def test_shows_a_metric_over_its_runs(visit, runs):
    """Each run has its mean with the interval, the newest last; a change and what forbids a comparison are marked."""
    visit.open("runs")
    visit.at.get_by_role("link", name="History").click()
    visit.at.get_by_label("Metric").select_option("exact_match")
    rows = visit.at.locator("section[aria-label=exact_match] tbody tr")
    visit.until(lambda: rows.count() == len(runs))
    history = read_json(visit.url, "/v1/history", metric="exact_match", run=runs)
    (line,) = history["metrics"]
    row_texts = rows.all_inner_texts()
    for point, name, text in zip(line["points"], [*RIGHT_ANSWERS, "friday"], row_texts, strict=True):
        assert text.split()[0] == name
        assert f"{point['mean']:.2f} [{point['interval']['low']:.2f}, {point['interval']['high']:.2f}]" in text
    assert [change["run"] for change in line["changes"]] == [3]
    assert ["worse" in text for text in row_texts] == [False, False, False, True, False]
    assert "new data" in row_texts[-1]
    assert rows.locator(".interval").count() == len(runs)
    assert rows.locator(".interval.bad").count() == 1
    for sentence in (*history["findings"], *history["legend"]):
        visit.sees(sentence)
    rows.first.get_by_role("link", name="monday").click()
    visit.until(lambda: visit.at.evaluate("location.hash") == f"#/runs/{runs[0]}")
    visit.at.get_by_role("link", name="History of exact_match").click()
    visit.until(lambda: visit.at.evaluate("location.hash") == "#/history?metric=exact_match")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_history_is_accessible(chromium, server, runs, scheme):
    """axe-core finds no violation on a telephone, a tablet and a desk, and the keyboard leads to metric and runs."""
    with Visit(chromium, server.url, color_scheme=scheme) as visit:
        visit.open("history?metric=exact_match")
        visit.at.locator("section tbody tr").first.wait_for()
        assert find_violations(visit.at) == []
        visit.tab_to("select")
        visit.tab_to(f"a[href='#/runs/{runs[0]}']")
