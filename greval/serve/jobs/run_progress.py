"""The progress of a run over all legs: those before a restart, a cancellation or a kill, and the current one."""

from __future__ import annotations

from pathlib import Path

from greval.judging.model.budget import RunSpending
from greval.judging.model.prices import Prices
from greval.records.result import Usage
from greval.runs.manifest import read_spending
from greval.runs.progress import Progress
from greval.runs.store import FILE, Store


def read_earlier_progress(folder: Path, known: Progress | None) -> Progress:
    """Return the progress of a run before a leg begins.

    Usage and cost come from the log, which is complete also after `kill -9`; counts and time are those written last.

    Raises:
        StoreError: If the log cannot be read.
    """
    before = known or Progress()
    if not (folder / FILE).is_file():
        return before
    with Store.open(folder) as store:
        usage = sum(store.usage().values(), Usage())
        cost = read_spending(store, Prices.load()).cost
    return before.model_copy(update={"usage": usage, "cost": cost, "in_flight": 0})


def add_leg(before: Progress, leg: Progress) -> Progress:
    """Return the progress of a run: what was before a leg, and the leg.

    Each leg counts the stored results again from the start. Until it has counted as many as the run had, the counts are
    those of before. `kept` is 0, because the run itself paid for all results.

    Example:
        >>> add_leg(Progress(done=5, scored=5, seconds=2.0), Progress(total=9, done=1, scored=1, kept=1, seconds=0.5))
        Progress(total=9, done=5, scored=5, skipped=0, failed=0, items_failed=0, kept=0, unread=0, in_flight=0, \
usage=Usage(calls=0, input_tokens=None, output_tokens=None, cached_tokens=None, hits=0), cost=None, seconds=2.5)
    """
    spent = RunSpending(cost=before.cost) + RunSpending(cost=leg.cost)
    counted = leg if leg.done >= before.done else before
    return counted.model_copy(
        update={
            "total": leg.total,
            "kept": 0,
            "in_flight": leg.in_flight,
            "usage": before.usage + leg.usage,
            "cost": spent.cost,
            "seconds": before.seconds + leg.seconds,
        }
    )
