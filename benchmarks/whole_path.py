"""Run the commands of the table "The whole path" in docs/figures.md in one run, and the same work by an older version.

    python benchmarks/whole_path.py                                  # this version only
    git worktree add --detach OLDER 57252f8
    python benchmarks/whole_path.py --before OLDER
    python benchmarks/whole_path.py --before OLDER demo overhead     # some rows

Each row prints what its command prints. The older version runs in the same environment: its own benchmark if it has
one, else a short program that does the same work. Rows without one have no older figure. All rows take about one hour
and a half on two cores. The last rows are not in the table: what a run survives, and profiles of what misses its aim.
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
from greval import Case, evaluate_async, load_metric
usage = {"latency": 0.5}
cases = (Case(id=str(n), question="Who?", answer="Ada", usage=usage) for n in range(100_000))
with tempfile.TemporaryDirectory() as folder:
    start = time.process_time()
    asyncio.run(evaluate_async(cases, [load_metric("latency")], None, out=folder + "/run"))
    print(f"{(time.process_time() - start) * 10:.0f} s of CPU a million results")
"""

DEMO = "import sys; from greval.cli import main; sys.argv[1:] = ['demo', '--full']; main()"
DEMO_BEFORE = DEMO.replace(", '--full'", "")


@dataclass(frozen=True)
class Row:
    """A row of the table: the commands of this version, and how the older one does the same, if it can.

    The folder of made data stands for `DATA` in a command.
    """

    now: tuple[tuple[str, ...], ...]
    before: tuple[str, ...] = ()


RESULTS = ("benchmarks/big_results.py", "--folder", "DATA")
DURABILITY = ("kills", "kills --signal TERM", "mix", "disk --limit", "key", "two", "hang")
BRIEF = ("benchmarks/answers.py", "--reason-depth", "brief")

ROWS = {
    "files": Row((("benchmarks/ranking_files.py",),), ("-c", FILES_BEFORE, str(HERE / "benchmarks"))),
    "prompts": Row((("benchmarks/prompt_cache.py",),)),
    "overhead": Row((("benchmarks/runner.py", "overhead"),), ("benchmarks/runner.py", "overhead")),
    "computed": Row((("benchmarks/runner.py", "computed"),), ("-c", COMPUTED_BEFORE)),
    "results": Row(
        (
            (*RESULTS, "report", "compare", "agreement", "estimate", "panel"),
            (*RESULTS, "agreement", "--labelled", "0.1"),
            (*RESULTS, "panel", "--items", "4423"),
            (*RESULTS, "panel", "--judges", "2", "--items", "500000"),
            (*RESULTS, "panel", "--grades"),
        )
    ),
    "http": Row((("benchmarks/serve_load.py", "cost", "--clients", "64", "--rounds", "4", "--requests", "300"),)),
    "demo": Row((("-c", DEMO),), ("-c", DEMO_BEFORE)),
    "tokens": Row((("benchmarks/embedded_speed.py",),)),
    "answers": Row((BRIEF,), ("benchmarks/answers.py", "-m", "correctness")),
    "evidence": Row((("benchmarks/evidence.py", "triples", "-n", "80"), ("benchmarks/evidence.py", "claims"))),
    "chunks": Row((("benchmarks/chunks.py", "-n", "20"),)),
    "durability": Row(
        (*(("benchmarks/durability.py", *words.split()) for words in DURABILITY), ("benchmarks/damage.py",))
    ),
    "profiles": Row((("benchmarks/profile_shares.py",),)),
}


def main() -> None:
    """Run the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], help="all if none is named")
    parser.add_argument("--before", type=Path, metavar="OLDER", help="a checkout of an older version")
    parser.add_argument("--data", type=Path, help="where the large run folders are kept for the next time")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        data = (args.data or Path(scratch)).resolve()
        for name in args.rows or ROWS:
            row = ROWS[name]
            run(f"{name}, now", row.now, HERE, data)
            if args.before and row.before:
                run(f"{name}, before", (row.before,), args.before.resolve(), data)


def run(title: str, commands: tuple[tuple[str, ...], ...], checkout: Path, data: Path) -> None:
    """Run commands on the code of a checkout in a new folder; print what they print, and the time and CPU of each."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            code = command[0] == "-c"
            print(f"\n== {title}{'' if code else ': ' + ' '.join(command)}", flush=True)
            words = [str(checkout / word) if word.startswith("benchmarks/") else word for word in command]
            words = [str(data) if word == "DATA" else word for word in words]
            start, spent = time.perf_counter(), read_cpu()
            done = subprocess.run([sys.executable, *words], cwd=folder, env=environment, check=False)
            seconds = time.perf_counter() - start
            print(f"-- exit {done.returncode}, {seconds:.1f} s, {read_cpu() - spent:.1f} s of CPU", flush=True)


def read_cpu() -> float:
    """Read the CPU time of all processes that this one has run, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
