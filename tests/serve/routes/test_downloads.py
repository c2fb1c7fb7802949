"""Tests of files to save: results, reports and comparisons of runs, and data sets."""

from __future__ import annotations

import asyncio
import io
import re
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import partial

import pandas as pd
import pytest
from served_runs import ended, lines, read_pages, rows, serving, started, uploaded
from svg_texts import read_svg_texts

from greval.analysis.comparison.api import compare
from greval.analysis.summary import build_report
from greval.report.html.comparison_page import build_comparison_page
from greval.report.html.page import PageContent, build_report_page
from greval.runs.run_reader import add_texts
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.runs.store.exports import read_layout, write_csv
from greval.serve.routes.downloads import MAX_TENANT_FILES

DATE = re.compile(r"\d{1,2} \w+ \d{4}, \d\d:\d\d UTC|\d{4}-\d\d-\d\dT[\d:.]+\+00:00")


@pytest.fixture(scope="module")
def run(shared_client):
    """Give a run that no test changes."""
    return judge_two_methods(shared_client)


def judge_two_methods(client):
    """Run a judged and a computed metric on two methods and return the run."""
    cases = rows(5, method="walk", tags={"kind": "a"}) + rows(4, method="local", tags={"kind": "b"})
    run = started(client, uploaded(client, cases), "correctness", "exact_match")
    assert ended(client, run)["status"] == "finished"
    return run


def get(client, path, **query):
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"].startswith("attachment; filename=")
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    return answer


@pytest.mark.parametrize(
    ("query", "selection"),
    [
        ({}, ResultFilter()),
        ({"metric": ["correctness"], "method": "walk"}, ResultFilter(metrics=("correctness",), method="walk")),
        ({"status": "failed"}, ResultFilter(status="failed")),
        ({"tag": ["kind:a", "kind:b"], "value": "1"}, ResultFilter(tags=(("kind", "a"), ("kind", "b")), value="1")),
    ],
)
def test_results_are_those_of_the_library(shared_client, shared_runs, run, query, selection):
    """Both files hold what `greval results` writes, with the filters of the list of results; nothing else is left."""
    with Store.open(shared_runs / run) as store:
        rows = [*store.lines(selection)]
        with_texts = [*add_texts(store, store.lines())]
        table = io.StringIO()
        stored = read_layout(store.fact("metrics"))
        layout = stored.model_copy(update={"status": selection.status, "value": selection.value})
        write_csv(rows, table, layout)
    for form, kind, text in (
        ("jsonl", "application/jsonl", "".join(f"{row}\n" for row in rows)),
        ("csv", "text/csv; charset=utf-8", table.getvalue()),
    ):
        answer = get(shared_client, f"/v1/runs/{run}/results.{form}", **query)
        assert answer.text.splitlines() == text.splitlines()
        assert answer.headers["content-type"].startswith(kind)
        assert f'filename="{run}-results.{form}"' in answer.headers["content-disposition"]
    assert get(shared_client, f"/v1/runs/{run}/results.jsonl", texts=True).text.splitlines() == with_texts
    assert not [*shared_runs.glob(".new-*")]


def test_a_tenant_has_so_many_files_at_once(shared_client, shared_runs, run):
    """While as many files of a tenant are made and sent, a further one is refused for the moment."""
    files = shared_client.app.state.files

    async def hold_and_ask():
        async with AsyncExitStack() as stack:
            for n in range(MAX_TENANT_FILES):
                await stack.enter_async_context(
                    files.use(("", "results.csv", (), str(n)), partial(asyncio.sleep, 0, shared_runs / "none" / "a"))
                )
            return await asyncio.to_thread(shared_client.get, f"/v1/runs/{run}/results.csv")

    refused = asyncio.run(hold_and_ask())
    assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (429, "share_in_use", "5")
    assert [*files.keys] == []
    get(shared_client, f"/v1/runs/{run}/results.csv")


def test_the_report_is_the_page_of_the_command(shared_client, shared_runs, run):
    """The page is that of `greval report --html`, under the run's id, and shows no path."""
    with Store.open(shared_runs / run) as store:
        report = build_report(store, by=["kind"], worst=2).model_copy(update={"folder": run})
        page_text = build_report_page(store, report, PageContent(datetime.now(UTC), worst=2, with_addresses=False))
    answer = get(shared_client, f"/v1/runs/{run}/report.html", by="kind", worst=2)
    assert DATE.sub("", answer.text) == DATE.sub("", page_text)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert str(shared_runs) not in answer.text


