"""The server under load: a judge that takes 200 ms, 64 clients for a minute, then 2,000 clients at once.

    python benchmarks/serve_load.py [steady|crowd|cost|endurance] [--seconds 60] [--clients 64] [--crowd 2000]

Judge, server and clients are three processes of this machine. `steady` gives each route the requests that 64 clients
make one after the other, against the ideal of 64 / 0.2 s. `crowd` sends one request of each of 2,000 clients at the
same moment to a server with its usual limits; those that are refused come again when `Retry-After` says so. `cost`
compares the CPU time of a request with that of a server of `add_routes(ChatOpenAI)` and of a FastAPI route that does
nothing but call `ChatOpenAI`: both answer in turns, from a judge that answers at once. `endurance` measures how soon a
stream has its first event, and the memory of the server while it answers 100,000 requests.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import psutil
from langchain_core.messages import BaseMessage

from greval import compile_metric, load_metric
from greval.testing import ScriptedJudge

ROOT = Path(__file__).parents[1]
LATENCY = 0.2
CASE = {"question": "When does the library open?", "expected_answer": "At nine.", "answer": "It opens at nine."}
ROUTES: dict[str, dict[str, Any]] = {
    "/v1/evaluate": {"cases": [CASE], "metrics": ["correctness"]},
    "/metrics/correctness/invoke": {"input": CASE},
}

BARE_ROUTES = {"/chat/invoke": "add_routes(ChatOpenAI)", "/plain": "a FastAPI route that calls ChatOpenAI"}
"""The routes of the bare server, with what they are."""


@dataclass
class Seen:
    """What clients saw: seconds of the answers that were served and of those that were refused, and other ends."""

    served: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    impolite: int = 0
    others: Counter[str] = field(default_factory=Counter)


@contextmanager
def process(*words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a server, and give the address that it tells first."""
    with subprocess.Popen(
        [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as running:
        assert running.stdout
        try:
            yield running.stdout.readline().strip(), running
        finally:
            running.terminate()


@contextmanager
def judging(latency: float = LATENCY) -> Iterator[str]:
    """Run a judge, and give its address."""
    with process(str(ROOT / "tests" / "support" / "fault_server.py"), "--latency", str(latency)) as (judge, _):
        yield judge


@contextmanager
def serving(*options: str, judge: str = "") -> Iterator[tuple[str, Memory]]:
    """Run a server of this judge, or of one of its own; give its address and what it holds in memory."""
    with ExitStack() as stack:
        if not judge:
            judge = stack.enter_context(judging())
        runs = stack.enter_context(tempfile.TemporaryDirectory())
        words = ("--judge", "judge=openai:x", "--base-url", judge, *options)
        started = process(str(ROOT / "server.py"), "--port", "0", "--no-token", "--runs", runs, *words)
        url, running = stack.enter_context(started)
        memory = Memory(running.pid)
        yield url, memory
        memory.stop()


class Memory:
    """The memory of a server with its workers, in MB, looked at ten times a second."""

    def __init__(self, pid: int) -> None:
        """Begin to look."""
        self._pid = pid
        self._stopped = threading.Event()
        self.most = 0.0
        threading.Thread(target=self._look, daemon=True).start()

    def now(self) -> float:
        """Give what is held now."""
        parent = psutil.Process(self._pid)
        return sum(one.memory_info().rss for one in (parent, *parent.children(recursive=True))) / 1e6

    def seconds(self) -> float:
        """Give the CPU time that was spent."""
        parent = psutil.Process(self._pid)
        return sum(sum(one.cpu_times()[:2]) for one in (parent, *parent.children(recursive=True)))

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()

    def _look(self) -> None:
        while not self._stopped.wait(0.1):
            try:
                self.most = max(self.most, self.now())
            except psutil.NoSuchProcess:
                return


@asynccontextmanager
async def client(url: str) -> AsyncIterator[aiohttp.ClientSession]:
    """Give a client without limits of its own."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        url, connector=connector, timeout=aiohttp.ClientTimeout(total=120, sock_connect=60)
    ) as session:
        yield session


async def ask(session: aiohttp.ClientSession, path: str, seen: Seen) -> float | None:
    """Ask once; give the seconds after which to come again, None where it was served or failed."""
    start = time.perf_counter()
    try:
        async with session.post(path, json=ROUTES[path]) as answer:
            text = await answer.text()
    except (aiohttp.ClientError, TimeoutError) as error:
        seen.others[type(error).__name__] += 1
        return None
    took = time.perf_counter() - start
    if answer.status == 200 and '"scored"' in text:
        seen.served.append(took)
    elif answer.status == 429:
        seen.refused.append(took)
        seen.impolite += "Retry-After" not in answer.headers
        return float(answer.headers.get("Retry-After", 1))
    else:
        seen.others[str(answer.status)] += 1
    return None


async def steady(url: str, path: str, clients: int, seconds: float) -> tuple[Seen, float]:
    """Let clients ask one request after the other."""
    seen = Seen()
    async with client(url) as session:
        await asyncio.gather(
            *(ask(session, path, Seen()) for _ in range(clients))
        )  # connections are made, code is warm
        start = time.perf_counter()

        async def one() -> None:
            while time.perf_counter() - start < seconds:
                await ask(session, path, seen)

        await asyncio.gather(*(one() for _ in range(clients)))
        return seen, time.perf_counter() - start


async def crowd(url: str, path: str, clients: int) -> tuple[Seen, Seen, float]:
    """Let clients come at the same moment; give what the first requests saw, what all saw, and the seconds in all."""
    first, later = Seen(), Seen()
    async with client(url) as session:
        start = time.perf_counter()

        async def one() -> None:
            wait = await ask(session, path, first)
            while wait is not None:
                await asyncio.sleep(wait)
                wait = await ask(session, path, later)

        await asyncio.gather(*(one() for _ in range(clients)))
        return first, later, time.perf_counter() - start


def quantiles(seconds: list[float]) -> str:
    """Give p50, p95, p99 and the longest, in ms."""
    cuts = statistics.quantiles(seconds, n=100)
    told = (cuts[49], cuts[94], cuts[98], max(seconds))
    return "p50 {:.0f}, p95 {:.0f}, p99 {:.0f}, max {:.0f} ms".format(*(1000 * part for part in told))


def show_steady(options: argparse.Namespace) -> None:
    """Measure both routes one after the other."""
    clients, seconds = options.clients, options.seconds
    calls = ("--calls", str(clients * options.workers), "--workers", str(options.workers))
    for path in ROUTES:
        with serving(*calls) as (url, memory):
            asyncio.run(steady(url, path, clients, 2))
            begin, spent = memory.now(), memory.seconds()
            seen, took = asyncio.run(steady(url, path, clients, seconds))
            rate, ideal = len(seen.served) / took, clients / LATENCY
            print(f"{path}, {clients} clients, {took:.0f} s, {options.workers} worker(s)")
            print(f"  {rate:.1f} requests a second of {ideal:.0f} ({rate / ideal:.3f}); {quantiles(seen.served)}")
            cost = 1000 * (memory.seconds() - spent) / len(seen.served)
            print(f"  {cost:.2f} ms of the server's CPU a request; the machine was {psutil.getloadavg()[0]:.1f} busy")
            print(f"  errors {sum(seen.others.values()) + len(seen.refused)} {dict(seen.others)}")
            print(f"  memory {begin:.0f} MB at the start, {memory.now():.0f} at the end, {memory.most:.0f} at most")


def show_crowd(options: argparse.Namespace) -> None:
    """Measure a crowd."""
    for path in ROUTES:
        with serving("--workers", str(options.workers)) as (url, memory):
            asyncio.run(steady(url, path, 32, 2))
            begin = memory.now()
            first, later, took = asyncio.run(crowd(url, path, options.crowd))
            print(f"{path}, {options.crowd} clients at once, {options.workers} worker(s)")
            print(f"  served {len(first.served)}, {quantiles(first.served)}")
            print(f"  refused with 429 {len(first.refused)}, without Retry-After {first.impolite + later.impolite}")
            print(f"  refusals: {quantiles(first.refused)}")
            print(f"  other ends {dict(first.others + later.others)}")
            print(f"  all {len(first.served) + len(later.served)} served after {took:.1f} s, coming again as told")
            print(f"  memory {begin:.0f} MB before, {memory.most:.0f} at most, {memory.now():.0f} after")


def build_bare_body() -> dict[str, Any]:
    """Return a request of the bare server with the messages that greval sends to the judge."""
    messages: list[dict[str, str]] = []

    def answer(sent: Sequence[BaseMessage]) -> dict[str, Any]:
        messages.extend({"type": message.type, "content": message.text} for message in sent)
        return {"reason": "R.", "value": 1}

    compile_metric(load_metric("correctness"), ScriptedJudge(answer)).invoke(CASE)
    return {"input": messages}


async def send_many(url: str, path: str, body: dict[str, Any], count: int, clients: int) -> None:
    """Send a request as often as this, over as many connections as there are clients."""
    left = iter(range(count))
    async with client(url) as session:

        async def one() -> None:
            for _ in left:
                async with session.post(path, json=body) as answer:
                    text = await answer.text()
                    assert answer.status == 200, text

        await asyncio.gather(*(one() for _ in range(clients)))


def show_cost(options: argparse.Namespace) -> None:
    """Measure the CPU time of a request in rounds, in which each server answers as many requests."""
    bodies = {**dict.fromkeys(BARE_ROUTES, build_bare_body()), **ROUTES}
    costs: dict[str, list[float]] = {path: [] for path in bodies}
    with (
        judging(0) as judge,
        serving(judge=judge) as (greval_url, greval_process),
        process(str(ROOT / "benchmarks" / "bare_langserve.py"), judge) as (bare_url, running),
    ):
        bare_process = Memory(running.pid)
        for number in range(options.rounds + 1):
            for path, body in bodies.items():
                url, measured = (bare_url, bare_process) if path in BARE_ROUTES else (greval_url, greval_process)
                before = measured.seconds()
                asyncio.run(send_many(url, path, body, options.requests, options.clients))
                if number:  # the first round makes connections and warms the code
                    costs[path].append(1000 * (measured.seconds() - before) / options.requests)
    print(f"{options.rounds} rounds of {options.requests} requests, {options.clients} clients, a judge without latency")
    for path, found in costs.items():
        text = f"  {path}: {statistics.median(found):.2f} ms of CPU a request ({min(found):.2f} to {max(found):.2f})"
        for bare, name in BARE_ROUTES.items():
            ratios = [own / other for own, other in zip(found, costs[bare], strict=True)]
            text += f", {statistics.median(ratios):.2f} of {name} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(text)


async def receive_first(url: str, count: int) -> list[float]:
    """Return the seconds until the first event of each of several streams, opened one after the other."""
    path, body = "/metrics/correctness/stream", ROUTES["/metrics/correctness/invoke"]
    found = []
    async with client(url) as session:
        for _ in range(count):
            began = time.perf_counter()
            async with session.post(path, json=body) as answer:
                await answer.content.readline()
                found.append(time.perf_counter() - began)
                await answer.read()
    return found


def show_endurance(options: argparse.Namespace) -> None:
    """Measure how soon a stream begins, and the memory of the server over many requests."""
    with judging(0) as judge, serving(judge=judge) as (url, memory):
        first = asyncio.run(receive_first(url, options.requests + 1))[1:]  # the first one warms the code
        print(f"first event of {len(first)} streams, a judge without latency: {quantiles(first)}")
        path = "/v1/evaluate"
        for part in range(options.parts + 1):
            print(
                f"  memory after {part * options.many // options.parts:,} requests: {memory.now():.0f} MB", flush=True
            )
            if part < options.parts:
                asyncio.run(send_many(url, path, ROUTES[path], options.many // options.parts, options.clients))


def main() -> None:
    """Measure what is asked for."""
    shows: dict[str, Callable[[argparse.Namespace], None]] = {
        "steady": show_steady,
        "crowd": show_crowd,
        "cost": show_cost,
        "endurance": show_endurance,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=[*shows], help="all where it is left out")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--crowd", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--many", type=int, default=100_000, help="the requests of `endurance`")
    parser.add_argument("--parts", type=int, default=10, help="how often `endurance` prints the memory")
    options = parser.parse_args()
    for what in [options.what] if options.what else shows:
        shows[what](options)


if __name__ == "__main__":
    main()
