"""`--fail-if` and the formats for CI of `evaluate`, `report` and `compare`: what is printed, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from command_line import case, judged_by, write
from compared_runs import FAILED
from compared_runs import write as write_run
from fault_server import error, ok

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.fixture
def evaluate(greval_says, fault_server):
    """Judge four cases of two kinds, all of them wrong, with further options."""
    fault_server.plan = ok(0)
    write("cases.jsonl", [case(n) for n in (1, 2, 3, 4)])
    words = ("evaluate", "cases.jsonl", "-m", "correctness", *judged_by(fault_server), "-o", "run")
    return lambda *more: greval_says(*words, *more)


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        (["correctness > 0.5"], 0),
        (["correctness < 0.5"], 1),
        (["correctness > 0.5", "correctness@even < 0.5"], 1),
        (["correctness@kind=odd.n < 2", "correctness.failed > 0"], 0),
        (["correctness.low < 0.5"], 1),
    ],
)
def test_a_run_and_its_report_have_one_gate(evaluate, greval_says, conditions, code):
    """Both print each condition with its figures, and exit with 1 if one is met."""
    options = [word for condition in conditions for word in ("--fail-if", condition)]
    for exit_code, out, _ in (evaluate(*options), greval_says("report", "run", *options)):
        assert exit_code == code
        assert [line.split(";")[0].split(": ")[1] for line in out.splitlines() if line[:6] in {"passed", "FAILED"}] == (
            conditions
        )


def test_a_quiet_run_prints_what_was_missed(evaluate):
    """Without a report, the missed conditions are on stderr."""
    code, out, err = evaluate("--quiet", "--fail-if", "correctness < 0.5", "--fail-if", "correctness > 0.5")
    assert (code, out) == (1, "")
    assert err == "FAILED: correctness < 0.5; 0 < 0.5 (n = 4)\n"


def test_a_wrong_condition_costs_no_call(evaluate, fault_server):
    """What can be checked before a run is checked before the judge is asked."""
    code, _, err = evaluate("--fail-if", "corectness < 0.5")
    assert (code, "'corectness < 0.5'" in err, fault_server.calls) == (2, True, 0)


def test_failed_outcomes_and_the_gate(evaluate, fault_server, greval_says):
    """Where all cases failed the condition is undecided: 3 of the run, 2 of its report; a met condition is 1."""
    fault_server.plan = error(400)
    code, out, _ = evaluate("--fail-if", "correctness < 0.5")
    assert code == 3
    assert "UNDECIDED: correctness < 0.5; no case has a value (4 failed, 0 skipped)" in out
    assert greval_says("report", "run", "--fail-if", "correctness < 0.5")[0] == 2
    assert greval_says("report", "run", "--fail-if", "correctness.failed > 0")[0] == 1
    assert evaluate("--fail-if", "correctness.failed > 0")[0] == 1


def test_a_run_that_was_stopped_at_a_cap_does_not_pass(evaluate, greval_says):
    """What is not judged yet leaves a condition undecided."""
    code, out, _ = evaluate("--max-calls", "2", "--concurrency", "1", "--fail-if", "correctness > 0.5")
    assert code == 3
    assert "UNDECIDED: correctness > 0.5" in out
    code, out, _ = greval_says("report", "run", "--fail-if", "correctness > 0.5")
    assert code == 2
    assert "not judged yet; run the same command again" in out


@pytest.mark.parametrize("form", ["junit", "markdown", "github", "json"])
@pytest.mark.parametrize("command", ["report", "compare"])
def test_every_format_has_the_gate(greval_says, command, form):
    """The conditions are in each format, the exit code is 1, and stdout can be saved as it is."""
    figures = {("local", "right"): [1] * 9 + [FAILED], ("walk", "right"): [0] * 10}
    run = write_run(Path("run"), figures)
    words = (command, run, "--format", form, "--fail-if", "walk: right < 0.5", "--fail-if", "walk: right.n < 9")
    code, out, err = greval_says(*words)
    assert code == 1
    if form == "junit":
        suite = ET.fromstring(out.encode("ascii"))[0]  # noqa: S314 - our own output
        assert (suite.get("tests"), suite.get("failures")) == ("4" if command == "report" else "3", "1")
    elif form == "json":
        assert [check["met"] for check in json.loads(out)["gate"]] == [True, False]
    elif form == "markdown":
        assert out.startswith("### greval: 1 of 2 conditions failed\n")
    else:
        assert out.startswith("::error title=greval%3A failed::walk: right < 0.5; walk: 0 < 0.5 (n = 10)\n")
    assert ("FAILED: walk: right < 0.5" in err) == (form != "github")
