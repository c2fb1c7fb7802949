"""How honest duels are: simulated judges, and how often intervals hold the truth and tests and warnings are wrong.

    python benchmarks/duel_simulation.py --repeats 2000
    python benchmarks/duel_simulation.py --until-width 0.2    # each pair is judged until its win rate is known

Four methods answer 20, 60 or 200 questions, and a simulated judge compares each two of them in both orders. What it
prefers depends on the methods, on the question (so that all pairs of a question are dependent), and on chance; it calls
close answers a tie. In `different`, the methods are of different quality; the truth is what 40,000 questions give. In
`equal` they are not, so that each preference that is reported is a false alarm. The judge has no habit, so that each
habit that is named is a false one; with two metrics the family has twelve tests and six habits. With `--until-width`,
a schedule chooses the pairs from 400 questions, and the column `judged` has the share of them that it judged.

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
from greval.analysis.duel.schedule import PairSchedule, WidthGoal
from greval.analysis.duel.verdicts import PairVerdict
from greval.records.case import Case
from greval.runs.duels import split_pair_label
from greval.stats.interval import Interval
from greval.stats.measured import MeasuredValue

METHODS = ("basic", "hybrid", "local", "walk")
QUALITIES = {"different": (-0.5, -0.1, 0.2, 0.4), "equal": (0.0, 0.0, 0.0, 0.0)}
QUESTIONS = (20, 60, 200)
SCHEDULED = 400
"""The number of questions from which a schedule chooses."""
METRICS = ("comprehensiveness", "directness")
LEVEL = 0.95
TRUTH_QUESTIONS = 40_000
CLOSE = 0.35
"""The difference below which the judge calls two answers equal."""
HABITS = ("POSITION BIAS", "LENGTH BIAS", "TIE HABIT")
SEED = 5


class Tally(NamedTuple):
    """The counts of a simulation: intervals that hold the truth, of how many, and runs with a false statement.

    `judged` is the share of all verdicts that were asked for.
    """

    rates: tuple[int, int]
    strengths: tuple[int, int]
    alarms: int
    accused: int
    judged: float


def main() -> None:
    """Simulate, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--until-width", type=float, metavar="W", help="judge until each interval is this wide")
    args = parser.parse_args()
    repeats, width = args.repeats, args.until_width
    print("methods    questions   judged  win rates  strengths  undefined  false alarms  false habits")
    for name in QUALITIES:
        for questions in (SCHEDULED,) if width else QUESTIONS:
            found = simulate(name, questions, repeats, width=width)
            undefined = 1 - found.strengths[1] / (repeats * len(METRICS) * len(METHODS))
            alarms = f"{found.alarms / repeats:.3f}" if name == "equal" else "-"
            print(
                f"{name:<11}{questions:>9}{found.judged:>9.3f}{share(found.rates):>11}{share(found.strengths):>11}{undefined:>11.3f}"
                f"{alarms:>14}{found.accused / repeats:>14.3f}",
                flush=True,
            )


def simulate(name: str, questions: int, repeats: int, *, width: float | None = None, seed: int = SEED) -> Tally:
    """Draw runs of two metrics, and count what their summaries say of the truth."""
    rates, strengths = find_truth(name)
    rng = np.random.default_rng([seed, questions, [*QUALITIES].index(name)])
    pairs = list_cases(questions)
    hits, all_rates, held, all_strengths, alarms, accused, judged = 0, 0, 0, 0, 0, 0, 0
    for _ in range(repeats):
        verdicts = {metric: draw_verdicts(rng, QUALITIES[name], questions) for metric in METRICS}
        if width:
            verdicts = follow_schedule(pairs, verdicts, width)
        judged += sum(map(len, verdicts.values()))
        found, warnings = summarise_verdicts([*verdicts.items()], correction="bonferroni", level=LEVEL)
        for interval, truth in list_rates(found, rates):
            hits, all_rates = hits + (interval.low <= truth <= interval.high), all_rates + 1
        for interval, truth in list_strengths(found, strengths):
            held, all_strengths = held + (interval.low <= truth <= interval.high), all_strengths + 1
        alarms += any("preferred" in pair.verdict for one in found for pair in one.pairs)
        accused += any(warning.startswith(HABITS) for warning in warnings)
    everything = repeats * len(METRICS) * len(pairs)
    return Tally((hits, all_rates), (held, all_strengths), alarms, accused, judged / everything)


def list_cases(questions: int) -> list[Case]:
    """List the pairs of all methods on each question, with nothing but their names."""
    return [
        Case(id=f"q{n}", question="?", method=f"{first} vs {second}", other_response={"method": second})
        for n in range(questions)
        for first, second in combinations(METHODS, 2)
    ]


def follow_schedule(
    pairs: Sequence[Case], verdicts: dict[str, list[PairVerdict]], width: float
) -> dict[str, list[PairVerdict]]:
    """Return the verdicts that a schedule asks for, one pair after the other."""
    known = {metric: {one.pair: one for one in found} for metric, found in verdicts.items()}
    schedule = PairSchedule(pairs, METRICS, WidthGoal(width, level=LEVEL))
    asked: dict[str, list[PairVerdict]] = {metric: [] for metric in METRICS}
    for pair in schedule:
        for metric in METRICS:
            verdict = known[metric][pair.id, *split_pair_label(pair, pair.method)]
            schedule.add_verdict(metric, verdict)
            asked[metric].append(verdict)
    return asked


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
