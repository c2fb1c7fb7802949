"""`greval demo`: what is found in the shipped run, and the cases that are judged live."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from greval.cli.demo import METRICS
from greval.judging.local.fetch import fetch

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_the_shipped_run_needs_no_judge(greval_says):
    """Each part is shown after its command, and the page is written; the live part says why it is left out."""
    code, out, _ = greval_says("demo", "--judge", "nobody:x")
    assert code == 0
    steps = re.findall(r"^\$ greval (\w+)", out, re.MULTILINE)
    assert steps == ["compare", "report", "diagnose", "diagnose", "agreement", "agreement", "report"]
    assert re.search(r"walk against local: better in correctness", out)
    assert "expected edges walked" in out
    assert out.count("What this means: ") == 2
    assert Path("runs/demo/report.html").stat().st_size > 50_000
    assert "The live part is left out: " in out
    assert "greval evaluate FILE" in out.rpartition("Now with a file of your own")[2]


def test_cases_are_judged_live(greval_says, fault_server, monkeypatch):
    """Each verdict comes after its question, answer and expected answer, with its reason."""
    monkeypatch.setenv("OPENAI_BASE_URL", fault_server.url)
    code, out, _ = greval_says("demo", "--judge", "openai:fake")
    live = out.partition("Now live: openai:fake judges 3 cases")[2]
    assert code == 0
    assert [len(re.findall(rf"^{name}: .* -> [01]$", live, re.MULTILINE)) for name in METRICS] == [3, 3]
    assert live.count("question") >= 3
    assert fault_server.calls == 6


@pytest.mark.nightly
@pytest.mark.local_model
def test_the_embedded_model_writes_its_reasons_live(greval_says):
    """The reason is printed token by token, once, before the value."""
    fetch("smollm2-135m")
    code, out, _ = greval_says("demo", "--judge", "local:smollm2-135m")
    assert code == 0
    verdicts = re.findall(r"^\w+: (.*) -> [01]", out.partition("Now live")[2], re.MULTILINE)
    assert len(verdicts) == 6
    assert all(verdict.strip() and '"reason"' not in verdict for verdict in verdicts)
