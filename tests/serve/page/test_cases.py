"""The cases of a run on the page: a grid to sort, filter and search, a case beside it, and two sides that differ."""

from __future__ import annotations

import json

import httpx
import pytest
from accessibility import find_violations
from runs_made import read_json, run, upload
from waiting import SECONDS

METRICS = ("correctness", "answer_quality", "chunk_evaluation", "ndcg@10", "latency")
ROWS = "table.grid tbody tr:not([aria-hidden])"
IDS = f"{ROWS} th a .mono"
MANY = 300
TONE = """
name: tone_of_two
description: Whether the answer is polite.
needs: [answer]
scale: {{categories: {{Polite: {{means: {means}, score: 1}}, Rude: {{means: Insults., score: 0}}}}}}
steps: [Read the answer.]
"""


@pytest.fixture(scope="module")
def judged(server, demo):
    """Return the id of a run of two methods, with failures and skips."""
    return run(server.url, upload(server.url, demo), METRICS, name="grid")


@pytest.fixture(scope="module")
def later(server, demo):
    """Return the id of a run of the same questions, in which the answers of one method are slower."""
    cases = [json.loads(line) for line in demo.decode().splitlines()[:-1]]
    for number, case in enumerate(cases):
        if case["method"] == "walk" and "usage" in case:
            case["usage"]["latency"] += number % 3
    return run(server.url, upload(server.url, cases, "later"), ("latency",), name="later")


@pytest.fixture(scope="module")
def many(server):
    """Return the id of a run of more questions than fit a window."""
    cases = [
        {"id": f"q{n}", "question": f"Who is {n}?", "answer": "Ada", "expected_answer": "Ada" if n % 3 else "Bob"}
        for n in range(MANY)
    ]
    return run(server.url, upload(server.url, cases, "many"), ("token_f1",), name="many")


def get(visit, path, **query):
    return read_json(visit.url, f"/v1/runs/{path}", **query)


def read_ranks(grid, metric, method):
    """Return the rank of each sample by a metric for a method."""
    (column,) = (column for column in grid["columns"] if (column["metric"], column["method"]) == (metric, method))
    cells = zip(grid["sample_ids"], column["cells"], strict=True)
    return {sample_id: None if cell < 0 else column["ranks"][cell] for sample_id, cell in cells}


def ids(visit):
    return visit.at.locator(IDS).all_inner_texts()


def test_shows_every_verdict_in_words(visit, judged):
    """Each cell has the value that the grid of the server has; failures and skips are words."""
    visit.open(f"runs/{judged}?tab=cases")
    grid = get(visit, f"{judged}/grid")
    visit.at.wait_for_selector(IDS)
    table = visit.at.locator("table.grid")
    assert table.get_attribute("aria-rowcount") == str(len(grid["sample_ids"]) + 1)
    assert table.locator("thead th").count() == len(grid["columns"]) + 2
    for row in visit.at.locator(ROWS).all()[:5]:
        at = grid["sample_ids"].index(row.locator("th .mono").inner_text())
        cells = row.locator("td:not(.grid-text)").all_inner_texts()
        for column, text in zip(grid["columns"], cells, strict=True):
            number = column["cells"][at]
            words = {"scored": column["texts"][number], "failed": "failed: ", "skipped": "skipped"}
            assert words[column["statuses"][number]] in text
    assert "✓" not in table.inner_text()


@pytest.mark.nightly
def test_the_cases_are_requested_before_the_page_has_loaded(visit, judged):
    """A link to the cases requests them once, and while the page's first module is still on its way."""
    requested = []
    visit.at.on("request", lambda request: requested.append(request.url) if request.url.endswith("/grid") else None)

    def hold_until_requested(route):
        visit.until(lambda: requested)
        route.continue_()

    visit.at.route("**/page/js/main.js", hold_until_requested)
    visit.open(f"runs/{judged}?tab=cases")
    visit.at.wait_for_selector(IDS)
    assert len(requested) == 1


@pytest.mark.nightly
def test_sorts_the_worst_first(visit, judged):
    """The first click on a column shows the worst cases first, the second the best; the order is in the address."""
    visit.open(f"runs/{judged}?tab=cases&metric=latency&method=walk&order=id")
    head = visit.at.get_by_role("columnheader", name="latency walk")
    ranks = read_ranks(get(visit, f"{judged}/grid"), "latency", "walk")
    for order in ("ascending", "descending"):
        head.get_by_role("button").click()
        visit.until(lambda order=order: head.get_attribute("aria-sort") == order)
        shown_ranks = [ranks[sample_id] for sample_id in ids(visit)]
        numbers = sorted((rank for rank in shown_ranks if rank is not None), reverse=order == "descending")
        assert shown_ranks == [*numbers, *[None] * (len(shown_ranks) - len(numbers))]
    assert "sort=latency&of=walk&order=best" in visit.at.evaluate("location.hash")