@pytest.mark.nightly
def test_the_comparison_is_the_page_of_the_command(shared_client, shared_runs, run):
    """The page is that of `greval compare --html`, of methods and of runs."""
    later = started(shared_client, uploaded(shared_client, rows(5, method="walk")), "correctness", "exact_match")
    ended(shared_client, later)
    for query, options in [({"baseline": "local"}, {}), ({"against": later}, {"against": shared_runs / later})]:
        comparison = compare(shared_runs / run, baseline=query.get("baseline"), **options)
        page = build_comparison_page(comparison, made_at=datetime.now(UTC), with_addresses=False)
        answer = get(shared_client, f"/v1/runs/{run}/compare.html", **query)
        assert DATE.sub("", answer.text) == DATE.sub("", page.replace(f"{shared_runs}/", ""))
        assert str(shared_runs) not in answer.text


def test_charts_have_each_metric_and_group(shared_client, run):
    """The chart of a report has each mean, that of a comparison each difference."""
    answer = get(shared_client, f"/v1/runs/{run}/report.svg", by="kind")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert f'filename="{run}-report.svg"' in answer.headers["content-disposition"]
    assert {"correctness: mean", "exact_match: mean", "a", "b"} <= read_svg_texts(answer.text)
    chart = read_svg_texts(get(shared_client, f"/v1/runs/{run}/report.svg", metric="exact_match").text)
    assert [text for text in chart if "mean" in text] == ["exact_match: mean"]
    compared = read_svg_texts(get(shared_client, f"/v1/runs/{run}/compare.svg", baseline="local").text)
    assert any(text.startswith("correctness: difference") for text in compared)


@pytest.mark.nightly
def test_the_address_of_the_judge_is_not_shown(runs, judge):
    """The operator's address of the judge, which may hold a password, is in no page."""
    with serving(runs, judges={"x": judge}) as client:
        run = started(client, uploaded(client, rows(4)))
        ended(client, run)
        for page, query in (("report.html", {}), ("compare.html", {"against": run})):
            text = get(client, f"/v1/runs/{run}/{page}", **query).text
            assert ("openai:x" in text, judge.base_url in text) == (True, False)


@pytest.mark.parametrize(
    ("form", "kind"),
    [("csv", "text/csv"), ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")],
)
def test_a_label_sheet_goes_out_and_comes_in_filled(shared_client, form, kind, tmp_path):
    """What was judged goes out without verdicts; the filled rows come in as labels of the person who is named."""
    path = f"/v1/runs/{judge_two_methods(shared_client)}"
    sheet = tmp_path / f"sheet.{form}"
    sheet.write_bytes(get(shared_client, f"{path}/label-sheet.{form}", metric="correctness", method="walk").content)
    table = pd.read_csv(sheet, dtype=str) if form == "csv" else pd.read_excel(sheet, dtype=str)
    assert (len(table), "value" in table) == (5, False)
    table["label"] = ["1.0", "0.0", None, None, None]
    (table.to_csv if form == "csv" else table.to_excel)(sheet, index=False)
    sent = {"content": sheet.read_bytes(), "headers": {"Content-Type": kind}}
    answer = shared_client.put(f"{path}/annotations", params={"annotator": "ana"}, **sent)
    assert answer.json() == {"annotations": 2, "held": 2}
    labels = shared_client.get(f"{path}/annotations").json()["annotations"]
    assert sorted((label["annotator"], label["method"], label["value"]) for label in labels) == [
        ("ana", "walk", 0),
        ("ana", "walk", 1),
    ]


def test_a_data_set_comes_back_as_it_was_sent(shared_client):
    """The file is the one that was uploaded, faulty rows included, with its type and name; its rows come by page."""
    content = lines(rows(3)) + "no case\n" + lines([{"question": "Who?"}])
    sent = shared_client.post("/v1/datasets?name=mine", content=content, headers={"Content-Type": "application/jsonl"})
    path = f"/v1/datasets/{sent.json()['id']}"
    answer = get(shared_client, f"{path}/file")
    assert answer.text == content
    assert answer.headers["content-type"].startswith("application/jsonl")
    assert 'filename="mine.jsonl"' in answer.headers["content-disposition"]
    part = shared_client.get(f"{path}/file", headers={"Range": "bytes=0-9"})
    assert (part.status_code, part.text) == (206, content[:10])
    pages = [*read_pages(shared_client, f"{path}/cases", limit=2)]
    assert [[case["id"] for case in page["cases"]] for page in pages] == [["q0", "q1"], ["q2"], ["row-5"]]
    assert [row["place"] for page in pages for row in page["unread"]] == ["mine:4"]
