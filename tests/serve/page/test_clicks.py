"""How many clicks the tasks of the page take, counted in a real browser: presses of the pointer, none of them scripted.

Each task begins at the view that it names. Keys that write texts are no clicks.
"""

from __future__ import annotations

import httpx
import pytest
from doc_pages import PAGES
from runs_made import run, upload
from waiting import SECONDS

from greval.metrics.files import parse_metric

METRICS = ("correctness", "chunk_evaluation", "ndcg@10", "latency")
TASKS = {
    "write and save a metric": 2,
    "let the judge draft a metric, mend and save it": 2,
    "judge a case": 3,
    "upload cases and start a run": 6,
    "see the worst case of a metric": 2,
    "see the questions that a method lost": 1,
    "see two runs side by side": 3,
    "label ten items": 0,  # test_label.py does it by keys
    "save the report of a run": 2,
}
"""The highest number of clicks of each task, as docs/page.md has them."""
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
    """Give a function that opens a view and counts from there."""

    def open_view(address):
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


def test_write_a_metric(visit, begin, ends, server):
    """A metric is filled in, checked as one writes, and saved."""
    at = begin("metrics/new")
    at.get_by_label("Name", exact=True).fill("kindness")
    at.get_by_label("What it judges", exact=True).fill("Whether the answer is polite.")
    at.get_by_role("checkbox", name="answer", exact=True).check()
    for number, (category, means) in enumerate([("Polite", "Courteous."), ("Rude", "Insults.")], 1):
        at.get_by_label(f"Category {number}", exact=True).fill(category)
        at.get_by_label(f"When category {number} applies", exact=True).fill(means)
    at.get_by_label("Step 1", exact=True).fill("Read the answer.")
    visit.until(lambda: "Valid" in visit.text(".check-panel"))
    at.get_by_role("button", name="Save", exact=True).click()
    visit.until(lambda: visit.at.evaluate("location.hash") == "#/metrics/kindness/edit")
    metric = parse_metric(httpx.get(f"{server.url}/v1/metrics/kindness", timeout=SECONDS).json()["yaml"])
    assert (metric.scale.names, metric.steps, metric.needs) == (("Polite", "Rude"), ("Read the answer.",), ("answer",))
    ends("write and save a metric")


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


def test_upload_and_start(visit, begin, ends, demo):
    at = begin("library")
    at.get_by_role("link", name="Runs").click()
    at.get_by_role("link", name="Start a run", exact=True).click()  # without runs a second link says "start a run"
    with at.expect_file_chooser() as chooser:
        at.locator("#file").click()
    chooser.value.set_files({"name": "mine.jsonl", "mimeType": "", "buffer": demo})
    visit.sees("40 cases")
    at.get_by_role("checkbox", name="chunk_evaluation").check()
    at.get_by_role("button", name="Start", exact=True).click()
    at.wait_for_selector(".badge:text('finished')")
    ends("upload cases and start a run")


@pytest.mark.parametrize(
    "metric", [METRICS[0], *(pytest.param(name, marks=pytest.mark.nightly) for name in METRICS[1:])]
)
def test_see_the_worst_case(visit, begin, ends, runs, metric):
    """From the summary of a run a link leads to the cases of a metric, the worst first."""
    at = begin(f"runs/{runs[0]}")
    at.get_by_role("link", name=f"Worst cases of {metric}").click()
    at.locator("table.grid tbody th a").first.click()
    at.wait_for_selector("section.pane .case-text")
    ends("see the worst case of a metric")
    grid = httpx.get(f"{visit.url}/v1/runs/{runs[0]}/grid", timeout=SECONDS).json()
    column = next(column for column in grid["columns"] if column["metric"] == metric)
    cell = column["cells"][grid["sample_ids"].index(visit.text(".pane-head h2"))]
    ranks = [column["ranks"][number] for number in column["cells"]]
    assert column["ranks"][cell] == min(rank for rank in ranks if rank is not None)


@pytest.mark.nightly
def test_see_lost_questions(visit, begin, ends, runs):
    """From a comparison, a click on what a method lost shows just these questions, with both methods."""
    at = begin(f"compare?run={runs[0]}&baseline=local&metric=latency")
    at.get_by_role("link", name="lost").click()
    at.locator(".change.lost").first.wait_for()
    ends("see the questions that a method lost")
    query = {"baseline": "local", "metric": "latency", "questions": 1000}
    url = f"{visit.url}/v1/runs/{runs[0]}/compare"
    (contrast,) = httpx.get(url, params=query, timeout=SECONDS).json()["contrasts"]
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
