"""How many clicks the tasks of the page take, counted in a real browser: presses of the pointer, none of them scripted.

Each task begins at the view that it names. Keys that write texts are no clicks.
"""

from __future__ import annotations

import httpx
import pytest
from doc_pages import PAGES
from runs_made import read_json, run, upload
from waiting import SECONDS

from greval.metrics.files import parse_metric

METRICS = ("correctness", "chunk_evaluation", "ndcg@10", "latency")
TASKS = {
    "read the worst case of the example run": 2,
    "judge a file whose columns have other names": 4,
    "write a metric and choose it for a run": 4,
    "compare two runs": 3,
    "see a run by a tag": 3,
    "let the judge draft a metric, mend and save it": 2,
    "judge a case": 3,
    "see the questions that a method lost": 1,
    "see two runs side by side": 3,
    "label ten items": 0,  # test_label.py does it by keys
    "save the report of a run": 2,
}
"""The highest number of clicks of each task, as docs/page.md has them."""
IN_BOTH_WINDOWS = pytest.mark.parametrize("width", [1440, pytest.param(390, marks=pytest.mark.nightly)])
COUNT = """
() => {
  const press = ({ isTrusted }) => { window.presses += isTrusted; };
  if (window.presses === undefined) addEventListener("pointerdown", press, true);
  window.presses = 0;
}
"""


@pytest.fixture(scope="module")
def dataset(server, demo):
    return upload(server.url, demo)


@pytest.fixture(scope="module")
def runs(server, dataset):
    """Return the ids of two runs, the older one first."""
    return [run(server.url, dataset, METRICS, name=name) for name in ("older", "newer")]


@pytest.fixture
def begin(visit):
    """Give a function that opens a view in a window of a width, and counts from there."""

    def open_view(address, width=1280):
        visit.at.set_viewport_size({"width": width, "height": 900})
        visit.open(address)
        visit.at.evaluate(COUNT)
        return visit.at

    return open_view


@pytest.fixture
def ends(visit):
    """Give a function that checks that a task took no more clicks than it may."""

    def check(task):
        assert visit.at.evaluate("window.presses") <= TASKS[task]

    return check


def test_the_page_of_the_documentation_has_the_tasks():
    """The table in docs/page.md has each task with its clicks."""
    text = PAGES["docs/page.md"].read_text(encoding="utf-8")
    assert [f"| {task} | {clicks} |" for task, clicks in TASKS.items() if f"\n| {task} | {clicks} |" not in text] == []


@IN_BOTH_WINDOWS
def test_read_the_worst_case_of_the_example(visit, begin, ends, width):
    """The first row is the worst over all methods; it has answer and reason, and is in sight without scrolling."""
    at = begin("", width)
    at.get_by_role("button", name="Open the example run").click()
    at.get_by_role("link", name="Worst cases of correctness").click()
    row = at.locator("table.grid tbody tr:not([aria-hidden])").first
    answer, reason = (row.locator(".grid-answer").nth(place) for place in (0, 1))
    visit.until(reason.inner_text)
    ends("read the worst case of the example run")
    if width == 1440:
        box = row.bounding_box()
        assert box["y"] + box["height"] < 900
    run_id = "example-ferries"
    grid = read_json(visit.url, f"/v1/runs/{run_id}/grid")
    columns = [column for column in grid["columns"] if column["metric"] == "correctness"]
    ranks = {
        (sample_id, column["method"]): column["ranks"][number]
        for column in columns
        for sample_id, number in zip(grid["sample_ids"], column["cells"], strict=True)
    }
    key = row.locator("th a .mono").inner_text(), answer.inner_text().partition(":")[0]
    assert ranks[key] == min(ranks.values())
    case = read_json(visit.url, f"/v1/runs/{run_id}/case", sample_id=key[0], method=key[1])
    outcomes = {result["metric"]: result["outcome"] for result in case["results"]}
    assert case["case"]["answer"][:200] in answer.inner_text()
    assert outcomes["correctness"]["judgements"][0]["reason"][:200] in reason.inner_text()


