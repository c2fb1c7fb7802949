"""`greval judge check` with a judge that answers, and with none."""

from __future__ import annotations

import re

import pytest
from command_line import judged_by
from provider_refusals import HTTP_REFUSALS, refuse

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_judge_check_prints_findings(greval_says, fault_server):
    """`greval judge check` says in a table what the judge can do, in four calls."""
    code, out, _ = greval_says("judge", "check", *judged_by(fault_server))
    assert code == 0
    assert fault_server.calls == 4
    assert re.search(r"asked by +native JSON schema", out)
    assert re.search(r"follows a JSON schema +yes", out)
    assert re.search(r"tool calls +yes", out)
    assert re.search(r"cost of this check +4 calls, 400 tokens in", out)


def test_judge_check_prints_what_to_type(greval_says, fault_server):
    """What a judge refuses is printed with the option for it, and the option ends the refusal."""
    fault_server.plan = refuse([HTTP_REFUSALS[0]])
    code, out, err = greval_says("judge", "check", *judged_by(fault_server))
    assert code == 0
    assert "is asked without a temperature (--temperature none)" in out
    fault_server.bodies.clear()
    code, out, err = greval_says("judge", "check", *judged_by(fault_server), "--temperature", "none")
    assert (code, "refuses" in err, fault_server.calls) == (0, False, 4)


def test_judge_prices(greval_says, tmp_path):
    """`greval judge prices` shows prices with their date; as a file they can be edited and named with --prices."""
    code, out, _ = greval_says("judge", "prices", "gpt-4.1-", "local")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert lines[1:4] == [
        ["openai:gpt-4.1-mini", "0.4", "0.1", "1.6"],
        ["openai:gpt-4.1-nano", "0.1", "0.025", "0.4"],
        ["local", "0", "-", "0"],
    ]
    assert re.search(r"USD per million tokens as of 20\d\d-\d\d-\d\d; source: ", out)
    file = tmp_path / "mine.yaml"
    file.write_text(greval_says("judge", "prices", "gpt-4.1-mini", "--yaml")[1].replace("0.4", "0.3"), encoding="utf-8")
    out = greval_says("judge", "prices", "--prices", file)[1]
    assert [line.split() for line in out.splitlines()][1:-1] == [["openai:gpt-4.1-mini", "0.3", "0.1", "1.6"]]
