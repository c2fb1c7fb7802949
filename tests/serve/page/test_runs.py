"""Runs on the page in a real browser: start, follow, cancel, read, compare."""

from __future__ import annotations

import httpx
import pytest
from runs_made import read_json, run, start, upload
from waiting import SECONDS

METRICS = ("correctness", "answer_quality", "chunk_evaluation", "triple_evaluation", "ndcg@10", "latency")


ROWS = "table.grid tbody tr:not([aria-hidden])"


@pytest.fixture(scope="module")
def dataset(server, demo):
    return upload(server.url, demo)


@pytest.fixture(scope="module")
def judged(server, dataset):
    """Give the id of a run that came to its end, with failures and skips."""
    return run(server.url, dataset, METRICS, name="judged")


def test_starts_and_follows_a_run(visit, demo):
    """A file is uploaded, rows that are none are told, and the run is followed until it is finished."""
    visit.open("new-run")
    visit.at.set_input_files("#file", {"name": "my cases.jsonl", "mimeType": "", "buffer": demo})
    visit.sees("1 row cannot be read")
    visit.sees("40 cases")
    visit.at.get_by_role("checkbox", name="chunk_evaluation").check()
    visit.at.get_by_label("Judge", exact=True).select_option("slow")
    visit.at.get_by_label("Name", exact=True).fill("followed")
    visit.at.get_by_role("button", name="Start", exact=True).click()
    visit.at.wait_for_selector(".badge:text('running')")
    bar = visit.at.get_by_role("progressbar")
    visit.until(lambda: 5 < int(bar.get_attribute("aria-valuenow")) < 100)
    visit.at.wait_for_selector(".badge:text('finished')")
    visit.sees("40 of 40 judgements, 100 %")
    visit.until(lambda: visit.at.locator("table.figures [data-label=planned]").all_inner_texts() == ["20", "20"])
    assert "not judged yet" not in visit.text()


def test_starts_a_duel(visit, dataset):
    """If only preferences are chosen, the form says that it starts a duel; its page says if a method is preferred."""
    visit.open(f"new-run?dataset={dataset}&metric=directness")
    visit.sees("A duel: the answers of each two methods")
    visit.sees("20 results · 40 calls")
    visit.at.get_by_role("button", name="Start", exact=True).click()
    visit.at.wait_for_selector(".badge:text('finished')")
    visit.sees("directness: no preference seen between local and walk.")


def test_imports_verdicts(visit):
    """A file of verdicts becomes a run, by the metric, the scale and the columns of the form; faults of it are told."""
    visit.expect("422|404")
    visit.open("import")
    rows = b"id,question,answer,gpt4,why\nq1,Who?,Ada.,yes,The expected person.\nq2,When?,In 1842.,no,It was 1843.\n"
    visit.at.get_by_label("File").set_input_files({"name": "gpt 4.csv", "mimeType": "", "buffer": rows})
    visit.at.get_by_role("button", name="Import").click()
    visit.sees("say what the verdicts are of")
    texts = {"Metric": "right", "Scale": "yes/no", "Column of the verdicts": "gpt4", "Column of the reasons": "why"}
    for label, text in texts.items():
        visit.at.get_by_label(label, exact=True).fill(text)
    visit.at.get_by_role("button", name="Import").click()
    visit.at.wait_for_selector(".badge:text('finished')")
    visit.sees("imported:gpt-4")
    visit.sees("0.50")


@pytest.mark.nightly
def test_a_run_is_followed_once(visit, dataset):
    """A run that is cancelled on its page and resumed there is followed by one stream at a time."""
    run_id = start(visit.url, dataset, ["faithfulness"], name="once", judge="slow", concurrency=2)
    streams = []
    visit.at.on("request", lambda request: streams.append(request.url) if request.url.endswith("/events") else None)
    visit.open(f"runs/{run_id}")
    visit.at.get_by_role("button", name="Cancel").click()
    visit.at.locator(".badge:text('stopped')").wait_for()
    assert len(streams) == 1
    visit.at.get_by_role("button", name="Resume").click()
    visit.until(lambda: len(streams) == 2)
    visit.at.get_by_role("button", name="Cancel").click()
    visit.at.locator(".badge:text('stopped')").wait_for()
    assert len(streams) == 2


@pytest.mark.nightly
def test_deletes_a_run_when_sure(visit, dataset):
    """Deleting asks first; then the run is gone from the list and from the server."""
    run_id = run(visit.url, dataset, ["latency"], name="old")
    visit.open("runs")
    row = visit.at.locator(f"li[data-id='{run_id}']")
    row.get_by_role("button", name="Delete").click()
    visit.at.get_by_role("button", name="Close").click()
    assert row.count() == 1
    row.get_by_role("button", name="Delete").click()
    visit.at.get_by_role("button", name="Delete it").click()
    row.wait_for(state="detached")
    assert httpx.get(f"{visit.url}/v1/runs/{run_id}", timeout=SECONDS).status_code == 404


