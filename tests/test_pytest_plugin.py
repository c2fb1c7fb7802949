"""The pytest plugin: failures and errors of tests, cases of files, the cache, the cap, the summary, and xdist."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np  # noqa: F401 - loaded here, as an inner pytest would drop what it loads
import pytest
import scipy.special  # noqa: F401 - as above
from doc_pages import blocks
from fault_server import KEY, FaultServer, error, ok, says

import greval.analysis.bounds
import greval.report.assertions
import greval.runs.judge_session  # noqa: F401 - as above
from greval.judging.local.fetch import fetch
from greval.testing import ScriptedJudge  # noqa: F401 - as above

pytest_plugins = ["pytester"]
PLUGINS = ("-p", "no:greval", "-p", "greval.pytest_plugin")
PRICE = re.compile(r"\$[\d.]+")
CASES = [
    {"id": "q1", "question": "Who wrote it?", "expected_answer": "Ada Lovelace", "answer": "Ada Lovelace."},
    {"id": "q2", "question": "When did it appear?", "expected_answer": "1843", "answer": "In 1842."},
]
CONFTEST = """
import pytest
from greval.testing import ScriptedJudge

def judge(messages):
    with open("calls.txt", "a") as file:
        number = file.tell()
        file.write("x")
    {body}

@pytest.fixture(scope="session")
def greval_judge():
    return ScriptedJudge(judge)
"""
BY_YEAR = 'return {"reason": "The years differ.", "value": int("1842" not in messages[-1].text)}'
OVER_FILE = """
import pytest

@pytest.mark.greval_cases("cases.jsonl")
def test_answer(greval, case):
    assert greval.assert_metric(case, "correctness", at_least=1).value == 1
"""


@pytest.fixture
def folder(pytester, monkeypatch):
    """Give a folder with cases, and pytest without the plugins of other packages."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in ("GREVAL_JUDGE", "OPENAI_BASE_URL", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    # a test file that is written twice in a second would be run as it was compiled first
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (pytester.path / "cases.jsonl").write_text("".join(f"{json.dumps(case)}\n" for case in CASES), encoding="utf-8")
    return pytester


def run(folder, test, *words, body=BY_YEAR):
    """Run a test file by a scripted judge in this process; return the result and the number of calls."""
    if body:
        folder.makeconftest(CONFTEST.format(body=body))
    folder.makepyfile(test_it=test)
    calls = folder.path / "calls.txt"
    calls.write_text("", encoding="utf-8")
    return folder.runpytest_inprocess(*PLUGINS, *words), len(calls.read_text(encoding="utf-8"))


def assertion(bounds, metric="correctness", answer="In 1842."):
    """Return a test file with one assertion."""
    case = {"question": "When?", "expected_answer": "1843", "answer": answer, "chunks": ["It rained.", "In 1843."]}
    return f"def test_it(greval):\n    greval.assert_metric({case}, {metric!r}, {bounds})\n"


def test_a_function_of_a_python_file_is_a_metric(folder):
    """It is found from the test file, as a metric file is, and needs no judge."""
    folder.makepyfile(own="def length(answer):\n    return len(answer)\n")
    result, calls = run(folder, assertion("at_least=8", "own.py:length"))
    result.assert_outcomes(passed=1)
    assert calls == 0
    result, _ = run(folder, assertion("at_least=9", "own.py:length"))
    result.stdout.fnmatch_lines(["*AssertionError: length is 8, expected at least 9"])


def test_a_bad_answer_is_a_failure_that_shows_all(folder):
    """A value outside its bounds fails with question, answers, value, reason and judge; the others pass."""
    result, calls = run(folder, OVER_FILE)
    result.assert_outcomes(passed=1, failed=1)
    assert calls == 2
    result.stdout.fnmatch_lines(
        [
            "*AssertionError: correctness is 0, expected at least 1",
            "E * case:     q2",
            "E * question: When did it appear?",
            "E * expected: 1843",
            "E * answer:   In 1842.",
            "E * reason:   The years differ.",
            "E * judge:    ScriptedJudge",
            "judge ScriptedJudge: 2 results, 2 calls, 0 reused answers, 200 input tokens, 40 output tokens, cost not*",
            "correctness *2 *0 *0 * 0.50 *n=2",
            "FAILED test_it.py::test_answer?q2? - *",
        ]
    )


def test_hostile_text_is_escaped(folder):
    """Control characters of an answer do not reach the terminal, and a long one is shortened."""
    result, _ = run(folder, assertion("at_least=1", answer="In 1842. \x1b[31mred" + "x" * 5_000))
    result.stdout.fnmatch_lines(["E * In 1842. \\x1b[[]31mredxxx*..."])
    assert "\x1b[31m" not in result.stdout.str()


