"""The command line: exit codes, messages that say what to do, and runs that survive being stopped."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from itertools import takewhile
from pathlib import Path

import pandas as pd
import pytest
from fault_server import KEY, FaultServer, error, gives, held, ok, says
from waiting import until

import greval
from greval.cli.progress_bar import ProgressBar
from greval.judging.local.models import MODELS
from greval.runs.progress import Progress

pytestmark = pytest.mark.usefixtures("empty_folder")
PROGRAM = Path(sys.executable).with_name("greval")
TONE = """\
name: tone
description: Whether the answer keeps a professional tone.
needs: [question, answer]
scale:
  categories:
    Polite: {means: Neutral and courteous throughout., score: 1}
    Rude: {means: Insults or belittles the reader., score: 0}
steps:
  - Mark the words of the answer that carry its tone.
  - Choose the category of the worst marked passage.
"""
QUESTION = re.compile(r"Question (\d+)\?")


def case(number, **more):
    """Give a case; `more` replaces fields, None leaves one out."""
    fields = {
        "id": f"q{number}",
        "question": f"Question {number}?",
        "expected_answer": "Yes.",
        "answer": "Yes.",
        "tags": {"kind": "even" if number % 2 == 0 else "odd"},
        **more,
    }
    return {name: value for name, value in fields.items() if value is not None}


def write(path, cases):
    """Write cases as JSON lines."""
    Path(path).write_text("".join(f"{json.dumps(one)}\n" for one in cases), encoding="utf-8")
    return path


def judged_by(server):
    """Give the options that name the server as the judge."""
    return ["--judge", "openai:m", "--base-url", server.url]


def asked(server):
    """Count the requests by the number of their question."""
    return Counter(QUESTION.search(body["messages"][1]["content"])[1] for body in server.bodies)


def started(*words):
    """Start a command as a process of its own."""
    pipe = subprocess.PIPE
    return subprocess.Popen([PROGRAM, *map(str, words)], stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_a_run_that_goes_well(greval_says, fault_server):
    """A run ends with 0, prints its report to stdout and its progress lines to stderr."""
    write("cases.jsonl", [case(1), case(2)])
    code, out, err = greval_says("evaluate", "cases.jsonl", "-m", "correctness", *judged_by(fault_server))
    assert code == 0
    assert re.search(r"correctness +2 +2 +0 +0 +0: 2, 1: 0 +0\.00 \[.*\] n=2", out)
    assert "run: runs/cases" in out
    assert "2/2 done, 0 failed, 240 tokens" in err
    assert "done" not in out
    assert Path("runs/cases/results.sqlite").exists()


def test_the_same_command_again_asks_nothing(greval_says, fault_server):
    """What was judged is taken from the log: no request, the same report, and it is said."""
    write("cases.jsonl", [case(1), case(2)])
    command = ["evaluate", "cases.jsonl", "-m", "correctness", *judged_by(fault_server), "-o", "run"]
    _, first, _ = greval_says(*command)
    calls = fault_server.calls
    code, again, err = greval_says(*command)
    assert (code, again) == (0, first)
    assert fault_server.calls == calls == 2
    assert "2/2 done (2 from before)" in err


def test_failed_outcomes_end_with_3_and_are_asked_again(greval_says, fault_server):
    """Failures end with 3 and are counted by kind; the same command asks for these only."""
    fault_server.plan = lambda body: error(400) if "Question 2?" in body["messages"][1]["content"] else ok()
    write("cases.jsonl", [case(n) for n in (1, 2, 3)])
    command = ["evaluate", "cases.jsonl", "-m", "correctness", *judged_by(fault_server), "-o", "run"]
    code, out, _ = greval_says(*command)
    assert code == 3
    assert "correctness: failures: request 1; run the same command again to ask for these only" in out
    fault_server.plan = ok()
    code, out, _ = greval_says(*command)
    assert code == 0
    assert asked(fault_server) == {"1": 1, "2": 2, "3": 1}


def test_a_single_item_that_failed_ends_with_3(greval_says, fault_server):
    """A chunk that got no verdict twice makes the run end with 3, though its case is scored."""
    first = {"item": 1, "reason": "It names the team.", "value": "Relevant"}
    both = '<item n="2">'
    fault_server.plan = lambda body: gives({"judgements": [first] if both in body["messages"][1]["content"] else []})
    write("cases.jsonl", [case(1, chunks=["a", "b"])])
    code, out, _ = greval_says("evaluate", "cases.jsonl", "-m", "chunk_evaluation", *judged_by(fault_server))
    assert code == 3
    assert "failed alone 1" in out
    assert "missing_item 1" in out


def test_bad_rows_are_told_with_their_place_and_the_rest_is_judged(greval_says, fault_server):
    """Rows that are no cases end with 3, are told with file and line, and stop nothing."""
    Path("cases.jsonl").write_text(f"{json.dumps(case(1))}\nnot json\n{json.dumps(case(3))}\n", encoding="utf-8")
    code, _, err = greval_says("evaluate", "cases.jsonl", "-m", "correctness", *judged_by(fault_server))
    assert code == 3
    assert "not a case: cases.jsonl:2: " in err
    assert sorted(asked(fault_server)) == ["1", "3"]


WRONG = {
    "unknown metric": (["evaluate", "cases.jsonl", "-m", "corectness"], ["corectness", "did you mean correctness?"]),
    "missing file": (["evaluate", "case.jsonl", "-m", "latency"], ["case.jsonl: no such file", "cases.jsonl"]),
    "empty file": (["evaluate", "empty.jsonl", "-m", "latency"], ["empty.jsonl: holds no cases", "question"]),
    "unknown ending": (["evaluate", "cases.txt", "-m", "latency"], ["cases.txt", ".jsonl"]),
    "bad option": (["evaluate", "cases.jsonl", "-m", "latency", "--limits", "2"], ["--limits", "--limit"]),
    "bad number": (["evaluate", "cases.jsonl", "-m", "latency", "--limit", "0"], ["--limit", "1"]),
    "no metric": (["evaluate", "cases.jsonl"], ["--metric"]),
    "no judge": (
        ["evaluate", "cases.jsonl", "-m", "correctness"],
        ["No judge is named", "--judge openai:MODEL ", "--base-url URL", "--judge local"],
    ),
    "wrong setting": (
        ["evaluate", "cases.jsonl", "-m", "correctness", "--judge", "openai:m", "--temperature", "9"],
        ["--temperature:", "2"],
    ),
    "no provider": (["evaluate", "cases.jsonl", "-m", "correctness", "--judge", "gpt"], ["openai:gpt"]),
    "credentials in the address": (
        ["evaluate", "cases.jsonl", "-m", "correctness", "--judge", "openai:m", "--base-url", f"http://u:{KEY}@h/v1"],
        ["--base-url", "keys come from the environment only"],
    ),
    "faulty metric file": (
        ["evaluate", "cases.jsonl", "-m", "faulty.yaml", "--judge", "openai:m"],
        ["faulty.yaml:3: needs.2: 'answr' is no field of a case; did you mean answer?"],
    ),
    "no run": (["report", "nowhere"], ["nowhere: no run is there", "greval evaluate"]),
    "no run to print": (["results", "nowhere"], ["nowhere: no run is there"]),
    "parquet on the screen": (["results", "nowhere", "--format", "parquet"], ["-o FILE"]),
    "unknown format": (["report", "nowhere", "--format", "xml"], ["xml", "json"]),
    "draft without a judge": (["metrics", "draft", "tone", "The tone."], ["No judge is named"]),
    "draft on a strange scale": (
        ["metrics", "draft", "tone", "The tone.", "--judge", "openai:m", "--scale", "big"],
        ["'big'", "LOW..HIGH"],
    ),
    "check of nothing": (["metrics", "check", "none"], ["none: no metric file"]),
    "check of a faulty file": (["metrics", "check", "faulty.yaml"], ["faulty.yaml:3:"]),
    "show of nothing": (["metrics", "show", "tonne"], ["tonne: no such metric"]),
    "unknown command": (["evalute"], ["evalute"]),
    "unknown model": (["local", "fetch", "gpt-9"], ["gpt-9", next(iter(MODELS))]),
}


@pytest.mark.parametrize(("words", "told"), [pytest.param(*wrong, id=name) for name, wrong in WRONG.items()])
def test_wrong_use_ends_with_2_and_says_what_to_do(words, told, greval_says):
    """Usage and data errors end with 2, name the thing and the way out, and show neither traceback nor key."""
    write("cases.jsonl", [case(1)])
    Path("cases.txt").touch()
    Path("empty.jsonl").touch()
    Path("none").mkdir()
    Path("faulty.yaml").write_text(TONE.replace("answer]", "answr]"), encoding="utf-8")
    code, out, err = greval_says(*words)
    assert (code, out) == (2, "")
    assert [part for part in told if part not in err] == []
    assert "Traceback" not in err
    assert KEY not in err


def test_a_missing_key_is_named(greval_says, monkeypatch):
    """Without a key the variable is named that must be set."""
    monkeypatch.delenv("OPENAI_API_KEY")
    write("cases.jsonl", [case(1)])
    code, _, err = greval_says("evaluate", "cases.jsonl", "-m", "correctness", "--judge", "openai:m")
    assert code == 2
    assert "set OPENAI_API_KEY" in err


def test_debug_shows_the_traceback():
    """With --debug an error comes with its traceback, without it in one line."""
    plain = subprocess.run([PROGRAM, "report", "nowhere"], capture_output=True, text=True, check=False)
    debug = subprocess.run([PROGRAM, "report", "nowhere", "--debug"], capture_output=True, text=True, check=False)
    assert plain.returncode == 2
    assert plain.stderr.count("\n") == 1
    assert "Traceback" in debug.stderr
    assert "StoreError: nowhere: no run is there" in debug.stderr


def test_without_words_the_help_is_shown(greval_says):
    """`greval` alone shows its commands and ends with 2, --version and --help end with 0."""
    code, _, err = greval_says()
    assert code == 2
    assert "evaluate" in err
    assert greval_says("--version")[:2] == (0, f"greval {greval.__version__}\n")
    assert greval_says("evaluate", "--help")[0] == 0


def test_cases_from_stdin():
    """`-` reads the cases from stdin, into runs/stdin where no folder is named."""
    with started("evaluate", "-", "-m", "latency") as process:
        out, err = process.communicate(json.dumps(case(1, usage={"latency": 1.5})))
    assert process.returncode == 0
    assert "1.50" in out
    assert "1 done" in err
    assert Path("runs/stdin/results.sqlite").exists()


def test_limit_and_method(greval_says, fault_server):
    """--limit takes the first cases, --method names the method of those that name none."""
    write("cases.jsonl", [case(1), case(2, method="walk"), case(3)])
    words = ["-m", "correctness", *judged_by(fault_server), "-o", "run", "--limit", "2", "--method", "local"]
    code, out, err = greval_says("evaluate", "cases.jsonl", *words)
    assert code == 0
    assert sorted(asked(fault_server)) == ["1", "2"]
    assert "2/2 done" in err
    assert re.search(r"correctness +local +1", out)
    assert re.search(r"correctness +walk +1", out)


def test_settings_reach_the_judge(greval_says, fault_server):
    """Temperature, seed, token limit, tier, probabilities and where the reason stands are sent as they are named."""
    write("cases.jsonl", [case(1)])
    words = ["--temperature", "0.5", "--seed", "7", "--max-tokens", "99", "--confidence"]
    assert greval_says("evaluate", "cases.jsonl", "-m", "correctness", *judged_by(fault_server), *words)[0] == 0
    sent = fault_server.bodies[0]
    assert (sent["temperature"], sent["seed"], sent["max_completion_tokens"], sent["logprobs"]) == (0.5, 7, 99, True)
    tools = ["--structured", "tools", "-o", "other"]
    assert greval_says("evaluate", "cases.jsonl", "-m", "correctness", *judged_by(fault_server), *tools)[0] == 0
    assert "tools" in fault_server.bodies[-1]
    after = ["--reason", "after", "-o", "turned"]
    assert greval_says("evaluate", "cases.jsonl", "-m", "correctness", *judged_by(fault_server), *after)[0] == 0
    schema = fault_server.bodies[-1]["response_format"]["json_schema"]["schema"]
    assert [*schema["properties"]] == ["value", "reason"]


def test_a_library_of_ones_own(greval_says, fault_server):
    """--library makes the metrics of a folder known by name, to every command."""
    Path("mine").mkdir()
    Path("mine/tone.yaml").write_text(TONE, encoding="utf-8")
    write("cases.jsonl", [case(1)])
    own = ["--library", "mine"]
    code, out, _ = greval_says("evaluate", "cases.jsonl", "-m", "tone", *own, *judged_by(fault_server))
    assert code == 0
    assert "Polite: 1, Rude: 0" in out
    listed = greval_says("metrics", "list", *own)[1]
    assert re.search(r"^tone +answer +question, answer +Polite, Rude", listed, re.MULTILINE)
    assert "name: tone" in greval_says("metrics", "show", "tone", *own)[1]


def test_progress_is_a_line_every_few_seconds_where_there_is_no_terminal(capsys):
    """A log file gets a line every five seconds and one at the end, not one for each result."""
    with ProgressBar() as bar:
        for seconds in range(12):
            bar.show(Progress(total=20, done=seconds + 1, seconds=float(seconds)))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == ["6/20 done", "11/20 done", "12/20 done"]


def test_the_last_line_of_progress_is_told_once(capsys):
    """Where the end was told already it is not told again."""
    with ProgressBar() as bar:
        bar.show(Progress(total=2, done=1, seconds=6.0))
        bar.show(Progress(total=2, done=2, seconds=12.0))
    assert [line.split(",")[0] for line in capsys.readouterr().err.splitlines()] == ["1/2 done", "2/2 done"]


def test_quiet_tells_only_what_is_missing(greval_says, fault_server):
    """--quiet prints neither progress nor report; a line on stderr and the exit code still tell of failures."""
    fault_server.plan = [ok(), error(400)]
    write("cases.jsonl", [case(1), case(2), {"id": "q3", "answer": 3}])
    words = ["evaluate", "cases.jsonl", "-m", "correctness", *judged_by(fault_server), "--quiet"]
    told = "1 judgement failed, 1 unreadable row; greval report runs/cases says why\n"
    assert greval_says(*words) == (3, "", told)
    fault_server.plan = ok()
    write("cases.jsonl", [case(1), case(2)])
    assert greval_says(*words) == (0, "", "")


def test_a_judge_from_the_environment(greval_says, fault_server, monkeypatch):
    """GREVAL_JUDGE names the judge where no option does."""
    monkeypatch.setenv("GREVAL_JUDGE", "openai:of-the-house")
    write("cases.jsonl", [case(1)])
    words = ["-m", "correctness", "--base-url", fault_server.url]
    assert "judge openai:of-the-house" in greval_says("evaluate", "cases.jsonl", *words)[1]


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
    found = json.loads(greval_says("report", a_run, "--by", "kind", "--format", "json")[1])
    told = {s["group"]: (s["planned"], s["scored"], s["skipped"], s["failed"]) for s in found["summaries"]}
    assert told == {"even": (2, 1, 0, 1), "odd": (2, 1, 1, 0)}


def test_results_in_every_format(a_run, greval_says):
    """Results come as JSON lines, CSV or Parquet, on stdout or in a file; failures are no numbers."""
    lines = [json.loads(line) for line in greval_says("results", a_run)[1].splitlines()]
    status = {line["sample_id"]: line["outcome"]["status"] for line in lines}
    assert status == {"q1": "scored", "q2": "scored", "q3": "skipped", "q4": "failed"}
    printed = greval_says("results", a_run, "--format", "csv")[1]
    for name in ("rows.csv", "rows.parquet", "rows.jsonl"):
        assert greval_says("results", a_run, "--format", name.partition(".")[2], "-o", name) == (0, "", "")
    assert Path("rows.csv").read_text(encoding="utf-8") == printed
    assert [json.loads(line) for line in Path("rows.jsonl").read_text(encoding="utf-8").splitlines()] == lines
    for table in (pd.read_csv("rows.csv"), pd.read_parquet("rows.parquet")):
        rows = table.set_index("sample_id")
        assert rows["number"].notna().to_dict() == {"q1": True, "q2": True, "q3": False, "q4": False}
        assert rows.loc["q4", "failure"] == "malformed"


def test_a_reader_that_goes_away_is_no_error(greval_says):
    """`greval results RUN | head -1` ends with 0 and says nothing."""
    write("cases.jsonl", [case(n, usage={"latency": 1.0}, tags={"long": "x" * 2000}) for n in range(200)])
    assert greval_says("evaluate", "cases.jsonl", "-m", "latency", "-o", "run", "--quiet")[0] == 0
    with started("results", "run") as process:
        assert process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, "")


def test_one_folder_is_written_by_one_run(greval_says):
    """A second run into the same folder is told to wait or to take another one."""
    write("cases.jsonl", [case(1, usage={"latency": 1.0})])
    with greval.Store.create(Path("run")):
        code, _, err = greval_says("evaluate", "cases.jsonl", "-m", "latency", "-o", "run")
    assert code == 2
    assert "another run writes to this folder" in err


def test_secrets_are_never_printed(greval_says, fault_server):
    """A key that a server echoes stands neither on the screen nor in the run folder."""
    fault_server.plan = lambda _: error(401, message="Wrong key: {authorization}")
    write("cases.jsonl", [case(1)])
    words = ["-m", "correctness", *judged_by(fault_server), "-o", "run", "--show", "3"]
    code, out, err = greval_says("evaluate", "cases.jsonl", *words)
    assert code == 3
    assert "authentication 1" in out
    _, check, told = greval_says("judge", "check", *judged_by(fault_server))
    assert KEY not in out + err + check + told + greval_says("results", "run")[1]
    assert all(KEY.encode() not in file.read_bytes() for file in Path("run").iterdir())


def answering(first, release):
    """Return a server that answers so many requests at once, and the others when the event is set."""
    server = FaultServer()
    server.plan = lambda _: ok(1) if server.calls <= first else held(release, ok(1))
    return server


@pytest.mark.long
def test_ctrl_c_finishes_what_is_in_flight_and_the_same_command_goes_on():
    """The first Ctrl-C ends with 130, keeps every answer that was paid for, and the rest is asked later."""
    write("cases.jsonl", [case(n) for n in range(12)])
    release = threading.Event()
    with answering(3, release) as server:
        words = ["evaluate", "cases.jsonl", "-m", "correctness", *judged_by(server), "-o", "run", "--concurrency", "2"]
        with started(*words) as process:
            until(lambda: server.calls == 3 + 2)
            process.send_signal(signal.SIGINT)
            told = iter(process.stderr.readline, "")
            said = list(takewhile(lambda line: "stopping" not in line, told))
            release.set()
            out, err = process.communicate()
        assert process.returncode == 130, err
        assert "run the same command again to go on" in err
        assert "Traceback" not in "".join(said) + err
        assert server.calls == 5
        assert re.search(r"correctness +12 +5 +0 +0 +7 ", out)
        with started(*words) as process:
            out, err = process.communicate()
        assert process.returncode == 0, err
        assert asked(server) == {str(n): 1 for n in range(12)}


def test_a_killed_run_goes_on_without_asking_twice(greval_says):
    """After SIGKILL in the middle, no scored case is asked again, none is missing, and counts are whole."""
    count, width = 24, 4
    write("cases.jsonl", [case(n) for n in range(count)])
    release = threading.Event()
    with answering(count // 2, release) as server:
        words = ["evaluate", "cases.jsonl", "-m", "correctness", *judged_by(server), "-o", "run"]
        words += ["--concurrency", str(width)]
        with started(*words) as process:
            until(lambda: server.calls == count // 2 + width)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        kept = [json.loads(line)["sample_id"] for line in greval_says("results", "run")[1].splitlines()]
        assert len(kept) == count // 2
        until(lambda: server._flying == 0)
        before = asked(server)
        release.set()
        code, out, err = greval_says(*words)
        again = asked(server) - before
        assert code == 0
        assert {f"q{n}" for n in again} == {f"q{n}" for n in range(count)} - set(kept)
        assert set(again.values()) == {1}
        assert f"({len(kept)} from before)" in err
        assert re.search(rf"correctness +{count} +{count} +0 +0 ", out)


def test_judge_check_prints_findings(greval_says, fault_server):
    """`greval judge check` says in a table what the judge can do, in four calls."""
    code, out, _ = greval_says("judge", "check", *judged_by(fault_server))
    assert code == 0
    assert fault_server.calls == 4
    assert re.search(r"asked by +native JSON schema", out)
    assert re.search(r"keeps to a JSON schema +yes", out)
    assert re.search(r"tool calls +yes", out)
    assert re.search(r"spent on this check +4 calls, 400 tokens in", out)


def test_judge_check_of_a_dead_port(greval_says):
    """A judge that cannot be reached ends with 2 and says so in words."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        code, _, err = greval_says("judge", "check", "--judge", "openai:m", "--base-url", url)
    assert code == 2
    assert "openai:m cannot be reached: " in err
    assert "Traceback" not in err


