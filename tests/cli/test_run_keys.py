"""Options of `greval evaluate` and keys of `greval.yaml`: which of them counts, and how faults are reported."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import asked, case, started, write
from typer.main import get_command

import greval
from greval.cli.app import app
from greval.cli.help_layout import KEYS
from greval.cli.run_keys import RunOptions
from greval.runs.config.judge_config import JUDGE_KEYS
from greval.runs.config.model import RunConfig, list_keys

COMMAND = get_command(app).commands["evaluate"]
WITHOUT_OPTION = {"judge.model", "judge.item_tokens"}


@pytest.fixture
def run(greval_says, empty_folder):
    """Run `greval evaluate` in a folder with two cases and a file that describes a run."""

    def call(content, *words, file="greval.yaml"):
        write("cases.jsonl", [case(1, usage={"latency": 2.0}), case(2, usage={"latency": 4.0})])
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(content, encoding="utf-8")
        return greval_says("evaluate", *words)

    return call


class TestKeys:
    """Options are keys of a run, with the same types and defaults."""

    def test_every_option_has_one_key(self):
        """The keys without an option are those of questions with groups, which a file describes."""
        options = [KEYS.get(parameter.name, parameter.name) for parameter in COMMAND.params]
        keys = {*list_keys(RunConfig)}
        judge = {
            "judge.options" if name == "judge_options" else f"judge.{name}" for name in options if name not in keys
        }
        assert judge - {"judge.config", "judge.help"} == {f"judge.{name}" for name in JUDGE_KEYS} - WITHOUT_OPTION
        assert keys - {*options} == {"indexes", "group_by", "answering", "generation", "result_files"}

    def test_every_flag_of_a_file_can_be_switched_off_on_the_command_line(self):
        """An option that is true in the file has a form that makes it false."""
        flags = [parameter for parameter in COMMAND.params if getattr(parameter, "is_flag", False)]
        assert {flag.name for flag in flags if not flag.secondary_opts} <= {"help"}

    def test_the_defaults_are_those_of_the_keys(self):
        """A command without options runs as a file without keys."""
        defaults = {
            name: field.get_default(call_default_factory=True) for name, field in RunConfig.model_fields.items()
        }
        for name, value in RunOptions._field_defaults.items():
            key = KEYS.get(name, name)
            if key in defaults:
                assert (value or None) == (defaults[key] or None), name


class TestRun:
    """A file describes a run; the command line replaces what it names."""

    def test_no_arguments_are_needed(self, run):
        """`greval evaluate` alone judges what greval.yaml describes, and names the keys that it took."""
        code, out, err = run("data: cases.jsonl\nmetrics: [latency]\nout: runs/mine\n")
        assert code == 0
        assert re.search(r"latency +2 +2", out)
        assert "run: runs/mine" in out
        assert "greval.yaml sets data, metrics, out" in err

    def test_options_on_the_command_line_win(self, run):
        """A list is replaced as a whole, a number and a path too; the rest is the file's."""
        content = "data: cases.jsonl\nmetrics: [latency, exact_match]\nlimit: 2\nout: runs/mine\n"
        code, out, err = run(content, "-m", "latency", "--limit", "1", "-o", "runs/other")
        assert code == 0
        assert re.search(r"latency +1 +1", out)
        assert "exact_match" not in out
        assert "run: runs/other" in out
        assert "greval.yaml sets data\n" in err

    def test_a_flag_is_switched_off(self, run):
        """`quiet: true` in the file gives way to --no-quiet."""
        content = "data: cases.jsonl\nmetrics: latency\nquiet: true\n"
        assert run(content)[1:] == ("", "")
        assert "latency" in run(content, "--no-quiet")[1]

    def test_a_command_with_cases_does_not_read_the_file(self, run):
        """A whole command means the same wherever it is run; -c adds the file to it."""
        content = "data: other.jsonl\nmetrics: [exact_match]\nfail_if: latency > 1\n"
        code, out, err = run(content, "cases.jsonl", "-m", "latency")
        assert (code, "greval.yaml" in err, "exact_match" in out) == (0, False, False)
        code, out, _ = run(content, "cases.jsonl", "-m", "latency", "-c", "greval.yaml")
        assert code == 1
        assert "FAILED" in out

    def test_the_judge_of_the_file_comes_before_the_environment(self, run, fault_server, monkeypatch):
        """GREVAL_JUDGE is used where neither the command line nor the file names a judge."""
        monkeypatch.setenv("GREVAL_JUDGE", "openai:environment")
        judge = f'judge: {{model: "openai:file", base_url: "{fault_server.url}", temperature: 0.5, seed: 7}}\n'
        content = "data: cases.jsonl\nmetrics: correctness\n"
        for words, name in (((), "file"), (("--judge", "openai:line", "--no-resume"), "line")):
            assert run(content + judge, *words)[0] == 0
            sent = fault_server.bodies[-1]
            assert (sent["model"], sent["temperature"], sent["seed"]) == (name, 0.5, 7)
        assert run(content, "--base-url", fault_server.url, "--no-resume")[0] == 0
        assert fault_server.bodies[-1]["model"] == "environment"
        assert asked(fault_server) == {"1": 3, "2": 3}


