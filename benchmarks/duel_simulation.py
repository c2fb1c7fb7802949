"""How honest duels are: simulated judges, and how often intervals hold the truth and tests and warnings are wrong.

    python benchmarks/duel_simulation.py --repeats 2000

Four methods answer 20, 60 or 200 questions, and a simulated judge compares each two of them in both orders. What it
prefers depends on the methods, on the question (so that all pairs of a question are dependent), and on chance; it calls
close answers a tie. In `different`, the methods are of different quality; the truth is what 40,000 questions give. In
`equal` they are not, so that each preference that is reported is a false alarm. The judge has no habit, so that each
habit that is named is a false one; with two metrics the family has twelve tests and six habits.

Verdicts go through the functions that `greval duel` uses; draws are seeded, so that the figures repeat.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from greval.analysis.duel.api import summarise_verdicts
from greval.analysis.duel.records import PreferenceFindings
from greval.analysis.duel.verdicts import PairVerdict
from greval.stats.interval import Interval, MeasuredValue

METHODS = ("basic", "hybrid", "local", "walk")
QUALITIES = {"different": (-0.5, -0.1, 0.2, 0.4), "equal": (0.0, 0.0, 0.0, 0.0)}
QUESTIONS = (20, 60, 200)
METRICS = ("comprehensiveness", "directness")
LEVEL = 0.95
TRUTH_QUESTIONS = 40_000
CLOSE = 0.35
"""The difference below which the judge calls two answers equal."""
HABITS = ("POSITION BIAS", "LENGTH BIAS", "TIE HABIT")
SEED = 5


class Tally(NamedTuple):
    """The counts of a simulation: intervals that hold the truth, of how many, and runs with a false statement."""

    rates: tuple[int, int]
    strengths: tuple[int, int]
    alarms: int
    accused: int


def main() -> None:
    """Simulate, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=2000)
    repeats = parser.parse_args().repeats
    print("methods    questions  win rates  strengths  undefined  false alarms  false habits")
    for name in QUALITIES:
        for questions in QUESTIONS:
            found = simulate(name, questions, repeats)
            undefined = 1 - found.strengths[1] / (repeats * len(METRICS) * len(METHODS))
            alarms = f"{found.alarms / repeats:.3f}" if name == "equal" else "-"
            print(
                f"{name:<11}{questions:>9}{share(found.rates):>11}{share(found.strengths):>11}{undefined:>11.3f}"
                f"{alarms:>14}{found.accused / repeats:>14.3f}",
                flush=True,
            )


def simulate(name: str, questions: int, repeats: int, *, seed: int = SEED) -> Tally:
    """Draw runs of two metrics, and count what their summaries say of the truth."""
    rates, strengths = find_truth(name)
    rng = np.random.default_rng([seed, questions, [*QUALITIES].index(name)])
    hits, all_rates, held, all_strengths, alarms, accused = 0, 0, 0, 0, 0, 0
    for _ in range(repeats):
        verdicts = {metric: draw_verdicts(rng, QUALITIES[name], questions) for metric in METRICS}
        found, warnings = summarise_verdicts([*verdicts.items()], correction="bonferroni", level=LEVEL)
        for interval, truth in list_rates(found, rates):
            hits, all_rates = hits + (interval.low <= truth <= interval.high), all_rates + 1
        for interval, truth in list_strengths(found, strengths):
            held, all_strengths = held + (interval.low <= truth <= interval.high), all_strengths + 1
        alarms += any("preferred" in pair.verdict for one in found for pair in one.pairs)
        accused += any(warning.startswith(HABITS) for warning in warnings)
    return Tally((hits, all_rates), (held, all_strengths), alarms, accused)


def draw_verdicts(rng: np.random.Generator, qualities: Sequence[float], questions: int) -> list[PairVerdict]:
    """Draw the verdicts of a judge on each two methods and question, in both orders."""
    utilities = np.asarray(qualities) + rng.normal(0, 1, (questions, len(qualities)))
    lengths = rng.normal(0, 0.4, (questions, len(qualities)))
    verdicts = []
    for first, second in combinations(range(len(qualities)), 2):
        gaps = (utilities[:, first] - utilities[:, second])[:, None] + rng.normal(0, 0.6, (questions, 2))
        orders = np.where(np.abs(gaps) < CLOSE, 0.5, gaps > 0)
        for question, (straight, exchanged) in enumerate(orders.tolist()):
            verdicts.append(
                PairVerdict(
                    sample_id=f"q{question}",
                    cluster=("id", f"q{question}"),
                    first=METHODS[first],
                    second=METHODS[second],
                    judge="simulated",
                    outcome=straight if straight == exchanged else 0.5,
                    orders=(straight, exchanged),
                    shown=(straight, 1 - exchanged),
                    length_ratio=float(lengths[question, first] - lengths[question, second]),
                )
            )
    return verdicts


def find_truth(name: str) -> tuple[dict[tuple[str, str], float], dict[str, float]]:
    """Find the win rates and the strengths of many questions, or those of equal methods."""
    if name == "equal":
        return dict.fromkeys(combinations(METHODS, 2), 0.5), dict.fromkeys(METHODS, 0.0)
    verdicts = draw_verdicts(np.random.default_rng(1), QUALITIES[name], TRUTH_QUESTIONS)
    ((found,), _) = summarise_verdicts([("truth", verdicts)], correction="bonferroni", level=LEVEL)
    rates = {(pair.first, pair.second): read_value(pair.win_rate) for pair in found.pairs}
    return rates, {one.method: read_value(one.strength) for one in found.ranking}


def list_rates(
    found: Sequence[PreferenceFindings], truth: dict[tuple[str, str], float]
) -> Iterator[tuple[Interval, float]]:
    """List the interval of each win rate with the truth."""
    for one in found:
        for pair in one.pairs:
            if isinstance(pair.win_rate, MeasuredValue) and pair.win_rate.interval:
                yield pair.win_rate.interval, truth[pair.first, pair.second]


def list_strengths(found: Sequence[PreferenceFindings], truth: dict[str, float]) -> Iterator[tuple[Interval, float]]:
    """List the interval of each strength with the truth; those that are undefined are left out."""
    for one in found:
        for method in one.ranking:
            if isinstance(method.strength, MeasuredValue) and method.strength.interval:
                yield method.strength.interval, truth[method.method]


def read_value(measured: object) -> float:
    """Return the value of a figure that is defined."""
    assert isinstance(measured, MeasuredValue)
    return measured.value


def share(counts: tuple[int, int]) -> str:
    """Return a share with three digits."""
    return f"{counts[0] / counts[1]:.3f}"


if __name__ == "__main__":
    main()
