"""The command line: exit codes, messages that say what to do, and runs that survive being stopped."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from command_line import PROGRAM, TONE, case, write
from fault_server import KEY

from greval.judging.local.models import MODELS

pytestmark = pytest.mark.usefixtures("empty_folder")


WRONG = {
    "unknown metric": (["evaluate", "cases.jsonl", "-m", "corectness"], ["corectness", "did you mean correctness?"]),
    "missing file": (["evaluate", "case.jsonl", "-m", "latency"], ["case.jsonl: no such file", "cases.jsonl"]),
    "empty file": (["evaluate", "empty.jsonl", "-m", "latency"], ["empty.jsonl: holds no cases", "question"]),
    "unknown ending": (["evaluate", "cases.txt", "-m", "latency"], ["cases.txt", ".jsonl"]),
    "bad option": (["evaluate", "cases.jsonl", "-m", "latency", "--limits", "2"], ["--limits", "--limit"]),
    "bad number": (["evaluate", "cases.jsonl", "-m", "latency", "--limit", "0"], ["--limit", "1"]),
    "no metric": (["evaluate", "cases.jsonl"], ["-m METRIC", "greval data"]),
    "no judge": (
        ["evaluate", "cases.jsonl", "-m", "correctness"],
        ["No judge is named", "--judge openai:MODEL ", "--base-url URL", "--judge local"],
    ),
    "wrong setting": (
        ["evaluate", "cases.jsonl", "-m", "correctness", "--judge", "openai:m", "--temperature", "9"],
        ["--temperature:", "2"],
    ),
    "no provider": (["evaluate", "cases.jsonl", "-m", "correctness", "--judge", "mymodel"], ["openai:mymodel"]),
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


def test_debug_shows_the_traceback(greval_says):
    """With --debug an error comes with its traceback, without it in one line."""
    code, _, err = greval_says("report", "nowhere")
    debug = subprocess.run([PROGRAM, "report", "nowhere", "--debug"], capture_output=True, text=True, check=False)
    assert code == 2
    assert err.count("\n") == 1
    assert "Traceback" in debug.stderr
    assert "StoreError: nowhere: no run is there" in debug.stderr
