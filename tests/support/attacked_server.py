"""A real server with two keys: one attacks it, the other goes on with its work, and what that costs is measured."""

from __future__ import annotations

import asyncio
import io
import socket
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import httpx
import psutil
from fault_server import FaultServer
from serving import Running, server_process
from steady_client import REQUESTS, SeenAnswers, asking_steadily
from waiting import SECONDS

from greval.serve.middleware.api_keys import add_key

ATTACKER, OTHER = "ana", "bob"
IDLE_SECONDS = 6.0
AFTER_SECONDS = 6.0
"""The seconds for which the other key goes on when the attack has done what it does."""
JUDGE_SECONDS = 3.0
LOOK_SECONDS = 0.1
ORPHAN_SECONDS = 40.0
"""Less than the CPU time of a task, so that a task whose server is gone is seen; far more than its end takes."""


@dataclass
class Attacker:
    """What an attack has: the server's address, its own key, the folder of its runs, and the judge of the server.

    Connections in `held` stay open until the server has ended. `answers` counts what came back.
    """

    url: str
    key: str
    runs: Path
    judge: FaultServer
    session: aiohttp.ClientSession
    answers: Counter[str] = field(default_factory=Counter)
    held: list[asyncio.StreamWriter] = field(default_factory=list)

    @property
    def head(self) -> str:
        return f"Host: {urlsplit(self.url).netloc}\r\nAuthorization: Bearer {self.key}\r\n"

    async def send(
        self, method: str, path: str, content: bytes = b"", kind: str = "application/json", seconds: float = 60.0
    ) -> bytes:
        """Send a request, count its status, and return the body; after these seconds the client is gone."""
        headers = {"Authorization": f"Bearer {self.key}", **({"Content-Type": kind} if content else {})}
        try:
            async with asyncio.timeout(seconds):
                data = io.BytesIO(content) if content else None
                async with self.session.request(method, self.url + path, data=data, headers=headers) as came:
                    body = await came.read()
        except TimeoutError:
            self.answers["gave up"] += 1
            return b""
        except aiohttp.ClientError as error:
            self.answers[type(error).__name__] += 1
            return b""
        self.answers[str(came.status)] += 1
        return body

    async def connect(self, content: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection that is held, and send this on it."""
        parts = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        self.held.append(writer)
        if content:
            writer.write(content)
        return reader, writer


Attack = Callable[[Attacker], Awaitable[None]]


@dataclass(frozen=True)
class AttackFigures:
    """What an attack cost.

    `attacked` is what the other key saw during and after the attack, by what it asked for. Memory is the most that the
    server's own process held, and the most that its child processes held together, in MB. `end` is the seconds from
    SIGTERM to the exit, while the attack's connections are still open.
    """

    attacked: dict[str, SeenAnswers]
    answers: Counter[str]
    memory: float
    children: float
    end: float
    code: int
    orphans: list[str]

    def __str__(self) -> str:
        counts = ", ".join(f"{count} x {answer}" for answer, count in sorted(self.answers.items()))
        others = "; ".join(f"{kind} {seen}" for kind, seen in self.attacked.items())
        return (
            f"other key: {others}; server {self.memory:.0f} MB, children "
            f"{self.children:.0f} MB; ended {self.end:.1f} s after SIGTERM with {self.code}, "
            f"{len(self.orphans)} orphans; attacker saw {counts}"
        )


class ProcessWatch:
    """Looks at the memory of a process and of those that it started."""

    def __init__(self, pid: int) -> None:
        """Begin to look."""
        self._process = psutil.Process(pid)
        self._ended = threading.Event()
        self.memory = self.children = 0.0
        self._family: set[psutil.Process] = set()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._ended.set()
        self._thread.join()

    def list_orphans(self) -> list[str]:
        """Wait until all have ended, long enough for a busy machine, and return those that still run."""
        _, alive = psutil.wait_procs(self._family, timeout=ORPHAN_SECONDS)
        found = []
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                found.append(f"{process.pid} {process.cmdline()}")
                process.kill()
        return found

    def _look(self) -> None:
        while not self._ended.is_set():
            with suppress(psutil.Error, OSError, ValueError):
                self.memory = max(self.memory, _read_peak(self._process.pid))
                family = self._process.children(recursive=True)
                self._family.update(family)
                self.children = max(self.children, sum(map(_read_memory, family)))
            self._ended.wait(LOOK_SECONDS)


def _read_peak(pid: int) -> float:
    """Return the most memory that a process ever held, in MB, as the system counts it; 0 if it has just ended."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6


def _read_memory(process: psutil.Process) -> float:
    """Return the memory that a process alone holds, in MB: what forked processes share counts once."""
    try:
        return float(process.memory_info().rss - process.memory_info().shared) / 1e6
    except psutil.Error:
        return 0.0


class SilentServer:
    """A server that takes connections and answers nothing; use it as a context manager."""

    def __enter__(self) -> str:
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=1_000)
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._listening.close()


