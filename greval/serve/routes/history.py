"""The route of the history: each metric over many runs of a client."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import StringConstraints

from greval.analysis.history.api import build_history
from greval.analysis.history.records import RunHistory
from greval.report.history import describe_findings, list_legend
from greval.runs.store import is_begun
from greval.serve.ids import ID_PATTERN
from greval.serve.jobs.info import find_judged_folder, list_run_folders
from greval.serve.jobs.queue import read_job_head
from greval.serve.routes.figures import COMMON, Level, Methods, Metrics, TheFigures
from greval.serve.service import Tenant
from greval.stats.interval import LEVEL

router = APIRouter(prefix="/v1/history", tags=["figures"])

MAX_NAMED_RUNS = 100
NamedRuns = Annotated[
    list[Annotated[str, StringConstraints(pattern=ID_PATTERN)]] | None,
    Query(min_length=2, max_length=MAX_NAMED_RUNS, description="only these runs; may be repeated"),
]
Last = Annotated[int | None, Query(ge=2, le=1_000_000, description="only the newest runs, this many")]


class DescribedHistory(RunHistory):
    """A history with what changed and what the figures are in plain sentences, those that the command line prints."""

    findings: tuple[str, ...] = ()
    legend: tuple[str, ...] = ()


@router.get("", responses=COMMON, response_model=DescribedHistory)
async def show_history(
    figures: TheFigures,
    *,
    metric: Metrics = None,
    method: Methods = None,
    run: NamedRuns = None,
    last: Last = None,
    level: Level = LEVEL,
) -> Response:
    """Show each metric over the runs with results, the oldest first, and its changes. No model is called.

    Probes are left out unless `run` names them.
    """
    tasks = figures.tasks
    if run is None:
        folders = await tasks.run(list_history_folders, tasks.tenant)
    else:
        folders = [find_judged_folder(tasks.tenant, run_id) for run_id in dict.fromkeys(run)]
    return await figures.respond(describe_history, *folders, metrics=metric, methods=method, last=last, level=level)


def list_history_folders(tenant: Tenant) -> list[Path]:
    """List the folders of the runs with results, without probes; the server calls it in a child process."""
    folders = {folder: read_job_head(folder) for _, folder in list_run_folders(tenant) if is_begun(folder)}
    return [folder for folder, head in folders.items() if head is None or head.kind != "probe"]


def describe_history(*folders: Path, **options: Any) -> DescribedHistory:  # noqa: ANN401 - those of `build_history`
    """Build the history of runs, labelled by their names, and describe it."""
    history = build_history(folders, **options)
    names = {str(folder): head.name for folder in folders if (head := read_job_head(folder))}
    counts = Counter(names.values())
    runs = tuple(
        # The id tells runs of one name apart.
        run.model_copy(update={"label": name}) if (name := names.get(run.folder)) and counts[name] == 1 else run
        for run in history.runs
    )
    labelled = history.model_copy(update={"runs": runs})
    return DescribedHistory(
        **dict(labelled), findings=tuple(describe_findings(labelled)), legend=tuple(list_legend(labelled))
    )