def test_filters_and_keeps_them_in_the_address(visit, judged):
    """Metric, method, status, value and tag leave the cases that have such a result, also in a link."""
    visit.open(f"runs/{judged}?tab=cases")
    visit.at.get_by_label("Metric").select_option("answer_quality")
    visit.at.get_by_label("Value").select_option("Correct")
    visit.at.get_by_label("Method").select_option("walk")
    visit.until(lambda: visit.at.locator(ROWS).count() == 7)
    assert {*visit.at.locator(f"{ROWS} .value-word").all_inner_texts()} == {"Correct"}
    visit.at.reload()
    visit.until(lambda: visit.at.locator(ROWS).count() == 7)
    visit.at.get_by_label("Status").select_option("failed")
    visit.sees("No case fits.")
    visit.open(f"runs/{judged}?tab=cases&metric=correctness&status=failed")
    visit.until(lambda: visit.at.locator(ROWS).count() == 1)
    assert "failed: malformed" in visit.text(ROWS)


@pytest.mark.nightly
def test_searches_all_texts(visit, judged):
    """Words of a question, an answer and a reason are found; `/` goes to the search."""
    visit.open(f"runs/{judged}?tab=cases")
    visit.at.wait_for_selector(IDS)
    case = get(visit, f"{judged}/case", sample_id="q03", method="walk")
    texts = [case["case"]["question"], case["case"]["answer"], case["results"][0]["outcome"]["judgements"][0]["reason"]]
    for text in texts:
        visit.press("/")
        visit.at.keyboard.insert_text(text)
        matches = get(visit, f"{judged}/search", q=text)["sample_ids"]
        assert "q03" in matches
        visit.until(lambda matches=matches: sorted(ids(visit)) == sorted(matches))
        visit.press("Escape")
        visit.until(lambda: visit.at.locator(ROWS).count() == 20)


@pytest.mark.nightly
def test_draws_only_the_visible_rows(visit, many):
    """Of many cases some dozens are in the document, each with its place among all; the last one can be reached."""
    visit.open(f"runs/{many}?tab=cases&order=id")
    visit.at.wait_for_selector(IDS)
    assert visit.at.locator(ROWS).count() < 60
    assert visit.at.locator("table.grid").get_attribute("aria-rowcount") == str(MANY + 1)
    visit.at.evaluate("document.querySelector('.grid-scroll').scrollTo(0, 1e6)")
    visit.until(lambda: ids(visit)[-1:] == [f"q{MANY - 1}"])
    assert visit.at.locator(ROWS).last.get_attribute("aria-rowindex") == str(MANY + 1)


@pytest.mark.nightly
def test_every_case_is_reached_by_keys(visit, many):
    """`j` and `k` go to the next and the previous case, Enter opens it, and then they go from case to case."""
    visit.open(f"runs/{many}?tab=cases&order=id")
    visit.at.wait_for_selector(IDS)
    visit.press(*["j"] * 41)
    visit.until(lambda: visit.at.evaluate("document.activeElement.dataset.row") == "40")
    visit.press("k")
    visit.until(lambda: visit.at.evaluate("document.activeElement.dataset.row") == "39")
    visit.press("Enter")
    visit.until(lambda: visit.at.locator(".pane-head h2").all_inner_texts() == ["q39"])
    visit.press("j")
    visit.until(lambda: visit.at.locator(".pane-head h2").all_inner_texts() == ["q40"])
    assert visit.at.locator(f"{ROWS} a[aria-current]").count() == 1
    visit.press("Escape")
    visit.at.locator("section.pane").wait_for(state="detached")


