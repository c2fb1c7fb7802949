"""Real servers for tests: an app behind uvicorn in a thread, or the command in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import uvicorn
from fastapi import FastAPI
from waiting import SECONDS, until

from greval.judging.model.judge import Judge
from greval.serve.app import create_app
from greval.serve.service import Service
from greval.serve.settings import ServerLimits, ServerSettings
from greval.serve.start import build_uvicorn_config, format_address, open_socket

SERVER = Path(__file__).parents[2] / "server.py"
CASE = {"question": "When does it open?", "expected_answer": "At nine.", "answer": "At nine."}
ASKED = {"cases": [CASE], "metrics": ["correctness"]}
INVOKED = {"input": CASE}


@dataclass
class Served:
    """An app that is served in a thread of this process: its address, and what its routes share."""

    url: str
    app: FastAPI
    server: uvicorn.Server

    @property
    def service(self) -> Service:
        return self.app.state.service


@contextmanager
def served(app: FastAPI) -> Iterator[Served]:
    """Serve an app on a free port of 127.0.0.1 with the settings of uvicorn that `greval serve` has.

    Start and end hooks run; the end waits for what is in flight. Use it where streams, clients that go away or
    sockets matter; `fastapi.testclient.TestClient(app)` serves the rest.
    """
    settings: ServerSettings = app.state.service.settings
    listening = open_socket(settings.model_copy(update={"host": "127.0.0.1", "port": 0}))
    server = uvicorn.Server(build_uvicorn_config(app, log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="greval-serve", daemon=True)
    thread.start()
    until(lambda: server.started or not thread.is_alive())
    assert server.started, "the server did not start; see its log above"
    try:
        yield Served(format_address(settings.model_copy(update={"host": "127.0.0.1"}), listening), app, server)
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        listening.close()


def judging(url: str, runs: Path, keys: Path | None = None, **limits: float) -> AbstractContextManager[Served]:
    """Serve with a judge at an address, these keys and these limits."""
    judges = {"judge": Judge("openai:x", base_url=url)}
    return served(create_app(ServerSettings(runs=runs, judges=judges, keys=keys, limits=ServerLimits(**limits))))


@dataclass
class Running:
    """A server in a process of its own: its address, the process, the file of what it said, and what it printed."""

    url: str
    process: subprocess.Popen[str]
    log_file: Path = field(repr=False)
    link: str = ""

    @property
    def log(self) -> str:
        return self.log_file.read_text(encoding="utf-8")

    def kill(self) -> None:
        """End it and its workers as kill -9 does."""
        for process in list_family(self.process.pid):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        self.process.wait(SECONDS)

    def stop(self, seconds: float = SECONDS) -> int:
        """End it in order, as SIGTERM does, and give its exit code."""
        self.process.terminate()
        return self.process.wait(seconds)


@contextmanager
def server_process(
    *words: object, folder: Path, environment: Mapping[str, str] | None = None, token: bool = False
) -> Iterator[Running]:
    """Run `greval serve` with these words on a free port, in this folder; its address is told once it answers.

    Without `token` it wants none. With it, `link` is the address that it prints.

    Start it again with the same words and folder after `kill()` to see what it goes on with. What is not stopped at
    the end of the `with` is killed.
    """
    log_file = folder / f"serve-{time.monotonic_ns()}.log"
    own = (*(() if "--port" in words else ("--port", "0")), *(() if token else ("--no-token",)))
    command = [sys.executable, str(SERVER), *own, *map(str, words)]
    with log_file.open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=log,
            stdin=subprocess.DEVNULL,
            text=True,
        )
    assert process.stdout
    link = process.stdout.readline().strip()
    running = Running(link.partition("/#")[0], process, log_file, link)
    try:
        assert running.url, running.log
        assert httpx.get(f"{running.url}/health", timeout=SECONDS).status_code == 200
        yield running
    finally:
        if process.poll() is None:
            running.kill()
        process.stdout.close()


def list_family(pid: int) -> list[psutil.Process]:
    """Give a process and all that it started, itself first: it starts its workers again."""
    try:
        parent = psutil.Process(pid)
    except psutil.NoSuchProcess:
        return []
    return [parent, *parent.children(recursive=True)]