@IN_BOTH_WINDOWS
def test_judge_a_file(visit, begin, ends, width):
    """The columns of method and id are filled in; metrics that fit come first, and the list of runs has the means."""
    systems = [(question, system) for question in ("Who?", "When?") for system in ("bm25", "graph")]
    rows = [f"{number // 2},{question},Oda,{system}" for number, (question, system) in enumerate(systems)]
    content = "\n".join(["q_id,question,answer,system", *rows]).encode()
    at = begin("", width)
    at.get_by_role("link", name="Bring your cases").click()
    with at.expect_file_chooser() as chooser:
        at.locator("#file").click()
    chooser.value.set_files({"name": f"two{width}.csv", "mimeType": "text/csv", "buffer": content})
    visit.sees("4 cases", "[role=status]")
    chosen = {label: at.get_by_label(label, exact=True).input_value() for label in ("Id of the question", "Method")}
    assert chosen == {"Id of the question": "q_id", "Method": "system"}
    visit.sees("No case has what these need:")
    at.get_by_role("checkbox", name="answer_quality").check()
    at.get_by_role("button", name="Start", exact=True).click()
    at.wait_for_selector(".badge:text('finished')")
    ends("judge a file whose columns have other names")
    visit.open("runs")
    means = at.locator(".means dd").first
    visit.until(lambda: "bm25" in means.inner_text() and "graph" in means.inner_text())
    listed = read_json(visit.url, "/v1/datasets")["datasets"]
    columns = [dataset["columns"] for dataset in listed if dataset["name"] == f"two{width}"]
    assert columns == [{"method": "system", "id": "q_id"}]


@IN_BOTH_WINDOWS
def test_write_a_metric_for_a_run(visit, begin, ends, server, width):
    """A metric is filled in, checked as one writes, saved, and chosen for a run, where it comes first."""
    name = f"kindness{width}"
    at = begin("", width)
    at.get_by_role("link", name="Write a metric").click()
    at.get_by_label("Name", exact=True).fill(name)
    at.get_by_label("What it judges", exact=True).fill("Whether the answer is polite.")
    at.get_by_role("checkbox", name="answer", exact=True).check()
    for number, (category, means) in enumerate([("Polite", "Courteous."), ("Rude", "Insults.")], 1):
        at.get_by_label(f"Category {number}", exact=True).fill(category)
        at.get_by_label(f"When category {number} applies", exact=True).fill(means)
    at.get_by_label("Step 1", exact=True).fill("Read the answer.")
    visit.until(lambda: "Valid" in visit.text(".check-panel"))
    at.get_by_role("button", name="Save", exact=True).click()
    visit.sees(f"{name} is saved.")
    assert visit.at.evaluate("location.hash") == f"#/metrics/{name}/edit"
    at.get_by_role("link", name="Use it in a run").click()
    assert at.get_by_role("checkbox", name=name).is_checked()
    assert "kindness" in at.locator(".picker-row").first.inner_text()  # that of either window
    ends("write a metric and choose it for a run")
    metric = parse_metric(read_json(server.url, f"/v1/metrics/{name}")["yaml"])
    assert (metric.scale.names, metric.steps, metric.needs) == (("Polite", "Rude"), ("Read the answer.",), ("answer",))


@IN_BOTH_WINDOWS
def test_compare_two_runs(visit, begin, ends, runs, width):
    """Two runs are compared: what was found is a sentence, and their names stand in it and in the tables."""
    at = begin("runs", width)
    for name in ("older", "newer"):
        at.get_by_role("checkbox", name=f"Choose {name}").check()
    at.locator(".chosen-runs").get_by_role("link", name="Compare").click()
    at.wait_for_selector("table.contrasts")
    ends("compare two runs")
    comparison = read_json(visit.url, f"/v1/runs/{runs[1]}/compare", against=runs[0])
    for line in comparison["findings"]:
        visit.sees(line.replace(runs[0], "older").replace(runs[1], "newer"))
    heads = at.locator("section:has(table.contrasts) h2").all_inner_texts()
    assert [head for head in heads if "in older" not in head or runs[0] in head] == []
    rows = at.locator("table.contrasts tbody tr:not(.axis-row)")
    assert rows.count() == len(comparison["contrasts"])
    assert at.locator("table.contrasts .interval").first.is_visible()
    assert at.locator("table.contrasts .interval-axis").first.is_visible()


