"""A server with runs whose processes are killed with -9 at random moments, and what is left of the runs."""

from __future__ import annotations

import json
import random
import re
import signal
import time
from collections import Counter
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
from fault_server import FaultServer
from served_runs import ended, rows, started, uploaded
from serving import Running, list_family, server_process
from waiting import SECONDS, until

from greval.errors import StoreError
from greval.runs.store import Store

QUESTION = re.compile(r"Who is (\d+-\d+)\?")
RUN_MODULE = "greval.serve.jobs.child"
KILLED = ("run", "run", "worker", "supervisor", "all")
"""What a kill may hit: a process of a run, a worker, the process that starts the workers, or all at once."""


@dataclass
class KillFigures:
    """What was killed and what became of the runs.

    `repeated` are judgements that were asked again after they were finished, `lost` the runs that did not end well,
    `told` the calls that the runs tell, and `left` the processes that remained.
    """

    killed: Counter[str] = field(default_factory=Counter)
    cases: int = 0
    calls: int = 0
    told: int = 0
    repeated: int = 0
    lost: list[dict[str, Any]] = field(default_factory=list)
    left: int = 0


def kill_at_random(folder: Path, *, kills: int, runs: int, count: int, seed: int) -> KillFigures:
    """Kill processes of a server with two workers at random moments; give the figures once all runs have ended."""
    rng, found = random.Random(seed), KillFigures(cases=runs * count)
    finished: list[tuple[int, set[str]]] = []
    names: list[str] = []
    seen: set[psutil.Process] = set()
    with FaultServer(latency=0.1) as judge:
        while True:
            with _serve(judge, folder) as server, httpx.Client(base_url=server.url, timeout=SECONDS) as client:
                names = names or [_start(client, run, count) for run in range(runs)]
                while server.process.poll() is None and sum(found.killed.values()) < kills:
                    time.sleep(rng.uniform(0.5, 5))
                    seen.update(list_family(server.process.pid))
                    if what := _kill_one(server, rng):
                        found.killed[what] += 1
                        stored = set[str]().union(*(_read_finished(folder / "runs" / name) for name in names))
                        finished.append((judge.calls, stored))
                if server.process.poll() is None:
                    infos = [ended(client, name) for name in names]
                    seen.update(list_family(server.process.pid))
                    server.stop()
                    break
        with suppress(AssertionError):
            until(lambda: not any(map(_is_alive, seen)))
        found.left = sum(map(_is_alive, seen))
        asked = [QUESTION.findall(json.dumps(body["messages"][-1]))[-1] for body in judge.bodies]
    found.calls, found.told = len(asked), sum(one["progress"]["usage"]["calls"] for one in infos)
    found.repeated = sum(len(stored.intersection(asked[place:])) for place, stored in finished)
    found.lost = [one for one in infos if (one["status"], one["progress"]["scored"]) != ("finished", count)]
    return found


def _serve(judge: FaultServer, folder: Path) -> AbstractContextManager[Running]:
    words = ("--workers", "2", "--judge", "openai:x", "--base-url", judge.url, "--runs", "runs")
    return server_process(*words, folder=folder, environment={"OPENAI_API_KEY": "none"})


def _start(client: httpx.Client, run: int, count: int) -> str:
    given = [{**row, "question": f"Who is {run}-{number}?"} for number, row in enumerate(rows(count))]
    return started(client, uploaded(client, given, name=f"run{run}"), concurrency=4)


def _kill_one(server: Running, rng: random.Random) -> str | None:
    """Kill something, and give what it was; None if there is no such process at the moment."""
    what = rng.choice(KILLED)
    if what == "all":
        server.kill()
    elif what == "supervisor":
        server.process.kill()
        server.process.wait(SECONDS)
    else:
        mark = RUN_MODULE if what == "run" else "spawn_main"
        found = [one for one in list_family(server.process.pid) if mark in _read_command(one)]
        if not found:
            return None
        with suppress(psutil.NoSuchProcess):
            rng.choice(found).send_signal(signal.SIGKILL)
    return what


def _read_command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _read_finished(folder: Path) -> set[str]:
    """Give the questions of the finished results in a run's log; it is empty if the process was killed as it began."""
    number = folder.name.removeprefix("run").partition("-")[0]
    with suppress(StoreError), Store.open(folder) as store:
        return {f"{number}-{result.sample_id[1:]}" for result in store.results() if result.finished}
    return set()
