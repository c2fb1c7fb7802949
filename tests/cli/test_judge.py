"""`greval judge check` with a judge that answers, and with none."""

from __future__ import annotations

import re
import socket

import pytest
from command_line import judged_by

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


def test_judge_check_of_a_dead_port(greval_says):
    """A judge that cannot be reached ends with 2 and says so in words."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        code, _, err = greval_says("judge", "check", "--judge", "openai:m", "--base-url", url)
    assert code == 2
    assert "openai:m cannot be reached: " in err
    assert "Traceback" not in err
