"""How many clicks the tasks of the page take, counted in a real browser: presses of the pointer, none of them scripted.

Each task begins at the view that it names. Keys that write texts are no clicks.
"""

from __future__ import annotations

import httpx
import pytest
from doc_pages import PAGES
from drafting_judge import draft_or_judge
from page_judge import answer_page
from runs_made import read_labels, run, upload
from served_runs import over_http
from serving import served
from waiting import SECONDS

from greval.judging.drafting.whole import SYSTEM_PROMPT
from greval.serve.app import create_app
from greval.serve.settings import ServerSettings
from greval.testing import ScriptedJudge

METRICS = ("correctness", "chunk_evaluation", "ndcg@10", "latency")
TASKS = {
    "write and save a metric": 2,
    "let the judge draft a metric, mend and save it": 2,
    "judge a case": 3,
    "upload cases and start a run": 6,
    "see the worst case of a metric": 2,
    "see the questions that a method lost": 1,
    "see two runs side by side": 3,
    "label ten items": 0,
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
def server(tmp_path_factory):
    """Give a server whose judge drafts a metric if it is asked for one, and else judges."""
    drafting = SYSTEM_PROMPT.partition(".")[0]
    drafts = draft_or_judge("It names the person.")

    def answer(messages):
        return drafts(messages) if str(messages[0].content).startswith(drafting) else answer_page(messages)

    runs = tmp_path_factory.mktemp("runs")
    with (
        over_http({"quick": ScriptedJudge(answer)}) as judges,
        served(create_app(ServerSettings(runs=runs, judges=judges))) as running,
    ):
        yield running


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


def read_steps(server, name):
    return httpx.get(f"{server.url}/v1/metrics/{name}", timeout=SECONDS).json().get("steps")


def test_the_page_of_the_documentation_has_the_tasks():
    """The table in docs/page.md has each task with its clicks."""
    text = PAGES["docs/page.md"].read_text(encoding="utf-8")
    assert [f"| {task} | {clicks} |" for task, clicks in TASKS.items() if f"\n| {task} | {clicks} |" not in text] == []


def test_write_a_metric(visit, begin, ends, server):
    at = begin("metrics/new")
    at.get_by_label("Name", exact=True).fill("kindness")
    at.get_by_label("What it judges", exact=True).fill("Whether the answer is polite.")
    at.get_by_role("checkbox", name="answer", exact=True).check()
    for number, (category, means) in enumerate([("Polite", "Courteous."), ("Rude", "Insults.")], 1):
        at.get_by_label(f"Category {number}", exact=True).fill(category)
        at.get_by_label(f"When category {number} applies", exact=True).fill(means)
    at.get_by_label("Step 1", exact=True).fill("Read the answer.")
    at.get_by_role("button", name="Save", exact=True).click()
    visit.until(lambda: read_steps(server, "kindness") == ["Read the answer."])
    ends("write and save a metric")


@pytest.mark.nightly
def test_draft_and_mend_a_metric(visit, begin, ends, server):
    at = begin("metrics/new")
    at.get_by_label("Name", exact=True).fill("drafted")
    at.get_by_label("What it judges", exact=True).fill("Whether the answer is polite.")
    at.get_by_role("button", name="Draft the rest").click()
    visit.sees("This is a draft of the judge")
    at.get_by_label("Step 1", exact=True).fill("Read the whole answer.")
    at.get_by_role("button", name="Save", exact=True).click()
    visit.until(lambda: read_steps(server, "drafted") == ["Read the whole answer."])
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
    at = begin(f"runs/{runs[0]}")
    at.get_by_role("link", name=f"Worst cases of {metric}").click()
    at.locator("table.grid tbody th a").first.click()
    at.wait_for_selector("section.pane .case-text")
    ends("see the worst case of a metric")


@pytest.mark.nightly
def test_see_lost_questions(visit, begin, ends, runs):
    at = begin(f"compare?run={runs[0]}&baseline=local&metric=latency")
    at.get_by_role("link", name="lost").click()
    at.locator(".change.lost").first.wait_for()
    ends("see the questions that a method lost")


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


def test_label_ten_items(visit, begin, ends, runs):
    begin(f"runs/{runs[0]}/label?metric=correctness&annotator=ana&sample=random:10")
    visit.at.wait_for_selector(".label-item")
    for number in range(10):
        visit.press("10"[number % 2])
    visit.sees("All 10 items of this queue are labelled.")
    visit.until(lambda: len(read_labels(visit.url, runs[0])) == 10)
    ends("label ten items")


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
