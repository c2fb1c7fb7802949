"""What runs of the server survive: kill -9 of it and of a worker, its end in order, and being shared by workers."""

from __future__ import annotations

import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import psutil
import pytest
from fault_server import FaultServer
from served_runs import ended, rows, started, uploaded, waited
from serving import server_process
from waiting import SECONDS, until

from greval.runs.store import Store

COUNT = 400
LATENCY = 0.2
"""The seconds of an answer: a run lasts so long that it is at work whenever a busy machine comes to stop it."""
ASKED = re.compile(r"Who is (\d+)\?")


@pytest.fixture
def judge():
    """Give a slow judge; a test takes the latency away for the rest of a run."""
    with FaultServer(latency=LATENCY) as server:
        yield server


@contextmanager
def running(judge, folder, *words):
    """Run a server whose judge is the fault server, and give it with a client."""
    words = ("--judge", "openai:x", "--base-url", judge.url, "--runs", "runs", *words)
    with (
        server_process(*words, folder=folder, environment={"OPENAI_API_KEY": "none"}) as server,
        httpx.Client(base_url=server.url, timeout=SECONDS, limits=httpx.Limits(max_keepalive_connections=0)) as client,
    ):
        yield server, client


def done(least):
    return lambda info: (info["progress"] or {}).get("done", 0) >= least


def asked(judge) -> list[int]:
    """Give the numbers of the cases that the judge was asked about, in order."""
    return [int(ASKED.findall(json.dumps(body["messages"][-1]))[-1]) for body in judge.bodies]


def judged(folder) -> set[int]:
    """Give the numbers of the cases whose results are in a run's log."""
    with Store.open(folder) as store:
        return {int(result.sample_id[1:]) for result in store.results() if result.finished}


def check(client, run, folder, count) -> dict:
    """Wait for the end of a run of so many cases, and see that every one is judged."""
    info = ended(client, run)
    assert (info["status"], info["progress"]["done"], info["progress"]["scored"]) == ("finished", count, count), info
    assert judged(folder) == set(range(count))
    return info


@pytest.mark.nightly
def test_sigterm_stores_the_calls_in_flight(judge, tmp_path):
    """SIGTERM finishes the calls in flight and stores them; the next start goes on, and nothing is asked twice."""
    with running(judge, tmp_path) as (server, client):
        run = started(client, uploaded(client, rows(COUNT)), concurrency=16)
        waited(client, run, done(COUNT // 4))
        with client.stream("GET", f"/v1/runs/{run}/events") as stream:
            next(stream.iter_lines())
            server.stop()  # a stream that is open does not hold it up
        assert len(judged(tmp_path / "runs" / run)) == judge.calls < COUNT
    judge.latency = 0
    with running(judge, tmp_path) as (_, client):
        check(client, run, tmp_path / "runs" / run, COUNT)
    assert set(Counter(asked(judge)).values()) == {1}


@pytest.mark.nightly
def test_workers_share_runs(judge, tmp_path):
    """A run is followed, read and cancelled through any worker; killed with -9, another one goes on with its run."""
    with running(judge, tmp_path, "--workers", "2") as (server, client), ThreadPoolExecutor(8) as threads:
        data = uploaded(client, rows(COUNT))
        run, other = (started(client, data, concurrency=8, name=name) for name in ("first", "other"))
        folder = tmp_path / "runs" / run
        waited(client, run, done(COUNT // 10))
        until(lambda: all(_going_on(f"{server.url}/v1/runs/{run}") for _ in range(6)))  # whichever worker answers
        assert httpx.post(f"{server.url}/v1/runs/{other}/cancel", timeout=SECONDS).status_code == 202
        assert ended(client, other)["status"] == "stopped"
        following = [threads.submit(_followed, f"{server.url}/v1/runs/{run}/events") for _ in range(6)]
        before, calls = judged(folder), judge.calls
        _worker_on(server, folder).kill()
        judge.latency = 0
        check(client, run, folder, COUNT)
        ends = [last for last in (stream.result() for stream in following) if last]
    assert ends  # those on the worker that was not killed
    assert set(ends) == {"finished"}
    assert not before.intersection(asked(judge)[calls:])


def _going_on(url: str) -> bool:
    """Say whether a run is told to be running, with some progress; each request has a connection of its own."""
    info = httpx.get(url, timeout=SECONDS).json()
    assert info["status"] == "running"
    return bool(info["progress"] and info["progress"]["done"])


def _followed(url: str) -> str | None:
    """Give the status that a stream of events ends with, None where its worker was killed."""
    try:
        with httpx.stream("GET", url, timeout=SECONDS) as stream:
            last = [line for line in stream.iter_lines() if line.startswith("data: ")][-1]
    except httpx.HTTPError:
        return None
    return json.loads(last.removeprefix("data: "))["status"]


def _worker_on(server, folder) -> psutil.Process:
    """Give the worker that works on a run: it holds its claim open."""
    claim = str(folder / ".claim")
    workers_at_it: list[psutil.Process] = []

    def look():
        workers = psutil.Process(server.process.pid).children(recursive=True)
        workers_at_it[:] = [worker for worker in workers if any(file.path == claim for file in worker.open_files())]
        return bool(workers_at_it)

    until(look)
    return workers_at_it[0]
