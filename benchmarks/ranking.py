"""What ranking measures over large data cost: greval's columns beside ranx, pytrec-eval-terrier and ir-measures.

    python benchmarks/ranking.py --python ranx=OTHER/bin/python

nDCG@10, recall@20 and MRR of 100,000 questions with 100 documents each, ids being texts. Each tool runs
in a process of its own. What is counted is CPU time (user and system) from the data in memory, as Arrow
columns or as Python dictionaries, to the means: conversion included, reading and imports not. "data" is the
memory of the process before the tool begins, with Python, the imports and the data; "peak" is the most it
has while the tool works, and "added" is what the tool adds to the data. All three are resident memory.
A tool that compiles (ranx) has measured a small run before; that is printed as "warm-up". Python's garbage
collector is off in all of them.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

GREVAL = "greval"
TOOLS = (GREVAL, "pytrec-eval-terrier", "ir-measures", "ranx")
FORMS = ("columns", "dicts")
JUDGED = 10
WARM_UP = 200
Nested = dict[str, dict[str, Any]]
Work = Callable[[Any, Any], dict[str, float]]


def make(folder: Path, questions: int, documents: int, *, shuffled: bool) -> None:
    """Write a run and its qrels: ten judged documents a question, six of them retrieved, grades 0 to 2."""
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    draw = np.random.default_rng(1)
    corpus = max(1_000_000, 10 * documents)
    steps = np.argsort(draw.random((questions, documents)), axis=1)
    picked = (draw.integers(corpus, size=(questions, 1)) + 997 * steps) % corpus
    scores = np.sort(draw.random((questions, documents)), axis=1)[:, ::-1]
    found = np.take_along_axis(picked, np.argsort(draw.random((questions, documents)), axis=1)[:, :6], axis=1)
    judged = np.concatenate([found, (picked[:, : JUDGED - 6] + 1) % corpus], axis=1)
    order = draw.permutation(documents) if shuffled else np.arange(documents)
    named = pa.array([f"q{n}" for n in range(questions)])
    docs = pa.array([f"doc{n}" for n in range(corpus)])

    def table(size: int, columns: dict[str, Any]) -> Any:  # noqa: ANN401 - pyarrow is untyped
        return pa.table({"question": named.take(pa.array(np.repeat(np.arange(questions), size))), **columns})

    run = {"document": docs.take(pa.array(picked[:, order].ravel())), "score": scores[:, order].ravel()}
    gold = {"document": docs.take(pa.array(judged.ravel())), "grade": draw.integers(0, 3, judged.size)}
    parquet.write_table(table(documents, run), folder / "run.parquet")
    parquet.write_table(table(JUDGED, gold), folder / "qrels.parquet")


def nested(table: Any) -> Nested:  # noqa: ANN401 - pyarrow is untyped
    """Turn columns into dictionaries in the quickest way there is: a slice of two lists for each question."""
    import pyarrow.compute as pc  # noqa: PLC0415

    asked = pc.run_end_encode(table["question"].combine_chunks())
    ends, names = asked.run_ends.to_pylist(), asked.values.to_pylist()
    documents, numbers = table.column(1).to_pylist(), table.column(2).to_pylist()
    spans = zip(names, [0, *ends], ends, strict=False)
    return {name: dict(zip(documents[a:b], numbers[a:b], strict=True)) for name, a, b in spans}


def of_greval(form: str) -> Work:
    """Measure with greval."""
    from greval.ranking import Qrels, Rankings, measure_rankings  # noqa: PLC0415

    def columns(gold: Any, run: Any) -> dict[str, float]:  # noqa: ANN401 - pyarrow is untyped
        qrels = Qrels.from_columns(*gold.columns)
        rankings = Rankings.from_columns(run["question"], run["document"], scores=run["score"])
        return means(qrels, rankings)

    def dicts(gold: Nested, run: Nested) -> dict[str, float]:
        return means(Qrels.from_dicts(gold), Rankings.from_dicts(run))

    def means(qrels: Qrels, rankings: Rankings) -> dict[str, float]:
        measured = measure_rankings(qrels, rankings, ["ndcg@10", "recall@20", "mrr"])
        return {name: figure.mean or 0.0 for name, figure in measured.items()}

    return columns if form == "columns" else dicts


def of_pytrec(form: str) -> Work:
    """Measure with pytrec-eval-terrier."""
    import pytrec_eval  # noqa: PLC0415

    names = {"ndcg_cut_10": "ndcg@10", "recall_20": "recall@20", "recip_rank": "mrr"}

    def work(gold: Any, run: Any) -> dict[str, float]:  # noqa: ANN401
        qrels, rankings = (gold, run) if form == "dicts" else (nested(gold), nested(run))
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "recall.20", "recip_rank"})
        rows = evaluator.evaluate(rankings)
        return {ours: sum(row[name] for row in rows.values()) / len(rows) for name, ours in names.items()}

    return work


def of_ir_measures(form: str) -> Work:
    """Measure with ir-measures."""
    import ir_measures  # noqa: PLC0415
    from ir_measures import RR, R, nDCG  # noqa: PLC0415

    names = {nDCG @ 10: "ndcg@10", R @ 20: "recall@20", RR: "mrr"}

    def work(gold: Any, run: Any) -> dict[str, float]:  # noqa: ANN401
        qrels, rankings = (gold, run) if form == "dicts" else (nested(gold), nested(run))
        found = ir_measures.calc_aggregate(list(names), qrels, rankings)
        return {ours: found[name] for name, ours in names.items()}

    return work


def of_ranx(form: str) -> Work:
    """Measure with ranx."""
    from ranx import Qrels, Run, evaluate  # noqa: PLC0415

    names = {"ndcg@10": "ndcg@10", "recall@20": "recall@20", "mrr": "mrr"}

    def work(gold: Any, run: Any) -> dict[str, float]:  # noqa: ANN401
        qrels, rankings = (gold, run) if form == "dicts" else (nested(gold), nested(run))
        found = evaluate(Qrels(qrels), Run(rankings), list(names), make_comparable=True)
        return {ours: float(found[name]) for name, ours in names.items()}

    return work


MAKERS = {GREVAL: of_greval, "pytrec-eval-terrier": of_pytrec, "ir-measures": of_ir_measures, "ranx": of_ranx}


def child(folder: Path, tool: str, form: str) -> None:
    """Run one tool and print what it took, as JSON."""
    from pyarrow import parquet  # noqa: PLC0415

    work = MAKERS[tool](form)
    gold, run = (parquet.read_table(folder / f"{name}.parquet", use_threads=False) for name in ("qrels", "run"))
    small = gold.slice(0, WARM_UP * JUDGED), run.slice(0, WARM_UP * run.num_rows // (gold.num_rows // JUDGED))
    if form == "dicts":
        gold, run, small = nested(gold), nested(run), tuple(map(nested, small))
    gc.disable()
    warm = cpu()
    work(*small)
    forget_peak()
    held, begin = memory("VmRSS"), cpu()
    means = work(gold, run)
    took, most = cpu() - begin, memory("VmHWM")
    print(json.dumps({"cpu": took, "warm": begin - warm, "held": held, "peak": most, "means": means}))


def cpu() -> float:
    """Give the seconds of CPU of this process so far, user and system."""
    return time.process_time()


def forget_peak() -> None:
    """Let the peak of memory be counted from here, as reading the data may have taken more."""
    Path("/proc/self/clear_refs").write_text("5")


def memory(line: str) -> int:
    """Give the resident memory of this process, or its peak, in MB; Linux tells it."""
    lines = dict(text.split(":", 1) for text in Path("/proc/self/status").read_text().splitlines())
    return int(lines[line].split()[0]) // 1024


def measured(folder: Path, tool: str, form: str, python: str) -> dict[str, Any] | None:
    """Run one tool in a process; None where it is not installed there."""
    command = [python, __file__, "--child", tool, form, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{tool}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def show(form: str, rows: dict[str, dict[str, Any]]) -> None:
    """Print the table of one form, and how greval compares."""
    print(f"\nfrom {form}\n{'tool':<22}{'CPU s':>8}{'warm-up':>9}{'data MB':>9}{'peak MB':>9}{'added MB':>10}  means")
    for tool, row in rows.items():
        means = " ".join(f"{name} {value:.6f}" for name, value in row["means"].items())
        sizes = f"{row['held']:>9,}{row['peak']:>9,}{row['peak'] - row['held']:>10,}"
        print(f"{tool:<22}{row['cpu']:>8.2f}{row['warm']:>9.2f}{sizes}  {means}")
    others = [row for tool, row in rows.items() if tool != GREVAL]
    if GREVAL in rows and others:
        own, fastest = rows[GREVAL], min(row["cpu"] for row in others)
        leanest = min(row["peak"] for row in others)
        added = own["peak"] - own["held"], min(row["peak"] - row["held"] for row in others)
        print(f"greval is {fastest / own['cpu']:.1f} times as fast as the fastest other;", end=" ")
        print(f"its peak is {own['peak'] / leanest:.2f} of the leanest other's;", end=" ")
        print(f"it adds {added[0]:,} MB to the data, the leanest other {added[1]:,} MB")


def main() -> None:
    """Make the data and run each tool on each form."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--questions", type=int, default=100_000)
    parser.add_argument("--documents", type=int, default=100, help="documents of each question")
    parser.add_argument("--shuffled", action="store_true", help="rows of a question in any order, not best first")
    parser.add_argument("--python", action="append", default=[], metavar="TOOL=PATH", help="the Python a tool is in")
    parser.add_argument("--form", action="append", choices=FORMS, help="what to start from; both if not given")
    parser.add_argument("--tool", action="append", choices=TOOLS, help="which tools; all if not given")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        child(asked.folder, *asked.child)
        return
    pythons = dict(given.split("=", 1) for given in asked.python)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, asked.questions, asked.documents, shuffled=asked.shuffled)
        for form in asked.form or FORMS:
            runs = {t: measured(folder, t, form, pythons.get(t, sys.executable)) for t in asked.tool or TOOLS}
            show(form, {tool: row for tool, row in runs.items() if row})


if __name__ == "__main__":
    main()
