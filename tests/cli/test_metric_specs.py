"""Own metrics on the command line: folders, Python, lists, and what they replace."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import TONE, case, judged_by, write
from fault_server import ok

pytestmark = pytest.mark.usefixtures("empty_folder")

CODE = """
def length(answer) -> int:
    return len(answer)
"""


@pytest.fixture
def own(empty_folder):
    """Write two metrics of one's own, one of which has the name of a predefined metric, and a function."""
    Path("own").mkdir()
    Path("own/tone.yaml").write_text(TONE, encoding="utf-8")
    Path("own/relevance.yaml").write_text(TONE.replace("tone", "relevance", 1), encoding="utf-8")
    Path("own/code.py").write_text(CODE, encoding="utf-8")
    write("cases.jsonl", [case(1), case(2)])


@pytest.mark.usefixtures("own")
def test_evaluate_takes_folders_python_and_lists(greval_says, fault_server):
    """All metrics of a folder, a function and names are judged in one run; a replaced name is noted once."""
    fault_server.plan = ok()
    words = ["evaluate", "cases.jsonl", "-m", "own/", "-m", "own/code.py:length,exact_match", "-o", "run"]
    code, out, err = greval_says(*words, *judged_by(fault_server))
    assert code == 0
    assert {line.split()[0] for line in out.splitlines() if line.split()[1:3] == ["2", "2"]} == {
        *("tone", "relevance", "length", "exact_match")
    }
    assert err.count("relevance: your own definition is used, not the predefined one") == 1
    calls = fault_server.calls
    Path("own/code.py").write_text(CODE.replace("len(answer)", "1"), encoding="utf-8")
    assert greval_says(*words, *judged_by(fault_server))[0] == 0
    assert fault_server.calls == calls


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("spec", ["own/code.py:length", "own/tone.yaml"])
def test_other_commands_take_them_too(greval_says, fault_server, spec):
    """`metrics show` and `check` take what `evaluate` takes, and `probe` names what it cannot probe."""
    assert greval_says("metrics", "show", spec)[0] == greval_says("metrics", "check", spec)[0] == 0
    code, out, err = greval_says("probe", spec, "--dry-run", *judged_by(fault_server))
    assert (code == 0) == spec.endswith(".yaml"), (out, err)
