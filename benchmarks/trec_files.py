"""What it costs to measure TREC files, from files to figures: greval beside pytrec-eval-terrier and ir-measures.

    python benchmarks/trec_files.py                                             # 2,000,000 lines
    python benchmarks/trec_files.py -n 1000 --python ir-measures=OTHER/bin/python

nDCG@10, recall@20 and MRR of a run with 100 documents for each question, and qrels with ten. Each tool runs in a
process of its own and reads the files as its documentation says. What is counted is CPU time (user and system) from the
files to the means, imports not, and the most resident memory that the process has.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ranking import memory

DOCUMENTS, JUDGED, CORPUS = 100, 10, 1_000_000
SEPARATORS = {"space": " ", "tab": "\t"}
Work = Callable[[Path, Path], dict[str, float]]


def write_files(folder: Path, questions: int, separator: str) -> None:
    """Write a run and its qrels: ten judged documents a question, half of them retrieved, grades 0 to 2."""
    import numpy as np  # noqa: PLC0415

    draw = np.random.default_rng(1)
    with (folder / "run").open("w") as run, (folder / "qrels").open("w") as qrels:
        for question in range(questions):
            documents = ((draw.integers(CORPUS) + 997 * draw.permutation(2 * DOCUMENTS)) % CORPUS).tolist()
            scores = np.sort(30 * draw.random(DOCUMENTS))[::-1]
            for rank, (document, score) in enumerate(zip(documents, scores, strict=False), 1):
                run.write(separator.join((f"q{question}", "Q0", f"doc{document}", str(rank), f"{score:.6f}", "bm25")))
                run.write("\n")
            for document, grade in zip(documents[::20], draw.integers(0, 3, JUDGED), strict=True):
                qrels.write(separator.join((f"q{question}", "0", f"doc{document}", str(grade))) + "\n")


def prepare_greval() -> Work:
    """Return how greval measures."""
    import pyarrow.csv  # noqa: F401, PLC0415 - imported as the packages of the other tools are

    from greval import measure_rankings, read_qrels, read_trec_run  # noqa: PLC0415

    def measure(qrels: Path, run: Path) -> dict[str, float]:
        rankings = read_trec_run(run, ties="trec_eval")
        found = measure_rankings(read_qrels(qrels), rankings, ["ndcg@10", "recall@20", "mrr"])
        return {name: figure.mean or 0.0 for name, figure in found.items()}

    return measure


def prepare_pytrec() -> Work:
    """Return how pytrec-eval-terrier measures."""
    import pytrec_eval  # noqa: PLC0415

    names = {"ndcg_cut_10": "ndcg@10", "recall_20": "recall@20", "recip_rank": "mrr"}

    def measure(qrels: Path, run: Path) -> dict[str, float]:
        with qrels.open() as stream:
            judged = pytrec_eval.parse_qrel(stream)
        with run.open() as stream:
            ranked = pytrec_eval.parse_run(stream)
        evaluator = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10", "recall.20", "recip_rank"})
        rows = evaluator.evaluate(ranked).values()
        return {ours: sum(row[name] for row in rows) / len(rows) for name, ours in names.items()}

    return measure


def prepare_ir_measures() -> Work:
    """Return how ir-measures measures."""
    import ir_measures  # noqa: PLC0415
    from ir_measures import RR, R, nDCG  # noqa: PLC0415

    names = {nDCG @ 10: "ndcg@10", R @ 20: "recall@20", RR: "mrr"}

    def measure(qrels: Path, run: Path) -> dict[str, float]:
        judged, ranked = ir_measures.read_trec_qrels(str(qrels)), ir_measures.read_trec_run(str(run))
        found = ir_measures.calc_aggregate(list(names), judged, ranked)
        return {ours: found[name] for name, ours in names.items()}

    return measure


TOOLS = {"greval": prepare_greval, "pytrec-eval-terrier": prepare_pytrec, "ir-measures": prepare_ir_measures}


def measure_tool(folder: Path, tool: str) -> None:
    """Run one tool and print what it took, as JSON."""
    work = TOOLS[tool]()
    begin = time.process_time()
    means = work(folder / "qrels", folder / "run")
    print(json.dumps({"cpu": time.process_time() - begin, "peak": memory("VmHWM"), "means": means}))


def run_tool(folder: Path, tool: str, python: str) -> dict[str, Any] | None:
    """Run one tool in a process; None if it is not installed there."""
    command = [python, __file__, "--tool", tool, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{tool}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Write the files, run each tool, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--questions", type=int, default=20_000)
    parser.add_argument("--separator", choices=SEPARATORS, default="space")
    parser.add_argument("--python", action="append", default=[], metavar="TOOL=PATH", help="the Python a tool is in")
    parser.add_argument("--tool", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.tool:
        measure_tool(given.folder, given.tool)
        return
    pythons = dict(pair.split("=", 1) for pair in given.python)
    with tempfile.TemporaryDirectory() as name:
        write_files(Path(name), given.questions, SEPARATORS[given.separator])
        print(f"{given.questions * DOCUMENTS:,} lines of a run, {given.questions * JUDGED:,} of qrels")
        rows = {tool: run_tool(Path(name), tool, pythons.get(tool, sys.executable)) for tool in TOOLS}
    print(f"{'tool':<22}{'CPU s':>8}{'peak MB':>9}  means")
    for tool, row in rows.items():
        if row:
            means = " ".join(f"{name} {value:.6f}" for name, value in row["means"].items())
            print(f"{tool:<22}{row['cpu']:>8.2f}{row['peak']:>9,}  {means}")


if __name__ == "__main__":
    main()