@IN_BOTH_WINDOWS
def test_see_a_run_by_a_tag(visit, begin, ends, runs, width):
    """The tags of the cases are in a select, whose choice is the third click."""
    at = begin("runs", width)
    at.get_by_role("link", name="newer", exact=True).click()
    at.get_by_label("Group by").select_option("query_type")
    visit.sees("multi_hop")
    assert visit.at.evaluate("window.presses") == TASKS["see a run by a tag"] - 2


@pytest.mark.nightly
def test_draft_and_mend_a_metric(visit, begin, ends, server):
    """From name and description to a saved metric: draft, mend a word, save."""
    at = begin("metrics/new")
    at.get_by_label("Name", exact=True).fill("drafted")
    at.get_by_label("What it judges", exact=True).fill("Whether the answer is polite.")
    at.get_by_role("button", name="Draft the rest").click()
    visit.sees("This is a draft of the judge")
    assert at.get_by_label("Category 1", exact=True).input_value() == "Polite"
    at.get_by_label("Step 1", exact=True).fill("Read the whole answer.")
    at.get_by_role("button", name="Save", exact=True).click()
    drafted = f"{server.url}/v1/metrics/drafted"
    visit.until(lambda: httpx.get(drafted, timeout=SECONDS).json().get("steps") == ["Read the whole answer."])
    ends("let the judge draft a metric, mend and save it")


def test_judge_a_case(visit, begin, ends):
    at = begin("library")
    at.get_by_role("link", name="Playground").click()
    at.get_by_role("checkbox", name="answer_quality").check()
    at.get_by_label("Question", exact=True).fill("Who wrote it?")
    at.get_by_label("Answer", exact=True).fill("Ada.")
    at.get_by_role("button", name="Judge", exact=True).click()
    visit.sees("1 result: 1 scored")
    ends("judge a case")


@pytest.mark.nightly
def test_see_lost_questions(visit, begin, ends, runs):
    """From a comparison, a click on what a method lost shows just these questions, with both methods."""
    at = begin(f"compare?run={runs[0]}&baseline=local&metric=latency")
    at.get_by_role("link", name="lost").click()
    at.locator(".change.lost").first.wait_for()
    ends("see the questions that a method lost")
    query = {"baseline": "local", "metric": "latency", "questions": 1000}
    (contrast,) = read_json(visit.url, f"/v1/runs/{runs[0]}/compare", **query)["contrasts"]
    ids = at.locator("table.grid tbody tr:not([aria-hidden]) th a .mono")
    visit.until(lambda: sorted(ids.all_inner_texts()) == sorted(contrast["lost_questions"]))
    at.get_by_label("Difference").select_option("better")
    better = sorted(contrast["won_questions"])
    visit.until(lambda: sorted(ids.all_inner_texts()) == better or at.get_by_text("No case fits.").count())


@pytest.mark.nightly
def test_see_two_runs_side_by_side(visit, begin, ends, runs):
    at = begin("runs")
    for name in ("older", "newer"):
        at.get_by_role("checkbox", name=f"Choose {name}").check()
    at.get_by_role("link", name="Side by side").click()
    at.wait_for_selector("table.grid")
    heads = at.locator("table.grid thead th").all_inner_texts()
    assert sum("this run" in head for head in heads) == sum("older" in head for head in heads) == len(METRICS)
    assert visit.at.evaluate("location.hash").startswith(f"#/runs/{runs[1]}?")
    ends("see two runs side by side")


def test_save_a_report(visit, begin, ends, runs):
    at = begin("runs")
    at.get_by_role("link", name="older").click()
    with at.expect_download() as saved:
        at.get_by_role("button", name="HTML report").click()
    text = saved.value.path().read_text(encoding="utf-8")
    assert saved.value.suggested_filename == f"{runs[0]}-report.html"
    assert "<title>" in text
    assert "chunk_evaluation" in text
    ends("save the report of a run")
