"""Run the commands of the table "The whole path" in docs/figures.md in one run, and the same work by an older version.

    python benchmarks/whole_path.py                                  # this version only
    git worktree add --detach OLDER 57252f8
    python benchmarks/whole_path.py --before OLDER
    python benchmarks/whole_path.py --before OLDER demo overhead     # some rows

Each row prints what its command prints. The older version runs in the same environment: its own benchmark if it has
one, else a short program that does the same work. Rows without one have no older figure. All rows take about an hour on
two cores.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parents[1]

FILES_BEFORE = """
import sys, time, tempfile
from pathlib import Path
sys.path.append(sys.argv[1])
from ranking_files import write_files
from greval.columns.measuring import measure
from greval.datasets.trec import read_qrels, read_run
with tempfile.TemporaryDirectory() as folder:
    write_files(Path(folder), 20_000, " ")
    start = time.process_time()
    qrels, run = read_qrels(Path(folder, "qrels.trec")), read_run(Path(folder, "run.trec"))
    measure(qrels, run, ["ndcg@10", "recall@20", "mrr"])
    print(f"TREC files to figures: {time.process_time() - start:.2f} s of CPU")
"""

COMPUTED_BEFORE = """
import asyncio, tempfile, time
from greval import Case, evaluate_async, load
usage = {"latency": 0.5}
cases = (Case(id=str(n), question="Who?", answer="Ada", usage=usage) for n in range(100_000))
with tempfile.TemporaryDirectory() as folder:
    start = time.process_time()
    asyncio.run(evaluate_async(cases, [load("latency")], None, out=folder + "/run"))
    print(f"{(time.process_time() - start) * 10:.0f} s of CPU a million results")
"""

DEMO = "import sys; from greval.cli import main; sys.argv[1:] = ['demo']; main()"


@dataclass(frozen=True)
class Row:
    """A row of the table: the command of this version, and how the older one does the same, if it can."""

    now: tuple[str, ...]
    before: tuple[str, ...] = ()


ROWS = {
    "files": Row(("benchmarks/ranking_files.py",), ("-c", FILES_BEFORE, str(HERE / "benchmarks"))),
    "prompts": Row(("benchmarks/prompt_cache.py",)),
    "overhead": Row(("benchmarks/runner.py", "overhead"), ("benchmarks/runner.py", "overhead")),
    "computed": Row(("benchmarks/runner.py", "computed"), ("-c", COMPUTED_BEFORE)),
    "results": Row(("benchmarks/big_results.py",)),
    "http": Row(("benchmarks/serve_load.py", "cost", "--clients", "64", "--rounds", "4", "--requests", "300")),
    "demo": Row(("-c", DEMO), ("-c", DEMO)),
    "tokens": Row(("benchmarks/embedded_speed.py",)),
    "answers": Row(
        ("benchmarks/answers.py", "--reason-depth", "brief"), ("benchmarks/answers.py", "-m", "correctness")
    ),
}


def main() -> None:
    """Run the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], help="all if none is named")
    parser.add_argument("--before", type=Path, metavar="OLDER", help="a checkout of an older version")
    args = parser.parse_args()
    for name in args.rows or ROWS:
        row = ROWS[name]
        run(f"{name}, now", row.now, HERE)
        if args.before and row.before:
            run(f"{name}, before", row.before, args.before.resolve())


def run(title: str, words: tuple[str, ...], checkout: Path) -> None:
    """Run a command on the code of a checkout in a new folder, and print what it prints, its time and its CPU time."""
    print(f"\n== {title}", flush=True)
    words = tuple(str(checkout / word) if word.startswith("benchmarks/") else word for word in words)
    with tempfile.TemporaryDirectory() as folder:
        start, spent = time.perf_counter(), read_cpu()
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        done = subprocess.run([sys.executable, *words], cwd=folder, env=environment, check=False)
        seconds = time.perf_counter() - start
        print(f"-- {title}: exit {done.returncode}, {seconds:.1f} s, {read_cpu() - spent:.1f} s of CPU", flush=True)


def read_cpu() -> float:
    """Read the CPU time of all processes that this one has run, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
