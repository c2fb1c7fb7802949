"""What the whole runner costs and how near it comes to the ideal, against a local server.

    python benchmarks/runner.py overhead     # 0 ms latency: CPU a judgement against bare calls
    python benchmarks/runner.py throughput   # 500 ms latency: wall time against the ideal at 50 and 256 in flight
    python benchmarks/runner.py memory       # peak memory at 10,000 and 1,000,000 cases
    python benchmarks/runner.py computed     # a computed metric, no server: CPU a million results, and peak memory

The number of judgements or cases is `-n`: 5,000 by default, 100,000 for `computed`.

A server in another process answers. The runner reads cases, judges them over real HTTP, checks each
answer, and has each result in the durable log; the bare loops only ask.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import aiohttp
from client_overhead import CASE as BARE_CASE
from client_overhead import METRIC as BARE_METRIC
from client_overhead import Once, bare, cpu_ms, serving
from openai import DefaultAioHttpClient

from greval import Case, Judge, evaluate_async, load_metric
from greval.judging.answer_schema import build_answer_schema
from greval.judging.prompt import format_case_text, format_system_text
from greval.metrics.computed import COMPUTED_METRICS

METRIC = "answer_alignment"
CONCURRENCY = 50
TARGET_CPU = 1.3
TARGET_BARE_HTTP = 3.0
TARGET_COMPUTED = 60.0
TARGETS = {50: 1.06, 256: 1.15}


def main() -> int:
    """Run one of the three."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=("overhead", "throughput", "memory", "computed", "cases"))
    options.add_argument("-n", type=int)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--latency", type=float, default=0.5)
    given = options.parse_args()
    n = given.n or (100_000 if given.what == "computed" else 5000)
    if given.what == "overhead":
        return asyncio.run(overhead(n, given.rounds))
    if given.what == "throughput":
        return max(throughput(n, width, given.latency) for width in TARGETS)
    if given.what == "memory":
        return memory()
    return computed(n) if given.what == "computed" else cases_only(n)


def cases(n: int) -> Iterator[Case]:
    """Give cases one by one, no two with the same content."""
    answer = "The first star to be photographed, apart from the Sun, was Vega, on 17 July 1850. " * 4
    for number in range(n):
        question = f"Which star did the probe photograph first, and when was picture {number} taken?"
        yield Case(
            id=f"q{number}", question=question, expected_answer="Vega, in 1850.", answer=answer, usage={"latency": 1.5}
        )


async def run(url: str, n: int, concurrency: int) -> int:
    """Judge n cases into a new run folder; give how many calls it took."""
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge("openai:fake", base_url=url)
        found = await evaluate_async(cases(n), [load_metric(METRIC)], judge, out=folder, concurrency=concurrency)
        assert found.progress.scored == n, found.progress
        return found.progress.usage.calls


def bare_http(url: str, session: aiohttp.ClientSession) -> Once:
    """Give one call over aiohttp that sends the same body and parses the reply; the body is ready made."""
    schema = {"name": METRIC, "schema": build_answer_schema(BARE_METRIC, many=False), "strict": True}
    messages = [
        {"role": "system", "content": format_system_text(BARE_METRIC, many=False)},
        {"role": "user", "content": format_case_text(BARE_METRIC, BARE_CASE)},
    ]
    content = {"model": "fake", "messages": messages, "temperature": 0.0}
    body = json.dumps({**content, "response_format": {"type": "json_schema", "json_schema": schema}}).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer none"}

    async def once() -> object:
        async with session.post(f"{url}/chat/completions", data=body, headers=headers) as response:
            return json.loads(await response.read())

    return once


