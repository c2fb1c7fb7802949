"""Texts that would like to be markup stay text, wherever the page shows them."""

from __future__ import annotations

import json

import httpx
import pytest
from runs_made import run, upload
from waiting import SECONDS

EVIL = "</script><img src=x onerror=window.hit=1><script>window.hit=1</script>{{7*7}}\u202e"
REFUSED = """
() => {
  try {
    document.body.innerHTML = "<b>x</b>";
    return false;
  } catch {
    return true;
  }
}
"""
PLAIN = "</script><img src=x onerror"
YAML = """
name: evil_metric
description: {evil}
needs: [question, answer, chunks]
over: chunks
scale:
  categories:
    {evil}: {{means: {evil}, score: 1}}
    Other: {{means: {evil}, score: 0}}
steps: [{evil}, {evil}]
notes: {{more: {evil}}}
"""


@pytest.fixture(scope="module")
def evil(server):
    """Give the id of a run in which every text is hostile."""
    quoted = json.dumps(EVIL)
    creation = httpx.post(f"{server.url}/v1/metrics", json={"yaml": YAML.format(evil=quoted)}, timeout=SECONDS)
    assert creation.status_code == 201, creation.text
    case = {
        "id": EVIL,
        "method": EVIL,
        "question": EVIL,
        "answer": EVIL,
        "expected_answer": EVIL,
        "chunks": [{"id": EVIL, "text": EVIL, "doc_id": EVIL, "repo": EVIL, "version": EVIL}],
        "triples": [{"id": EVIL, "subject": EVIL, "predicate": EVIL, "object": EVIL}],
        "traversal": {"start_nodes": [EVIL], "traversed_edges": [[EVIL, EVIL, EVIL]], "final_nodes": [EVIL]},
        "gold": {
            "essential_docs": [EVIL],
            "expected_edges": [[EVIL, EVIL, EVIL]],
            "expected_nodes": [EVIL],
            "answers": [EVIL],
        },
        "tags": {EVIL: EVIL},
    }
    other_case = {**case, "method": "other"}
    response = {name: case[name] for name in ("answer", "chunks", "triples")}
    pair = {**case, "method": f"{EVIL} vs {EVIL} 2", "other_response": {**response, "method": f"{EVIL} 2"}}
    metrics = ["comprehensiveness", "correctness", "evil_metric", "triple_evaluation", "edge_recall", "token_f1"]
    data = upload(server.url, (case, other_case, pair, {EVIL: EVIL}), "evil")
    run_id = run(server.url, data, metrics, name="evil")
    label = {"sample_id": EVIL, "method": EVIL, "metric": "correctness", "annotator": EVIL, "value": 1, "comment": EVIL}
    stored = httpx.put(f"{server.url}/v1/runs/{run_id}/annotations", json=[label], timeout=SECONDS)
    assert stored.status_code == 200, stored.text
    return run_id, data


PLACES = ("library", "runs", "summary", "beside", "cases", "case", "pair", "compare", "label", "data", "again")


def places(evil):
    run_id, data = evil
    label = httpx.QueryParams({"metric": "evil_metric", "annotator": EVIL, "verdicts": "shown"})
    query = str(httpx.QueryParams({"sample_id": EVIL, "method": EVIL}))
    pair = str(httpx.QueryParams({"sample_id": EVIL, "method": f"{EVIL} vs {EVIL} 2"}))
    beside = httpx.QueryParams({"tab": "cases", "method": EVIL, "beside": "method:other", "case": EVIL})
    return {
        "library": "library/evil_metric",
        "runs": "runs",
        "summary": f"runs/{run_id}",
        "beside": f"runs/{run_id}?{beside}",
        "cases": f"runs/{run_id}?tab=cases",
        "case": f"runs/{run_id}/case?{query}",
        "pair": f"runs/{run_id}/case?{pair}",
        "compare": f"compare?run={run_id}&baseline=other",
        "label": f"runs/{run_id}/label?{label}",
        "data": f"data/{data}",
        "again": f"new-run?again={run_id}&of=all&metric=evil_metric",
    }


@pytest.mark.parametrize("view", PLACES)
def test_text_stays_text(visit, evil, view):
    """No view runs or renders what stands in any text: metric, case, item, edge, tag, verdict, method."""
    visit.open(places(evil)[view])
    if view not in {"runs", "again"}:
        visit.until(lambda: PLAIN in visit.text())
    assert visit.at.evaluate("window.hit") is None
    assert visit.at.locator("img, main script").count() == 0
    assert visit.at.locator("[onerror]").count() == 0


def test_what_the_judge_saw_stays_text(visit, evil):
    """Prompts and replies are shown as they are; so are figures of labels and the names of their annotators."""
    visit.open(places(evil)["case"])
    visit.at.get_by_text("What the judge saw").first.click()
    visit.until(lambda: PLAIN in visit.text(".judge-calls[open]"))
    visit.open(places(evil)["label"].replace("evil_metric", "correctness"))
    visit.until(lambda: PLAIN in visit.text("aside"))
    assert visit.at.evaluate("window.hit") is None
    assert visit.at.locator("img, main script").count() == 0


@pytest.mark.nightly
def test_runs_of_a_metric_and_a_walk_keep_text(visit, evil):
    """Methods in the history of a metric, and the nodes and labels of a walk that is drawn, are shown as they are."""
    run(visit.url, evil[1], ["evil_metric"], name="evil")
    visit.open("history?metric=evil_metric")
    visit.until(lambda: PLAIN in visit.text("main"))
    case = {
        "question": EVIL,
        "traversal": {"start_nodes": [EVIL], "traversed_edges": [[EVIL, EVIL, f"{EVIL} 2"]], "final_nodes": [EVIL]},
        "gold": {"expected_edges": [[EVIL, EVIL, f"{EVIL} 3"]]},
    }
    visit.open("playground?metric=edge_recall")
    visit.at.get_by_role("radio", name="JSON").check()
    visit.at.get_by_label("Case as JSON").fill(json.dumps(case))
    visit.at.get_by_role("button", name="Judge", exact=True).click()
    visit.at.get_by_role("region", name="Picture of the walk").locator("svg").wait_for()
    assert visit.at.evaluate("window.hit") is None
    assert visit.at.locator("img, main script, [onerror]").count() == 0


def test_playground_keeps_text(visit, evil):
    """A hostile case that is typed or pasted is shown as it is."""
    visit.open("playground?metric=evil_metric&metric=correctness")
    for label in ("Question", "Answer", "Expected answer", "Text 1", "Document 1"):
        visit.at.get_by_label(label, exact=True).fill(EVIL)
    visit.at.get_by_role("button", name="Judge", exact=True).click()
    visit.sees("2 results: 2 scored")
    assert PLAIN in visit.text("section[aria-label=Chunks]")
    assert visit.at.evaluate("window.hit") is None
    assert visit.at.locator("img").count() == 0


def test_markup_cannot_be_made(visit):
    """The page's own rules forbid markup from text: even code that tried could not."""
    visit.expect("TrustedHTML|refused")
    visit.open("library")
    assert visit.at.evaluate(REFUSED)
    visit.faults.clear()
