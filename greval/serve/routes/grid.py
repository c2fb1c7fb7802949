"""Routes of a run's cases: all of them in short, and a search in their texts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import StringConstraints

from greval.report.case_grid import CaseGrid
from greval.runs.text_search import FoundSamples
from greval.serve.ids import Id
from greval.serve.routes.figures import COMMON, TheRunFigures
from greval.serve.state.run_figures import build_folder_grid, index_folder, search_folder

router = APIRouter(prefix="/v1/runs", tags=["runs"])

SearchWords = Annotated[
    str,
    StringConstraints(min_length=1, max_length=500),
    Query(description="words, all of which a case or a verdict has in its texts, in any case of letters"),
]


@router.get("/{id}/grid", responses=COMMON, response_model=CaseGrid)
async def show_grid(figures: TheRunFigures, id: Id) -> Response:  # noqa: A002 - its name in the path
    """Show all cases of a run in short: questions, tags, and the outcome of each metric for each method.

    The texts of answers and the reasons are left out; `GET /v1/runs/{id}/case` has them.
    """
    folder = figures.find_folder(id)
    response = await figures.respond(build_folder_grid, folder)
    # Whoever sees the cases may search them.
    await figures.prepare(index_folder, folder)
    return response


@router.get("/{id}/search", responses=COMMON, response_model=FoundSamples)
async def search_run(figures: TheRunFigures, id: Id, q: SearchWords) -> Response:  # noqa: A002 - its name in the path
    """Find the samples of a run by words in the full texts: question, answer, expected answer, and reasons."""
    return await figures.respond(search_folder, figures.find_folder(id), query=q)