@pytest.mark.nightly
def test_a_case_opens_beside_the_table(visit, judged):
    """On a wide screen the case is beside the table, with next and previous; on a narrow one it takes its place."""
    visit.at.set_viewport_size({"width": 1440, "height": 900})
    visit.open(f"runs/{judged}?tab=cases")
    visit.at.locator(IDS).first.click()
    visit.at.wait_for_selector("section.pane .case-text")
    assert visit.at.locator(".grid-scroll").is_visible()
    assert visit.at.get_by_role("button", name="Previous").is_disabled()
    first, second = ids(visit)[:2]
    visit.at.get_by_role("button", name="Next").click()
    visit.until(lambda: visit.text(".pane-head h2") == second)
    visit.at.set_viewport_size({"width": 390, "height": 900})
    assert not visit.at.locator(".grid-scroll").is_visible()
    visit.at.get_by_role("button", name="Previous").click()
    visit.until(lambda: visit.text(".pane-head h2") == first)
    visit.at.get_by_role("link", name="Close").click()
    visit.at.locator(".grid-scroll").wait_for()


def test_two_runs_are_side_by_side(visit, judged, later):
    """From a run: its cases, the list of what can be beside them, another run; differences are marked in words."""
    visit.open(f"runs/{later}")
    visit.at.get_by_role("link", name="Cases", exact=True).click()
    visit.at.get_by_label("Method").select_option("walk")
    visit.at.get_by_label("Beside").select_option(f"run:{judged}")
    visit.until(lambda: visit.at.locator("table.grid thead th").count() == 3)
    marks = visit.at.locator(f"{ROWS} .change").all_inner_texts()
    assert marks
    assert all("worse" in mark for mark in marks)
    visit.at.get_by_label("Difference").select_option("worse")
    visit.until(lambda: visit.at.locator(ROWS).count() == len(marks))
    visit.at.locator(IDS).first.click()
    visit.at.wait_for_selector("section.pane .sides")
    assert visit.at.locator("section.pane .sides > section").count() == 2
    assert "worse" in visit.text("table.verdict-pairs")


@pytest.mark.nightly
def test_differences_are_an_order(visit, judged, later):
    """Two runs are ordered by how much a metric lost or gained; the order is in the address."""
    visit.open(f"runs/{later}?tab=cases&method=walk&beside=run%3A{judged}")
    visit.at.get_by_label("Order").select_option("latency: largest loss first")
    visit.until(lambda: "order=loss" in visit.at.evaluate("location.hash"))
    ranks_before, after = (read_ranks(get(visit, f"{run_id}/grid"), "latency", "walk") for run_id in (judged, later))
    differences = {
        sample_id: None if None in (rank, earlier := ranks_before.get(sample_id)) else rank - earlier
        for sample_id, rank in after.items()
    }
    shown_differences = [differences[sample_id] for sample_id in ids(visit)]
    losses = sorted(difference for difference in shown_differences if difference is not None)
    assert losses
    assert shown_differences == [*losses, *[None] * (len(shown_differences) - len(losses))]

    def begins_with_gains():
        return [differences[sample_id] for sample_id in ids(visit)][: len(losses)] == losses[::-1]

    visit.at.get_by_label("Order").select_option("latency: largest gain first")
    visit.until(begins_with_gains)
    visit.at.reload()
    visit.until(begins_with_gains)


@pytest.mark.nightly
def test_differences_in_questions_and_definitions_are_shown(visit, judged):
    """Questions of one run only are counted, those of the other run are linked, and changed definitions are named."""
    texts = ("Courteous.", "Friendly.")
    runs = []
    for number, text in enumerate(texts):
        body = {"yaml": TONE.format(means=text)}
        response = httpx.post(f"{visit.url}/v1/metrics?replace=true", json=body, timeout=SECONDS)
        assert response.status_code in {200, 201}, response.text
        cases = [{"id": f"t{n}", "question": "Who?", "answer": "Ada"} for n in range(number, number + 9 - 2 * number)]
        runs.append(run(visit.url, upload(visit.url, cases, "tone"), ("tone_of_two",), name=f"tone{number}"))
    visit.open(f"runs/{runs[1]}?tab=cases&beside=run%3A{runs[0]}")
    visit.sees("different definitions of tone_of_two")
    visit.sees("2 questions of tone0 are not in this run")
    visit.at.get_by_role("link", name="t8").click()
    visit.until(lambda: f"runs/{runs[0]}" in visit.at.evaluate("location.hash"))
    visit.open(f"runs/{runs[0]}?tab=cases&beside=run%3A{runs[1]}")
    visit.sees("2 questions of this run are not in tone1.")