@pytest.mark.parametrize(
    ("body", "test", "said"),
    [
        ('return "no JSON"', assertion("at_least=1"), "*OutcomeError: correctness failed: malformed: *"),
        ('raise ValueError("broken")', assertion("at_least=0"), "*OutcomeError: correctness failed: error: *broken*"),
        (BY_YEAR, assertion("at_least=1", "gold_check_that_is_not_there"), "*DefinitionError: *no such metric*"),
        (BY_YEAR, assertion("at_least=1", "ndcg@5"), "*OutcomeError: ndcg@5 cannot be judged: *is not recorded*"),
        (
            BY_YEAR,
            assertion("at_least=80"),
            "*DefinitionError: correctness: at_least=80 is outside of its scale, 0 to 1",
        ),
        (BY_YEAR, assertion("repeats=3"), "*DefinitionError: correctness: no bound is given; *"),
        (BY_YEAR, assertion("at_least=1", "mine.yaml"), "*DataError: mine.yaml: no such file in *"),
        ("", assertion("at_least=1"), "*JudgeError: correctness: is judged by a model; no judge is named. *"),
        ("", f"import pytest\n@pytest.mark.xfail\n{assertion('at_least=1')}", "*JudgeError: *no judge is named. *"),
    ],
)
def test_no_value_is_an_error(folder, body, test, said):
    """Without a value a test is an error, with the kind or what is missing: neither passed, failed nor xfailed."""
    result, _ = run(folder, test, body=body)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([said, "ERROR test_it.py::test_it - *"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_an_expected_failure_stays_one(folder):
    """A bad answer in a test that is marked xfail is xfailed."""
    result, _ = run(folder, f"import pytest\n@pytest.mark.xfail\n{assertion('at_least=1')}")
    result.assert_outcomes(xfailed=1)


def test_rows_that_are_no_cases_are_errors_with_their_place(folder):
    """A row without a question, and a repeated one, are errors that name their line; the fixtures are not set up."""
    with (folder.path / "cases.jsonl").open("a", encoding="utf-8") as file:
        file.write(f'{{"answer": "x"}}\n{json.dumps(CASES[0])}\n')
    result, calls = run(folder, OVER_FILE)
    result.assert_outcomes(passed=1, failed=1, errors=2)
    assert calls == 2
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of test_answer?no-case-3?*",
            "*cases.jsonl:3: question: is missing*",
            "*cases.jsonl:4: id: q1*",
        ]
    )


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ('"none.jsonl"', "*none.jsonl: no such file in *name it relative to the test file*"),
        ('"notes.txt"', "*its ending '.txt' is not known*"),
        ('"cases.jsonl", 3', "*greval_cases: give one file*"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_of_the_collection(folder, mark, said):
    """The error names the file and what to do, without a trace through greval."""
    (folder.path / "notes.txt").write_text("x", encoding="utf-8")
    result, _ = run(folder, OVER_FILE.replace('"cases.jsonl"', mark))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([said])
    result.stdout.no_fnmatch_line("*greval/pytest_plugin.py*")


def test_ids_are_those_of_cases_with_their_methods(folder):
    """Two methods' answers to one question are two tests, whose ids name the case and the method."""
    rows = [{**CASES[0], "method": method} for method in ("walk", "plain")]
    (folder.path / "cases.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    result, _ = run(folder, OVER_FILE, "--collect-only", "-q")
    result.stdout.fnmatch_lines(["*test_answer?q1-walk?", "*test_answer?q1-plain?"])


def test_replies_are_kept_between_runs(folder):
    """A second run makes no calls; --greval-no-cache and a changed case do."""
    assert run(folder, OVER_FILE)[1] == 2
    result, calls = run(folder, OVER_FILE)
    assert calls == 0
    result.stdout.fnmatch_lines(["judge ScriptedJudge: 2 results, 0 calls, 2 reused answers, *$0.0000"])
    assert run(folder, OVER_FILE, "--greval-no-cache")[1] == 2
    assert run(folder, OVER_FILE, "-p", "no:cacheprovider")[1] == 2
    (folder.path / "cases.jsonl").write_text(json.dumps({**CASES[1], "answer": "In May 1842."}), encoding="utf-8")
    assert run(folder, OVER_FILE)[1] == 1
    assert run(folder, OVER_FILE, "--cache-clear")[1] == 1


def test_a_case_is_judged_and_counted_once(folder):
    """Several assertions on one case make one call and count once, also without the cache."""
    result, calls = run(folder, OVER_FILE + OVER_FILE.replace("test_answer", "test_again"), "--greval-no-cache")
    assert calls == 2
    result.stdout.fnmatch_lines(["judge ScriptedJudge: 2 results, 2 calls, *", "correctness *2 *0 *0 * 0.50 *n=2"])


def test_the_cap_of_calls_makes_errors(folder):
    """After the cap nothing is asked; the tests without a value are errors that say so, and the summary counts them."""
    result, calls = run(folder, OVER_FILE, "--greval-max-calls", "1")
    result.assert_outcomes(passed=1, errors=1)
    assert calls == 1
    result.stdout.fnmatch_lines(["*StoppedError: the cap of 1 call is reached (--greval-max-calls); raise it *"])
    result.stdout.fnmatch_lines(["not judged: 1 assertion: the cap of 1 call is reached *"])
    result, calls = run(folder, OVER_FILE, "--greval-max-calls", "1")
    assert calls == 1  # the reply to the first case was kept
    assert run(folder, OVER_FILE, "--greval-max-calls", "0")[0].ret == pytest.ExitCode.USAGE_ERROR


VOTES = 'return {{"reason": "R.", "value": {values}[number]}}'


@pytest.mark.parametrize(
    ("values", "outcome"),
    [([1, 1, 0], {"passed": 1}), ([1, 0, 0], {"failed": 1}), ([1, 1, 1], {"passed": 1}), ([0, 0, 0], {"failed": 1})],
)
def test_the_majority_of_repeats_decides(folder, values, outcome):
    """One flip of three changes nothing; the summary shows the noise."""
    result, calls = run(folder, assertion("at_least=1, repeats=3"), body=VOTES.format(values=values))
    result.assert_outcomes(**outcome)
    assert calls == 3
    split = len({*values}) > 1
    rate = "0.33" if split else "0.00"
    result.stdout.fnmatch_lines(
        [f"noise of the judge: {int(split)} of 1 repeated judgement not unanimous, flip rate {rate}"]
    )


def test_a_tie_is_an_error(folder):
    """Two repeats that differ decide nothing."""
    body = 'return {"reason": "R.", "value": number}'
    result, _ = run(folder, assertion("at_least=1, repeats=2"), body=body)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*OutcomeError: correctness failed: no_majority: 1 of 2 repeats are at least 1: *"])


SCORE = "scale: {range: [0, 1], levels: {0: Bad., 1: Good.}}"
FIT = "scale: {categories: {Fits: It fits., Other: It does not.}}"
USES = "uses:\n  chunks: {judged_by: fit, as: [Fits]}"


def test_metric_files_and_what_they_build_on(folder):
    """A metric file is found from the test file, and a metric that it builds on in its own folder."""
    library = folder.path / "metrics"
    library.mkdir()
    for name, over, more in (("tone", "", f"{USES}\n{SCORE}"), ("fit", "over: chunks\n", FIT)):
        text = f"name: {name}\ndescription: D.\nneeds: [question, chunks]\nsteps: [Read it.]\n{over}{more}\n"
        (library / f"{name}.yaml").write_text(text, encoding="utf-8")
    body = """if "It rained." in messages[-1].text:
        return {"judgements": [{"item": n, "reason": "R.", "value": "Fits" if n == 2 else "Other"} for n in (1, 2)]}
    return {"reason": "R.", "value": 1}"""
    result, calls = run(folder, assertion("equals=1", "metrics/tone.yaml"), body=body)
    result.assert_outcomes(passed=1)
    assert calls == 2
    result.stdout.fnmatch_lines(["fit *1 *0 *0 *", "tone *1 *0 *0 * 1.00 *n=1"])


def test_the_plugin_loads_nothing_heavy(tmp_path):
    """A test run that does not use greval loads a few modules of it, and prints no summary."""
    (tmp_path / "test_it.py").write_text(
        "import sys\ndef test_it():\n    assert sorted(n for n in sys.modules if n.startswith('greval')) == "
        "['greval', 'greval._util', 'greval._util.notebook_display', 'greval.pytest_plugin']\n"
        "    assert not {'pydantic', 'numpy', 'langchain_core'} & {*sys.modules}\n",
        encoding="utf-8",
    )
    surroundings = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", *PLUGINS, "-q"]
    done = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "greval" not in done.stdout


@pytest.fixture
def http_judge(folder, monkeypatch):
    """Give a chat server as the judge of the inner pytest."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FaultServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def by_year(body):
    return ok(int("1842" not in body["messages"][-1]["content"]))


@pytest.mark.nightly
def test_workers_share_cache_cap_and_summary(folder, http_judge):
    """With pytest-xdist and a real server, no call is made twice, and cap and summary are those of all workers."""
    rows = [{**CASES[0], "id": f"c{n}", "answer": f"Answer {n}."} for n in range(12)]
    (folder.path / "cases.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    words = ("-p", "xdist", "-n", "2", "--greval-judge", "openai:m", "--greval-max-calls")
    result, _ = run(folder, OVER_FILE.replace(".value == 1", ""), *words, "7", body="")
    result.assert_outcomes(failed=7, errors=5)
    assert http_judge.calls == 7
    result.stdout.fnmatch_lines(["judge openai:m: 7 results, 7 calls, 0 reused answers, 700 input tokens, *"])
    http_judge.plan = by_year
    result, _ = run(folder, OVER_FILE, *words, "50", body="")
    result.assert_outcomes(passed=5, failed=7)
    assert http_judge.calls == 12
    result.stdout.fnmatch_lines(["judge openai:m: 12 results, 5 calls, 7 reused answers, 500 input tokens, *"])
    result.stdout.fnmatch_lines(["correctness *12 *0 *0 * n=12"])
    assert len(re.findall("= greval =", result.stdout.str())) == 1


@pytest.mark.nightly
def test_a_refused_key_is_tried_once(folder, http_judge):
    """After a refused key nothing is asked: the other tests are errors at once, which say what to set."""
    http_judge.plan = error(401, "invalid_api_key")
    folder.makepyfile(test_it=OVER_FILE)
    result = folder.runpytest_subprocess(*PLUGINS, "--greval-judge", "openai:m")
    result.assert_outcomes(errors=2)
    assert http_judge.calls == 1
    result.stdout.fnmatch_lines(["*StoppedError: the judge refuses the key: *set OPENAI_API_KEY to a valid key"])


@pytest.mark.nightly
def test_the_page_runs_as_it_stands(folder, http_judge):
    """The tests of docs/pytest.md run against a server, and print what the page shows."""
    http_judge.plan = by_year_with_reason
    greeting, answers, conftest, wavering = blocks("docs/pytest.md", "python")
    folder.makepyfile(test_greeting=greeting, test_answers=answers, test_wavering=wavering)
    *_, shown, summary = blocks("docs/pytest.md", "text")
    result = folder.runpytest_subprocess(*PLUGINS, "--greval-judge", "openai:gpt-4.1-mini")
    printed = result.stdout.str()
    assert shown in printed
    assert PRICE.sub("$", summary) in PRICE.sub("$", printed)
    folder.makeconftest(conftest.replace("http://127.0.0.1:8000/v1", http_judge.url))
    folder.runpytest_subprocess(*PLUGINS).stdout.fnmatch_lines(["judge openai:my-model: *"])


def by_year_with_reason(body):
    """Answer as the page shows."""
    value = int("1842" not in body["messages"][-1]["content"])
    return says(json.dumps({"reason": "The same." if value else "The years differ.", "value": value}))


@pytest.mark.nightly
def test_a_crashed_worker_is_named(folder):
    """What a crashed worker had judged is not in the summary, which says so."""
    crash = "import os\ndef test_crash():\n    os._exit(1)\n"
    result, _ = run(folder, f"{crash}{OVER_FILE}", "-p", "xdist", "-n", "1")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["correctness *2 *n=2", "not counted: what 1 crashed worker had judged"])


@pytest.mark.nightly
@pytest.mark.local_model
def test_a_local_model_judges_here_and_in_workers(folder):
    """With llama.cpp as the judge, verdicts of a file of cases come back; workers of xdist then use the same cache."""
    model = "smollm2-135m"
    fetch(model)
    folder.makepyfile(test_it=OVER_FILE.replace("at_least=1).value == 1", "at_least=0).value in {0, 1}"))
    words = (*PLUGINS, "--greval-judge", f"local:{model}")
    for workers, calls in (((), 2), (("-p", "xdist", "-n", "2"), 0), (("-p", "xdist", "-n", "2", "--cache-clear"), 2)):
        result = folder.runpytest_subprocess(*words, *workers)
        result.assert_outcomes(passed=2)
        result.stdout.fnmatch_lines(
            [
                f"judge local:{model}: 2 results, {calls} calls, {2 - calls} reused answers, *",
                "correctness *2 *0 *0 *n=2*",
            ]
        )