def test_metrics_list_and_show(greval_says, monkeypatch):
    """The predefined metrics are listed, no name cut for a file, and shown as files that are read back the same."""
    monkeypatch.delenv("COLUMNS")
    code, out, _ = greval_says("metrics", "list")
    assert code == 0
    assert {line.split()[0] for line in out.splitlines() if re.match(r"[a-z]", line)} >= set(greval.predefined())
    shown = greval_says("metrics", "show", "answer_completeness")[1]
    assert greval.parse_metric(shown) == greval.load_metric("answer_completeness")
    assert "computed: true" in greval_says("metrics", "show", "latency")[1]


def test_metrics_check_tells_all_faults_and_remarks(greval_says):
    """Good files are told with remarks on stdout, the faults of all bad files on stderr."""
    Path("m").mkdir()
    Path("m/good.yaml").write_text(TONE.replace("tone", "good", 1), encoding="utf-8")
    Path("m/bad1.yaml").write_text(TONE.replace("answer]", "answr]"), encoding="utf-8")
    Path("m/bad2.yaml").write_text(TONE.replace("steps:", "stepps:"), encoding="utf-8")
    code, out, err = greval_says("metrics", "check", "m")
    assert code == 2
    assert "m/good.yaml: good" in out
    assert "m/bad1.yaml:3:" in err
    assert "m/bad2.yaml:" in err
    assert greval_says("metrics", "check", "m/good.yaml")[0] == 0


