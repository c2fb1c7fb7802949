"""The diagnosis of a whole run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from greval._util.arguments import run_folder
from greval.analysis.diagnosis.api import diagnose
from greval.analysis.diagnosis.causes import Diagnosis
from greval.analysis.diagnosis.correctness import Verdicts
from greval.analysis.gold.index_lookup import Holdings
from greval.records.case import Case
from greval.records.inventory import Inventory
from greval.runs.store import Store

if TYPE_CHECKING:
    from greval.runs.evaluation import Run


def diagnose_run(
    run: Store | str | Path | Run, *, metric: str | None = None, inventory: Inventory | None = None
) -> Iterator[Diagnosis]:
    """Diagnose every case of a run.

    Args:
        run: The run, or its folder, or a store that is opened to read.
        metric: The metric that tells right from wrong: below the middle of its scale is wrong. None takes
            `correctness`, else `answer_alignment`, else `fuzzy_containment@0.80`, which is computed where
            the run does not hold it.
        inventory: What the index holds.

    Returns:
        A diagnosis of each sample and method, of the newest case where one was judged again.

    Raises:
        DataError: Where the run does not hold the metric and it cannot be computed, or is several runs.
        DefinitionError: Where the metric cannot tell right from wrong.
        StoreError: Where the folder is no run.
    """
    with ExitStack() as opened:
        if isinstance(run, Store):
            store = run
        else:
            store = opened.enter_context(Store.open(run_folder(run)))
            opened.enter_context(store.snapshot())
        verdicts = Verdicts(store, metric)
        return _diagnosed(store, verdicts, Holdings(inventory) if inventory else None, opened.pop_all())


def _diagnosed(store: Store, verdicts: Verdicts, holdings: Holdings | None, opened: ExitStack) -> Iterator[Diagnosis]:
    """Give the diagnoses; what was opened for them is closed at their end."""
    with opened:
        for case in newest(store):
            yield diagnose(case, verdict=verdicts.of(case), inventory=holdings)


def newest(store: Store) -> Iterator[Case]:
    """Give the newest case of each sample and method, in the order in which they were judged."""
    last = {(case.id, case.method): place for place, case in enumerate(store.cases())}
    return (case for place, case in enumerate(store.cases()) if last[case.id, case.method] == place)
