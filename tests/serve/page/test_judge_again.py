"""Judging again on the page: what the judge saw, what a run would ask, edited metrics, and chosen questions anew."""

from __future__ import annotations

import json

import httpx
import pytest
from runs_made import read_json, run, upload
from served_metrics import tone
from waiting import SECONDS

ROWS = "table.grid tbody tr:not([aria-hidden])"


@pytest.fixture(scope="module")
def dataset(server, demo):
    return upload(server.url, demo)


@pytest.fixture(scope="module")
def judged(server, dataset):
    """Give the id of a run with a failure, of a metric of one's own among others."""
    save(server.url, tone())
    return run(server.url, dataset, ("correctness", "tone", "chunk_evaluation", "token_f1"), name="before")


def save(url, yaml):
    httpx.post(f"{url}/v1/metrics?replace=true", json={"yaml": yaml}, timeout=SECONDS).raise_for_status()


def read(url, path, **query):
    return read_json(url, f"/v1/runs/{path}", **query)


def read_ids(url, run_id, **query):
    return {row["sample_id"] for row in read(url, f"{run_id}/results", limit=1000, **query)["results"]}


def test_shows_what_the_judge_saw(visit, judged):
    """Prompt, schema, reply, tokens and time of each call stand below the verdict; what is computed has none."""
    visit.open(f"runs/{judged}/case?sample_id=q01&method=walk")
    card = visit.at.locator("article[aria-label=correctness]")
    card.get_by_text("What the judge saw").click()
    (call,) = read(visit.url, f"{judged}/calls", sample_id="q01", method="walk", metric="correctness")["calls"]
    block = card.get_by_role("region", name="Call")
    block.wait_for()
    shown_texts = block.locator("pre").all_inner_texts()
    assert shown_texts[: len(call["messages"])] == [message["text"].strip() for message in call["messages"]]
    assert call["reply"] in shown_texts
    assert f"{call['usage']['output_tokens']} out" in block.inner_text()
    block.get_by_text("Answer schema").click()
    assert json.loads(block.locator("details pre").inner_text()) == call["answer_schema"]
    assert visit.at.locator("[aria-label=Chunks] .judge-calls").count() == 1
    assert visit.at.locator("[aria-label='Computed and skipped'] .judge-calls").count() == 0


@pytest.mark.nightly
def test_estimates_a_run_before_it_starts(visit, dataset):
    """Calls, tokens and what no case can serve stand there before the start, and follow what is chosen."""
    visit.open(f"new-run?dataset={dataset}&metric=correctness")
    visit.sees("It would ask:")
    body = {"dataset": dataset, "metrics": ["correctness"], "judge": "quick"}

    def expected(**more):
        forecast = httpx.post(f"{visit.url}/v1/forecast", json={**body, **more}, timeout=SECONDS).json()
        return f"{forecast['results']} results · {forecast['calls']} calls · "

    visit.until(lambda: expected() in visit.text())
    visit.at.get_by_text("Limits and repeats").click()
    visit.at.get_by_label("Only the first cases").fill("3")
    visit.at.get_by_label("Repeats of each judgement").fill("2")
    visit.press("Tab")
    visit.until(lambda: expected(limit=3, repeats=2) in visit.text())
    forecast = httpx.post(f"{visit.url}/v1/forecast", json=body, timeout=SECONDS).json()
    fitting = {metric["metric"] for metric in forecast["fitting"]}
    listed = read_json(visit.url, "/v1/metrics")["metrics"]
    idle = next(metric["name"] for metric in listed if metric["name"] not in fitting)
    visit.at.locator(f"input[value={idle}]").check()
    visit.sees(f"No case has what {idle} needs: skipped.")


@pytest.mark.nightly
def test_an_edited_score_is_read_again_without_a_call(visit, judged):
    """The dialog names what was edited; one press applies it, and the summary shows the new mean."""
    save(visit.url, tone().replace("score: 1", "score: 0.5"))
    visit.open(f"runs/{judged}")
    sheet = visit.at.locator("section[aria-labelledby=summary-tone]")
    mean_before = sheet.locator("td.mean").first.inner_text()
    visit.at.get_by_role("button", name="Judge again").click()
    dialog = visit.at.get_by_role("dialog", name="Judge again")
    dialog.get_by_text("scale.categories.Polite.score").wait_for()
    calls = read(visit.url, f"{judged}/report")["spending"]
    dialog.get_by_role("button", name="again").click()
    dialog.wait_for(state="detached")
    visit.until(lambda: sheet.locator("td.mean").first.inner_text() != mean_before)
    report = read(visit.url, f"{judged}/report")
    assert list(report["replayed"]) == ["tone"]
    assert [entry["usage"]["calls"] for entry in report["spending"]] == [entry["usage"]["calls"] for entry in calls]
    visit.at.get_by_role("button", name="Judge again").click()
    visit.sees("The metrics of the library are those that the run was judged by.", "dialog")


@pytest.mark.nightly
def test_an_edited_prompt_is_judged_in_a_new_run(visit, judged):
    """A changed step is named; all questions, or those with a failure, are judged by it in a run of their own."""
    save(visit.url, tone().replace("Read the answer.", "Read it twice."))
    visit.open(f"runs/{judged}")
    visit.at.get_by_role("button", name="Judge again").click()
    dialog = visit.at.get_by_role("dialog", name="Judge again")
    dialog.get_by_text("steps").first.wait_for()
    assert dialog.get_by_role("link", name="All questions").is_visible()
    dialog.get_by_role("link", name="Those with a failure").click()
    failed = read_ids(visit.url, judged, status="failed", metric="tone")
    visit.sees(f"Only {len(failed)} question{'s' * (len(failed) != 1)} of")
    ticked = visit.at.locator("input[type=checkbox]:checked")
    assert ticked.evaluate_all("(all) => all.map(({ value }) => value)") == ["tone"]
    visit.at.get_by_role("button", name="Start", exact=True).click()
    visit.at.wait_for_selector(".badge:text('finished')")
    new_run = visit.at.url.rpartition("/")[2]
    assert read_ids(visit.url, new_run) == failed


@pytest.mark.nightly
def test_listed_questions_are_judged_again(visit, judged):
    """What the filters leave is judged in a new run, and nothing else; all of them after a press."""
    visit.open(f"runs/{judged}?tab=cases&metric=correctness&q=q1")
    rows = visit.at.locator(ROWS)
    visit.until(lambda: 0 < rows.count() < 20)
    listed = {text.split()[0] for text in rows.locator("th a .mono").all_inner_texts()}
    visit.at.get_by_role("link", name="again in a new run").click()
    visit.sees(f"Only {len(listed)} questions of")
    visit.at.get_by_role("button", name="Start", exact=True).click()
    visit.at.wait_for_selector(".badge:text('finished')")
    new_run = visit.at.url.rpartition("/")[2]
    assert read_ids(visit.url, new_run) == listed
    visit.at.go_back()
    visit.at.get_by_role("button", name="Judge all").click()
    visit.at.get_by_role("button", name="Judge all").wait_for(state="detached")
