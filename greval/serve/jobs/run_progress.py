"""The progress of a run over all legs: those before a restart, a cancellation or a kill, and the current one."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

from greval.errors import StoreError
from greval.judging.model.budget import RunSpending
from greval.judging.model.prices import Prices
from greval.records.result import Usage, read_outline
from greval.runs.manifest import read_spending, read_usage
from greval.runs.progress import Progress
from greval.runs.store import FILE, Store, is_begun
from greval.trust.alignment.model_calls import read_writer_spending


def read_earlier_progress(folder: Path, last_written: Progress | None) -> Progress:
    """Return the progress of a run before a leg begins.

    Usage and cost come from the log, which is complete also after `kill -9`; counts and time are those written last.
    """
    progress = last_written or Progress()
    if not is_begun(folder):
        return progress
    with Store.open(folder) as store:
        usage = sum(read_usage(store).values(), Usage())
        cost = read_spending(store, Prices.load()).cost
    return progress.model_copy(update={"usage": usage, "cost": cost, "in_flight": 0})


def read_staged_progress(folder: Path, seconds: float) -> Progress:
    """Return the progress of a probe or an alignment, whose stages are runs in its folder and below it.

    All of it but the time comes from their logs, so that a killed process loses nothing. The total is not known: what
    is judged next depends on the verdicts. The calls of the model that writes count, without their tokens.
    """
    prices = Prices.load()
    writing = read_writer_spending(folder)
    progress = Progress(usage=Usage(calls=writing.calls), cost=writing.cost, seconds=seconds)
    for log in folder.rglob(FILE):
        # A log that has just begun cannot be read yet, and the work itself reports any other fault.
        with suppress(StoreError), Store.open(log.parent) as store:
            statuses = Counter(read_outline(outline).status for (outline,) in store.select(("outline",)))
            spent = RunSpending(cost=progress.cost) + RunSpending(cost=read_spending(store, prices).cost)
            usage = sum(read_usage(store).values(), progress.usage)
            counts = {status: getattr(progress, status) + count for status, count in statuses.items()}
            done = progress.done + statuses.total()
            progress = progress.model_copy(update={**counts, "done": done, "usage": usage, "cost": spent.cost})
    return progress


def add_leg(earlier: Progress, leg: Progress) -> Progress:
    """Return the progress of a run: what was before a leg, and the leg.

    Each leg counts the stored results again from the start. Until it has counted as many as the run had, the counts are
    those of before. `kept` is 0, because the run itself paid for all results.

    Example:
        >>> leg = Progress(total=9, done=1, scored=1, kept=1, seconds=0.5)
        >>> progress = add_leg(Progress(done=5, scored=5, seconds=2.0), leg)
        >>> progress.total, progress.done, progress.kept, progress.seconds
        (9, 5, 0, 2.5)
    """
    spent = RunSpending(cost=earlier.cost) + RunSpending(cost=leg.cost)
    counted = leg if leg.done >= earlier.done else earlier
    return counted.model_copy(
        update={
            "total": leg.total,
            "kept": 0,
            "in_flight": leg.in_flight,
            "usage": earlier.usage + leg.usage,
            "cost": spent.cost,
            "estimated_calls": earlier.estimated_calls + leg.estimated_calls,
            "waiting": leg.waiting,
            "seconds": earlier.seconds + leg.seconds,
        }
    )
