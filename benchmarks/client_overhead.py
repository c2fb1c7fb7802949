"""CPU per judgement of the compiled runnable, against a bare `ChatOpenAI.ainvoke` of the same messages.

    python benchmarks/client_overhead.py [--rounds 5] [--calls 1000] [--concurrency 64]

A server in another process answers at once. Both sides use the aiohttp transport and ask for the same
JSON schema; only the runnable validates the answer. The rounds alternate in one process, and what is
measured is its user and system time. The target is a ratio of at most 1.25.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from openai import DefaultAioHttpClient

from greval.judging.answer_schema import build_answer_schema
from greval.judging.model.judge import Judge
from greval.judging.prompt import format_case_text, format_system_text
from greval.records.case import Case
from greval.records.metric import CategoricalMetric
from greval.records.result import Scored
from greval.runs.runnable import compile_metric

TARGET = 1.25
SERVER = Path(__file__).parents[1] / "tests" / "support" / "fault_server.py"
METRIC = CategoricalMetric(
    name="answer_alignment",
    description="Whether the answer says what the expected answer says.",
    needs=["question", "expected_answer", "answer"],
    steps=["List the facts of the expected answer.", "Find each in the answer.", "Weigh what is missing or wrong."],
    categories={
        "Correct": {"means": "Every fact is there, none is wrong.", "score": 1},
        "Acceptable": {"means": "The main fact is there.", "score": 0.75},
        "Not Acceptable": {"means": "The main fact is missing.", "score": 0.25},
        "Incorrect": {"means": "A fact is wrong.", "score": 0},
    },
)
CASE = Case(
    id="q1",
    question="Which star did the probe photograph first, and in which year was the picture taken?",
    expected_answer="Vega, in 1850.",
    answer="The first star to be photographed, apart from the Sun, was Vega, on 17 July 1850. " * 4,
)
Once = Callable[[], Awaitable[object]]


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """Give the address of a server in another process; the options are those of the fault server."""
    with subprocess.Popen(
        [sys.executable, str(SERVER), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin
        assert server.stdout
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()


def bare(url: str, transport: DefaultAioHttpClient) -> Once:
    """Give one call of a bare model, with the messages and the schema ready made."""
    model = ChatOpenAI(
        model="fake",
        base_url=url,
        api_key="none",
        temperature=0.0,
        timeout=60,
        max_retries=0,
        http_async_client=transport,
    )
    messages = [SystemMessage(format_system_text(METRIC, many=False)), HumanMessage(format_case_text(METRIC, CASE))]
    schema = {"name": METRIC.name, "schema": build_answer_schema(METRIC, many=False), "strict": True}
    body = {"response_format": {"type": "json_schema", "json_schema": schema}}
    return lambda: model.ainvoke(messages, extra_body=body)


def compiled(url: str) -> Once:
    """Give one call of the compiled runnable, case in and checked result out."""
    runnable = compile_metric(METRIC, Judge("openai:fake", base_url=url, max_retries=0))

    async def once() -> object:
        result = await runnable.ainvoke(CASE)
        assert isinstance(result.outcome, Scored), result.outcome
        return result

    return once


async def cpu_ms(once: Once, calls: int, concurrency: int) -> float:
    """Give the CPU milliseconds a call, user and system, of `calls` calls."""
    left = iter(range(calls))

    async def work() -> None:
        for _ in left:
            await once()

    gc.collect()
    start = time.process_time()
    await asyncio.gather(*(work() for _ in range(concurrency)))
    return (time.process_time() - start) / calls * 1000


async def measure(url: str, *, rounds: int, calls: int, concurrency: int) -> dict[str, list[float]]:
    """Give the figures of all rounds, the sides in turn and each first in every other round."""
    async with DefaultAioHttpClient(timeout=60) as transport:
        sides = {"bare ChatOpenAI.ainvoke": bare(url, transport), "compiled runnable": compiled(url)}
        found: dict[str, list[float]] = {name: [] for name in sides}
        for once in sides.values():
            await cpu_ms(once, min(calls, 200), concurrency)
        for number in range(rounds):
            for name in [*sides] if number % 2 else [*reversed(sides)]:
                found[name].append(await cpu_ms(sides[name], calls, concurrency))
    return found


def main() -> int:
    """Measure, print, and say whether the target is met."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--calls", type=int, default=1000)
    options.add_argument("--concurrency", type=int, default=64)
    given = options.parse_args()
    with serving() as url:
        found = asyncio.run(measure(url, rounds=given.rounds, calls=given.calls, concurrency=given.concurrency))
    print(f"CPU ms a call, {given.rounds} rounds of {given.calls} calls, {given.concurrency} in flight")
    for name, figures in found.items():
        print(f"  {name:<26}{median(figures):6.3f}   ({', '.join(f'{figure:.3f}' for figure in figures)})")
    plain, ours = found.values()
    ratio = median(ours) / median(plain)
    print(
        f"  ratio of the medians      {ratio:6.3f}   target at most {TARGET}: {'met' if ratio <= TARGET else 'missed'}"
    )
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