class TestManifest:
    """A run says which file and which values it was judged with."""

    def test_the_report_names_the_file_and_all_values(self, run, greval_says):
        """Values of the file and of the command line are in the JSON report; the table names the file."""
        content = "data: cases.jsonl\nmetrics: [latency]\nlimit: 2\njudge: {model: openai:m, seed: 1}\nout: runs/x\n"
        assert run(content, "--limit", "1", "--column", "tags.a:b=expected_answer")[0] == 0
        command = json.loads(greval_says("report", "runs/x", "--format", "json")[1])["command"]
        assert command == {
            "config": "greval.yaml",
            "options": {
                "data": "cases.jsonl",
                "metrics": ["latency"],
                "limit": 1,
                "judge": {"model": "openai:m", "seed": 1},
                "columns": {"tags.a:b": "expected_answer"},
                "out": "runs/x",
            },
        }
        assert "described by greval.yaml" in greval_says("report", "runs/x")[1]

    def test_the_values_are_a_file_again(self, run, greval_says):
        """The options of a command without a file, stored as greval.yaml, describe the same run."""
        Path("rag.py").write_text(METHODS, encoding="utf-8")
        words = [
            *["--ask", "rag:good", "-m", "exact_match", "-m", "latency", "--no-retry-failed", "--fail-if"],
            "latency > 9",
        ]
        code, out, _ = run("", "cases.jsonl", "-o", "runs/x", *words)
        command = json.loads(greval_says("report", "runs/x", "--format", "json")[1])["command"]
        assert command["config"] is None
        assert (code, out) == run(json.dumps(command["options"]))[:2]

    def test_runs_without_a_command_line_have_none(self, greval_says, empty_folder):
        """A run of the SDK has no options."""
        greval.evaluate([case(1)], [greval.load_metric("exact_match")], out="runs/sdk")
        assert json.loads(greval_says("report", "runs/sdk", "--format", "json")[1])["command"] is None
        assert "described" not in greval_says("report", "runs/sdk")[1]


class TestFaults:
    """Faults are reported all at once, with line and what to do; nothing is judged."""

    def test_help_does_not_need_a_valid_file(self, run):
        """A broken file does not hide the help."""
        assert run("nonsense", "--help")[0] == 0


METHODS = """
def good(sample):
    return {"answer": "Yes."}


def odd(sample):
    if sample.id == "q2":
        raise ValueError("no index")
    return {"answer": "No.", "usage": {"latency": 1.0}}
"""


class TestMethods:
    """`methods` asks methods for the responses, and judges these."""

    CONTENT = "data: cases.jsonl\nmethods: {old: 'rag.py:odd', new: 'rag:good'}\nmetrics: exact_match\nout: runs/two\n"

    def test_methods_are_asked_and_judged(self, run):
        """Each method answers each question once; the answers in the data are not judged."""
        Path("rag.py").write_text(METHODS, encoding="utf-8")
        code, out, err = run(self.CONTENT)
        assert code == 3
        assert re.search(r"exact_match +new +2 +2 +0 +0 .*1\.00", out)
        assert re.search(r"exact_match +old +2 +1 +0 +1 .*0\.00", out)
        assert "old: 1 failed: ValueError: no index" in err
        assert "greval compare runs/two" in out

    def test_a_judge_that_cannot_be_used_ends_the_command_first(self, run, monkeypatch):
        """No method is asked for responses that could not be judged."""
        Path("rag.py").write_text(METHODS, encoding="utf-8")
        monkeypatch.delenv("OPENAI_API_KEY")
        code, _, err = run(self.CONTENT, "-m", "correctness", "--judge", "openai:m")
        assert (code, "OPENAI_API_KEY" in err, Path("runs").exists()) == (2, True, False)

    def test_ctrl_c_while_methods_are_asked(self, run, empty_folder):
        """What was answered stays, nothing is judged, and the same command goes on."""
        Path("rag.py").write_text(
            "import time\ndef slow(sample):\n    print('asked', flush=True)\n    time.sleep(0.5)\n    return 'Yes.'\n",
            encoding="utf-8",
        )
        write("cases.jsonl", [case(n) for n in range(40)])
        words = ["cases.jsonl", "--ask", "rag:slow", "-m", "exact_match", "-o", "run", "--concurrency", "1"]
        with started("evaluate", *words) as process:
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            process.communicate()
        assert process.returncode == 130
        assert 1 <= len(Path("run/responses.jsonl").read_text(encoding="utf-8").splitlines()) < 40
        assert not Path("run/results.sqlite").exists()


def test_a_command_that_asks_nobody_loads_no_model_packages():
    """`greval evaluate --help` and errors of the file come fast: LangChain is loaded when a run begins."""
    code = (
        "import sys, greval.cli.evaluate, greval.cli.init; sys.exit(sum('langchain' in name for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