async def overhead(n: int, rounds: int) -> int:
    """Compare CPU a judgement with bare calls, in turn, in one process."""
    found: dict[str, list[float]] = {}
    with serving() as url:
        async with DefaultAioHttpClient(timeout=60) as transport, aiohttp.ClientSession() as session:
            calls = {"bare aiohttp post": bare_http(url, session), "bare ChatOpenAI.ainvoke": bare(url, transport)}
            for once in calls.values():
                await cpu_ms(once, 200, CONCURRENCY)
            await run(url, 200, CONCURRENCY)
            for _ in range(rounds):
                for name, once in calls.items():
                    found.setdefault(name, []).append(await cpu_ms(once, n, CONCURRENCY))
                start = time.process_time()
                await run(url, n, CONCURRENCY)
                found.setdefault("greval.evaluate", []).append((time.process_time() - start) / n * 1000)
    print(f"CPU ms a judgement, {rounds} rounds of {n}, {CONCURRENCY} in flight")
    for name, figures in found.items():
        print(f"  {name:<26}{min(figures):6.3f}   ({', '.join(f'{figure:.3f}' for figure in figures)})")
    http, plain, ours = map(min, found.values())
    print(f"  ratio to ChatOpenAI {ours / plain:.3f}, target at most {TARGET_CPU}")
    print(f"  ratio to aiohttp {ours / http:.2f}, target at most {TARGET_BARE_HTTP}")
    return int(ours / plain > TARGET_CPU or ours / http > TARGET_BARE_HTTP)


def throughput(n: int, width: int, latency: float) -> int:
    """Compare wall time with the ideal: n calls of this latency, so many at once."""
    with serving("--latency", str(latency)) as url:
        asyncio.run(run(url, width, width))
        start = time.perf_counter()
        cpu = time.process_time()
        asyncio.run(run(url, n, width))
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    ideal = -(-n // width) * latency
    print(
        f"{n} judgements of {latency * 1000:.0f} ms, {width} in flight: {wall:.2f} s, ideal {ideal:.2f} s, "
        f"ratio {wall / ideal:.3f}, target at most {TARGETS[width]}; {cpu:.1f} s of CPU"
    )
    return int(wall / ideal > TARGETS[width])


def measure_cases(n: int) -> dict[str, float]:
    """Run `cases_only` in a process of its own; give its CPU and wall seconds and its peak memory."""
    told = subprocess.run([sys.executable, __file__, "cases", "-n", str(n)], check=True, capture_output=True)
    found: dict[str, float] = json.loads(told.stdout)
    return found


def computed(n: int) -> int:
    """Print the CPU of a computed metric, for a million results, and the peak memory."""
    found = measure_cases(n)
    million = found["cpu"] / n * 1_000_000
    print(
        f"{n:,} cases by a computed metric: {found['cpu']:.1f} s of CPU, peak {found['megabytes']:.0f} MB\n"
        f"  {million:.0f} s of CPU a million results, target at most {TARGET_COMPUTED:.0f}"
    )
    return int(million > TARGET_COMPUTED)


def memory() -> int:
    """Compare the peak memory of the runner at 10,000 and 1,000,000 cases, each in a process of its own."""
    peaks = {}
    for n in (10_000, 1_000_000):
        found = measure_cases(n)
        peaks[n] = found["megabytes"]
        print(f"{n:>9,} cases: {found['wall']:.1f} s, {found['cpu']:.1f} s of CPU, peak {found['megabytes']:.0f} MB")
    ratio = peaks[1_000_000] / peaks[10_000]
    print(f"  ratio of the peaks {ratio:.2f}, target at most 1.5")
    return int(ratio > 1.5)


def cases_only(n: int) -> int:
    """Run n cases through a computed metric: all of the runner but the calls."""
    with tempfile.TemporaryDirectory() as folder:
        start, cpu = time.perf_counter(), time.process_time()
        run = asyncio.run(evaluate_async(cases(n), [COMPUTED_METRICS["latency"]], out=folder, concurrency=CONCURRENCY))
        assert run.progress.scored == n, run.progress
        told = {
            "wall": time.perf_counter() - start,
            "cpu": time.process_time() - cpu,
            "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