def test_metrics_draft_prints_a_file(greval_says, fault_server):
    """A draft is a metric file on stdout, with the request to review it on stderr."""
    levels = [{"level": n, "means": f"Level {n} of it, told from its neighbours."} for n in range(1, 6)]
    written = {"needs": ["answer"], "steps": ["Read the answer."], "instructions": "", "levels": levels}
    fault_server.plan = lambda _: gives(written)
    words = ["metrics", "draft", "depth", "How deep it goes.", "--scale", "value", *judged_by(fault_server)]
    code, out, err = greval_says(*words)
    assert code == 0
    assert greval.parse_metric(out).scale.range == (1, 5)
    assert "# drafted with openai:m: review it before use" in err


def test_local_list(greval_says):
    """Every embedded model is listed with its size and licence, and where it lies if it is here."""
    code, out, _ = greval_says("local", "list")
    assert code == 0
    assert [name for name, model in MODELS.items() if name not in out or model.licence not in out] == []


def test_a_file_that_cannot_be_written_is_told(greval_says, fault_server):
    """Results that go to a folder that is not there end with one clear line, no traceback."""
    write("cases.jsonl", [case(1)])
    greval_says("evaluate", "cases.jsonl", "-m", "correctness", *judged_by(fault_server), "-o", "run")
    for format_ in ("jsonl", "csv", "parquet"):
        code, _, err = greval_says("results", "run", "--format", format_, "-o", "nowhere/out")
        assert code == 2
        assert "nowhere/out: cannot be written" in err
        assert "Traceback" not in err


