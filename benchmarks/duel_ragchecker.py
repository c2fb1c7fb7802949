"""How well preferences and claim metrics of a judge agree with people: RAGChecker's meta-evaluation, 70 pairs.

    python benchmarks/duel_ragchecker.py                                  # one preference, the embedded model
    python benchmarks/duel_ragchecker.py --preferences comprehensiveness overall_preference --judge openai:MODEL
    python benchmarks/duel_ragchecker.py --claims -n 10 --judge MODEL     # claim metrics of each answer too

Two people rated each pair from -2 to 2 (a positive label favours the second answer) for correctness, completeness and
overall. A judge's difference is what it says of the second answer less what it says of the first. Correlations are
those of RAGChecker (Ru and others, 2024): each difference against both labels of its pair. Pairwise accuracy is the
share of pairs in which the judge favours the same answer as the mean of the two labels; pairs that people call equal
are left out, and a judge that calls the answers equal gets half. Intervals resample pairs. Beside them stand the length
of the answers alone, the figures of RAGChecker's own judge that come with the data, and one person against the other.
The same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ConstantInputWarning, pearsonr, spearmanr

from greval import Case, Judge, Run, evaluate, load_metric
from greval.analysis import summarise_duel
from greval.runs.progress import Progress
from greval.stats.interval import Measured

DATA = Path(__file__).parents[2] / "shared" / "data" / "ragchecker_meta_eval_70" / "pairs.jsonl"
ASPECTS = ("correctness", "completeness", "overall")
CLAIM_METRICS = {"correctness": "claim_precision", "completeness": "claim_recall", "overall": "claim_f1"}
SIDES = ("a", "b")
REPEATS = 2000


def main() -> None:
    """Judge the pairs, and print how well each way agrees with people."""
    args = read_arguments()
    warnings.simplefilter("ignore", ConstantInputWarning)  # a resample in which the judge decides no pair
    if not DATA.exists():
        sys.exit(f"{DATA}: expected the pairs of RAGChecker's meta-evaluation; nothing is there")
    rows = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()][: args.n]
    judge = Judge(args.judge, base_url=args.base_url, timeout=600, reason=args.reason)
    print(f"{len(rows)} pairs, judge {args.judge}\n")
    print(f"{'':<34}{'aspect':<15}{'accuracy':<24}{'Pearson':<24}Spearman")
    for aspect in ASPECTS:
        labels = {row["id"]: row["human"][aspect] for row in rows}
        report("one person, for the other", aspect, {key: one for key, (one, _) in labels.items()}, labels, others=True)
        report("RAGChecker's judge", aspect, {row["id"]: read_recorded(row, aspect) for row in rows}, labels)
        report("length alone", aspect, {row["id"]: len(row["answer_b"]) - len(row["answer_a"]) for row in rows}, labels)
    for name in args.preferences:
        report_preference(name, rows, judge, args.out / name)
    if args.claims:
        report_claims(rows, judge, args.out / "claims")


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", default="local")
    parser.add_argument("--base-url")
    parser.add_argument("--reason", choices=("before", "after"), help="the place of the reason, by default the judge's")
    parser.add_argument("--preferences", nargs="*", default=["overall_preference"], metavar="METRIC")
    parser.add_argument("--claims", action="store_true", help="judge the claims of each answer too")
    parser.add_argument("-n", type=int, default=70, help="the first pairs")
    parser.add_argument("--out", type=Path, default=Path("runs/duel_ragchecker"))
    return parser.parse_args()


def report_preference(name: str, rows: Sequence[Mapping[str, Any]], judge: Judge, out: Path) -> None:
    """Judge each pair in both orders by a preference, and print how well it agrees with people, and its habits."""
    start = time.perf_counter()
    run = evaluate(build_pairs(rows), [load_metric(name)], judge, out=out, total=len(rows), on_progress=tell_progress)
    numbers = {key: number for (key, _), number in read_numbers(run, name).items()}
    for aspect in ASPECTS:
        labels = {row["id"]: row["human"][aspect] for row in rows}
        report(name, aspect, {key: 0.5 - number for key, number in numbers.items()}, labels)
    findings = summarise_duel(run, [name]).metrics[0]
    habits = findings.habits
    print(
        f"{name}: flips {show(habits.flip_rate)}, first shown wins {show(habits.first_shown)}, ties "
        f"{show(habits.tie_share)}, length effect {show(habits.length_effect)}; {describe_cost(run, start)}"
    )


def report_claims(rows: Sequence[Mapping[str, Any]], judge: Judge, out: Path) -> None:
    """Judge the claims of both answers of each pair, and print how well the differences agree with people."""
    start = time.perf_counter()
    metrics = [load_metric(name) for name in CLAIM_METRICS.values()]
    cases = [*build_answers(rows)]
    run = evaluate(cases, metrics, judge, out=out, total=len(cases), on_progress=tell_progress)
    for aspect, name in CLAIM_METRICS.items():
        scores = read_numbers(run, name)
        differences = {
            row["id"]: scores[row["id"], "b"] - scores[row["id"], "a"]
            for row in rows
            if all((row["id"], side) in scores for side in SIDES)
        }
        report(name, aspect, differences, {row["id"]: row["human"][aspect] for row in rows})
    print(f"claims: {describe_cost(run, start)}")


def build_pairs(rows: Iterable[Mapping[str, Any]]) -> Iterator[Case]:
    """Make a case of each pair, with the second answer as the other response."""
    for row in rows:
        other = {"answer": row["answer_b"], "method": "b"}
        yield Case(
            id=row["id"], question=row["question"], answer=row["answer_a"], method="a vs b", other_response=other
        )


def build_answers(rows: Iterable[Mapping[str, Any]]) -> Iterator[Case]:
    """Make a case of each answer of each pair."""
    for row in rows:
        for side in SIDES:
            yield Case(
                id=row["id"],
                question=row["question"],
                expected_answer=row["expected_answer"],
                answer=row[f"answer_{side}"],
                method=side,
            )


def read_numbers(run: Run, metric: str) -> dict[tuple[str, str], float]:
    """Return the number of each sample and method; those that failed or were skipped are missing."""
    return {
        (row.sample_id, row.method): row.judgements[0].number
        for row in run.results()
        if row.metric == metric and row.judgements
    }


def read_recorded(row: Mapping[str, Any], aspect: str) -> float:
    """Return the difference of RAGChecker's own scores of a pair."""
    scores = row["judge_ragchecker"][aspect]
    return float(scores["b"] - scores["a"])


