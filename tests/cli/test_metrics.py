"""`greval metrics`: list, show, check and draft."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import TONE, judged_by
from fault_server import gives

import greval

pytestmark = pytest.mark.usefixtures("empty_folder")


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
