"""The chat server of the comparison: answers in each tool's own form, fails by a seeded plan, and counts.

    python benchmarks/neighbours/server.py --tool ragas [--latency 0.02] [--faults SEED --hang-at 1000]

It prints the address of the chat API and that of its counters, and serves until its input ends.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from aiohttp import web

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from fault_server import Behaviour, Body, FaultServer, error, hangs, numbers, resets, says

BLOCK = 100
MIX = {"429 now": 5, "429 in 1 s": 5, "500": 5, "reset": 2, "malformed": 5, "off scale": 2}
"""Of each 100 requests, so many fail in each way; their order is drawn from the seed."""
HANG_SECONDS = 600
LETTERS_PER_TOKEN = 4
REASON = "It names what decides."
VALUES = ("value", "score", "verdict", "rating", "result")
"""What the tools call the field that holds the verdict."""


@dataclass(frozen=True)
class Form:
    """How a tool wants a verdict: one on its scale, one off it, and the text where no schema is sent."""

    good: object = 1
    off: object = 7
    text: Callable[[object], str] = lambda value: json.dumps({"reason": REASON, "value": value})


FORMS: Mapping[str, Form] = {
    "deepeval": Form(text=lambda value: json.dumps({"reason": REASON, "score": value})),
    "inspect-ai": Form("C", "X", lambda value: f"{REASON}\n\nGRADE: {value}"),
    "mlflow": Form("1", "7", lambda value: json.dumps({"result": value, "rationale": REASON})),
    "ragas": Form("1", "7", lambda value: json.dumps({"reason": REASON, "value": value, "verdict": 1, "rating": 2})),
}


class Counting(FaultServer):
    """A fault server that tells what it counted under an address of its own."""

    def __init__(self, plan: Callable[[Body], Behaviour], faults: Counter[str], *, latency: float) -> None:
        """Keep the plan and the counter that the plan fills."""
        super().__init__(plan, latency=latency)
        self.faults = faults
        self.stats = ""

    def __enter__(self) -> Self:
        super().__enter__()
        self._counters = asyncio.run_coroutine_threadsafe(self._count(), self._loop).result()
        return self

    def __exit__(self, *problem: object) -> None:
        asyncio.run_coroutine_threadsafe(self._counters.cleanup(), self._loop).result()
        super().__exit__(*problem)

    async def _count(self) -> web.AppRunner:
        app = web.Application()
        app.add_routes([web.get("/stats", self._tell), web.post("/reset", self._reset)])
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.stats = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    async def _tell(self, _: web.Request) -> web.Response:
        messages = sum(len(text) for body in self.bodies for text in texts(body))
        schemas = sum(
            len(json.dumps(body[key])) for body in self.bodies for key in ("response_format", "tools") if key in body
        )
        told = {
            "calls": self.calls,
            "most": self.most,
            "tokens": messages // LETTERS_PER_TOKEN,
            "schema_tokens": schemas // LETTERS_PER_TOKEN,
            "faults": dict(self.faults),
        }
        return web.json_response(told)

    async def _reset(self, _: web.Request) -> web.Response:
        self.bodies.clear()
        self.headers.clear()
        self.faults.clear()
        self.most = 0
        return web.json_response({})


def texts(body: Body) -> Iterator[str]:
    """Give all texts of the messages of a request."""
    for message in body["messages"]:
        content = message.get("content") or ""
        yield from [content] if isinstance(content, str) else (part.get("text", "") for part in content)


def answers(form: Form, value: object, *, cut: bool = False) -> Behaviour:
    """Answer with a verdict in the form that the request wants; `cut` sends the first half of it only."""

    async def answer(request: web.Request, body: Body) -> web.StreamResponse:
        function = body["tools"][0]["function"] if body.get("tools") else None
        wanted = (body.get("response_format") or {}).get("json_schema")
        schema = function["parameters"] if function else wanted and wanted["schema"]
        text = json.dumps(sample(schema, body, value, form.good)) if schema else form.text(value)
        text = text[: len(text) // 2] if cut else text
        if function:
            return await says(None, calls=[{"name": function["name"], "arguments": text}])(request, body)
        return await says(text)(request, body)

    return answer


def sample(
    schema: Mapping[str, Any], body: Body, value: object, good: object, root: Mapping[str, Any] | None = None
) -> Any:  # noqa: ANN401 - JSON
    """Give content that a schema allows, with the value in the field that holds the verdict."""
    root = root or schema
    if "$ref" in schema:
        schema = root[schema["$ref"].split("/")[1]][schema["$ref"].split("/")[-1]]
    if "anyOf" in schema:
        schema = next(part for part in schema["anyOf"] if part.get("type") != "null")
    if schema.get("type") == "object":
        return {
            name: verdict(field, value, good)
            if name in VALUES and plain(field)
            else sample(field, body, value, good, root)
            for name, field in schema["properties"].items()
        }
    if schema.get("type") == "array":
        entry = sample(schema["items"], body, value, good, root)
        if isinstance(entry, dict) and "item" in entry:
            return [{**entry, "item": number} for number in numbers(body)]
        return [entry]
    if "enum" in schema:
        return schema["enum"][0]
    return {"integer": 1, "number": 1, "boolean": True}.get(schema.get("type", ""), REASON)


def plain(field: Mapping[str, Any]) -> bool:
    """Tell whether a field holds one word or number."""
    return field.get("type") not in {"object", "array"} and "$ref" not in field


def verdict(field: Mapping[str, Any], value: object, good: object) -> object:
    """Give the verdict in the field's own type; a field whose words are not those of the form gets its first word."""
    words = field.get("enum") or ([field["const"]] if "const" in field else [])
    if words and good not in words:
        return words[0]
    if field.get("type") == "boolean":
        return bool(value) if value == good else value
    return value


def faulty(form: Form, faults: Counter[str], seed: int, hang_at: int) -> Callable[[Body], Behaviour]:
    """Give a plan that fails by the mix; request `hang_at` (from 0) hangs, in addition."""
    draw = random.Random(seed)
    ways: Mapping[str, Behaviour] = {
        "429 now": error(429, "rate_limit_exceeded", Retry_After="0"),
        "429 in 1 s": error(429, "rate_limit_exceeded", Retry_After="1"),
        "500": error(500),
        "reset": resets(),
        "malformed": answers(form, form.good, cut=True),
        "off scale": answers(form, form.off),
        "hang": hangs(HANG_SECONDS),
        "": answers(form, form.good),
    }
    names = order(draw, hang_at)

    def behave(_: Body) -> Behaviour:
        name = next(names)
        if name:
            faults[name] += 1
        return ways[name]

    return behave


def order(draw: random.Random, hang_at: int) -> Iterator[str]:
    """Give the name of each request's fault, or nothing."""
    number = 0
    while True:
        block = [name for name, share in MIX.items() for _ in range(share)]
        block += [""] * (BLOCK - len(block))
        draw.shuffle(block)
        for name in block:
            yield "hang" if number == hang_at else name
            number += 1


def main() -> None:
    """Serve until the input ends."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tool", required=True)
    options.add_argument("--latency", type=float, default=0.0)
    options.add_argument("--faults", type=int, metavar="SEED")
    options.add_argument("--hang-at", type=int, default=-1)
    given = options.parse_args()
    form, faults = FORMS.get(given.tool, Form()), Counter[str]()
    well = answers(form, form.good)
    plan = (lambda _: well) if given.faults is None else faulty(form, faults, given.faults, given.hang_at)
    with Counting(plan, faults, latency=given.latency) as server:
        print(server.url, server.stats, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
