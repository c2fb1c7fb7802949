"""`greval evaluate`: reports, exit codes, settings of the judge, and runs that survive being stopped."""

from __future__ import annotations

import json
import re
import signal
import threading
from itertools import takewhile
from pathlib import Path

import pytest
from command_line import TONE, asked, case, judged_by, started, write
from fault_server import KEY, FaultServer, error, gives, held, ok
from waiting import until

from greval.cli.evaluate import print_continuing
from greval.judging.model.calibrations import read_calibrations
from greval.runs.store.writer import StoreWriter

pytestmark = pytest.mark.usefixtures("empty_folder")


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


def test_a_judge_that_is_not_better_than_a_rule_says_so_before_it_starts(greval_says):
    """It is said for the embedded judge and for the metrics for which it was found, unless nothing is to be printed."""
    write("cases.jsonl", [case(1) | {"chunks": ["Tea is a drink."]}])
    command = ["evaluate", "cases.jsonl", "-m", "chunk_evaluation", "-m", "relevance", "--dry-run", "--judge"]
    rule = read_calibrations()["chunk_evaluation"].equal_rule
    _, _, err = greval_says(*command, "local")
    assert err.count("better than") == 1
    assert f"for chunk_evaluation this judge is not clearly better than {rule}: see docs/" in err
    assert "better than" not in greval_says(*command, "local", "-q")[2]
    assert "better than" not in greval_says(*command, "openai:m")[2]


def test_the_same_command_again_asks_nothing(greval_says, fault_server):
    """What was judged is taken from the log: no request, the same report, and a note."""
    write("cases.jsonl", [case(1), case(2)])
    command = ["evaluate", "cases.jsonl", "-m", "correctness", *judged_by(fault_server), "-o", "run"]
    _, first, _ = greval_says(*command)
    calls = fault_server.calls
    code, second, err = greval_says(*command)
    assert (code, second) == (0, first)
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


def test_faulty_rows_are_reported_and_the_others_judged(greval_says, fault_server):
    """Rows that are no cases end with 3, are reported with file and line, and stop nothing."""
    Path("cases.jsonl").write_text(f"{json.dumps(case(1))}\nnot json\n{json.dumps(case(3))}\n", encoding="utf-8")
    code, _, err = greval_says("evaluate", "cases.jsonl", "-m", "correctness", *judged_by(fault_server))
    assert code == 3
    assert "not a case: cases.jsonl:2: " in err
    assert sorted(asked(fault_server)) == ["1", "3"]


def test_a_missing_key_is_named(greval_says, monkeypatch):
    """Without a key the variable is named that must be set."""
    monkeypatch.delenv("OPENAI_API_KEY")
    write("cases.jsonl", [case(1)])
    code, _, err = greval_says("evaluate", "cases.jsonl", "-m", "correctness", "--judge", "openai:m")
    assert code == 2
    assert "set OPENAI_API_KEY" in err


@pytest.mark.nightly
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
    """--library makes the metrics of a folder known by name."""
    Path("mine").mkdir()
    Path("mine/tone.yaml").write_text(TONE, encoding="utf-8")
    write("cases.jsonl", [case(1)])
    words = ("-m", "tone", "--library", "mine", *judged_by(fault_server))
    code, out, _ = greval_says("evaluate", "cases.jsonl", *words)
    assert (code, "Polite: 1, Rude: 0" in out) == (0, True)
    assert "name: tone" in greval_says("metrics", "show", "tone", "--library", "mine")[1]


def test_quiet_prints_only_what_failed(greval_says, fault_server):
    """--quiet prints neither progress nor report; a line on stderr and the exit code still tell of failures."""
    fault_server.plan = [ok(), error(400)]
    write("cases.jsonl", [case(1), case(2), {"id": "q3", "answer": 3}])
    words = ["evaluate", "cases.jsonl", "-m", "correctness", *judged_by(fault_server), "--quiet"]
    note = "1 judgement failed, 1 unreadable row; greval report runs/cases shows why\n"
    assert greval_says(*words) == (3, "", note)
    fault_server.plan = ok()
    write("cases.jsonl", [case(1), case(2)])
    assert greval_says(*words) == (0, "", "")