@contextmanager
def attacked_server(folder: Path) -> Iterator[tuple[Running, dict[str, str], FaultServer]]:
    """Run a server with its usual limits, a slow judge, a silent Argilla and two keys; give it, the keys, the judge."""
    file = folder / "keys.json"
    keys = {name: add_key(file, name) for name in (ATTACKER, OTHER)}
    with (
        FaultServer(latency=JUDGE_SECONDS) as judge,
        SilentServer() as argilla,
        server_process(
            *("--keys", file, "--runs", folder / "runs"),
            *("--judge", "judge=openai:x", "--base-url", judge.url),
            folder=folder,
            environment={"ARGILLA_API_URL": argilla, "ARGILLA_API_KEY": "none"},
        ) as server,
    ):
        # The process that tasks are forked from has imported all before the first answer.
        request = REQUESTS["evaluate"]
        headers = {"Authorization": f"Bearer {keys[OTHER]}", "Content-Type": request.media_type}
        httpx.post(server.url + request.path, content=request.body, headers=headers, timeout=SECONDS).raise_for_status()
        yield server, keys, judge


@contextmanager
def launched(
    attack: Attack, url: str, key: str, runs: Path, judge: FaultServer
) -> Iterator[tuple[threading.Event, Counter[str]]]:
    """Run an attack in a thread; give the event that it has done all, and the count of answers."""
    done, answers, over = threading.Event(), Counter[str](), asyncio.Event()
    errors: list[Exception] = []
    loop = asyncio.new_event_loop()

    async def run() -> None:
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as session:
            attacker = Attacker(url, key, runs, judge, session, answers)
            try:
                await attack(attacker)
            except Exception as error:  # noqa: BLE001 - it is raised where the attack was launched
                errors.append(error)
            done.set()
            await over.wait()
            for writer in attacker.held:
                writer.transport.abort()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), name="attack", daemon=True)
    thread.start()
    try:
        yield done, answers
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(SECONDS)
        loop.close()
    if errors:
        raise errors[0]


def measure_idle(folder: Path) -> dict[str, SeenAnswers]:
    """Measure what the other key sees of a server of its own that nobody attacks."""
    folder.mkdir()
    with attacked_server(folder) as (server, keys, _), asking_steadily(server.url, keys[OTHER]) as other:
        time.sleep(IDLE_SECONDS)
        return other.stop()


def measure_attack(attack: Attack, folder: Path) -> AttackFigures:
    """Attack a server of its own, and measure what the other key and the machine see of it."""
    with attacked_server(folder) as (server, keys, judge):
        runs = folder / "runs" / ATTACKER
        watch = ProcessWatch(server.process.pid)
        with (
            asking_steadily(server.url, keys[OTHER]) as other,
            launched(attack, server.url, keys[ATTACKER], runs, judge) as (done, answers),
        ):
            assert done.wait(SECONDS), "the attack did not end"
            time.sleep(AFTER_SECONDS)
            attacked = other.stop()
            start = time.monotonic()
            code = server.stop()
            end = time.monotonic() - start
        watch.stop()
    return AttackFigures(attacked, answers, watch.memory, watch.children, end, code, watch.list_orphans())
