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
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import CO_VARARGS
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import httpx

from greval import Case, Judge, ScriptedJudge, ServerSettings, create_app, evaluate_async, load_metric, push_to_argilla
from greval.records.result import Result

MAX_STAYS = 18
MAX_SERVE_MODULES = 11
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


def count_run_reads() -> int:
    """Return how often a push to a stand-in of Argilla reads the judged items of a run."""
    return 0
