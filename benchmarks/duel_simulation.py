"""How often duels err: coverage of intervals, false alarms without a difference, and accusations of fair judges.

    python benchmarks/duel_simulation.py --repeats 2000

Verdicts of three methods are drawn by Davidson's model, whose strengths and win rates are known. The judge has no
habits: the orders are independent, ties are a fifth, and lengths have no influence.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np

from greval.analysis.duel.api import build_findings
from greval.analysis.duel.figures import measure_all_habits
from greval.analysis.duel.records import PreferenceFindings
from greval.analysis.duel.verdicts import PairVerdict
from greval.analysis.duel.warnings import correct_level, find_warnings
from greval.stats.measured import Measured, MeasuredValue

LEVEL = 0.95
METHODS = ("a", "b", "c")
STRENGTHS = np.array([0.6, 0.0, -0.6])
LOUD = ("POSITION BIAS", "LENGTH BIAS", "TIE HABIT")


def compute_chances(gap: float) -> np.ndarray:
    """Compute the chances of a win, a tie and a loss at a difference of strengths."""
    weights = np.array([np.exp(gap / 2), 0.5, np.exp(-gap / 2)])
    return weights / weights.sum()


def draw_verdicts(rng: np.random.Generator, questions: int, strengths: np.ndarray, orders: int) -> list[PairVerdict]:
    """Draw the verdicts on all pairs; with one draw for both orders the judge never contradicts itself."""
    found = []
    for one, other in combinations(range(len(METHODS)), 2):
        chances = compute_chances(strengths[one] - strengths[other])
        drawn = rng.choice([1.0, 0.5, 0.0], (questions, orders), p=chances)
        for number, row in enumerate(drawn):
            first, second = float(row[0]), float(row[-1])
            verdict = PairVerdict(f"q{number}", ("id", f"q{number}"), METHODS[one], METHODS[other], "judge", None)
            outcome = first if first == second else 0.5
            ratio = float(rng.normal(0, 0.5))
            found.append(
                verdict._replace(outcome=outcome, orders=(first, second), shown=(first, 1 - second), length_ratio=ratio)
            )
    return found


def holds(figure: Measured, truth: float) -> bool | None:
    """Return whether an interval holds the truth, None without an interval."""
    if not isinstance(figure, MeasuredValue) or figure.interval is None:
        return None
    return figure.interval.low <= truth <= figure.interval.high


def measure_coverage(questions: int, repeats: int, seed: int = 1) -> tuple[float, float]:
    """Measure the coverage of the intervals of strengths and of win rates."""
    rng = np.random.default_rng(seed)
    truths = dict(zip(METHODS, STRENGTHS, strict=True))
    strengths, rates = [], []
    for _ in range(repeats):
        found = build_findings("m", draw_verdicts(rng, questions, STRENGTHS, 1), level=LEVEL)
        strengths += [holds(one.strength, truths[one.method]) for one in found.ranking]
        for pair in found.pairs:
            win, tie, _loss = compute_chances(truths[pair.first] - truths[pair.second])
            rates.append(holds(pair.win_rate, win + tie / 2))
    known = [one for one in strengths if one is not None]
    return float(np.mean(known)), float(np.mean([one for one in rates if one is not None]))


def measure_false_alarms(questions: int, repeats: int, seed: int = 2) -> float:
    """Measure how often any of three pairs of equal methods has a p, corrected by Bonferroni, below 5 %."""
    rng = np.random.default_rng(seed)

    def is_alarm(found: PreferenceFindings) -> bool:
        return any(pair.test is not None and pair.test.p * len(found.pairs) <= 1 - LEVEL for pair in found.pairs)

    return float(
        np.mean(
            [
                is_alarm(build_findings("m", draw_verdicts(rng, questions, np.zeros(3), 1), level=LEVEL))
                for _ in range(repeats)
            ]
        )
    )


def measure_accusations(questions: int, repeats: int, metrics: int = 2, seed: int = 3) -> float:
    """Measure how often a judge without habits is accused by any warning of any metric."""
    rng = np.random.default_rng(seed)
    strict = correct_level(LEVEL, metrics)
    accused = 0
    for _ in range(repeats):
        drawn = [draw_verdicts(rng, questions, STRENGTHS, 2) for _ in range(metrics)]
        accused += any(
            warning.startswith(LOUD)
            for given in drawn
            for warning in find_warnings(
                build_findings("m", given, level=LEVEL), measure_all_habits(given, level=strict)
            )
        )
    return accused / repeats


def main() -> None:
    """Print a table of all figures by the number of questions."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=1000)
    repeats = parser.parse_args().repeats
    print("questions  strengths  win rates  false alarms  accusations")
    for questions in (20, 40, 80):
        strengths, rates = measure_coverage(questions, repeats)
        alarms, accusations = measure_false_alarms(questions, repeats), measure_accusations(questions, repeats)
        print(f"{questions:9}  {strengths:9.3f}  {rates:9.3f}  {alarms:12.3f}  {accusations:11.3f}", flush=True)


if __name__ == "__main__":
    main()
