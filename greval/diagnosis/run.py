"""The diagnosis of a whole run."""

from __future__ import annotations

from collections.abc import Iterator

from greval.case import Case
from greval.diagnosis.causes import Diagnosis
from greval.diagnosis.deciding import diagnose
from greval.diagnosis.verdicts import Verdicts
from greval.gold.holdings import Holdings
from greval.inventory import Inventory
from greval.store import Store


def diagnose_run(store: Store, *, metric: str | None = None, inventory: Inventory | None = None) -> Iterator[Diagnosis]:
    """Diagnose every case of a run.

    Args:
        store: The run, opened to read.
        metric: The metric that tells right from wrong: below the middle of its scale is wrong. None takes
            `correctness`, else `answer_alignment`, else `fuzzy_containment@0.80`, which is computed where
            the run does not hold it.
        inventory: What the index holds.

    Returns:
        A diagnosis of each sample and method, of the newest case where one was judged again.

    Raises:
        DataError: Where the run does not hold the metric and it cannot be computed.
        DefinitionError: Where the metric cannot tell right from wrong.
    """
    verdicts = Verdicts(store, metric)
    holdings = Holdings(inventory) if inventory else None
    return (diagnose(case, verdict=verdicts.of(case), inventory=holdings) for case in newest(store))


def newest(store: Store) -> Iterator[Case]:
    """Give the newest case of each sample and method, in the order in which they were judged."""
    last = {(case.id, case.method): place for place, case in enumerate(store.cases())}
    return (case for place, case in enumerate(store.cases()) if last[case.id, case.method] == place)
