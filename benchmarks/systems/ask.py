"""Asks each method each question and prints a line of JSON for each: run by the systems' own Python.

python ask.py '{"address": URL, "methods": {NAME: SPEC}, "questions": [...]}'
"""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.request

from greval.methods.loading import load_method
from greval.methods.protocol import Method
from greval.records.case import Sample

MARK = "ANSWER "


def main() -> None:
    """Load the methods, all in this process as `greval collect` has them, and ask them."""
    given = json.loads(sys.argv[1])
    methods = {name: load_method(spec) for name, spec in given["methods"].items()}
    asyncio.run(asked(given["address"], methods, given["questions"]))


async def asked(address: str, methods: dict[str, Method], questions: list[str]) -> None:
    """Ask one question after another, then the first five times at once, and tell what came."""
    for name, method in methods.items():
        for question in questions:
            before = counts(address)
            row = await told(method, question)
            spent = {count: after - before[count] for count, after in counts(address).items()}
            print(MARK + json.dumps({"method": name, "question": question, "server": spent, **row}), flush=True)
        before = counts(address)
        rows = await asyncio.gather(*[told(method, questions[0]) for _ in range(5)])
        calls = [row["response"]["usage"]["llm_calls"] if "response" in row else None for row in rows]
        made = counts(address)["calls"] - before["calls"]
        print(MARK + json.dumps({"method": name, "at_once": calls, "server": made}), flush=True)


async def told(method: Method, question: str) -> dict:
    """Give the response, or the error."""
    try:
        response = await method(Sample(question=question))
    except Exception as error:  # noqa: BLE001 - an error is what a failed row holds
        return {"error": f"{type(error).__name__}: {error}"}
    return {"response": response.model_dump()}


def counts(address: str) -> dict[str, int]:
    """Ask the server what it counted."""
    with urllib.request.urlopen(address.removesuffix("v1") + "counts", timeout=10) as reply:  # noqa: S310 - our own
        return json.load(reply)


if __name__ == "__main__":
    main()
