"""`greval duel`: forecast, judging into the run, the report, and messages for wrong use."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest
from duelled_answers import JUDGES, QUESTIONS, judge_by, write_answers
from fault_server import FaultServer, answers_as, ok

from greval.analysis.duel.records import Duel

METHODS = ("walk", "local", "flat")
HABITS = ("POSITION BIAS", "LENGTH BIAS", "TIE HABIT")


@pytest.fixture
def cases(tmp_path, monkeypatch):
    """Write cases of three methods, and give the folder as the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    rows = [
        {"id": f"q{n}", "question": "Who?", "method": name, "answer": f"{name} {n}", "expected_answer": "walk 1"}
        for n in range(6)
        for name in METHODS
    ]
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


@pytest.fixture
def run(cases, greval_says):
    """Judge the cases by a computed metric, and give the run."""
    assert greval_says("evaluate", cases, "-m", "token_f1", "-o", "run", "--quiet")[0] == 0
    return "run"


@pytest.fixture
def judged():
    """Serve a judge that answers with the first value."""
    with FaultServer(ok()) as server:
        yield server


def test_a_forecast_asks_nothing(run, judged, greval_says):
    """--dry-run prints how many calls there will be, two for each pair, and makes none."""
    words = ("-m", "comprehensiveness", "--judge", "openai:m", "--base-url", judged.url, "--dry-run")
    code, out, _ = greval_says("duel", run, *words, "--limit", 2)
    assert code == 0
    assert [line.split()[1:5:3] for line in out.splitlines() if line.startswith("comprehensiveness")] == [["6", "12"]]
    assert judged.calls == 0


def test_a_duel_is_judged_and_printed(run, judged, greval_says):
    """Pairs are judged in both orders, the table names them, and the same command again asks nothing."""
    words = ("-m", "comprehensiveness", "--judge", "openai:m", "--base-url", judged.url, "--methods", "walk,local")
    code, out, _ = greval_says("duel", run, *words)
    assert (code, judged.calls) == (0, 12)
    assert "walk" in out
    assert "POSITION BIAS" in out
    code, out, _ = greval_says("duel", run, *words, "--format", "json")
    assert (code, judged.calls) == (0, 12)
    duel = Duel.model_validate_json(out)
    (pair,) = duel.metrics[0].pairs
    assert (pair.first, pair.second, pair.tied, pair.flip_rate.value) == ("local", "walk", 6, 1.0)


def test_without_a_metric_it_is_a_report(run, judged, greval_says):
    """Without -m nothing is judged: what is in the run is printed, or the message says that there is none."""
    code, _, err = greval_says("duel", run)
    assert code == 2
    assert "has no preference" in err
    greval_says("duel", run, "-m", "directness", "--judge", "openai:m", "--base-url", judged.url, "--quiet")
    code, out, _ = greval_says("duel", run)
    assert code == 0
    assert "directness" in out
    assert "Davidson" in out


def test_judged_pairs_are_shown_by_a_duel(tmp_path, judged, greval_says, monkeypatch):
    """After pairs of a file were judged, the next command shows the duel, as there are no methods to compare."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    sides = [("flat", "local"), ("flat", "walk")]
    rows = [
        {"question": "Who?", "answer": a, "method": f"{a} vs {b}", "other_response": {"method": b, "answer": b}}
        for a, b in sides
    ]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    words = ("-m", "directness", "--judge", "openai:m", "--base-url", judged.url, "-o", tmp_path / "run")
    code, out, _ = greval_says("evaluate", file, *words)
    assert code == 0
    assert "which method is preferred" in out
    assert "greval compare" not in out


def test_methods_may_be_named_one_by_one(run, judged, greval_says):
    """--methods may be repeated, and the order of the names makes no other pairs."""
    words = ("-m", "directness", "--judge", "openai:m", "--base-url", judged.url, "--quiet")
    assert greval_says("duel", run, *words, "--methods", "walk", "--methods", "flat")[0] == 0
    assert greval_says("duel", run, *words, "--methods", "flat,walk")[0] == 0
    assert judged.calls == 12


def test_pairs_do_not_disturb_other_reports(run, judged, greval_says):
    """`compare` is of the methods, not of their pairs, and `report` shows the win rate of each pair."""
    greval_says("duel", run, "-m", "directness", "--judge", "openai:m", "--base-url", judged.url, "--quiet")
    code, out, _ = greval_says("compare", run, "--format", "json")
    assert code == 0
    comparison = json.loads(out)
    assert {contrast["metric"] for contrast in comparison["contrasts"]} == {"token_f1"}
    assert not any(" vs " in method for method in comparison["methods"])
    code, out, _ = greval_says("report", run)
    assert code == 0
    assert "local vs walk" in out


@pytest.mark.nightly
@pytest.mark.parametrize(("decide", "habits"), JUDGES.values(), ids=JUDGES)
def test_each_habit_is_named_by_the_command_and_on_the_page(empty_folder, greval_says, decide, habits):
    """The text and the HTML report name the habit of a judge, and accuse a fair judge of nothing."""
    rows = [case.model_dump_json() for case in write_answers()]
    Path("cases.jsonl").write_text("\n".join(rows), encoding="utf-8")
    with FaultServer(answers_as({"m": judge_by(decide)})) as server:
        judge = ("--judge", "openai:m", "--base-url", server.url)
        code, out, _ = greval_says("duel", "cases.jsonl", "-m", "overall_preference", *judge, "-o", "run")
    assert (code, server.calls) == (0, 2 * 3 * QUESTIONS)
    assert [line.partition(":")[0] for line in out.splitlines() if line.startswith(HABITS)] == habits
    assert greval_says("report", "run", "--html", "report.html")[0] == 0
    page = unescape(Path("report.html").read_text(encoding="utf-8"))
    section = page[page.index('<section id="preferences">') : page.index('<section id="worst">')]
    assert [habit for habit in HABITS if f"{habit}: overall_preference: " in section] == habits
    for first, second in (("middle", "strong"), ("middle", "weak"), ("strong", "weak")):
        assert f'<bdi>{first}</bdi></td><td class="lines"><bdi>{second}</bdi>' in section


def test_a_row_that_is_no_case_does_not_stop_the_others(cases, judged, greval_says):
    """Its place and its fault are printed, the pairs of the others are judged, and the exit code is 3."""
    with cases.open("a", encoding="utf-8") as file:
        file.write('\n{"id": "q9", "method": "walk", "answer": "x"}\n')
    words = ("-m", "directness", "--judge", "openai:m", "--base-url", judged.url, "-o", "run")
    code, out, err = greval_says("duel", cases, *words)
    assert code == 3
    assert "cases.jsonl:19: question: is missing" in err
    assert judged.calls == 36
    assert "walk" in out
