"""Analyses of wrong answers and of several judges; the server calls them in a child process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from greval.analysis.diagnosis.api import diagnose_run, tabulate_run
from greval.analysis.diagnosis.records import Cause, DiagnosisTable
from greval.runs.store import Store
from greval.trust.panels.api import PanelOptions, panel
from greval.trust.panels.records import Panel


def diagnose_folder(folder: Path, *, metric: str | None, by: Sequence[str], causes: Sequence[Cause]) -> DiagnosisTable:
    """Diagnose the wrong answers of a run; only the cases of these causes are listed, or all if none is named."""
    with Store.open(folder) as store, store.snapshot():
        return tabulate_run([*diagnose_run(store, metric=metric)], by, folder).select_causes(causes)


def compare_judges(*folders: Path, metric: str, **options: Unpack[PanelOptions]) -> Panel:
    """Compare the judges of several runs."""
    return panel(folders, metric, **options)
