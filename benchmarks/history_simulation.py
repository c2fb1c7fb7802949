"""Simulate histories: how often one without a change has an alarm, and how fast a planted drop is found.

    python benchmarks/history_simulation.py [--histories 400]

The drop is of three standard errors of the mean of a run before it. The figures of a question are of one of six kinds:
0 or 1 with a chance of its own in every run, on the average 0.73, 0.95 or 0.05; the same answers until each tenth run
brings new ones; numbers without an effect of the question; and 0 or 1 of other questions in each run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np

from greval.stats.change_points import Floats, find_change_points

Draw = Callable[[np.random.Generator, int, int, float], Floats]
QUESTIONS, LOOKS, SPREAD, RIGHT, STANDARD_ERRORS = 100, (10, 30, 60), 0.25, 0.8, 3


def draw_shares(
    rng: np.random.Generator, runs: int, change: int, drop: float, *, right: float = 4, wrong: float = 1.5
) -> Floats:
    """Draw 0/1 figures of questions whose chances are a Beta distribution; the drop is of these chances."""
    chances = np.repeat([rng.beta(right, wrong, QUESTIONS)], runs, axis=0)
    chances[change:] -= drop * np.sqrt(chances[0].mean() * (1 - chances[0].mean()) / QUESTIONS)
    return (rng.random((runs, QUESTIONS)) < chances).astype(float)


def draw_repeated(rng: np.random.Generator, runs: int, change: int, drop: float) -> Floats:
    """Draw 0/1 figures that stay the same for ten runs, then are new for a fifth of the questions, as likely right."""
    figures = np.repeat([rng.random(QUESTIONS) < RIGHT], runs, axis=0)
    for run in range(10, runs, 10):
        figures[run:] = np.where(rng.random(QUESTIONS) < 0.2, rng.random(QUESTIONS) < RIGHT, figures[run])
    lost = rng.random(QUESTIONS) < drop * np.sqrt((1 - RIGHT) / RIGHT / QUESTIONS)
    figures[change:] &= ~lost
    return figures.astype(float)


def draw_numbers(rng: np.random.Generator, runs: int, change: int, drop: float) -> Floats:
    """Draw figures without any effect of the question, which is the hardest case for a paired test."""
    figures = rng.normal(0.7, SPREAD, size=(runs, QUESTIONS))
    figures[change:] -= drop * SPREAD / np.sqrt(QUESTIONS)
    return figures


def draw_samples(rng: np.random.Generator, runs: int, change: int, drop: float) -> Floats:
    """Draw runs of 0/1 figures of questions that no other run has."""
    figures = np.full((runs, runs * QUESTIONS), np.nan)
    for run in range(runs):
        chance = RIGHT - (drop * np.sqrt(RIGHT * (1 - RIGHT) / QUESTIONS) if run >= change else 0)
        figures[run, run * QUESTIONS : (run + 1) * QUESTIONS] = rng.random(QUESTIONS) < chance
    return figures


KINDS: dict[str, Draw] = {
    "shares of 0.73": draw_shares,
    "shares of 0.95": partial(draw_shares, right=19, wrong=1),
    "shares of 0.05": partial(draw_shares, right=1, wrong=19),
    "repeated answers": draw_repeated,
    "numbers": draw_numbers,
    "other questions": draw_samples,
}


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
