"""A run on a local Ray cluster, one worker of which is killed in the middle: what it cost, and what came out.

    python benchmarks/cluster.py [-n 2000] [--workers 4] [--shards 16] [--quota 1200] [--kills 1]

A server in the driver's process counts requests. A worker is killed with SIGKILL while some of its
shard's rows are written and some are not. It prints the figures and ends with 1 where one is missed:
all is judged, the rows are those of a run on one machine, no more calls are repeated than were in
flight at the kills, and no minute (nor any second, by the even rate and the bursts) exceeds the quota.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from aiohttp import web

from greval import Judge, evaluate, load_metric, read_cases
from greval.errors import StoreError
from greval.runs.ray_cluster import evaluate_on_ray
from greval.runs.store import FILE, Store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from fault_server import Behaviour, Body, FaultServer, ok

QUESTION = re.compile(r"Question (\d+)\?")
METRIC = "correctness"
CONCURRENCY = 8
"""Of each worker."""
BLINK = 0.25
"""Seconds by which a busy machine may bring requests nearer together than they were sent."""


class Provider:
    """A plan for the server: each question has its own verdict after a short time; keeps when each was asked."""

    def __init__(self, seconds: float = 0.1) -> None:
        """Begin with nothing asked."""
        self.seconds = seconds
        self.times: list[float] = []
        self.asked: Counter[str] = Counter()

    def __call__(self, body: Body) -> Behaviour:
        """Take note of a request, and say how to answer it."""
        found = QUESTION.search(body["messages"][-1]["content"])
        assert found
        self.times.append(time.monotonic())
        self.asked[found[1]] += 1

        async def answer(request: web.Request, body: Body) -> web.StreamResponse:
            await asyncio.sleep(self.seconds)
            return await ok(int(found[1]) % 2)(request, body)

        return answer


class Killer(threading.Thread):
    """Kills workers of our own cluster with SIGKILL, each in the middle of a shard; `judged` rows of it were there."""

    def __init__(self, kills: int = 1) -> None:
        """Begin with nothing killed."""
        super().__init__(daemon=True)
        self.kills = kills
        self.judged: dict[Path, int] = {}

    def run(self) -> None:
        """Look for workers until enough are killed."""
        while len(self.judged) < self.kills:
            time.sleep(0.02)
            for worker in psutil.Process().children(recursive=True):
                with suppress(psutil.Error, StoreError):
                    self.look(worker)

    def look(self, worker: psutil.Process) -> None:
        """Kill it if some of its shard is in the log; one shard loses one worker."""
        if worker.name().startswith("ray::judge_shard") and len(self.judged) < self.kills:
            log = next((Path(file.path) for file in worker.open_files() if file.path.endswith(FILE)), None)
            if log and log.parent not in self.judged and len(rows(log.parent)) >= CONCURRENCY:
                worker.kill()
                worker.wait(10)
                self.judged[log.parent] = len(rows(log.parent))


def most(times: Sequence[float], seconds: float) -> int:
    """Give the most requests in any window of so many seconds; the times are in order."""
    return max(bisect_left(times, start + seconds) - place for place, start in enumerate(times))


def within(quota: float, workers: int, times: Sequence[float]) -> bool:
    """Say whether no window holds more than the even rate and the burst of each worker, a second's worth or one."""
    each = quota / workers / 60
    windows = (0.5, 1, 2, 3, 4, 6, 30)
    even = all(most(times, w) <= workers * (max(1, each) + each * (w + BLINK)) for w in windows)
    return even and most(times, 60) <= quota


def written(folder: Path, n: int) -> Path:
    """Write n cases with different questions into a file."""
    path = folder / "cases.jsonl"
    cases = (
        {"id": f"q{i}", "question": f"Question {i}?", "expected_answer": "Yes.", "answer": "No."} for i in range(n)
    )
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return path


def rows(folder: Path) -> list[tuple[str, ...]]:
    """Give what a log holds, without what differs from run to run."""
    with Store.open(folder) as store:
        return sorted((r.sample_id, r.method, r.metric, r.outcome.model_dump_json()) for r in store.results())


def main() -> int:
    """Run on a cluster and on one machine, and compare."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("-n", type=int, default=2000)
    options.add_argument("--workers", type=int, default=4)
    options.add_argument("--shards", type=int, default=16)
    options.add_argument("--quota", type=float, default=1200)
    options.add_argument("--kills", type=int, default=1)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        return measured(Path(name), given.n, given.workers, given.shards, given.quota, given.kills)


def measured(folder: Path, n: int, workers: int, shards: int, quota: float, kills: int) -> int:
    """Print the figures; give 1 where a target is missed."""
    source, provider, killer = written(folder, n), Provider(), Killer(kills)
    with FaultServer(provider) as server:
        judge = Judge("openai:fake", base_url=server.url, requests_per_minute=quota)
        killer.start()
        run = evaluate_on_ray(
            source,
            [load_metric(METRIC)],
            judge,
            out=folder / "run",
            shards=shards,
            workers=workers,
            concurrency=CONCURRENCY,
        )
        times, asked = [*provider.times], provider.asked.total()
        alone = judge.model_copy(update={"requests_per_minute": None})
        evaluate(read_cases(source), [load_metric(METRIC)], alone, out=folder / "alone", concurrency=32)
    equal = rows(folder / "run") == rows(folder / "alone")
    print(
        f"{run.progress.scored} judgements by {workers} workers in {shards} shards, {run.progress.seconds:.0f} s; "
        f"{len(killer.judged)} killed in the middle; {asked} calls, {asked - n} repeated "
        f"(at most {kills * CONCURRENCY}); most in a minute {most(times, 60)}, in a second {most(times, 1)}, "
        f"quota {quota:g} a minute; rows equal to those of one machine: {'yes' if equal else 'no'}"
    )
    kept = 0 <= asked - n <= kills * CONCURRENCY and len(killer.judged) == kills
    return int(not (equal and kept and len(rows(folder / "run")) == n and within(quota, workers, times)))


if __name__ == "__main__":
    sys.exit(main())
