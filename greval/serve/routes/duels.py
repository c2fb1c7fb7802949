"""Routes of duels, which are runs that judge pairs of answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Response

from greval.analysis.duel.api import summarise_duel
from greval.analysis.duel.judging import read_duel
from greval.analysis.duel.records import Duel
from greval.report.duel import describe_preferences
from greval.runs.duels import check_preferences
from greval.serve.jobs.info import find_judged_folder
from greval.serve.jobs.queue import DuelRequest, JobSpec, RunInfo
from greval.serve.problems import describe_errors
from greval.serve.routes.figures import COMMON, ClusterBy, CorrectionName, Level, Metrics, TheRunFigures
from greval.serve.routes.runs import TheJobStarter, explain_skipped, refuse_unserved
from greval.serve.service import Tenant
from greval.serve.settings import ServerSettings
from greval.serve.state.datasets import DatasetFile, find_dataset_file
from greval.serve.state.metric_library import restore_metrics
from greval.serve.state.run_paths import hide_paths_in_errors
from greval.stats.interval import LEVEL

router = APIRouter(prefix="/v1/runs")


class DescribedDuel(Duel):
    """A duel with what it found in plain sentences, those that the command line prints."""

    findings: tuple[str, ...] = ()


@router.post("/duel", status_code=202, responses=describe_errors(404, 409, 422, 502, 503, 504, 507), tags=["runs"])
async def start_duel(body: DuelRequest, starter: TheJobStarter) -> RunInfo:
    """Start a duel: the answers of methods are judged head to head by preferences, each pair in both orders.

    It is a run: follow, cancel, resume and delete it as one. Its verdicts are results, in a run of its own; its win
    rates and its ranking of the methods are at `/v1/runs/{id}/duel`. `Idempotency-Key` is as for a run.
    """
    tasks = starter.tasks

    async def check(spec: JobSpec) -> None:
        source = _find_source(tasks.tenant, body)
        explaining = tasks.run(explain_unserved_pairs, tasks.service.settings, source, spec.definitions, body)
        await refuse_unserved(f"pair of {source.name!r}", explaining)

    return await starter.start(body, check)


def _find_source(tenant: Tenant, request: DuelRequest) -> Path | DatasetFile:
    if request.run is not None:
        return find_judged_folder(tenant, request.run)
    return find_dataset_file(tenant, request.dataset or "")


def explain_unserved_pairs(
    settings: ServerSettings, source: Path | DatasetFile, definitions: Sequence[object], request: DuelRequest
) -> dict[str, str]:
    """Return why each of the metrics is skipped for every pair, or raise an error if there is no duel of them.

    The server calls it in a child process.
    """
    metrics = restore_metrics(settings, definitions)
    check_preferences(metrics)
    responses = source if isinstance(source, Path) else source.open(settings.limits)
    with hide_paths_in_errors(*([source] if isinstance(source, Path) else [])):
        rows, _ = read_duel(responses, metrics, request.methods, request.limit)
    return explain_skipped(metrics, rows) or {}


@router.get("/{id}/duel", responses=COMMON, response_model=DescribedDuel, tags=["figures"])
async def report_duel(
    figures: TheRunFigures,
    *,
    metric: Metrics = None,
    cluster_by: ClusterBy = None,
    correction: CorrectionName = "bonferroni",
    level: Level = LEVEL,
) -> Response:
    """Report the duels of a run: which methods are preferred, the ranking of all, and the habits of the judge."""
    options = {"cluster_by": cluster_by, "correction": correction, "level": level}
    return await figures.respond(describe_duel, metrics=metric or (), **options)


def describe_duel(folder: Path, **options: Any) -> DescribedDuel:  # noqa: ANN401 - those of `summarise_duel`
    """Summarise the duels of a run, and describe them."""
    duel = summarise_duel(folder, **options)
    return DescribedDuel(**dict(duel), findings=tuple(describe_preferences(duel)))
