"""What runs of the server survive: kill -9 at random moments, and its end in order."""

from __future__ import annotations

import json
import re
from collections import Counter

import httpx
import pytest
from fault_server import FaultServer
from served_runs import ended, rows, started, uploaded, waited
from server_kills import kill_at_random
from serving import server_process
from waiting import SECONDS

from greval.runs.store import Store

COUNT = 400
QUESTION = re.compile(r"Who is (\d+)\?")


@pytest.mark.nightly
def test_kills_at_random_moments_lose_nothing(tmp_path):
    """Every run ends, no finished judgement is asked again, usage covers all legs, and no process is left."""
    figures = kill_at_random(tmp_path, kills=8, runs=3, count=150, seed=11)
    assert (figures.lost, figures.repeated, figures.left) == ([], 0, 0)
    assert figures.cases <= figures.told <= figures.calls


def count_judged(folder):
    with Store.open(folder) as store:
        return len({result.sample_id for result in store.results() if result.finished})


@pytest.mark.nightly
def test_sigterm_stores_the_calls_in_flight(tmp_path):
    """SIGTERM finishes the calls in flight and stores them; the next start goes on, and nothing is asked twice."""
    with FaultServer(latency=0.2) as judge:
        words = ("--judge", "openai:x", "--base-url", judge.url, "--runs", "runs")
        options = {"folder": tmp_path, "environment": {"OPENAI_API_KEY": "none"}}
        with server_process(*words, **options) as server, httpx.Client(base_url=server.url, timeout=SECONDS) as client:
            run = started(client, uploaded(client, rows(COUNT)), concurrency=16)
            waited(client, run, lambda info: (info["progress"] or {}).get("done", 0) >= COUNT // 4)
            with client.stream("GET", f"/v1/runs/{run}/events") as stream:
                next(stream.iter_lines())
                server.stop()  # a stream that is open does not delay it
            assert count_judged(tmp_path / "runs" / run) == judge.calls < COUNT
        judge.latency = 0
        with server_process(*words, **options) as server, httpx.Client(base_url=server.url, timeout=SECONDS) as client:
            info = ended(client, run)
        questions = [QUESTION.findall(json.dumps(body["messages"][-1]))[-1] for body in judge.bodies]
    assert (info["status"], info["progress"]["scored"]) == ("finished", COUNT)
    assert count_judged(tmp_path / "runs" / run) == COUNT
    assert set(Counter(questions).values()) == {1}
