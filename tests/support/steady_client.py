"""A client that asks a server small things again and again: how long each answer took, and which were wrong.

As a command it gets the URL and a key, asks until its input ends, and prints what it saw as JSON. A process of its own
measures the server, and not what else the measuring process does.
"""

from __future__ import annotations

import http.client
import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

SECONDS = 60.0
"""The seconds after which an answer is given up."""
CASE = {"question": "When does it open?", "expected_answer": "At nine.", "answer": "At nine."}


class SteadyRequest(NamedTuple):
    """What is asked for again and again, with the seconds between two requests: a key has 600 a minute."""

    method: str
    path: str
    body: str
    media_type: str
    pause: float


REQUESTS = {
    "health": SteadyRequest("GET", "/health", "", "application/json", 0.2),
    "evaluate": SteadyRequest(
        "POST", "/v1/evaluate", json.dumps({"cases": [CASE], "metrics": ["token_f1"]}), "application/json", 0.2
    ),
    "upload": SteadyRequest("POST", "/v1/datasets?name=row", json.dumps(CASE), "application/jsonl", 1.5),
}


@dataclass
class SeenAnswers:
    """The seconds of the right answers, and what came in place of others."""

    pause: float
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def p99(self) -> float:
        """The 99th percentile of the time within which a request is answered, whenever it is sent.

        While one answer is awaited, no other request is sent. Those that would have been are counted too, with the time
        that they would have waited; else a server that stands still for a minute would have one slow answer.
        """
        waits = sorted(
            took - later * self.pause for took in self.seconds for later in range(max(1, math.ceil(took / self.pause)))
        )
        return waits[math.ceil(0.99 * len(waits)) - 1] if waits else math.inf

    @property
    def longest(self) -> float:
        return max(self.seconds, default=math.inf)

    def __str__(self) -> str:
        return f"p99 {self.p99:.3f} s, max {self.longest:.3f} s of {len(self.seconds)}, {len(self.wrong)} wrong"


@dataclass
class SteadyClient:
    """A running client; `stop` ends it."""

    _process: subprocess.Popen[str]

    def stop(self) -> dict[str, SeenAnswers]:
        """End it after the requests in flight, and return what it saw."""
        told, _ = self._process.communicate("stop\n")
        return {kind: SeenAnswers(**seen) for kind, seen in json.loads(told).items()}


@contextmanager
def asking_steadily(url: str, key: str) -> Iterator[SteadyClient]:
    """Ask the server with this key in a process of its own."""
    command = [sys.executable, __file__, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        process.stdin.write(f"{key}\n")
        process.stdin.flush()
        try:
            yield SteadyClient(process)
        finally:
            process.kill()


def ask_until(stop: threading.Event, url: str, key: str, request: SteadyRequest, seen: SeenAnswers) -> None:
    """Ask one request after the other."""
    parts = urlsplit(url)
    line = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=SECONDS)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": request.media_type}
    while not stop.is_set():
        start = time.perf_counter()
        try:
            line.request(request.method, request.path, request.body or None, headers)
            answer = line.getresponse()
            content = answer.read()
            fault = "" if answer.status in {200, 201} else f"{answer.status}: {content[:200]!r}"
            fault = fault or _find_fault(request.path, json.loads(content))
        except (OSError, http.client.HTTPException, ValueError) as error:
            fault = f"{type(error).__name__}: {error}"
            line.close()
        took = time.perf_counter() - start
        seen.seconds.append(took)
        if fault:
            seen.wrong.append(fault)
        stop.wait(max(0.0, request.pause - took))
    line.close()


def _find_fault(path: str, answer: Any) -> str:
    if path != "/v1/evaluate":
        return ""
    with suppress(KeyError, IndexError, TypeError):
        if answer["results"][0]["outcome"]["judgements"][0]["value"] == 1:
            return ""
    return f"not the value: {str(answer)[:200]}"


def main() -> None:
    """Ask until the second line of the input."""
    key = sys.stdin.readline().strip()
    stop = threading.Event()
    seen = {kind: SeenAnswers(request.pause) for kind, request in REQUESTS.items()}
    threads = [
        threading.Thread(target=ask_until, args=(stop, sys.argv[1], key, request, seen[kind]))
        for kind, request in REQUESTS.items()
    ]
    for thread in threads:
        thread.start()
    sys.stdin.readline()
    stop.set()
    for thread in threads:
        thread.join()
    sys.stdout.write(json.dumps({kind: asdict(answers) for kind, answers in seen.items()}))


if __name__ == "__main__":
    main()
