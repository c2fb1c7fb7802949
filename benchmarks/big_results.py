"""What report, compare, agreement, estimate and panel cost on many results, from run folders and labels to figures.

    python benchmarks/big_results.py                             # all of them on 1,000,000 results each
    python benchmarks/big_results.py compare panel -n 100000     # some of them, on fewer results
    python benchmarks/big_results.py panel --judges 33 --items 4423
    python benchmarks/big_results.py panel --grades              # with five grades instead of right and wrong

Each command runs in a process of its own: CPU time and peak memory are those of the whole process, with Python and the
imports. `--folder` keeps the made run folders and label files for the next time. Labels are of 1 % of the items, or of
the share that `--labelled` gives. Targets: at most 20 s and 500 MB each; the exit code is 1 if one is missed.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from greval.metrics.library import load_metric
from greval.records.case import Case
from greval.records.metric import JudgedMetric, ValueMetric
from greval.records.metric_input import compute_keys
from greval.records.result import Failed, Failure, Judgement, Outcome, Result, Scored, Usage
from greval.runs.manifest import store_metrics
from greval.runs.store.writer import StoreWriter

MAX_SECONDS, MAX_MEGABYTES = 20.0, 500.0
METHODS = ("walk", "vector")
KINDS = ("single_fact", "aggregation", "comparison")
REASON = "The answer names the harbour team as the owner of the booking service; the expected answer says the same."
RIGHT = load_metric("correctness")
GRADED = ValueMetric(
    name="grade",
    description="How good the answer is.",
    needs=("question", "expected_answer", "answer"),
    steps=("Compare the answers.",),
    range=(1, 5),
    levels={1: "Wrong.", 5: "Right."},
)


class Judged(NamedTuple):
    """A run to make: its judge, metric, methods, cases, the noise of its verdicts and the share that failed."""

    judge: str
    metric: JudgedMetric
    methods: tuple[str, ...]
    cases: int
    noise: float
    failed: float = 0.0


def make_run(folder: Path, judged: Judged) -> Path:
    """Make a run folder as `greval evaluate` leaves it, unless it is there."""
    if (folder / "made").exists():
        return folder
    draw = random.Random(judged.judge)
    fingerprint = f"{draw.getrandbits(64):016x}"
    with StoreWriter.create(folder) as writer, writer.write_together():
        store_metrics(writer, [judged.metric.model_dump(mode="json")])
        for n in range(judged.cases):
            for method in judged.methods:
                case = make_case(n, method)
                content, key = compute_keys(case, judged.metric, fingerprint)
                result = Result(
                    sample_id=case.id,
                    method=method,
                    metric=judged.metric.name,
                    fingerprint=fingerprint,
                    judge=judged.judge,
                    tier="schema",
                    outcome=make_outcome(judged, draw, n, method),
                    usage=Usage(calls=1, input_tokens=400 + n % 100, output_tokens=30, cached_tokens=384),
                    latency=0.8,
                    tags=case.tags,
                )
                writer.append(key, result, content=content, case=case.model_dump_json(exclude_defaults=True))
    (folder / "made").touch()
    return folder


def make_case(n: int, method: str) -> Case:
    """Make a case of a few hundred characters."""
    return Case(
        id=f"q{n:07}",
        method=method,
        question=f"Which team owns the service that books berth {n}, and since when?",
        expected_answer="The harbour team, since the spring of 2019.",
        answer=f"Berth {n} is booked by the booking service, which the harbour team owns. " * 3,
        tags={"query_type": KINDS[n % 3]},
    )


def make_truth(n: int, method: str, metric: JudgedMetric) -> int:
    """Return what people say of an answer."""
    drawn = random.Random(f"{n} {method}").random()
    if metric.name == RIGHT.name:
        return int(drawn < (0.6 if method == METHODS[0] else 0.55))
    return 1 + int(5 * drawn)


def make_outcome(judged: Judged, draw: random.Random, n: int, method: str) -> Outcome:
    """Return a verdict: the truth, or another value at random."""
    if draw.random() < judged.failed:
        return Failed(error=Failure(kind="timeout", message="no answer within 60 s"))
    value = make_truth(n, method, judged.metric)
    if draw.random() < judged.noise:
        value = draw.choice((0, 1) if judged.metric.name == RIGHT.name else (1, 2, 3, 4, 5))
    return Scored(judgements=(Judgement(value=value, number=float(value), reason=f"{REASON} ({n})"),))


def make_labels(path: Path, cases: int, share: float) -> Path:
    """Make a file of labels of two annotators, each of a share of the answers, unless it is there."""
    if path.exists():
        return path
    draw = random.Random(str(share))
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(("id", "method", "annotator", "human_label"))
        for n in range(cases):
            for method in METHODS:
                if draw.random() < share:
                    value = make_truth(n, method, RIGHT)
                    table.writerow((f"q{n:07}", method, "ana" if n % 2 else "bob", value))
                    if n % 10 == 0:
                        other = value if draw.random() < 0.9 else 1 - value
                        table.writerow((f"q{n:07}", method, "bob" if n % 2 else "ana", other))
    return path


def make_two_methods(folder: Path, n: int, name: str = "run") -> Path:
    """Make a run of two methods and one metric, one in fifty of its judgements failed."""
    return make_run(folder / f"{name}-{n}", Judged(f"openai:{name}", RIGHT, METHODS, n // 2, 0.2, 0.02))


def list_commands(folder: Path, given: argparse.Namespace) -> Iterator[tuple[str, str, Callable[[], list[str]]]]:
    """Yield the analysis, its description, and a function that makes its data and returns the arguments of greval."""
    n = given.n
    labelled = f"{given.labelled:.0%} labelled"

    def list_labelled(name: str, *more: str) -> list[str]:
        run = make_two_methods(folder, n)
        file = make_labels(folder / f"labels-{n}-{given.labelled}.csv", n // 2, given.labelled)
        return [name, str(run), str(file), "-m", RIGHT.name, *more]

    def list_panel() -> list[str]:
        judges, metric = given.judges, GRADED if given.grades else RIGHT
        items = given.items or n // judges
        runs = [
            make_run(
                folder / f"{metric.name}-{judges}-{items}" / f"judge{j:03}",
                Judged(f"openai:judge{j:03}", metric, METHODS[:1], items, 0.1 + j / judges / 2),
            )
            for j in range(judges)
        ]
        return ["panel", *map(str, runs), "-m", metric.name]

    yield "report", "by method and tag", lambda: ["report", str(make_two_methods(folder, n)), "--by", "query_type"]
    yield "compare", "two methods", lambda: ["compare", str(make_two_methods(folder, n)), "--by", "query_type"]
    yield (
        "compare",
        "two runs",
        lambda: [
            "compare",
            str(make_two_methods(folder, n // 2, "new")),
            str(make_two_methods(folder, n // 2, "old")),
        ],
    )
    yield "agreement", labelled, lambda: list_labelled("agreement")
    yield "estimate", labelled, lambda: list_labelled("estimate", "--baseline", METHODS[1])
    yield "panel", f"{given.judges} judges x {given.items or n // given.judges:,} items", list_panel


def measure(command: list[str]) -> tuple[float, float]:
    """Run a command of greval in a process of its own, and return its CPU seconds and its peak memory in MB."""
    words = [sys.executable, "-m", "greval", *command]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"greval {command[0]}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> int:
    """Make the data of each analysis, run it and print a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = ("report", "compare", "agreement", "estimate", "panel")
    parser.add_argument("analyses", nargs="*", help=f"all by default: {', '.join(known)}")
    parser.add_argument("-n", type=int, default=1_000_000, help="how many results (a million)")
    parser.add_argument("--judges", type=int, default=33, help="how many judges the panel has")
    parser.add_argument("--items", type=int, help="how many items each of them judged; by default n / judges")
    parser.add_argument("--labelled", type=float, default=0.01, help="the share of the items that people labelled")
    parser.add_argument("--grades", action="store_true", help="let the panel give grades from 1 to 5")
    parser.add_argument("--folder", type=Path, help="where the run folders are kept")
    parser.add_argument("--show", action="store_true", help="print the commands instead of running them")
    given = parser.parse_args()
    if unknown := set(given.analyses) - {*known}:
        parser.error(f"no such analysis: {', '.join(sorted(unknown))}; known are {', '.join(known)}")
    missed = False
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{given.n:,} results\n{'':40}{'CPU s':>8}  {'peak MB':>8}", flush=True)
        for name, described, list_arguments in list_commands(folder, given):
            if given.analyses and name not in given.analyses:
                continue
            command = list_arguments()
            if given.show:
                print("greval", *command)
                continue
            seconds, megabytes = measure(command)
            missed |= seconds > MAX_SECONDS or megabytes > MAX_MEGABYTES
            print(f"{name + ', ' + described:<40}{seconds:8.1f}  {megabytes:8.0f}", flush=True)
    print(f"targets: at most {MAX_SECONDS:.0f} s and {MAX_MEGABYTES:.0f} MB each: {'missed' if missed else 'met'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
