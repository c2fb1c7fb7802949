"""What the whole runner costs and how near it comes to the ideal, against a local server.

    python benchmarks/runner.py overhead     # 0 ms latency: CPU a judgement against a bare ChatOpenAI loop
    python benchmarks/runner.py throughput   # 500 ms latency: wall time against the ideal at 50 and 256 in flight
    python benchmarks/runner.py memory       # peak memory at 10,000 and 1,000,000 cases

A server in another process answers. The runner reads cases, judges them over real HTTP, checks each
answer, and has each result in the durable log; the bare loop only asks.
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
from statistics import median

from client_overhead import bare, cpu_ms, serving
from openai import DefaultAioHttpClient

from greval import Case, Judge, evaluate_async, load_metric
from greval.metrics.computed import COMPUTED_METRICS

METRIC = "answer_alignment"
CONCURRENCY = 50
TARGET_CPU = 1.3
TARGETS = {50: 1.06, 256: 1.15}


def main() -> int:
    """Run one of the three."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=("overhead", "throughput", "memory", "cases"))
    options.add_argument("-n", type=int, default=5000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--latency", type=float, default=0.5)
    given = options.parse_args()
    if given.what == "overhead":
        return asyncio.run(overhead(given.n, given.rounds))
    if given.what == "throughput":
        return max(throughput(given.n, width, given.latency) for width in TARGETS)
    if given.what == "memory":
        return memory()
    return cases_only(given.n)


def cases(n: int) -> Iterator[Case]:
    """Give cases one by one, no two with the same content."""
    answer = "The first star to be photographed, apart from the Sun, was Vega, on 17 July 1850. " * 4
    for number in range(n):
        question = f"Which star did the probe photograph first, and when was picture {number} taken?"
        yield Case(id=f"q{number}", question=question, expected_answer="Vega, in 1850.", answer=answer)


async def run(url: str, n: int, concurrency: int) -> int:
    """Judge n cases into a new run folder; give how many calls it took."""
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge("openai:fake", base_url=url)
        found = await evaluate_async(cases(n), [load_metric(METRIC)], judge, out=folder, concurrency=concurrency)
        assert found.progress.scored == n, found.progress
        return found.progress.usage.calls


async def overhead(n: int, rounds: int) -> int:
    """Compare CPU a judgement with a bare loop, in turn, in one process."""
    found: dict[str, list[float]] = {"bare ChatOpenAI.ainvoke": [], "greval.evaluate": []}
    with serving() as url:
        async with DefaultAioHttpClient(timeout=60) as transport:
            once = bare(url, transport)
            await cpu_ms(once, 200, CONCURRENCY)
            await run(url, 200, CONCURRENCY)
            for _ in range(rounds):
                found["bare ChatOpenAI.ainvoke"].append(await cpu_ms(once, n, CONCURRENCY))
                start = time.process_time()
                await run(url, n, CONCURRENCY)
                found["greval.evaluate"].append((time.process_time() - start) / n * 1000)
    print(f"CPU ms a judgement, {rounds} rounds of {n}, {CONCURRENCY} in flight")
    for name, figures in found.items():
        print(f"  {name:<26}{median(figures):6.3f}   ({', '.join(f'{figure:.3f}' for figure in figures)})")
    plain, ours = map(median, found.values())
    print(f"  ratio {ours / plain:.3f}, target at most {TARGET_CPU}")
    return int(ours / plain > TARGET_CPU)


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


def memory() -> int:
    """Compare the peak memory of the runner at 10,000 and 1,000,000 cases, each in a process of its own."""
    peaks = {}
    for n in (10_000, 1_000_000):
        told = subprocess.run([sys.executable, __file__, "cases", "-n", str(n)], check=True, capture_output=True)
        found = json.loads(told.stdout)
        peaks[n] = found["megabytes"]
        print(f"{n:>9,} cases: {found['wall']:.1f} s, {found['cpu']:.1f} s of CPU, peak {found['megabytes']:.0f} MB")
    ratio = peaks[1_000_000] / peaks[10_000]
    print(f"  ratio of the peaks {ratio:.2f}, target at most 1.5")
    return int(ratio > 1.5)


def cases_only(n: int) -> int:
    """Run n cases through a computed metric: all of the runner but the calls."""
    with tempfile.TemporaryDirectory() as folder:
        start, cpu = time.perf_counter(), time.process_time()
        read = (Case.model_validate({**case.model_dump(), "usage": {"latency": 1.5}}) for case in cases(n))
        run = asyncio.run(evaluate_async(read, [COMPUTED_METRICS["latency"]], out=folder, concurrency=CONCURRENCY))
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
