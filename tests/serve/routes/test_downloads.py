"""Tests of files to save: results, reports and comparisons of runs, and data sets."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime

import pandas as pd
import pytest
from served_runs import ended, lines, rows, serving, started, two_tenants, uploaded
from svg_texts import read_svg_texts

from greval.analysis.comparison.api import compare
from greval.analysis.summary import build_report
from greval.judging.model.judge import Judge
from greval.report.html.comparison_page import build_comparison_page
from greval.report.html.page import PageContent, build_report_page
from greval.runs.run_reader import add_texts
from greval.runs.store import Store
from greval.runs.store.exports import read_layout, write_csv
from greval.runs.store.filters import ResultFilter

DATE = re.compile(r"\d{1,2} \w+ \d{4}, \d\d:\d\d UTC|\d{4}-\d\d-\d\dT[\d:.]+\+00:00")


@pytest.fixture(scope="module")
def run(shared_client):
    """Give a run that no test changes."""
    return judge_two_methods(shared_client)


def judge_two_methods(client):
    """Run a judged and a computed metric on two methods and return the run."""
    given = rows(5, method="walk", tags={"kind": "a"}) + rows(4, method="local", tags={"kind": "b"})
    run = started(client, uploaded(client, given), "correctness", "exact_match")
    assert ended(client, run)["status"] == "finished"
    return run


def get(client, path, **query):
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"].startswith("attachment; filename=")
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    return answer


@pytest.mark.nightly
def test_labels_go_out_and_in_again(shared_client):
    """Both files hold each label, and are taken back; a comment that looks like a formula is escaped in CSV."""
    run = judge_two_methods(shared_client)
    for form in ("csv", "jsonl"):
        assert len(get(shared_client, f"/v1/runs/{run}/labels.{form}").text.splitlines()) == (form == "csv")
    said = [
        {"sample_id": f"q{n}", "method": "walk", "metric": "correctness", "annotator": "ana", "value": n % 2}
        for n in range(3)
    ]
    said[1]["comment"] = '=HYPERLINK("x")'
    shared_client.put(f"/v1/runs/{run}/annotations", json=said).raise_for_status()
    stored = shared_client.get(f"/v1/runs/{run}/annotations").json()["annotations"]
    table = get(shared_client, f"/v1/runs/{run}/labels.csv")
    assert [row["comment"] for row in csv.DictReader(io.StringIO(table.text))] == ["", '\'=HYPERLINK("x")', ""]
    saved = {form: get(shared_client, f"/v1/runs/{run}/labels.{form}") for form in ("csv", "jsonl")}
    for form, kind in (("csv", "text/csv"), ("jsonl", "application/jsonl")):
        answer = saved[form]
        assert f'filename="{run}-labels.{form}"' in answer.headers["content-disposition"]
        sent = shared_client.put(f"/v1/runs/{run}/annotations", content=answer.text, headers={"Content-Type": kind})
        assert sent.json() == {"annotations": 3, "held": 3}
    assert shared_client.get(f"/v1/runs/{run}/annotations").json()["annotations"] == stored


def test_results_are_those_of_the_library(shared_client, shared_runs, run):
    """Both files hold what `greval results` writes, with the filters of the list of results."""
    for query, wanted in [
        ({}, ResultFilter()),
        ({"metric": ["correctness"], "method": "walk"}, ResultFilter(metrics=("correctness",), method="walk")),
        ({"status": "failed"}, ResultFilter(status="failed")),
        ({"tag": ["kind:a", "kind:b"], "value": "1"}, ResultFilter(tags=(("kind", "a"), ("kind", "b")), value="1")),
    ]:
        with Store.open(shared_runs / run) as store:
            found = [*store.lines(wanted)]
            table = io.StringIO()
            write_csv(
                found,
                table,
                read_layout(store.fact("metrics")).model_copy(update={"status": wanted.status, "value": wanted.value}),
            )
        answer = get(shared_client, f"/v1/runs/{run}/results.jsonl", **query)
        assert answer.text.splitlines() == found
        assert answer.headers["content-type"].startswith("application/jsonl")
        assert f'filename="{run}-results.jsonl"' in answer.headers["content-disposition"]
        answer = get(shared_client, f"/v1/runs/{run}/results.csv", **query)
        assert answer.text == table.getvalue()
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    with Store.open(shared_runs / run) as store:
        assert get(shared_client, f"/v1/runs/{run}/results.jsonl", texts=True).text.splitlines() == [
            *add_texts(store, store.lines())
        ]


def test_no_text_is_a_formula_in_a_spreadsheet(shared_client):
    """A text that begins as a formula has an apostrophe in CSV; numbers and JSON lines stay as they are."""
    nasty = ["=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\uff1d1"]
    given = [{"id": text, "question": "?", "answer": text, "expected_answer": "-1.5"} for text in nasty]
    run = started(shared_client, uploaded(shared_client, given), "exact_match")
    ended(shared_client, run)
    read = [
        *csv.DictReader(io.StringIO(get(shared_client, f"/v1/runs/{run}/results.csv", texts=True).text, newline=""))
    ]
    assert [row["sample_id"] for row in read] == [row["answer"] for row in read] == [f"'{text}" for text in nasty]
    assert {row["expected_answer"] for row in read} == {"-1.5"}
    assert '"sample_id":"=1+1"' in get(shared_client, f"/v1/runs/{run}/results.jsonl").text


def test_the_report_is_the_page_of_the_command(shared_client, shared_runs, run):
    """The page is that of `greval report --html`, under the run's id, and shows no path."""
    with Store.open(shared_runs / run) as store:
        report = build_report(store, by=["kind"], worst=2).model_copy(update={"folder": run})
        whole = build_report_page(store, report, PageContent(datetime.now(UTC), worst=2, with_addresses=False))
    answer = get(shared_client, f"/v1/runs/{run}/report.html", by="kind", worst=2)
    assert DATE.sub("", answer.text) == DATE.sub("", whole)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert str(shared_runs) not in answer.text
    assert shared_client.get(f"/v1/runs/{run}/report.html", params={"by": "none"}).status_code == 422