def report(
    who: str,
    aspect: str,
    differences: Mapping[str, float],
    labels: Mapping[str, Sequence[int]],
    *,
    others: bool = False,
) -> None:
    """Print the accuracy and the correlations of differences with the labels of people, with their 95 % intervals.

    With `others`, the differences are those of the first person, and only the second one's labels count.
    """
    keys = [key for key in labels if key in differences]
    mine = np.array([differences[key] for key in keys], float)
    people = np.array([labels[key][1:] if others else labels[key] for key in keys], float)
    draw = np.random.default_rng(7)
    samples = draw.integers(0, len(keys), (REPEATS, len(keys)))
    figures = []
    for measure in (compute_accuracy, correlate_pearson, correlate_spearman):
        spread = [measure(mine[sample], people[sample]) for sample in samples]
        low, high = np.nanpercentile(spread, [2.5, 97.5])
        figures.append(f"{measure(mine, people):.3f} [{low:.3f}, {high:.3f}]")
    print(f"{who:<34}{aspect:<15}" + "".join(f"{one:<24}" for one in figures) + f"n={len(keys)}", flush=True)


def compute_accuracy(differences: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of pairs in which a judge favours the answer that people favour; half for a tie of the judge."""
    wanted = np.sign(labels.mean(axis=1))
    decided = wanted != 0
    same = np.sign(differences) * wanted
    return float(((same[decided] + 1) / 2).mean())


def correlate_pearson(differences: np.ndarray, labels: np.ndarray) -> float:
    """Return Pearson's correlation of each difference with each label of its pair."""
    return float(pearsonr(*pool(differences, labels)).statistic)


def correlate_spearman(differences: np.ndarray, labels: np.ndarray) -> float:
    """Return Spearman's correlation of each difference with each label of its pair."""
    return float(spearmanr(*pool(differences, labels)).statistic)


def pool(differences: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Repeat each difference for each label of its pair."""
    return np.repeat(differences, labels.shape[1]), labels.ravel()


def show(measured: Measured) -> str:
    """Return a figure with its interval."""
    if measured.status == "undefined":
        return "undefined"
    interval = measured.interval
    return f"{measured.value:.2f}" + (f" [{interval.low:.2f}, {interval.high:.2f}]" if interval else "")


def describe_cost(run: Run, start: float) -> str:
    """Return how many calls and tokens were needed, and the time since the start."""
    usage = run.progress.usage
    seconds = time.perf_counter() - start
    return f"{usage.calls} calls, {usage.input_tokens} input tokens, {seconds:.0f} s, failed {run.progress.failed}"


def tell_progress(progress: Progress) -> None:
    """Write on the terminal how far the run is."""
    print(f"\r{progress.done} of {progress.total}", end="\r", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
