"""`greval collect` as people use it: in a folder of their own, killed, stopped, and run again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter

import pytest
import typer
from fault_server import says
from typer.testing import CliRunner
from waiting import SECONDS, until

from greval.cli.collect import collect
from greval.methods.collecting.response_file import read_responses

METHODS = """\
import asyncio, itertools, os, time
numbers = itertools.count(1)
def note(sample):
    number = next(numbers)  # not the number of calls that other threads have begun since
    with open("calls.txt", "a") as file:
        file.write(sample.id + "\\n")
    return number
def held(number):
    return number > int(os.environ.get("HELD_AFTER", "1000")) and not os.path.exists("release")
async def ask(sample):
    number = note(sample)
    while held(number):
        await asyncio.sleep(0.01)
    return f"About {sample.question}"
def plain(sample):
    number = note(sample)
    while held(number):
        time.sleep(0.01)
    if sample.id in os.environ.get("BROKEN", "").split():
        raise KeyError(sample.id)
    return {"answer": "plain", "chunks": ["a"], "usage": {"prompt_tokens": 1000}}
def hang(sample):
    time.sleep(600)
def chain():
    from langchain_core.runnables import RunnableLambda
    return RunnableLambda(hang)
"""
COUNT = 60
COMMAND = (
    "import sys, typer; from greval.cli.collect import collect; app = typer.Typer(); app.command()(collect); app()"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give a folder with samples and methods; the module is forgotten afterwards."""
    rows = [
        {"id": f"q{n}", "question": f"Question {n}?", "tags": {"movie": f"tt{n % 3}", "level": n % 2}}
        for n in range(COUNT)
    ]
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "my_methods_d.py").write_text(METHODS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("my_methods_d", None)


def run(*words, **options):
    """Run the command in this process."""
    app = typer.Typer()
    app.command()(collect)
    return CliRunner().invoke(app, ["samples.jsonl", *words], **options)


def begin(folder, *words, held_after=1000):
    """Start the command as a process of its own; methods hold calls beyond so many until a file `release` is there."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "samples.jsonl", *words],
        cwd=folder,
        env={"HELD_AFTER": str(held_after), "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def calls(folder):
    """Give the samples that methods were asked for since the last look."""
    path = folder / "calls.txt"
    sample_ids = path.read_text(encoding="utf-8").split() if path.exists() else []
    path.unlink(missing_ok=True)
    return sample_ids


def wait_for(path, count, process):
    """Wait until a file has so many lines."""

    def look():
        assert process.poll() is None, process.communicate()
        return path.exists() and path.read_bytes().count(b"\n") >= count

    until(look)


def answered(path):
    return [case.id for case in read_responses(path) if case.error is None]


def test_a_run_from_the_command_line(folder):
    """Methods named or not are asked, the file is written, and the last lines say what to do with it."""
    done = run("--method", "my_methods_d:ask", "--method", "tog=my_methods_d.py:plain", "-o", "out/r.jsonl")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-2:] == [
        "out/r.jsonl: 120 answered, 0 failed",
        "greval evaluate out/r.jsonl -m METRIC judges them",
    ]
    assert "120/120 done, 0 failed, 60,000 tokens" in done.stderr
    responses = [*read_responses(folder / "out" / "r.jsonl")]
    assert [(case.id, case.method) for case in responses[:3]] == [("q0", "ask"), ("q0", "tog"), ("q1", "ask")]
    assert responses[1].usage.prompt_tokens == 1000


def test_failed_rows_and_again(folder, monkeypatch):
    """Failed rows end with 3 and say why; the same again asks for these only, or for none where that is wanted."""
    words = ("--method", "my_methods_d:plain", "-o", "r.jsonl")
    monkeypatch.setenv("BROKEN", "q3 q4")
    done = run(*words)
    assert done.exit_code == 3
    assert "plain: 1 failed: KeyError: 'q3'" in done.stderr
    calls(folder)
    assert run(*words, "--no-retry-failed", "--quiet").exit_code == 3
    assert calls(folder) == []
    monkeypatch.setenv("BROKEN", "")
    done = run(*words)
    assert done.exit_code == 0
    assert sorted(calls(folder)) == ["q3", "q4"]
    assert "60/60 done (58 from before), 0 failed" in done.stderr


def test_quiet(folder):
    """A quiet run prints nothing."""
    done = run("--method", "my_methods_d:ask", "-o", "r.jsonl", "-q")
    assert (done.exit_code, done.output) == (0, "")


def test_which_samples(folder):
    """Tags and a limit choose the samples; values of one tag are alternatives, tags are taken together."""
    words = ("--method", "my_methods_d:ask", "-o", "r.jsonl")
    assert run(*words, "--where", "movie=tt1", "--where", "level=0", "--limit", "4").exit_code == 0
    assert calls(folder) == ["q4", "q10", "q16", "q22"]
    assert run(*words, "--limit", "2", "--concurrency", "1").exit_code == 0
    assert calls(folder) == ["q0", "q1"]
    assert [case.id for case in read_responses(folder / "r.jsonl")] == ["q0", "q1", "q4", "q10", "q16", "q22"]


@pytest.mark.nightly
def test_a_timeout(folder):
    """A blocking method or runnable that hangs is a row after the timeout, and the command still ends."""
    methods = ("--method", "my_methods_d:hang", "--method", "my_methods_d:chain()")
    process = begin(folder, *methods, "--timeout", "0.2", "--limit", "3", "-o", "r.jsonl")
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 3
    assert "hang: 3 failed: TimeoutError: no response within 0.2 s" in err
    assert "0 answered, 6 failed" in out


def test_killed_and_run_again(folder):
    """Killed with -9 in the middle, twice, the same command asks for nothing that was answered and loses nothing."""
    words = ("--method", "my_methods_d:ask", "--method", "my_methods_d:plain", "-o", "r.jsonl", "--concurrency", "4")
    path = folder / "r.jsonl"
    answered_before: Counter[str] = Counter()
    for stage in (1, 2):
        process = begin(folder, *words, held_after=40 + 4)
        wait_for(path, stage * 40, process)
        process.kill()
        process.communicate()
        new_calls = Counter(calls(folder))
        new = Counter(answered(path)) - answered_before
        assert new <= new_calls  # what was there is there, and was not asked again
        assert (new_calls - new).total() <= 4  # all but what was in flight is there
        answered_before += new
        assert stage * 40 <= answered_before.total() < 2 * COUNT
    assert run(*words).exit_code == 0
    assert Counter(calls(folder)) == Counter({f"q{n}": 2 for n in range(COUNT)}) - answered_before
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(row["id"], row["method"]) for row in rows] == [
        (f"q{n}", m) for n in range(COUNT) for m in ("ask", "plain")
    ]


@pytest.mark.nightly
def test_stopped_and_run_again(folder):
    """The first Ctrl-C finishes what is in flight, ends with 130 and keeps all; again goes on."""
    words = ("--method", "my_methods_d:plain", "-o", "r.jsonl", "--concurrency", "3")
    process = begin(folder, *words, held_after=5)
    wait_for(folder / "r.jsonl", 5, process)
    process.send_signal(signal.SIGINT)
    while "stopping: calls in flight are finished and kept" not in process.stderr.readline():
        assert process.poll() is None
    (folder / "release").touch()
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130, err
    assert "run the same command again to go on" in err
    first_calls = calls(folder)
    assert 5 <= len(first_calls) < COUNT
    assert sorted(first_calls) == sorted(answered(folder / "r.jsonl"))
    assert run(*words).exit_code == 0
    assert {*first_calls}.isdisjoint(calls(folder))
    assert answered(folder / "r.jsonl") == [f"q{n}" for n in range(COUNT)]


def test_stopped_twice(folder):
    """The second signal, of whichever kind, does not wait for what is in flight."""
    process = begin(folder, "--method", "my_methods_d:plain", "-o", "r.jsonl", held_after=0)
    wait_for(folder / "calls.txt", 1, process)
    process.send_signal(signal.SIGTERM)
    assert "stopping" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SECONDS)
    assert process.returncode == -signal.SIGINT


def test_a_generator_answers_for_all_methods(tmp_path, fault_server, monkeypatch):
    """With --generator the model's words are the answer, from the aggregates of the retrieved documents."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    monkeypatch.setenv("OPENAI_BASE_URL", fault_server.url)
    fault_server.plan = says("The battery.")
    (tmp_path / "own.py").write_text(
        'def ask(sample):\n    return {"answer": "mine", "chunks": [{"id": "c", "text": "Died.", "doc_id": "r1"}]}\n',
        encoding="utf-8",
    )
    (tmp_path / "samples.jsonl").write_text('{"id": "q1", "question": "What?"}\n', encoding="utf-8")
    (tmp_path / "facts.jsonl").write_text('{"doc_id": "r1", "feature": "battery"}\n', encoding="utf-8")
    words = ["--method", "own.py:ask", "-o", "out.jsonl", "--quiet"]
    done = run(*words, "--generator", "openai:fake", "--facts", "facts.jsonl")
    assert done.exit_code == 0, done.output
    (row,) = map(json.loads, (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines())
    assert (row["method"], row["aggregates"]) == ("ask-fair", ["feature, told by 1 of 1 documents: battery: 1"])
    assert row["answer"] == "The battery."
    assert run(*words, "--facts", "facts.jsonl").exit_code == 2
