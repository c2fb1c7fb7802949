"""What goes wrong for a new user of the command line: each message has what to do, and nothing is lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import fault_server as fault
import pytest
from framework_folder import CONFIG, ROWS, calls, make_folder
from waiting import SECONDS

from greval.cli import STOPPED, _format_unexpected_error

pytestmark = pytest.mark.usefixtures("empty_folder")
PROGRAM = Path(sys.executable).with_name("greval")
DOWN = ("--judge", "openai:m", "--base-url", "http://127.0.0.1:9")


@pytest.fixture
def judge(fault_server):
    return ("--judge", "openai:m", "--base-url", fault_server.url)


def cases(count=3, path="cases.jsonl", **more):
    """Write cases as JSON lines."""
    fields = {"expected_answer": "Yes.", "answer": "Yes.", "tags": {"kind": "short"}, **more}
    rows = ({"id": f"q{n}", "question": f"Question {n}?", **fields} for n in range(count))
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def run(greval_says, judge):
    """Give a run folder."""
    assert greval_says("evaluate", cases(), "-m", "correctness", *judge, "-o", "run", "-q")[0] == 0
    return "run"


@pytest.mark.parametrize(
    ("plan", "pattern"),
    [
        (None, "connection: .*check --base-url, that the server runs there, and the network"),
        (
            fault.error(404, "model_not_found", "no model m"),
            "request: .*no model m; check the model's name",
        ),
        (fault.error(401), "set OPENAI_API_KEY to a valid key"),
        (fault.says("no JSON"), "malformed: .*; greval judge check"),
    ],
    ids=["down", "no such model", "key", "malformed"],
)
def test_a_run_that_fails_prints_what_to_do(greval_says, fault_server, plan, pattern):
    """A run of which all failed says why, in the words of the judge's server, and what to mend, once."""
    url = fault_server.url if plan else "http://127.0.0.1:9"
    fault_server.plan = plan or fault.ok()
    words = ("evaluate", cases(), "-m", "correctness", "--judge", "openai:m", "--base-url", url, "--max-retries", 0)
    code, _, err = greval_says(*words, "-o", "run")
    assert code == 3
    assert len(re.findall(pattern, err)) == 1
    if "OPENAI_API_KEY" not in pattern:
        assert len(re.findall(pattern, greval_says("report", "run")[2])) == 1


@pytest.mark.parametrize("words", [("metrics", "draft", "tone", "A tone."), ("judge", "check")])
def test_a_judge_that_cannot_be_asked(greval_says, fault_server, words):
    """A model that is not there, a wrong key and a server that is down are reported at the first call."""
    code, _, err = greval_says(*words, *DOWN)
    assert code == 2
    assert "check --base-url, that the server runs there, and the network" in err
    fault_server.plan = fault.error(404, "model_not_found", "no model m")
    code, _, err = greval_says(*words, "--judge", "openai:m", "--base-url", fault_server.url)
    assert code == 2
    assert "no model m; check the model's name and --base-url" in err
    fault_server.plan = fault.error(401, "invalid_api_key", "Wrong key.")
    code, _, err = greval_says(*words, "--judge", "openai:m", "--base-url", fault_server.url)
    assert code == 2
    assert "Wrong key.; set OPENAI_API_KEY to a valid key" in err


def test_a_number_out_of_range(greval_says, run, judge):
    """A limit beyond all numbers is none."""
    words = ("evaluate", "cases.jsonl", "-m", "correctness", *judge, "-o", run, "-q")
    assert greval_says(*words, "--limit", "9" * 30)[0] == 0


def test_aligning_by_a_judge_that_is_down_is_no_finding(greval_says, run, judge):
    """Where the judge gives no verdict at all, that is an error: nothing was found about the metric."""
    assert greval_says("evaluate", cases(24), "-m", "correctness", *judge, "-o", run, "-q")[0] == 0
    with Path("said.jsonl").open("w", encoding="utf-8") as file:
        for number in range(24):
            row = {"sample_id": f"q{number}", "metric": "correctness", "annotator": "ana", "value": number % 2}
            file.write(f"{json.dumps(row)}\n")
    words = ("align", "correctness", "--run", run, "--annotations", "said.jsonl", *DOWN, "--max-retries", 0)
    code, out, err = greval_says(*words)
    assert code == 3 if "stopped" in err else 2
    assert "check --base-url" in err
    assert "nothing helped" not in out