@pytest.mark.nightly
def test_the_comparison_is_the_page_of_the_command(shared_client, shared_runs, run):
    """The page is that of `greval compare --html`, of methods and of shared_runs."""
    other = started(shared_client, uploaded(shared_client, rows(5, method="walk")), "correctness", "exact_match")
    ended(shared_client, other)
    for query, options in [({"baseline": "local"}, {}), ({"against": other}, {"against": shared_runs / other})]:
        found = compare(shared_runs / run, baseline=query.get("baseline"), **options)
        whole = build_comparison_page(found, made=datetime.now(UTC), with_addresses=False)
        answer = get(shared_client, f"/v1/runs/{run}/compare.html", **query)
        assert DATE.sub("", answer.text) == DATE.sub("", whole.replace(f"{shared_runs}/", ""))
        assert str(shared_runs) not in answer.text


def test_charts_have_each_metric_and_group(shared_client, run):
    """The chart of a report has each mean, that of a comparison each difference; texts of the run stay text."""
    answer = get(shared_client, f"/v1/runs/{run}/report.svg", by="kind")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert f'filename="{run}-report.svg"' in answer.headers["content-disposition"]
    assert {"correctness: mean", "exact_match: mean", "a", "b"} <= read_svg_texts(answer.text)
    one = get(shared_client, f"/v1/runs/{run}/report.svg", metric="exact_match")
    assert [text for text in read_svg_texts(one.text) if "mean" in text] == ["exact_match: mean"]
    compared = read_svg_texts(get(shared_client, f"/v1/runs/{run}/compare.svg", baseline="local").text)
    assert any(text.startswith("correctness: difference") for text in compared)
    for query in ({"by": "none"}, {"metric": "none"}):
        assert shared_client.get(f"/v1/runs/{run}/report.svg", params=query).status_code == 422


