"""Analyses of wrong answers and of judges, and checks of probes and alignments; the server calls them in a child."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from greval.analysis.diagnosis.api import diagnose_run, tabulate_run
from greval.analysis.diagnosis.records import Cause, DiagnosisTable
from greval.runs.judges import JudgeModel
from greval.runs.store import Store
from greval.serve.settings import ServerSettings
from greval.serve.state.dataset_files import DatasetFile
from greval.serve.state.dataset_forecast import NO_FOLDER
from greval.serve.state.metric_library import MetricLibrary
from greval.serve.state.run_paths import hide_paths_in_errors
from greval.trust.alignment.api import AlignOptions, forecast_align
from greval.trust.panels.api import PanelOptions, panel
from greval.trust.panels.records import Panel
from greval.trust.probing.api import forecast_probe
from greval.trust.probing.stages import ProbeOptions


def diagnose_folder(folder: Path, *, metric: str | None, by: Sequence[str], causes: Sequence[Cause]) -> DiagnosisTable:
    """Diagnose the wrong answers of a run; only the cases of these causes are listed, or all if none is named."""
    with Store.open(folder) as store, store.snapshot():
        return tabulate_run([*diagnose_run(store, metric=metric)], by, folder).select_causes(causes)


def compare_judges(*folders: Path, metric: str, **options: Unpack[PanelOptions]) -> Panel:
    """Compare the judges of several runs."""
    return panel(folders, metric, **options)


def check_probe(
    settings: ServerSettings, definitions: Sequence[object], file: DatasetFile | None, options: ProbeOptions
) -> None:
    """Raise `DataError` if a probe of the last metric, which builds on those before it, could not begin."""
    library = MetricLibrary(*settings.library, metrics=settings.metrics)
    *built_on, metric = (library.restore(definition) for definition in definitions)
    cases = None if file is None else file.open(settings.limits)
    chosen: ProbeOptions = {**options, "built_on": built_on, "out": NO_FOLDER}
    forecast_probe(metric, None, cases, **chosen)


def check_alignment(
    settings: ServerSettings, definition: object, run: Path, judge: JudgeModel, options: AlignOptions
) -> None:
    """Raise `DataError` or `DefinitionError` if an alignment could not begin."""
    library = MetricLibrary(*settings.library, metrics=settings.metrics)
    with hide_paths_in_errors(run):
        forecast_align(run, library.restore(definition), judge, **options)