@pytest.mark.nightly
def test_an_output_that_takes_no_more(greval_says, run):
    """A full disk under the output is reported in a line, also at the end of the process."""
    for words in (("report", run), ("report", run, "--format", "json")):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run([PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr == "the output: No space left on device; earlier results are kept\n"


def test_ctrl_c_while_packages_load():
    """Ctrl-C while packages load ends a command at once, without a word: they would wrap it in their own errors."""
    for _ in range(5):  # on a busy machine it may be over before it is seen to load
        pipe = subprocess.PIPE
        process = subprocess.Popen([PROGRAM, "metrics", "list"], stdout=pipe, stderr=pipe, text=True)
        loaded = Path(f"/proc/{process.pid}/maps")
        while process.poll() is None and "pydantic_core" not in loaded.read_text(encoding="utf-8"):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=SECONDS)
        if process.returncode:
            break
    assert output == ("", "")
    assert process.returncode in {-signal.SIGINT, STOPPED}  # typer, which loads packages too, exits with the code


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_narrow_terminal_loses_no_figure(greval_says, run, monkeypatch, width):
    """A narrow table has its counts in one column, names the values if they are left out, and cuts no figure."""
    monkeypatch.setenv("COLUMNS", str(width))
    out = greval_says("report", run)[1]
    assert "0.00 [0.00, 0.56] n=3" in out
    assert "3 of 3" in out
    assert "mean [95 % interval]" in out
    assert "values are omitted at this width" in out or "0: 3" in out


def test_texts_are_shown_as_they_are(greval_says, judge):
    """What looks like an emoji, markup or an order to the terminal is seen, and does nothing."""
    cases(1, id="\x1b[31mred\x00\u202e :x: [bold]", method="m:x:")
    out = greval_says("evaluate", "cases.jsonl", "-m", "correctness", *judge, "-o", "run", "--show", 3)[1]
    assert "␛[31mred␀\\u202e :x: [bold] m:x:" in out
    assert "\x1b" not in out
    out = greval_says("evaluate", "cases.jsonl", "-m", "correctness", "--judge", "openai:x", "-o", "new", "--dry-run")[
        1
    ]
    assert "no price is known for openai:x: --prices" in out


def test_a_server_that_could_serve_nobody_does_not_start(greval_says):
    """A misspelt judge and a file that holds no keys are refused before the server takes connections."""
    pytest.importorskip("greval.serve")
    Path("keys.json").write_text("no keys", encoding="utf-8")
    code, out, err = greval_says("serve", "--port", 0, "--keys", "keys.json")
    assert (code, out) == (2, "")
    assert "keys.json: file: Invalid JSON" in err
    code, out, err = greval_says("serve", "--port", 0, "--judge", "nosuch")
    assert (code, out) == (2, "")
    assert "judge 'nosuch': write PROVIDER:MODEL" in err


def test_a_server_without_a_batch_endpoint(greval_says, judge):
    """Sending a batch where there is no such endpoint says where, and what to do instead."""
    code, _, err = greval_says("batch", "submit", cases(), "-m", "correctness", *judge, "-o", "run")
    assert code == 2
    assert "sending batch 1: 127.0.0.1: " in err
    assert "greval evaluate asks any server" in err


def test_a_method_that_takes_its_sample_for_a_text(greval_says):
    """A function that expects the question's text gets a message on what it is given."""
    Path("mine.py").write_text("def ask(question):\n    return 'You ask: ' + question\n", encoding="utf-8")
    code, _, err = greval_says("collect", cases(), "--method", "mine.py:ask", "-o", "responses.jsonl")
    assert code == 3
    assert "its question is sample.question" in err


def test_eval_dry_run(greval_says, fault_server):
    """A dry run of an evaluation asks neither methods nor judge, writes nothing, and counts what is there."""
    config = CONFIG + f'judge: {{model: m, base_url: "{fault_server.url}"}}\n'
    root = make_folder(Path("gt"), config, rows=[ROWS[0], ROWS[2]])
    code, out, _ = greval_says("eval", "--root", root, "--dry-run")
    assert code == 0
    assert "responses to ask for: tog 2, bare 2" in out
    counts = {line.split()[0]: line.split()[1:5] for line in out.splitlines() if line.startswith("correctness")}
    assert counts == {"correctness": ["4", "0", "0", "4"]}
    assert (calls(root), fault_server.calls, [*root.glob("eval/*")]) == ([], 0, [root / "eval/qa.json"])
    assert greval_says("eval", "--root", root, "-q")[0] == 0
    call_count = fault_server.calls
    out = greval_says("eval", "--root", root, "--dry-run")[1]
    assert "responses to ask for: tog 0, bare 0" in out
    assert "not there yet" not in out
    assert re.search(r"^all +0 +32 +0 +0 ", out, re.MULTILINE)
    assert "tog 2, bare 2" in greval_says("eval", "--root", root, "--dry-run", "--no-resume")[1]
    assert (len(calls(root)), fault_server.calls) == (4, call_count)


def test_a_whole_mean_of_repeats_is_a_level(greval_says, judge):
    """Repeats that agree count for the level of the scale that they name."""
    out = greval_says("evaluate", cases(), "-m", "correctness", *judge, "-o", "run", "--repeats", 3)[1]
    assert "0: 3, 1: 0 " in out
    assert "0.0:" not in out


def test_commands_to_copy(greval_says):
    """The commands that a run prints can be copied, whatever the folder is called."""
    out = greval_says("evaluate", cases(), "-m", "exact_match", "-o", "my runs")[1]
    for command in (
        "report 'my runs' --worst 5 ",
        "results 'my runs' --format csv ",
        "report 'my runs' --html r.html ",
    ):
        assert f"  greval {command}" in out
    assert "greval compare" not in out


def test_a_probe_keeps_out_of_other_runs(greval_says, run, judge):
    """A probe into the folder of an evaluation would change its figures: it is refused, its own folder is not."""
    rows = greval_says("results", run)[1]
    for more in ((), ("--dry-run",)):
        code, _, err = greval_says("probe", "correctness", *judge, "--limit", 1, "-o", run, *more)
        assert code == 2
        assert "run: contains a run that is not a probe; choose another folder with -o" in err
    assert greval_says("results", run)[1] == rows
    for _ in range(2):
        assert greval_says("probe", "correctness", *judge, "--limit", 1, "-o", "probe", "-q")[0] == 0


def test_an_evaluation_keeps_out_of_a_probe(greval_says, judge):
    """Cases judged into the folder of a probe would change its figures: they are refused, and nothing is asked."""
    greval_says("probe", "correctness", *judge, "--limit", 1, "-o", "probe", "-q")
    rows = greval_says("results", "probe")[1]
    for more in ((), ("--dry-run",)):
        code, _, err = greval_says("evaluate", cases(), "-m", "exact_match", "-o", "probe", *more)
        assert code == 2
        assert "probe: holds a probe; choose another folder with -o" in err
    assert greval_says("results", "probe")[1] == rows


def test_tags_that_a_probe_has_too(greval_says):
    """Cases that have a tag of the name `probe` are judged again into their own run."""
    for _ in range(2):
        assert greval_says("evaluate", cases(tags={"probe": "x"}), "-m", "exact_match", "-o", "run")[0] == 0


def test_an_output_that_has_no_such_letter(greval_says, judge):
    """Where the output takes no letters of the data, the message has the way out, and nothing is written wrongly."""
    cases(1, id="日本")
    assert greval_says("evaluate", "cases.jsonl", "-m", "correctness", *judge, "-o", "run", "-q")[0] == 0
    surroundings = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [PROGRAM, "results", "run"], env=surroundings, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 2
    assert done.stderr == "the output: ascii has no '\\u65e5'; set PYTHONIOENCODING=utf-8 and run it again\n"


def test_debug_shows_the_traceback(greval_says):
    """With --debug an error comes with its traceback, without it in one line."""
    code, _, err = greval_says("report", "nowhere")
    debug = subprocess.run([PROGRAM, "report", "nowhere", "--debug"], capture_output=True, text=True, check=False)
    assert (code, err.count("\n")) == (2, 1)
    assert "Traceback" in debug.stderr
    assert "StoreError: nowhere: no run is there" in debug.stderr


def test_an_internal_error_is_one_line():
    """A fault of greval itself is a line that says that nothing is lost and how to report it."""
    message = _format_unexpected_error(ValueError("odd"))
    assert message.startswith("an internal error of greval: ValueError: odd; earlier results are kept; run it with")
    assert "\n" not in message
