"""Routes of analyses of wrong answers and of judges, which call no model: diagnosis and panel."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import StringConstraints

from greval.analysis.diagnosis.records import Cause, DiagnosisTable
from greval.serve.ids import ID_PATTERN, Id
from greval.serve.routes.figures import COMMON, By, Level, OneMetric, TheRunFigures
from greval.serve.state.judge_analyses import compare_judges, diagnose_folder
from greval.trust.agreement.records import TreatAs
from greval.trust.panels.records import CombineJudges, Panel

router = APIRouter(prefix="/v1/runs", tags=["figures"])

MAX_JUDGES = 10
OtherRuns = Annotated[
    list[Annotated[str, StringConstraints(pattern=ID_PATTERN)]],
    Query(min_length=1, max_length=MAX_JUDGES, description="a run of another judge on the same cases; may be repeated"),
]


@router.get("/{id}/diagnose", responses=COMMON, response_model=DiagnosisTable)
async def diagnose_run(
    figures: TheRunFigures,
    id: Id,  # noqa: A002 - its name in the path
    *,
    metric: Annotated[
        str | None, Query(min_length=1, max_length=200, description="the metric that decides which answers are right")
    ] = None,
    by: By = None,
    cause: Annotated[
        list[Cause] | None, Query(max_length=20, description="list only these cases; may be repeated")
    ] = None,
) -> Response:
    """Find the cause of each wrong answer: the first step at which needed evidence was lost. No model is called.

    The groups count all causes, also if only the cases of some are listed in `rows`.
    """
    folder = figures.find_folder(id)
    return await figures.respond(diagnose_folder, folder, metric=metric, by=by or (), causes=cause or ())


@router.get("/{id}/panel", responses=COMMON, response_model=Panel)
async def compare_panel(  # noqa: PLR0913 - what one may ask for
    figures: TheRunFigures,
    id: Id,  # noqa: A002 - its name in the path
    *,
    run: OtherRuns,
    metric: OneMetric,
    by: By = None,
    combine: Annotated[CombineJudges | None, Query(description="the panel's verdict of several judges")] = None,
    treat_as: Annotated[TreatAs | None, Query(description="how the levels of a value scale are compared")] = None,
    level: Level = 0.95,
) -> Response:
    """Compare the judges of several runs on the cases that all judged, and with people if there are annotations."""
    folders = [*map(figures.find_folder, dict.fromkeys((id, *run)))]
    return await figures.respond(
        compare_judges, *folders, metric=metric, by=by or (), combine=combine, treat_as=treat_as, level=level
    )