@pytest.mark.nightly
def test_summary_says_of_how_many(visit, judged):
    """Beside each mean stand its interval, how many it is of, and what was planned, scored, skipped and failed."""
    visit.open(f"runs/{judged}")
    report = read_json(visit.url, f"/v1/runs/{judged}/report")
    for summary in report["summaries"]:
        sheet = visit.at.locator(f"section[aria-labelledby='summary-{summary['metric']}']")
        row = sheet.get_by_role("row", name=summary["group"]).inner_text()
        for count in ("planned", "scored", "skipped", "failed"):
            assert str(summary[count]) in row
        assert f"n = {summary['counted']}" in row
        if summary["interval"]:
            assert f"[{summary['interval']['low']:.2f}, {summary['interval']['high']:.2f}]" in row
        if summary["counted"] > 1:
            assert f"median {summary['median']:.3g}, sd {summary['standard_deviation']:.3g}, " in row


@pytest.mark.nightly
def test_says_what_the_judge_was_asked(visit, judged):
    """Calls, tokens and cost of each metric and method are those of the report, with their sum."""
    visit.open(f"runs/{judged}")
    report = read_json(visit.url, f"/v1/runs/{judged}/report")
    rows = visit.at.locator("section[aria-labelledby=spending] tbody tr").all_inner_texts()
    expected = [
        [entry["metric"], entry["group"], str(entry["usage"]["calls"]), f"{entry['usage']['input_tokens']:,}"]
        for entry in report["spending"]
    ]
    assert [[cells[0], cells[1], cells[2], cells[4]] for cells in (row.split("\t") for row in rows[:-1])] == expected
    calls, tokens = (sum(entry["usage"][name] for entry in report["spending"]) for name in ("calls", "input_tokens"))
    assert rows[-1].split("\t")[2:5:2] == [f"{calls:,}", f"{tokens:,}"]


@pytest.mark.nightly
def test_opens_a_failing_case(visit, judged):
    """From a kind of failure one comes to the results that failed, and to the case with what the judge said."""
    visit.open(f"runs/{judged}")
    visit.at.locator("section[aria-labelledby=summary-correctness] .troubles a").first.click()
    rows = visit.at.locator(ROWS)
    visit.until(lambda: rows.count() == 1)
    assert "failed: malformed" in rows.inner_text()
    rows.locator("a").first.click()
    visit.sees("Failed: correctness, answer_quality.")
    failed = visit.at.locator("article[aria-label=correctness]")
    failed.get_by_text("What the judge said", exact=True).click()
    assert "I had rather not say." in failed.inner_text()
    assert visit.at.locator("section[aria-label=Chunks] .item-verdict").count() == 4


@pytest.mark.nightly
def test_shows_a_case_side_by_side(visit, judged):
    """A case is shown with its chunks, triples and walk, each verdict beside what it is about."""
    visit.open(f"runs/{judged}/case?sample_id=q01&method=walk")
    detail = read_json(visit.url, f"/v1/runs/{judged}/case", sample_id="q01", method="walk")
    for chunk, row in zip(detail["case"]["chunks"], visit.at.locator("[aria-label=Chunks] .item").all(), strict=True):
        assert chunk["text"] in row.inner_text()
        assert "It reads as" in row.inner_text()
    for triple, row in zip(
        detail["case"]["triples"], visit.at.locator("[aria-label=Triples] .item").all(), strict=True
    ):
        assert triple["object"] in row.inner_text()
    assert "crew-roster" in visit.text("[aria-label='Edges, in order']")
    assert "core/identity found" in visit.text().replace("\n", " ")


def test_tells_when_the_server_cannot_be_reached(visit, judged):
    """A request that does not get through is told, and tried again on request."""
    visit.expect("ERR_FAILED")
    visit.at.route("**/grid", lambda route: route.abort())
    visit.open(f"runs/{judged}?tab=cases")
    visit.sees("The server cannot be reached", "[role=alert]")
    visit.at.unroute("**/grid")
    visit.at.get_by_role("button", name="Try again").click()
    visit.at.locator(ROWS).first.wait_for()


@pytest.mark.nightly
def test_a_number_of_a_group_leads_to_its_results(visit, judged):
    """Grouped by a tag, a number leads to the results of that group, as many as it says."""
    visit.open(f"runs/{judged}")
    visit.at.get_by_label("Group by").select_option("query_type")
    row = visit.at.locator("section[aria-labelledby=summary-correctness] tbody tr", has_text="multi_hop")
    count = int(row.locator("[data-label=scored] a").inner_text())
    row.locator("[data-label=scored] a").click()
    visit.at.locator(ROWS).first.wait_for()
    summaries = read_json(visit.url, f"/v1/runs/{judged}/report")["summaries"]
    assert count < sum(summary["scored"] for summary in summaries if summary["metric"] == "correctness")
    assert visit.at.locator(f"{ROWS} .value").count() == count


