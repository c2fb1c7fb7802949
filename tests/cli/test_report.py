"""`greval report`, `results` and `merge` on a run of four cases."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import case, judged_by, started, write
from fault_server import ok, says

from greval.trust.probing.records import Probe

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.fixture
def a_run(greval_says, fault_server):
    """Give a run of four cases, one of which failed and one of which was skipped."""
    fault_server.plan = lambda body: says("no") if "Question 4?" in body["messages"][1]["content"] else ok(1)
    write("cases.jsonl", [case(1), case(2), case(3, answer=None), case(4)])
    words = ["-m", "correctness", *judged_by(fault_server), "-o", "run", "--show", "4"]
    code, out, _ = greval_says("evaluate", "cases.jsonl", *words)
    assert code == 3
    assert "It names what decides." in out
    return "run"


def test_reports_by_tag_and_as_json(a_run, greval_says):
    """A report groups by a tag, shows verdicts with reasons, and is the same as JSON."""
    code, out, _ = greval_says("report", a_run, "--by", "kind", "--show", "4")
    assert code == 0
    assert re.search(r"correctness +even +2 +1 +0 +1 ", out)
    assert re.search(r"correctness +odd +2 +1 +1 +0 ", out)
    assert "It names what decides." in out
    assert "answer is not recorded" in out
    report = json.loads(greval_says("report", a_run, "--by", "kind", "--format", "json")[1])
    counts = {s["group"]: (s["planned"], s["scored"], s["skipped"], s["failed"]) for s in report["summaries"]}
    assert counts == {"even": (2, 1, 0, 1), "odd": (2, 1, 1, 0)}


def test_a_reader_that_goes_away_is_no_error(greval_says):
    """`greval results RUN | head -1` ends with 0 and says nothing."""
    write("cases.jsonl", [case(n, usage={"latency": 1.0}, tags={"long": "x" * 2000}) for n in range(200)])
    assert greval_says("evaluate", "cases.jsonl", "-m", "latency", "-o", "run", "--quiet")[0] == 0
    with started("results", "run") as process:
        assert process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, "")


def test_shards_are_merged_once(greval_says, fault_server):
    """The shards' rows become one run; merging again takes nothing over."""
    write("cases.jsonl", [case(n) for n in range(6)])
    for shard in ("1/2", "2/2"):
        words = ["-m", "correctness", *judged_by(fault_server), "--shard", shard, "-o", f"part-{shard[0]}"]
        assert greval_says("evaluate", "cases.jsonl", *words)[0] == 0
    assert "6 rows copied, 0 existed" in greval_says("merge", "all", "part-1", "part-2")[1]
    assert "0 rows copied, 6 existed" in greval_says("merge", "all", "part-1", "part-2")[1]
    assert len(greval_says("results", "all")[1].splitlines()) == 6


def test_writes_a_page_and_a_short_form(a_run, greval_says):
    """--html and --md write files beside what is printed, with the gate, and stderr names them."""
    options = ("--html", "page.html", "--md", "short.md", "--fail-if", "correctness < 1.1")
    code, out, err = greval_says("report", a_run, *options)
    assert code == 1
    assert "correctness" in out
    assert re.search(r"wrote page\.html \(\d+ KB\)\nwrote short\.md \(\d+ KB\)", err)
    page, short = (Path(name).read_text(encoding="utf-8") for name in ("page.html", "short.md"))
    assert page.startswith("<!doctype html>")
    assert "correctness &lt; 1.1" in page
    assert short == greval_says("report", a_run, "--format", "markdown", *options[4:])[1]
    assert code == greval_says("report", a_run, *options[4:])[0]


def test_a_report_of_one_metric(greval_says):
    """--metric leaves the others out of the table and of the JSON."""
    write("cases.jsonl", [case(1), case(2)])
    assert greval_says("evaluate", "cases.jsonl", "-m", "exact_match", "-m", "latency", "-o", "two", "--quiet")[0] == 0
    whole, chosen = (
        json.loads(greval_says("report", "two", *words, "--format", "json")[1]) for words in ((), ("-m", "latency"))
    )
    assert whole["scales"].keys() == {"exact_match", "latency"}
    assert {summary["metric"] for summary in chosen["summaries"]} == chosen["scales"].keys() == {"latency"}
    assert "exact_match" not in greval_says("report", "two", "-m", "latency")[1]


def test_a_report_beside_chance(greval_says):
    """--chance adds a table, and rows to the JSON and the page."""
    found = [{"retrieved_doc_ids": [f"d{n}"], "gold_ids": [f"d{n}"]} for n in range(3)]
    write("found.jsonl", [{"id": f"q{n}", "question": "?", **ids} for n, ids in enumerate(found)])
    assert greval_says("evaluate", "found.jsonl", "-m", "recall@10", "-o", "found", "--quiet")[0] == 0
    title = "By chance: each question with what was retrieved for another one"
    assert title in greval_says("report", "found", "--chance", "--html", "chance.html")[1]
    assert title in Path("chance.html").read_text(encoding="utf-8")
    assert title not in greval_says("report", "found")[1]
    (figure,) = json.loads(greval_says("report", "found", "--chance", "--format", "json")[1])["chance"]
    assert (figure["metric"], figure["mean"], figure["by_chance"]) == ("recall@10", 1, 0)


def test_a_page_shows_a_probe(a_run, greval_says):
    """--probe adds the planted faults of a file."""
    probe = Probe(folder="runs/p", metric="correctness", judge="m", cases=3, checks=(), left_out={"no answer": 2})
    Path("probe.json").write_text(probe.model_dump_json(), encoding="utf-8")
    assert greval_says("report", a_run, "--html", "page.html", "--probe", "probe.json")[0] == 0
    assert "2 cases left out: no answer" in Path("page.html").read_text(encoding="utf-8")
