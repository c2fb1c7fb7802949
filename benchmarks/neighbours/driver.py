"""What the drivers share: the cases, the measuring and the one line that each prints.

It runs in the environment of each tool and therefore imports the standard library only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import resource
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

GOOD, OFF = 1.0, 7.0
"""The server's value on the scale, and the one off it; it never sends another."""
WARM_UP = 100
RETRIES = 2
QUESTION = "Which star did the probe photograph first, and in which year was the picture taken?"
EXPECTED = "Vega, in 1850."
ANSWER = "The first star to be photographed, apart from the Sun, was Vega, on 17 July 1850. " * 4
CRITERION = "The answer says what the expected answer says: 1 if every fact is there and none is wrong, else 0."
STEPS = ("List the facts of the expected answer.", "Find each in the answer.", "Weigh what is missing or wrong.")
RUNNER = asyncio.Runner()
"""One event loop for the warm-up and the measurement: clients whose connections live in a loop stay usable."""
CHUNKS = tuple(f"Passage {number}. {ANSWER}" for number in range(1, 9))


@dataclass(frozen=True)
class Task:
    """What a driver is asked to do; `timeout` is in seconds for one try of one call."""

    url: str
    n: int
    concurrency: int
    timeout: int
    folder: Path

    @property
    def answers(self) -> list[str]:
        """The answers to judge, no two alike."""
        return [f"{ANSWER}(Case {number}.)" for number in range(self.n)]


Judge = Callable[[Task], Sequence[object]]
"""Judges `task.n` cases by the tool's own runner: each value as a number, None where it gave none."""
ByChunk = Callable[[Task], str]
"""Judges one case with CHUNKS, and says what was handed over."""


def drive(package: str, judge: Judge | None = None, chunks: Mapping[str, ByChunk] | None = None) -> None:
    """Read the command line, measure, and print one JSON line."""
    options = argparse.ArgumentParser()
    options.add_argument("measure", choices=["overhead", "faults", "chunks"])
    options.add_argument("--metric", help="of the metrics by chunk")
    for name in ("url", "stats"):
        options.add_argument(f"--{name}", required=True)
    for name, default in (("n", 200), ("concurrency", 50), ("timeout", 30)):
        options.add_argument(f"--{name}", type=int, default=default)
    options.add_argument("--folder", type=Path, required=True)
    given = options.parse_args()
    task = Task(given.url, given.n, given.concurrency, given.timeout, given.folder)
    print_line = sys.stdout
    with redirect_stdout(sys.stderr):  # what a tool prints is kept apart from the line
        if given.measure == "chunks":
            found: Mapping[str, object] = {"handed over": (chunks or {})[given.metric](task)}
        elif judge is None:
            sys.exit(f"{package} has nothing to run here")
        else:
            if given.measure == "overhead":
                judge(replace(task, n=min(WARM_UP, task.n), folder=task.folder / "warm-up"))
            reset(given.stats)
            found = measured(judge, task)
    print(json.dumps({"version": version(package), **found}), file=print_line, flush=True)


def reset(stats: str) -> None:
    """Set the server's counters to nothing."""
    request = urllib.request.Request(f"{stats}/reset", method="POST")  # noqa: S310 - our own server
    urllib.request.urlopen(request).close()  # noqa: S310 - the same


def measured(judge: Judge, task: Task) -> dict[str, object]:
    """Judge, and give the CPU and wall seconds, the memory, and what became of the cases."""
    cpu, wall, problem = spent(), time.perf_counter(), ""
    values: Sequence[object] = ()
    try:
        values = judge(task)
    except Exception as error:  # noqa: BLE001 - a runner that gives up is what is measured
        problem = f"{type(error).__name__}: {error}"[:300]
    wall = time.perf_counter() - wall
    kinds = Counter(kind(value) for value in values)
    return {
        "n": task.n,
        "cpu_seconds": spent() - cpu,
        "wall_seconds": wall,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        **{name: kinds[name] for name in ("judged", "off_scale", "made_up")},
        "lost": task.n - sum(kinds[name] for name in ("judged", "off_scale", "made_up")),
        "gave_up": problem,
    }


def kind(value: object) -> str:
    """Say what a value is: judged, off the scale, none, or one that the server never sent."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "none"
    return {GOOD: "judged", OFF: "off_scale"}.get(float(str(value)), "made_up")


def spent() -> float:
    """Give the CPU seconds so far, user and system, of this process and of those that it started and awaited."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