def test_compares_two_methods(visit, judged):
    """Two methods are compared: difference, interval, p, won, tied and lost, as the server has them, also by a tag."""
    visit.open("compare")
    visit.at.get_by_label("Run", exact=True).select_option(judged)
    visit.at.get_by_label("Baseline").select_option("local")
    visit.sees("walk against local")
    comparison = read_json(visit.url, f"/v1/runs/{judged}/compare", baseline="local")
    for contrast in comparison["contrasts"]:
        row = visit.at.locator("table.contrasts tbody tr", has_text=contrast["metric"]).inner_text()
        assert f"{contrast['won']} · {contrast['tied']} · {contrast['lost']}" in row
        assert f"n = {contrast['n']} of {contrast['questions']}" in row
        assert ("relative " in row) == (contrast["relative_difference"] is not None)
    for warning in comparison["warnings"]:
        visit.sees(warning)
    visit.open(f"compare?run={judged}&baseline=local&metric=correctness&by=query_type")
    visit.sees("single_fact")
    assert visit.at.locator("table.contrasts tbody tr").count() > 4


@pytest.mark.nightly
def test_a_comparison_has_one_axis_for_each_unit(visit, judged):
    """Metrics of one unit share an axis with its numbers, so that a difference of 0 is not the widest line."""
    visit.at.set_viewport_size({"width": 1600, "height": 900})
    visit.open(f"compare?run={judged}&baseline=local")
    visit.at.wait_for_selector("table.contrasts")
    bodies = visit.at.locator("table.contrasts tbody")
    comparison = read_json(visit.url, f"/v1/runs/{judged}/compare", baseline="local")
    contrasts = {contrast["metric"]: contrast for contrast in comparison["contrasts"]}
    assert bodies.count() == 2  # shares, and seconds
    for body in bodies.all():
        ends = [*map(read_number, body.locator(".interval-axis text").all_text_contents())]
        assert ends == [-ends[2], 0, ends[2]]
        for row in body.locator("tr:has(.interval .range)").all():
            interval = contrasts[row.locator("th .mono").inner_text()]["interval"]
            line = row.locator(".interval .range").first
            width = float(line.get_attribute("x2")) - float(line.get_attribute("x1"))
            assert width == pytest.approx(228 * (interval["high"] - interval["low"]) / (2 * ends[2]), abs=0.01)


def read_number(text):
    return float(text.replace("\N{MINUS SIGN}", "-").removesuffix(" s"))


@pytest.mark.nightly
def test_a_method_without_a_name_can_be_chosen(visit):
    """Cases without a method are a method with an empty name: as a baseline, as a filter, and behind a number."""
    common = {"id": "q", "question": "Who?", "expected_answer": "Ada."}
    rows = [{**common, "answer": "Ada."}, {**common, "answer": "Bob.", "method": "walk"}]
    run_id = run(visit.url, upload(visit.url, rows, "nameless"), ["exact_match"], name="nameless")
    visit.open(f"compare?run={run_id}")
    visit.at.get_by_label("Baseline").select_option(label="(none)")
    visit.sees("walk against (none)")
    assert visit.at.evaluate("location.hash").endswith("baseline=")
    visit.open(f"runs/{run_id}?tab=cases")
    values = visit.at.locator(f"{ROWS} .value-word")
    visit.until(lambda: values.all_inner_texts() == ["1", "0"])
    visit.at.get_by_label("Method").select_option(label="(none)")
    visit.until(lambda: values.all_inner_texts() == ["1"])
    visit.at.get_by_label("Method").select_option(label="all")
    visit.until(lambda: values.count() == 2)
    visit.open(f"runs/{run_id}")
    visit.at.get_by_role("row", name="(none)").locator("[data-label=scored] a").click()
    visit.until(lambda: values.all_inner_texts() == ["1"])


@pytest.mark.nightly
def test_empty_places_say_what_to_do(visit, judged):
    """Where nothing is chosen, or a run is not there, the page says what to do next."""
    visit.open("compare")
    visit.sees("Choose a run.")
    visit.expect("404|422")
    visit.open(f"runs/{judged}?by=nonsense")
    visit.sees("nonsense", "[role=alert]")
    assert "422" not in visit.text()
    visit.at.get_by_label("Group by").select_option("query_type")
    visit.sees("multi_hop")
    visit.open("runs/no-such-run")
    visit.sees("no-such-run", "[role=alert]")
    visit.open("compare?run=no-such-run")
    visit.sees("no-such-run", "[role=alert]")