@pytest.mark.nightly
def test_the_walk_is_a_picture(visit, judged):
    """The walk of a case is drawn as in the report, above the list of its edges; its texts are told when pointed at."""
    visit.open(f"runs/{judged}/case?sample_id=q01&method=walk")
    picture = visit.at.locator(".walk-picture svg")
    picture.wait_for()
    drawing = httpx.get(
        f"{visit.url}/v1/runs/{judged}/walk.svg", params={"sample_id": "q01", "method": "walk"}, timeout=SECONDS
    ).text
    assert visit.at.evaluate("document.querySelector('.walk-picture svg').outerHTML.length") > len(drawing) / 2
    assert picture.locator("title").count() > 3
    assert picture.bounding_box()["height"] > 100
    assert visit.at.locator("[aria-label='Edges, in order'] li").count() > 0
    visit.open(f"runs/{judged}/case?sample_id=q01&method=local")
    visit.sees("Question")
    assert visit.at.locator(".walk-picture svg").count() == 0


@pytest.mark.nightly
def test_long_texts_are_folded(visit):
    """Of a long answer the begin is shown, and all of it on request."""
    answer = f"First. {'word ' * 600}Last."
    case = {"id": "long", "question": "Who?", "answer": answer, "usage": {"latency": 1}}
    run_id = run(visit.url, upload(visit.url, [case], "long"), ("latency",), name="long")
    visit.open(f"runs/{run_id}/case?sample_id=long")
    visit.sees("First.")
    assert "Last." not in visit.text()
    button = visit.at.get_by_role("button", name="Show all")
    assert button.get_attribute("aria-expanded") == "false"
    button.click()
    visit.sees("Last.")


@pytest.fixture(scope="module")
def pairs(server):
    """Return the id of a run of pairs, judged in both orders."""
    cases = [
        {"id": f"q{n}", "question": f"Who is {n}?", "answer": f"Ada {n}.", "method": "local vs walk",
         "other_response": {"method": "walk", "answer": f"Bob {n}.", "chunks": [{"id": "c1", "text": f"Source {n}."}]}}
        for n in range(14)
    ]  # fmt: skip
    return run(server.url, upload(server.url, cases, "pairs"), ("comprehensiveness",), name="pairs")


def test_a_pair_has_both_answers_side_by_side(visit, pairs):
    """Under the question are both answers with their methods, in two columns where there is room, then the verdicts."""
    visit.open(f"runs/{pairs}/case?sample_id=q3&method=local+vs+walk")
    visit.sees("Bob 3.")
    assert visit.at.locator(".sides > section").all_inner_texts() == ["A local\n\nAda 3.", "B walk\n\nBob 3."]
    assert "Source 3." in visit.text("section[aria-label='Chunks of B']")
    tops = "nodes => new Set(nodes.map((node) => node.getBoundingClientRect().top)).size"
    for width, rows in ((390, 2), (760, 1), (1440, 1)):
        visit.at.set_viewport_size({"width": width, "height": 900})
        assert visit.at.locator(".sides > section").evaluate_all(tops) == rows
        question, answers, verdict, source = (
            visit.at.locator(part).bounding_box()
            for part in ("section[aria-label=Question]", ".sides", ".verdict", "section[aria-label='Chunks of B']")
        )
        assert question["width"] == answers["width"]
        assert question["y"] < answers["y"] < verdict["y"] < source["y"]
    assert find_violations(visit.at) == []


@pytest.mark.nightly
def test_a_pair_has_the_verdict_of_each_order(visit, pairs):
    """Each order has its value, the method that it prefers and its reason; a pair whose winner changed has flipped."""
    flips = set()
    for n in range(14):
        visit.open(f"runs/{pairs}/case?sample_id=q{n}&method=local+vs+walk")
        visit.sees(f"Bob {n}.")
        results = get(visit, f"{pairs}/case", sample_id=f"q{n}", method="local vs walk")["results"]
        orders = results[0]["outcome"]["judgements"][0]["orders"]
        card = visit.text("article[aria-label=comprehensiveness]")
        flipped = len({order["value"] for order in orders}) > 1
        assert ("Flipped:" in card, "Both orders agree." in card) == (flipped, not flipped)
        for order, order_text in zip(orders, visit.at.locator(".order").all_inner_texts(), strict=True):
            first, second = ("local", "walk") if order["shown_first"] == "A" else ("walk", "local")
            winner = {"A": "prefers local", "B": "prefers walk", "Tie": "tie"}[order["value"]]
            assert winner in order_text
            assert f"the judge saw A: {first}, B: {second}" in order_text
            assert order["reason"] in order_text
        flips.add(flipped)
    assert flips == {True, False}
