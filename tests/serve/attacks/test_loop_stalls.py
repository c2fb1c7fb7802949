"""The event loop never stalls: all routes with the largest content that is allowed, measured by CPU time."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
from contextlib import contextmanager

import httpx
import psutil
import pytest
import uvicorn
from fault_server import FaultServer, ok
from served_metrics import tone
from waiting import SECONDS, until

from greval import evaluate
from greval.judging.model.judge import Judge
from greval.serve.app import create_app
from greval.serve.settings import MEGABYTE, ServerLimits, ServerSettings
from greval.serve.start import build_uvicorn_config, format_address, open_socket

MAX_TURN = 0.5
"""The most CPU seconds of one round of the event loop: what another client waits for, at most, on a free core."""
MAX_THREADS = 1.5
"""The most CPU seconds of a request in the threads of the server, with which the loop shares the interpreter."""
LIMITS = ServerLimits(rate=100_000)
BODY = 7 * MEGABYTE
TEXT = "<b>a " * (LIMITS.text // 5)
THREADS = ("files", "AnyIO", "workers")


class MeasuredLoop(asyncio.SelectorEventLoop):
    """An event loop that knows the CPU time of its longest round."""

    longest = 0.0

    def _run_once(self):
        begin = time.thread_time()
        super()._run_once()
        self.longest = max(self.longest, time.thread_time() - begin)


@contextmanager
def serve_measured(app):
    """Serve an app in a thread whose event loop is measured; give its address and the loop."""
    settings = app.state.service.settings.model_copy(update={"host": "127.0.0.1", "port": 0})
    listening, server = open_socket(settings), uvicorn.Server(build_uvicorn_config(app, log_config=None))
    loops = []

    def run():
        with asyncio.Runner(loop_factory=MeasuredLoop) as runner:
            loops.append(runner.get_loop())
            runner.run(server.serve(sockets=[listening]))

    thread = threading.Thread(target=run, name="greval-serve", daemon=True)
    thread.start()
    until(lambda: server.started or not thread.is_alive())
    # A server's process does not hold the objects of all these tests, which each collection would traverse.
    gc.freeze()
    try:
        yield format_address(settings, listening), loops[0]
    finally:
        gc.unfreeze()
        server.should_exit = True
        thread.join(SECONDS)
        listening.close()


def measure_threads():
    """Give the CPU seconds of the threads in which the server works."""
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    times = psutil.Process().threads()
    return sum(spent.user_time + spent.system_time for spent in times if names.get(spent.id, "").startswith(THREADS))


LARGE_TEXTS = [
    {
        "question": TEXT,
        "answer": TEXT,
        "expected_answer": TEXT[::-1],
        "chunks": [{"id": f"c{n}", "text": TEXT} for n in range(BODY // LIMITS.text - 4)],
    }
]
MANY_VALUES = [
    {
        "question": "a",
        "answer": "b c d",
        "expected_answer": "c",
        "chunks": [{"id": f"c{n}", "text": "a b c", "score": 0.5} for n in range(LIMITS.items)],
    }
] * LIMITS.batch


class LargestContent:
    """Makes the largest content of each field that the document of the API describes."""

    def __init__(self, document):
        self._schemas = document["components"]["schemas"]

    def fill(self, schema, name, cases):  # noqa: C901, PLR0911 - a kind of schema each
        """Give the largest value of a schema; fields of cases get these."""
        if name in {"cases", "inputs"}:
            return cases
        if name == "input":
            return cases[0]
        if "$ref" in schema:
            return self.fill(self._schemas[schema["$ref"].rpartition("/")[2]], name, cases)
        if kinds := [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]:
            return self.fill(kinds[-1], name, cases)
        match schema.get("type"):
            case "string":
                return self._fill_text(schema, name)
            case "array":
                count = min(schema.get("maxItems", 50), 50_000)
                return [self.fill(schema.get("items", {}), name, cases)] * count
            case "object" if "properties" in schema:
                return {key: self.fill(part, key, cases) for key, part in schema["properties"].items()}
            case "object":
                return {f"k{n}": "x" * 100 for n in range(5_000)}
            case "integer" | "number":
                return schema.get("maximum", 1)
            case "boolean":
                return True
        return "x" * 1000

    def _fill_text(self, schema, name):
        if "enum" in schema or "const" in schema:
            return schema.get("const", schema.get("enum", [""])[-1])
        if name == "yaml":
            return tone() + "".join(f"k{n}: 1\n" for n in range(6_000))
        known = {"metric": "correctness", "metrics": "correctness", "dataset": "data", "sample": "random:999999999"}
        return known.get(name, "x" * min(schema.get("maxLength", 64), LIMITS.text))


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """Give an app with a run of large cases, a large data set, and stored metrics of the largest size."""
    runs = tmp_path_factory.mktemp("walked") / "runs"
    cases = [
        {"id": f"q{n}", "question": f"{n} {TEXT}", "answer": TEXT, "expected_answer": "a", "method": "a"}
        for n in range(20)
    ]
    evaluate(cases, ["token_f1"], out=runs / "run")
    with FaultServer(ok()) as judge:
        judges = {"judge": Judge("openai:x", base_url=judge.url, max_retries=0)}
        yield create_app(ServerSettings(runs=runs, judges=judges, limits=LIMITS))


def list_requests(app):
    """Yield the method, the path and the content of the largest requests of each operation."""
    document = app.openapi()
    content = LargestContent(document)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            # It has no end.
            if path.endswith("/events"):
                continue
            address = path.replace("{id}", "run").replace("{name}", "tone0").replace("{version}", "1")
            query = [
                (parameter["name"], str(content.fill(parameter["schema"], parameter["name"], []))[:1_000])
                for parameter in operation.get("parameters", ())
                if parameter["in"] == "query" and parameter.get("required")
            ]
            kinds = operation.get("requestBody", {}).get("content", {})
            if "application/json" not in kinds:
                yield method, address, query, None
                continue
            schema = kinds["application/json"]["schema"]
            names = {*list_fields(schema, document)}
            for cases in (LARGE_TEXTS, MANY_VALUES) if names & {"cases", "inputs", "input"} else ((),):
                yield method, address, query, content.fill(schema, "", cases)


def list_fields(schema, document):
    """Give the fields of a body."""
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"].get(name, schema).get("properties", {})


def test_no_content_stalls_the_event_loop(app):
    """Whatever the largest request of a route makes, the loop goes on; what takes long is done by child processes."""
    stalls = []
    with serve_measured(app) as (url, loop), httpx.Client(base_url=url, timeout=SECONDS) as client:
        for n in range(3):
            text = tone(f"tone{n}") + f"instructions: {'long ' * 10_000}\n"
            client.post("/v1/metrics", json={"yaml": text}).raise_for_status()
        rows = "".join(f"{json.dumps({'question': f'{n}?', 'answer': TEXT})}\n" for n in range(30))
        client.post("/v1/datasets?name=data", content=rows, headers={"Content-Type": "application/jsonl"})
        requests = [*list_requests(app)]
        # What deletes the run, and so what others read, comes last.
        for method, path, query, body in sorted(requests, key=lambda request: request[0] == "delete"):
            loop.longest, before = 0.0, measure_threads()
            headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}
            sent = None if body is None else json.dumps(body).encode()
            answer = client.request(method, path, params=query, content=sent, headers=headers)
            assert answer.status_code != 500, (path, answer.text[:300])
            figures = round(loop.longest, 3), round(measure_threads() - before, 3)
            if figures[0] > MAX_TURN or figures[1] > MAX_THREADS:
                stalls.append((method, path, len(sent or b""), answer.status_code, *figures))
    assert len(requests) > 70
    assert not stalls
