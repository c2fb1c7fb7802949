"""Simulate histories: how often one without a change has an alarm, and how fast a planted drop is found.

    python benchmarks/history_simulation.py [--histories 400]

The drop is of three standard errors of the mean of a run. The figures of a question are of one of three kinds: 0 or 1
with a chance of its own in every run, numbers without an effect of the question, and numbers of other questions.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from greval.stats.change_points import Floats, find_change_points

Draw = Callable[[np.random.Generator, int, int, float], Floats]
QUESTIONS, LOOKS, SPREAD, STANDARD_ERRORS = 100, (10, 30, 60), 0.25, 3


def draw_shares(rng: np.random.Generator, runs: int, change: int, drop: float) -> Floats:
    """Draw 0/1 figures of questions that are easy or hard; the drop is of their chances."""
    chances = np.repeat([rng.beta(4, 1.5, QUESTIONS)], runs, axis=0)
    chances[change:] -= drop * np.sqrt(chances[0].mean() * (1 - chances[0].mean()) / QUESTIONS)
    return (rng.random((runs, QUESTIONS)) < chances).astype(float)


def draw_numbers(rng: np.random.Generator, runs: int, change: int, drop: float) -> Floats:
    """Draw figures without any effect of the question, which is the hardest case for a paired test."""
    figures = rng.normal(0.7, SPREAD, size=(runs, QUESTIONS))
    figures[change:] -= drop * SPREAD / np.sqrt(QUESTIONS)
    return figures


def draw_samples(rng: np.random.Generator, runs: int, change: int, drop: float) -> Floats:
    """Draw runs of questions that no other run has."""
    figures = np.full((runs, runs * QUESTIONS), np.nan)
    for run, own in enumerate(draw_numbers(rng, runs, change, drop)):
        figures[run, run * QUESTIONS : (run + 1) * QUESTIONS] = own
    return figures


KINDS: dict[str, Draw] = {"shares": draw_shares, "numbers": draw_numbers, "other questions": draw_samples}


def main() -> None:
    """Print both rates for each kind of figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=400)
    count = parser.parse_args().histories
    rng = np.random.default_rng(43)
    for name, draw in KINDS.items():
        alarms = {
            runs: sum(bool(find_change_points(draw(rng, runs, runs, 0))) for _ in range(count)) / count
            for runs in LOOKS
        }
        print(
            f"{name}: alarms in flat histories",
            ", ".join(f"{rate:.3f} of {runs} runs" for runs, rate in alarms.items()),
        )
        for before in (5, 10, 20):
            found = sum(
                any(
                    change.found >= before
                    for change in find_change_points(draw(rng, before + 2, before, STANDARD_ERRORS))
                )
                for _ in range(count)
            )
            print(f"{name}: drop after {before} runs found within two runs in {found / count:.3f}")


if __name__ == "__main__":
    main()