@pytest.mark.nightly
def test_the_address_of_the_judge_is_not_shown(tmp_path, fault_server, monkeypatch):
    """The operator's address of the judge, which may hold a password, is in no page."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    judge = Judge("openai:x", base_url=fault_server.url)
    with serving(tmp_path / "runs", judges={"x": judge}) as client:
        run = started(client, uploaded(client, rows(4)))
        ended(client, run)
        for page in ("report.html", "compare.html"):
            text = get(client, f"/v1/runs/{run}/{page}", **({"against": run} if "compare" in page else {})).text
            assert "openai:x" in text
            assert fault_server.url not in text


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_a_label_sheet_goes_out_and_comes_in_filled(shared_client, form, tmp_path):
    """What was judged goes out without verdicts; the filled rows come in as labels of the person who is named."""
    run = judge_two_methods(shared_client)
    sheet = tmp_path / f"sheet.{form}"
    sheet.write_bytes(
        get(shared_client, f"/v1/runs/{run}/label-sheet.{form}", metric="correctness", method="walk").content
    )
    table = pd.read_csv(sheet, dtype=str) if form == "csv" else pd.read_excel(sheet, dtype=str)
    assert len(table) == 5
    assert "value" not in table
    table["label"] = ["1.0", "0.0", None, None, None]
    if form == "csv":
        table.to_csv(sheet, index=False)
        kind = "text/csv"
    else:
        table.to_excel(sheet, index=False)
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    answer = shared_client.put(
        f"/v1/runs/{run}/annotations",
        params={"annotator": "ana"},
        content=sheet.read_bytes(),
        headers={"Content-Type": kind},
    )
    assert answer.json() == {"annotations": 2, "held": 2}
    listed = shared_client.get(f"/v1/runs/{run}/annotations").json()["annotations"]
    assert {(one["annotator"], one["method"], one["suggested"]) for one in listed} == {("ana", "walk", False)}
    assert sorted(one["value"] for one in listed) == [0, 1]
    refused = shared_client.get(f"/v1/runs/{run}/label-sheet.{form}", params={"metric": "none"})
    assert refused.status_code == 422


def test_nothing_is_left_after_a_download(shared_client, shared_runs, run):
    """The file that was made is removed when it is sent, and when it could not be made."""
    get(shared_client, f"/v1/runs/{run}/results.csv")
    assert shared_client.get(f"/v1/runs/{run}/results.csv", params={"metric": "none"}).status_code == 422
    assert not [*shared_runs.glob(".new-*")]


@pytest.mark.nightly
def test_runs_without_results_and_of_others_are_refused(tmp_path):
    """What cannot be sent is a problem document, as elsewhere."""
    with two_tenants(tmp_path) as (client, ana, ben):
        run = started(client, uploaded(client, rows(2), headers=ana), "exact_match", headers=ana)
        ended(client, run, headers=ana)
        names = ("results.csv", "results.jsonl", "metrics.zip")
        for name in (*names, "report.html", "compare.html", "report.svg", "compare.svg"):
            assert client.get(f"/v1/runs/{run}/{name}", headers=ben).json()["code"] == "run_not_found"
        assert client.get(f"/v1/runs/{run}/results.csv", headers=ana).status_code == 200


def test_a_data_set_comes_back_as_it_was_sent(shared_client):
    """The file is the one that was uploaded, faulty rows included, with its type and name."""
    sent = lines(rows(3)) + "no case\n"
    dataset = uploaded_text(shared_client, sent)
    answer = get(shared_client, f"/v1/datasets/{dataset}/file")
    assert answer.text == sent
    assert answer.headers["content-type"].startswith("application/jsonl")
    assert 'filename="mine.jsonl"' in answer.headers["content-disposition"]
    part = shared_client.get(f"/v1/datasets/{dataset}/file", headers={"Range": "bytes=0-9"})
    assert (part.status_code, part.text) == (206, sent[:10])
    assert shared_client.get("/v1/datasets/none/file").status_code == 404


def test_cases_of_a_data_set_come_page_by_page(shared_client):
    """Each row is on one page, in the order of the file: cases as they are read, others with their place."""
    sent = lines(rows(3)) + "no case\n" + lines([{"question": "Who?"}])
    dataset = uploaded_text(shared_client, sent)
    found, unread, cursor = [], [], None
    for size in (2, 2, 2):
        query = {"limit": size, **({"cursor": cursor} if cursor else {})}
        page = shared_client.get(f"/v1/datasets/{dataset}/cases", params=query).json()
        found += page["cases"]
        unread += page["unread"]
        cursor = page["next"]
    assert cursor is None
    assert [case["id"] for case in found] == ["q0", "q1", "q2", "row-5"]
    assert [row["place"] for row in unread] == ["mine:4"]
    assert shared_client.get("/v1/datasets/none/cases").status_code == 404


def uploaded_text(client, text):
    """Upload lines as they are and return the id of the data set."""
    kind = {"Content-Type": "application/jsonl"}
    return client.post("/v1/datasets?name=mine", content=text, headers=kind).json()["id"]
