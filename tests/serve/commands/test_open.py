"""`greval open`: a server for one run, at the address that it prints."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import httpx
import pytest
from command_line import case, started, write
from waiting import SECONDS

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.mark.server
def test_a_run_is_served_at_the_printed_address(greval_says):
    """The page shows this run and no other, also if its name is no id; the folder of runs stays as it is."""
    for name in ("my first run", "other"):
        write("cases.jsonl", [case(1, usage={"latency": 1.0})])
        assert greval_says("evaluate", "cases.jsonl", "-m", "latency", "-o", f"runs/{name}", "--quiet")[0] == 0
    folders_before = sorted(Path("runs").iterdir())
    with (
        started("open", "runs/my first run") as process,
        httpx.Client(timeout=SECONDS, follow_redirects=True) as client,
    ):
        try:
            printed = re.match(r"(http://127\.0\.0\.1:\d+)/#token=([\w-]{32})/runs/(\S+) ", process.stdout.readline())
            address, token, name = printed.groups()
            sent = {"Authorization": f"Bearer {token}"}
            assert client.get(f"{address}/v1/runs").status_code == 401
            assert "<html" in client.get(address).text
            (listed,) = client.get(f"{address}/v1/runs", headers=sent).json()["runs"]
            results = client.get(f"{address}/v1/runs/{name}/results", headers=sent).json()["results"]
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=SECONDS)
        finally:
            process.kill()  # else a failure would wait for the server for ever
    assert (listed["id"], name) == ("my-first-run", "my-first-run")
    assert [row["sample_id"] for row in results] == ["q1"]
    assert sorted(Path("runs").iterdir()) == folders_before


def test_what_is_no_run_is_told(greval_says):
    """A folder without a run ends with 2 and the command that makes one."""
    code, _, err = greval_says("open", "nothing")
    assert code == 2
    assert "greval evaluate CASES" in err
