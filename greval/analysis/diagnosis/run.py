"""Diagnosis of every case of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from greval._util.arguments import resolve_run_folder
from greval.analysis.diagnosis.api import diagnose
from greval.analysis.diagnosis.causes import Diagnosis
from greval.analysis.diagnosis.correctness import AnswerVerdicts
from greval.analysis.gold.index_lookup import IndexLookup
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
        run: The run, its folder, or a store that is open for reading.
        metric: The metric that decides whether an answer is correct: below the middle of its scale is wrong. None
            selects `correctness`, then `answer_alignment`, then `fuzzy_containment@0.80`, which is computed if the
            run does not contain it.
        inventory: The contents of the index.

    Returns:
        A diagnosis of each sample and method, of the newest case if one was judged again.

    Raises:
        DataError: If the run does not contain the metric and it cannot be computed, or several runs are given.
        DefinitionError: If the metric cannot decide whether an answer is correct.
        StoreError: If the folder is not a run.
    """
    with ExitStack() as opened:
        if isinstance(run, Store):
            store = run
        else:
            store = opened.enter_context(Store.open(resolve_run_folder(run)))
            opened.enter_context(store.snapshot())
        verdicts = AnswerVerdicts(store, metric)
        return _iterate_diagnoses(store, verdicts, IndexLookup(inventory) if inventory else None, opened.pop_all())


def _iterate_diagnoses(
    store: Store, verdicts: AnswerVerdicts, holdings: IndexLookup | None, opened: ExitStack
) -> Iterator[Diagnosis]:
    """Yield the diagnoses, and close what was opened for them at the end."""
    with opened:
        for case in read_newest_cases(store):
            yield diagnose(case, verdict=verdicts.find_verdict(case), inventory=holdings)


def read_newest_cases(store: Store) -> Iterator[Case]:
    """Yield the newest case of each sample and method, in the order in which they were judged."""
    last = {(case.id, case.method): place for place, case in enumerate(store.cases())}
    return (case for place, case in enumerate(store.cases()) if last[case.id, case.method] == place)