def test_a_judge_from_the_environment(greval_says, fault_server, monkeypatch):
    """GREVAL_JUDGE names the judge where no option does."""
    monkeypatch.setenv("GREVAL_JUDGE", "openai:of-the-house")
    write("cases.jsonl", [case(1)])
    words = ["-m", "correctness", "--base-url", fault_server.url]
    assert "judge openai:of-the-house" in greval_says("evaluate", "cases.jsonl", *words)[1]


def test_secrets_are_never_printed(greval_says, fault_server):
    """A key that a server echoes stands neither on the screen nor in the run folder."""
    fault_server.plan = lambda _: error(401, message="Wrong key: {authorization}")
    write("cases.jsonl", [case(1)])
    words = ["-m", "correctness", *judged_by(fault_server), "-o", "run", "--show", "3"]
    code, out, err = greval_says("evaluate", "cases.jsonl", *words)
    assert code == 3
    assert "authentication 1" in out
    _, check, check_errors = greval_says("judge", "check", *judged_by(fault_server))
    assert KEY not in out + err + check + check_errors + greval_says("results", "run")[1]
    assert all(KEY.encode() not in file.read_bytes() for file in Path("run").iterdir())


def answering(first, release):
    """Return a server that answers so many requests at once, and the others when the event is set."""
    server = FaultServer()
    server.plan = lambda _: ok(1) if server.calls <= first else held(release, ok(1))
    return server


@pytest.mark.nightly
def test_ctrl_c_finishes_what_is_in_flight_and_the_same_command_goes_on():
    """The first Ctrl-C ends with 130, keeps every answer that was paid for, and the rest is asked later."""
    write("cases.jsonl", [case(n) for n in range(12)])
    release = threading.Event()
    with answering(3, release) as server:
        words = ["evaluate", "cases.jsonl", "-m", "correctness", *judged_by(server), "-o", "run", "--concurrency", "2"]
        with started(*words) as process:
            until(lambda: server.calls == 3 + 2)
            process.send_signal(signal.SIGINT)
            errors = iter(process.stderr.readline, "")
            lines = list(takewhile(lambda line: "stopping" not in line, errors))
            release.set()
            out, err = process.communicate()
        assert process.returncode == 130, err
        assert "run the same command again to go on" in err
        assert "Traceback" not in "".join(lines) + err
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
        scored_ids = [json.loads(line)["sample_id"] for line in greval_says("results", "run")[1].splitlines()]
        assert len(scored_ids) == count // 2
        until(lambda: server._flying == 0)
        first_calls = asked(server)
        release.set()
        code, out, err = greval_says(*words)
        later_calls = asked(server) - first_calls
        assert code == 0
        assert {f"q{n}" for n in later_calls} == {f"q{n}" for n in range(count)} - set(scored_ids)
        assert set(later_calls.values()) == {1}
        assert f"({len(scored_ids)} from before)" in err
        assert re.search(rf"correctness +{count} +{count} +0 +0 ", out)


def test_settings_of_a_judge_that_nothing_asks(greval_says):
    """Settings that were given although all metrics are computed are named; those of no effect here alone are not."""
    write("cases.jsonl", [case(1, expected_answer="Yes.")])
    command = ["evaluate", "cases.jsonl", "-m", "exact_match", "-o", "run"]
    code, _, err = greval_says(*command, "--temperature", "0.5", "--confidence", "--max-calls", "3", "--limit", "1")
    assert code == 0
    assert "--temperature, --confidence, --max-calls: without effect, because no metric is judged by a model" in err
    assert "without effect" not in greval_says(*command, "--limit", "1")[2]


def test_why_a_run_was_stopped_is_printed_once(greval_says, fault_server):
    """The reason of a stop is on stderr, and not also in the report of the same command; the next report has it."""
    write("cases.jsonl", [case(n) for n in range(3)])
    words = ["evaluate", "cases.jsonl", "-m", "correctness", *judged_by(fault_server), "--max-calls", "1", "-o", "run"]
    _, out, err = greval_says(*words)
    assert "stopped: " not in out
    assert err.count("the cap of 1 call is reached") == 1
    assert "stopped: the cap of 1 call is reached" in greval_says("report", "run")[1]


def test_only_a_folder_with_results_is_continued(capsys):
    """Neither a missing folder nor a run without results is reported as continued."""
    print_continuing(Path("none"))
    with StoreWriter.create(Path("run")):
        pass
    print_continuing(Path("run"))
    assert capsys.readouterr().err == ""
