"""Judge the cases of the demo by the embedded model, and write the run that greval ships in greval/demo/run.

    greval local fetch; python benchmarks/demo_run.py

It takes about ten minutes of CPU; the same command again continues. The labels of the run (annotations.jsonl) are
written by hand. At the end it prints how far the difference between the methods depends on single questions and on the
numbers of the random generator.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from greval import Judge, evaluate, load_metrics
from greval.cli.demo import METRICS, SHIPPED_RUN, read_demo_cases
from greval.runs.evaluation import Run
from greval.runs.store import FILE
from greval.stats.paired import sign_flip_test

SEEDS = 100


def read_differences(run: Run) -> list[float]:
    """Read how much higher the number of `walk` is than that of `local`, question by question."""
    numbers: dict[str, dict[str, float]] = defaultdict(dict)
    for result in run.results():
        if result.metric == METRICS[0] and result.outcome.status == "scored":
            numbers[result.sample_id][result.method] = result.judgements[0].number or 0.0
    return [both["walk"] - both["local"] for both in numbers.values() if len(both) == 2]


def describe_robustness(differences: Sequence[float]) -> str:
    """Describe the difference, without each question in turn and with other seeds of the bootstrap."""
    values = np.array(differences)
    without = [sign_flip_test(np.delete(values, number)) for number in range(len(values))]
    ends = []
    for seed in range(SEEDS):
        draws = np.random.default_rng(seed).choice(values, size=(2_000, len(values)))
        ends.append(float(np.quantile(draws.mean(axis=1), 0.025)))
    return (
        f"walk - local: {values.mean():+.3f}, p {sign_flip_test(values):.4f}; without each question in turn p is at "
        f"most {max(without):.4f}; with {SEEDS} seeds the interval begins between {min(ends):+.3f} and {max(ends):+.3f}"
    )


def main() -> None:
    """Judge what is missing, and store the log without what the disk kept for further writes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--work", type=Path, default=Path("runs/demo-judged"), help="the folder to judge in; continued")
    parser.add_argument("--out", type=Path, default=SHIPPED_RUN, help="the folder of the run that is shipped")
    options = parser.parse_args()
    cases = [*read_demo_cases()]
    for count in range(1, len(METRICS) + 1):
        run = evaluate(cases, load_metrics(METRICS[:count]), Judge("local"), out=options.work)
        print(run.progress)
    if run.stopped or run.progress.failed:
        sys.exit(f"not all was judged: {run.why or run.progress}")
    target = options.out / FILE
    target.unlink(missing_ok=True)
    with sqlite3.connect(run.folder / FILE) as log:
        log.execute("VACUUM INTO ?", (str(target),))
    print(f"{target}: {target.stat().st_size:,} bytes")
    print(describe_robustness(read_differences(run)))


if __name__ == "__main__":
    main()
