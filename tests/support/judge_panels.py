"""Runs of several judges on the same answers, and what tests of panels expect of them."""

from __future__ import annotations

import numpy as np
from agreed_runs import RELEVANT, write

from greval.stats.interval import MeasuredValue


def runs(tmp_path, metric, *judges, **more):
    """Write a run for each judge: its verdict of each answer."""
    count = len(judges[0])
    return [
        write(tmp_path / f"j{n}", metric, verdicts, judges=[f"j{n}"] * count, **more)
        for n, verdicts in enumerate(judges)
    ]


def value(figure):
    """Give a figure's value, NaN where it is undefined."""
    return figure.value if isinstance(figure, MeasuredValue) else float("nan")


def most(values):
    """Give what most say, None where it is tied: another way than the package's."""
    counts = sorted(((values.count(one), str(one)) for one in set(values)), reverse=True)
    return None if len(counts) > 1 and counts[0][0] == counts[1][0] else counts[0][1]


def noisy(truth, share, seed):
    """Give verdicts of which a share is drawn at random."""
    draw = np.random.default_rng(seed)
    return [draw.choice(RELEVANT).item() if draw.random() < share else one for one in truth]
