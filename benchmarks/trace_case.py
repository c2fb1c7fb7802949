"""How far one case travels through greval: the modules that its calls enter, counted in this process.

    python benchmarks/trace_case.py
    python benchmarks/trace_case.py --path

Three figures, each with its target. A fake judge answers, and no server starts:

- The stays of one case in `evaluate` with one metric: calls that get a `Case`, a `Result` or the outcome of a case, in
  their order; consecutive calls into one module are one stay. Coroutines that go on after an `await` are not counted.
- The modules of `greval.serve` that one `POST /v1/evaluate` of one case enters, from the first line of the request to
  the last line of its answer.
- How often `push_to_argilla` reads the judged items of a run, against a server that has none of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from inspect import CO_VARARGS
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import ClassVar, NamedTuple
from urllib.parse import urlsplit

import httpx

from greval import Case, evaluate, evaluate_async, load_metric, push_to_argilla
from greval.records.result import Result
from greval.serve import ServerSettings, create_app
from greval.testing import ScriptedJudge

MAX_STAYS = 19
MAX_SERVE_MODULES = 17
MAX_RUN_READS = 1
CASE = {"id": "q1", "question": "Who wrote it?", "expected_answer": "Ada", "answer": "Ada Lovelace."}
REPLY = {"reason": "The answer names her.", "findings": [], "value": 1}


class Call(NamedTuple):
    """A call of a Python function: its module, its name, and whether a case or a result was passed to it."""

    module: str
    function: str
    has_case: bool


@contextmanager
def record_calls() -> Iterator[list[Call]]:
    """Record the calls of greval's functions, in this thread and in those that start meanwhile."""
    calls: list[Call] = []
    entered: set[FrameType] = set()  # a coroutine that goes on is the same frame again

    def profile(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event != "call" or not module.startswith("greval.") or frame in entered:
            return
        entered.add(frame)
        code = frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & CO_VARARGS)
        given = [frame.f_locals.get(name) for name in code.co_varnames[:count]]
        calls.append(Call(module, code.co_qualname, any(isinstance(one, Case | Result) for one in given)))

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type] # as sys.setprofile takes it


def trace_evaluation() -> list[str]:
    """Return the modules in which one case stays during `evaluate`, in order."""
    judge, metric = ScriptedJudge([REPLY]), load_metric("correctness")
    with tempfile.TemporaryDirectory() as folder, record_calls() as calls:
        asyncio.run(evaluate_async([Case.model_validate(CASE)], [metric], judge, out=folder))
    return [module for module, _ in groupby(call.module for call in calls if call.has_case)]


async def trace_request() -> list[str]:
    """Return the modules of `greval.serve` that one request enters, in the order of the first call.

    The request is the second one of a server, because the first one also builds the middleware and the metrics.
    """
    with tempfile.TemporaryDirectory() as folder, record_calls() as calls:
        app = create_app(ServerSettings(runs=Path(folder)), {"fake": ScriptedJudge([REPLY])})
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8000") as client:
            for _ in range(2):
                calls.clear()
                response = await client.post("/v1/evaluate", json={"cases": [CASE], "metrics": ["correctness"]})
                response.raise_for_status()
    return [*dict.fromkeys(call.module for call in calls if call.module.startswith("greval.serve."))]


class ArgillaStandIn(BaseHTTPRequestHandler):
    """The routes of Argilla that a push of new records needs; it remembers the parts of its one dataset."""

    parts: ClassVar[dict[str, list[dict[str, object]]]] = {"workspaces": [{"id": "w", "name": "w"}]}

    def do_GET(self) -> None:
        """Return one workspace, the parts of the dataset, and no dataset or record."""
        self._send({"items": self.parts.get(urlsplit(self.path).path.rpartition("/")[2], []), "total": 0})

    def do_POST(self) -> None:
        """Create a dataset or a part of it."""
        created = {"id": "d", "status": "draft", **json.loads(self.rfile.read(int(self.headers["Content-Length"])))}
        if not self.path.endswith("/datasets"):
            self.parts.setdefault(self.path.rpartition("/")[2], []).append(created)
        self._send(created)

    def do_PUT(self) -> None:
        """Accept records, and that the dataset is published."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._send({})

    def log_message(self, *_: object) -> None:
        """Write no log."""

    def _send(self, content: object) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def count_run_reads() -> int:
    """Return how often a push of new records reads the judged cases of a run."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), ArgillaStandIn)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        with tempfile.TemporaryDirectory() as folder:
            evaluate([CASE], [load_metric("correctness")], ScriptedJudge([REPLY]), out=folder)
            with record_calls() as calls:
                pushed = push_to_argilla(folder, "correctness", dataset="d", url=url, key="k")
    finally:
        server.shutdown()
        server.server_close()
    if pushed.added != 1:
        raise SystemExit(f"expected 1 pushed record, got {pushed.added}")
    return sum(call.function == "read_judged_cases" for call in calls)


def main() -> None:
    """Print the three figures; exit with 1 if one exceeds its target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", action="store_true", help="print the modules as well")
    stays, modules = trace_evaluation(), asyncio.run(trace_request())
    if parser.parse_args().path:
        print(" -> ".join(stays), *modules, sep="\n")
    figures = {
        "stays of a case in evaluate": (len(stays), MAX_STAYS),
        "modules of greval.serve in POST /v1/evaluate": (len(modules), MAX_SERVE_MODULES),
        "reads of the run in push_to_argilla": (count_run_reads(), MAX_RUN_READS),
    }
    for what, (found, most) in figures.items():
        print(f"{what}: {found} (at most {most})")
    raise SystemExit(any(found > most for found, most in figures.values()))


if __name__ == "__main__":
    main()