def test_shards_are_merged_once(greval_says, fault_server):
    """The shards' rows become one run; merging again takes nothing over, and what is no run is told."""
    write("cases.jsonl", [case(n) for n in range(6)])
    for shard in ("1/2", "2/2"):
        words = ["-m", "correctness", *judged_by(fault_server), "--shard", shard, "-o", f"part-{shard[0]}"]
        assert greval_says("evaluate", "cases.jsonl", *words)[0] == 0
    assert "6 rows taken over, 0 were there" in greval_says("merge", "all", "part-1", "part-2")[1]
    assert "0 rows taken over, 6 were there" in greval_says("merge", "all", "part-1", "part-2")[1]
    assert len(greval_says("results", "all")[1].splitlines()) == 6
    assert greval_says("merge", "other", "nobody")[0] == 2


def test_the_cache_is_shown_and_cleared(greval_says, fault_server, monkeypatch, tmp_path):
    """Kept answers are counted, serve another run without a call, and are forgotten on request."""
    monkeypatch.setenv("GREVAL_CACHE", str(tmp_path / "kept"))
    write("cases.jsonl", [case(n) for n in range(3)])
    for folder in ("one", "two"):
        words = ["-m", "correctness", *judged_by(fault_server), "--cache", "-o", folder]
        assert greval_says("evaluate", "cases.jsonl", *words)[0] == 0
    assert fault_server.calls == len({body["messages"][-1]["content"] for body in fault_server.bodies})
    assert f"{fault_server.calls} answers" in greval_says("cache", "show")[1]
    assert f"{fault_server.calls} answers forgotten" in greval_says("cache", "clear")[1]
    assert "0 answers" in greval_says("cache", "show")[1]


def test_gold_of_a_file_of_its_own_is_joined_and_its_faults_are_told(greval_says, monkeypatch, tmp_path):
    """Gold is joined by id; a row that holds none, as by a slip in a name, ends the command before any figure."""
    (tmp_path / "cases.jsonl").write_text(
        '{"id": "q1", "question": "Who?", "chunks": [{"id": "c1", "text": "t", "doc_id": "d1"}]}\n', encoding="utf-8"
    )
    (tmp_path / "gold.jsonl").write_text('{"id": "q1", "essential_docs": ["d1", "d2"]}\n', encoding="utf-8")
    (tmp_path / "slip.jsonl").write_text('{"id": "q1", "esential_docs": ["d1"]}\n[]\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    command = ("evaluate", "cases.jsonl", "-m", "recall@5", "-o", "run")
    code, printed, told = greval_says(*command, "--gold", "gold.jsonl")
    assert code == 0, told
    assert "min 0.5, median 0.5, max 0.5" in printed
    code, _, told = greval_says(*command, "--gold", "slip.jsonl")
    assert code == 2
    assert "slip.jsonl:1: names no gold" in told
    assert "slip.jsonl:2: " in told
