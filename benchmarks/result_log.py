"""What a run folder of many results costs: writing, opening, looking up, reporting, exporting.

    python benchmarks/result_log.py -n 1000000

Each phase runs in a process of its own, so that its peak of memory is its own; that peak includes
Python and the imports (the line "nothing"). Time is of the phase alone, without imports.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from greval.analysis.summary import build_report
from greval.metrics.library import load_metric
from greval.records.metric_input import hash_json
from greval.records.result import Failed, Failure, Judgement, Outcome, Result, Scored, Usage
from greval.runs.manifest import store_metrics
from greval.runs.store import Store, exports
from greval.runs.store.writer import StoreWriter

REASON = "The answer names the harbour team as the owner of the booking service; the expected answer says the same."
METHODS = ("walk", "local", "global", "vector")
KINDS = ("single_fact", "aggregation", "comparison")


def rows(count: int) -> Iterator[tuple[str, str, Result]]:
    """Make results as a run of four methods and two metrics has them, one in fifty of them failed."""
    for n in range(count):
        name, method = ("correctness", "relevance")[n % 2], METHODS[n // 2 % 4]
        result = Result(
            sample_id=f"q{n // 8:06}",
            method=method,
            metric=name,
            fingerprint="3f94cf0af29d0086",
            judge="openai:gpt-5.4-mini",
            tier="schema",
            outcome=_outcome(n),
            usage=Usage(calls=1, input_tokens=400 + n % 100, output_tokens=30, cached_tokens=384),
            latency=0.8,
            tags={"query_type": KINDS[n // 8 % 3]},
        )
        yield hash_json(["key", n]), hash_json(["content", n]), result


def _outcome(n: int) -> Outcome:
    if n % 50 == 49:
        return Failed(error=Failure(kind="timeout", message="no answer within 60 s"))
    value = n * 7919 % 10 < 6
    return Scored(judgements=(Judgement(value=int(value), number=float(value), reason=f"{REASON} ({n})"),))


def append(folder: Path, count: int) -> None:
    """Write every result, and bring the log to the disk once a second, as a run does."""
    made = rows(count)
    flushed = time.monotonic()
    with StoreWriter.create(folder) as writer:
        store_metrics(writer, [load_metric(name).model_dump(mode="json") for name in ("correctness", "relevance")])
        for key, content, result in made:
            writer.append(key, result, content=content)
            if time.monotonic() - flushed >= 1:
                writer.flush()
                flushed = time.monotonic()


def generate(folder: Path, count: int) -> None:  # noqa: ARG001 - the phases have one form
    """Only make the results, to be taken off the first phase."""
    for _ in rows(count):
        pass


def reopen(folder: Path, count: int) -> None:  # noqa: ARG001 - as above
    """Open the folder of a stopped run until the first result is looked up."""
    with StoreWriter.create(folder) as writer:
        assert writer.same(hash_json(["nobody"])) is None


def resume(folder: Path, count: int) -> None:
    """Open the folder, look every key up and read its row."""
    with StoreWriter.create(folder) as writer:
        assert all(writer.get(key, (row.sample_id, row.method, row.metric)) for key, _, row in rows(count))


def report(folder: Path, count: int) -> None:
    """Build the report by method and by tag."""
    with Store.open(folder) as store:
        found = build_report(store, by=("method", "query_type"))
    assert sum(summary.planned for summary in found.summaries) == count


def jsonl(folder: Path, count: int) -> None:  # noqa: ARG001 - as above
    """Export JSON lines."""
    with Store.open(folder) as store, (folder / "out.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in store.lines())


def csv(folder: Path, count: int) -> None:  # noqa: ARG001 - as above
    """Export a CSV table."""
    with Store.open(folder) as store, (folder / "out.csv").open("w", encoding="utf-8", newline="") as file:
        exports.write_csv(store.lines(), file)


def parquet(folder: Path, count: int) -> None:  # noqa: ARG001 - as above
    """Export a Parquet table."""
    with Store.open(folder) as store:
        exports.write_parquet(store.lines(), folder / "out.parquet")


def nothing(folder: Path, count: int) -> None:
    """Do nothing: what Python and the imports take."""


PHASES: dict[str, Callable[[Path, int], None]] = {
    phase.__name__: phase for phase in (nothing, generate, append, reopen, resume, report, jsonl, csv, parquet)
}


def measured(phase: str, folder: Path, count: int) -> dict[str, float]:
    """Run a phase in this process and say what it took."""
    start, cpu = time.perf_counter(), time.process_time()
    PHASES[phase](folder, count)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    return {"wall": wall, "cpu": cpu, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main() -> None:
    """Run the phases one after the other and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=1_000_000, help="how many results (a million)")
    parser.add_argument("--phases", nargs="*", default=[*PHASES], choices=[*PHASES])
    parser.add_argument("--folder", type=Path, help="where the log is kept afterwards")
    parser.add_argument("--phase", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.phase:
        print(json.dumps(measured(args.phase, args.folder, args.n)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        _table(args.phases, args.folder or Path(scratch), args.n)


def _table(phases: list[str], folder: Path, count: int) -> None:
    print(f"{count:,} results\n{'phase':>10}  {'wall s':>8}  {'CPU s':>8}  {'peak MB':>8}", flush=True)
    for phase in phases:
        command = [sys.executable, __file__, "--phase", phase, "--folder", str(folder), "-n", str(count)]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(f"{phase:>10}  {told['wall']:8.2f}  {told['cpu']:8.2f}  {told['memory']:8.0f}", flush=True)
        if phase == "append":
            size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
            print(f"{'':>10}  {size:,.0f} MB on disk")


if __name__ == "__main__":
    main()
