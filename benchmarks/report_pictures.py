"""Take the pictures of the HTML pages in docs/images from the shipped cases, judged by rules in place of a model.

python benchmarks/report_pictures.py
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from playwright.sync_api import Page, sync_playwright

import greval
from greval import Store, evaluate, load_metric
from greval.analysis.comparison.api import compare
from greval.analysis.summary import build_report
from greval.report.html.comparison_page import build_comparison_page
from greval.report.html.page import PageContent, build_report_page
from greval.testing import ScriptedJudge

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from browsers import FLAGS, WHY_NOT, browser_path

ROOT = Path(greval.__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
CASES = ROOT / "greval" / "demo" / "cases.jsonl"
METRICS = ("correctness", "chunk_evaluation", "edge_recall", "ndcg@10", "latency")
MADE = datetime(2026, 11, 23, tzinfo=UTC)
ITEM = re.compile(r'<item n="(\d+)">(.*?)</item>', re.DOTALL)
REASONS = {
    1: "The answer says the same as the expected answer.",
    0: "The answer does not say what the expected answer says.",
    "Relevant": "The chunk holds what the question asks for.",
    "Indirectly relevant": "The chunk names a thing of the question, and not what is asked of it.",
    "Irrelevant": "The chunk is about something else.",
}


def judge_by_rules(rows: list[dict[str, Any]]) -> ScriptedJudge:
    """Make a judge that knows what people said of each answer, and which documents the gold expects."""
    right = {row["answer"] for row in rows if row["tags"]["human_correct"] == "yes"}
    gold = {row["question"]: row["gold"] for row in rows}
    documents = {chunk["text"]: chunk["doc_id"] for row in rows for chunk in row["chunks"]}

    def rate_chunk(text: str, chunk: str) -> dict[str, Any]:
        expected = next(found for question, found in gold.items() if question in text)
        document = next(name for content, name in documents.items() if content in chunk)
        kinds = {"Relevant": "essential_docs", "Indirectly relevant": "helpful_docs"}
        value = next((kind for kind, field in kinds.items() if document in expected[field]), "Irrelevant")
        return {"value": value, "reason": REASONS[value]}

    def answer(messages: Sequence[BaseMessage]) -> dict[str, Any]:
        text = str(messages[1].content)
        if items := ITEM.findall(text):
            return {"judgements": [{"item": int(number), **rate_chunk(text, chunk)} for number, chunk in items]}
        value = int(any(one in text for one in right))
        return {"value": value, "reason": REASONS[value]}

    return ScriptedJudge(answer)


def take_pictures(page: Page) -> None:
    """Take the pictures of figures, of a case, and of the list of cases on a narrow dark screen."""
    take(page, "report-figures.png", "top")
    page.get_by_label("Search").fill("q17")
    page.get_by_label("Method").select_option(label="walk")
    page.locator("#count", has_text="1 of").wait_for()
    page.locator("#list summary").click()
    page.locator("#list svg").first.wait_for()
    take(page, "report-case.png", "#list details[open]")
    page.locator("#list .walk").screenshot(path=IMAGES / "report-walk.png")
    print("docs/images/report-walk.png")


def take(page: Page, name: str, place: str) -> None:
    """Take a picture of the window with a place at its top."""
    page.evaluate("scrollTo(0, 0)") if place == "top" else page.locator(place).evaluate("node => node.scrollIntoView()")
    page.wait_for_timeout(200)
    page.screenshot(path=IMAGES / name)
    print(f"docs/images/{name}")


def main() -> None:
    """Judge the cases, write the page, and take its pictures."""
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    program = browser_path() or sys.exit(WHY_NOT)
    with tempfile.TemporaryDirectory() as folder:
        run = evaluate(rows, [load_metric(name) for name in METRICS], judge_by_rules(rows), out=Path(folder) / "run")
        path = Path(folder) / "report.html"
        with Store.open(run.folder) as store:
            report = build_report(store).model_copy(update={"folder": "runs/demo"})
            path.write_text(build_report_page(store, report, PageContent(MADE)), encoding="utf-8")
        compared = compare(run.folder, baseline="local")
        with sync_playwright() as api:
            browser = api.chromium.launch(executable_path=program, args=[*FLAGS])
            size = {"width": 1180, "height": 820}
            page = browser.new_page(viewport=size)
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]")
            take_pictures(page)
            narrow = browser.new_page(viewport={"width": 390, "height": 820}, color_scheme="dark")
            narrow.goto(path.as_uri())
            narrow.wait_for_selector("html[data-ready]")
            take(narrow, "report-narrow.png", "#cases")
            path.write_text(
                build_comparison_page(compared, made_at=MADE).replace(str(run.folder), "runs/demo"), encoding="utf-8"
            )
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]")
            take(page, "report-differences.png", "top")
            take(page, "report-sides.png", "#changed-1")
            browser.close()


if __name__ == "__main__":
    main()
