"""Routes of duels, which are runs that judge pairs of answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Response

from greval.analysis.duel.api import summarise_duel
from greval.analysis.duel.records import Duel
from greval.report.duel import describe_preferences
from greval.serve.jobs.queue import DuelRequest, RunInfo
from greval.serve.problems import describe_errors
from greval.serve.routes.figures import COMMON, ClusterBy, CorrectionName, Level, Metrics, TheRunFigures
from greval.serve.routes.runs import TheJobStarter
from greval.stats.interval import LEVEL

router = APIRouter(prefix="/v1/runs")


class DescribedDuel(Duel):
    """A duel with what it found in plain sentences, those that the command line prints."""

    findings: tuple[str, ...] = ()


@router.post("/duel", status_code=202, responses=describe_errors(404, 409, 502, 507), tags=["runs"])
async def start_duel(body: DuelRequest, starter: TheJobStarter) -> RunInfo:
    """Start a duel: the answers of methods are judged head to head by preferences, each pair in both orders.

    It is a run: follow, cancel, resume and delete it as one. Its verdicts are results, in a run of its own; its win
    rates and its ranking of the methods are at `/v1/runs/{id}/duel`. `Idempotency-Key` is as for a run.
    """
    return await starter.start(body)


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
