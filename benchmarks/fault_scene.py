"""The scene of benchmarks/durability.py: cases, a server that answers by the question, and the command line.

Each answer follows from its question, so that the logs of two runs can be compared. Each command is a
process of its own, forked from one that has imported everything: a start takes no seconds.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from greval.cli import main
from greval.runs.store import FILE, Store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from fault_server import Behaviour, Body, FaultServer, ok

FORKED = get_context("forkserver")
FORKED.set_forkserver_preload(
    ["__main__", "fault_scene", "greval.cli.app", "greval.runs.evaluation", "langchain_openai", "httpx_aiohttp"]
)
METRIC = "correctness"
KEY = "sk-durability"
QUESTION = re.compile(r"Question (\d+)\?")
WIDTH = 50
LATENCY, JITTER = 0.02, 0.03
"""Seconds: an answer takes 20 to 50 ms."""
MORE_KB = 65_536
"""What is freed on a full disk."""

Rows = Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    error: str
    seconds: float

    @property
    def last(self) -> str:
        """The last line that it said on stderr."""
        return next(reversed(self.error.splitlines()), "")


@dataclass(frozen=True)
class Scene:
    """A folder with cases, the server that judges them, and the command that asks it."""

    folder: Path
    n: int
    server: FaultServer

    def start(self, *options: str, key: str = KEY, largest: int | None = None) -> ForkServerProcess:
        """Start the command; `largest` is how many bytes its files may have."""
        judge = ("--judge", "openai:m", "--base-url", self.server.url, "--concurrency", str(WIDTH))
        words = ("evaluate", "cases.jsonl", "-m", METRIC, "-o", "run", *judge, *options)
        process = FORKED.Process(target=command, args=(self.folder, words, key, largest))
        process.start()
        return process

    def run(self, *options: str, key: str = KEY, **how: Any) -> Ended:  # noqa: ANN401 - those of `start`
        """Run the command to its end."""
        start = time.perf_counter()
        process = self.start(*options, key=key, **how)
        process.join()
        told = (self.folder / f"{key}.txt").read_text(encoding="utf-8")
        assert process.exitcode is not None
        return Ended(process.exitcode, told, time.perf_counter() - start)

    def rows(self) -> Rows:
        """Give what the run's log says, without cost and time."""
        with Store.open(self.folder / "run") as store:
            return sorted(
                (row.sample_id, row.method, row.metric, row.outcome.model_dump_json()) for row in store.results()
            )

    def latencies(self) -> dict[str, float]:
        """Give how many seconds the judgement of each case took, with all its waiting."""
        with Store.open(self.folder / "run") as store:
            return {row.sample_id: row.latency for row in store.results()}

    def whole(self) -> bool:
        """Say whether the run's log is that of an unbroken run."""
        return self.rows() == unbroken(self.n)[0]

    def sound(self) -> bool:
        """Say whether SQLite finds nothing wrong with the log."""
        with closing(sqlite3.connect(self.folder / "run" / FILE)) as database:
            found = database.execute("PRAGMA integrity_check").fetchall()
        return found == [("ok",)]


def command(folder: Path, words: Sequence[str], key: str, largest: int | None) -> None:
    """Be the command line; what it says on stderr goes to a file that has the key's name."""
    os.chdir(folder)
    for name in [name for name in os.environ if name.startswith(("GREVAL_", "OPENAI_"))]:
        del os.environ[name]
    os.environ["OPENAI_API_KEY"] = key
    for stream, name in ((1, os.devnull), (2, f"{key}.txt")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    if largest:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
    sys.argv = ["greval", *words]
    main()


def number_of(body: Body) -> int:
    """Give the number of the question that a request is about."""
    found = QUESTION.search(body["messages"][1]["content"])
    assert found
    return int(found[1])


def well(body: Body) -> Behaviour:
    """Answer as follows from the question."""
    return ok(number_of(body) * 7919 % 10 // 5)


@contextmanager
def scene(n: int, *, latency: float = LATENCY, jitter: float = JITTER) -> Iterator[Scene]:
    """Give n cases in a new folder, no two alike, and a server that answers well until its plan is set."""
    imported()
    with tempfile.TemporaryDirectory() as folder, FaultServer(well, latency=latency, jitter=jitter) as server:
        with (Path(folder) / "cases.jsonl").open("w", encoding="utf-8") as file:
            for number in range(n):
                case = {"id": f"q{number}", "question": f"Question {number}?", "expected_answer": "A", "answer": "B"}
                file.write(f"{json.dumps(case)}\n")
        yield Scene(Path(folder), n, server)


@cache
def imported() -> None:
    """Let the process that all commands are forked from import everything, so that the first start is timed fairly."""
    process = FORKED.Process(target=os.getpid)
    process.start()
    process.join()


@cache
def unbroken(n: int) -> tuple[Rows, float]:
    """Give the log of a run of n cases that nothing happens to, and how many seconds it took."""
    with scene(n) as place:
        run = place.run()
        assert (run.code, place.server.calls) == (0, n), run.error
        return place.rows(), run.seconds


@contextmanager
def full_disk(folder: Path, kilobytes: int) -> Iterator[Callable[[], None] | None]:
    """Give a folder on a file system with so much room, and what makes more; None where none can be mounted."""
    folder.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes + MORE_KB}k", "tmpfs", str(folder)]
    if subprocess.run(options, capture_output=True, check=False).returncode:
        yield None
        return
    try:
        filler = folder / "filler"
        filler.write_bytes(bytes(MORE_KB * 1024))
        yield filler.unlink
    finally:
        subprocess.run(["umount", str(folder)], check=True)  # noqa: S607 - of the system
