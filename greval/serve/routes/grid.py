"""Routes of a run's cases: all of them in short, a search in their texts, and the walk of one as a picture."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import StringConstraints
from starlette.concurrency import run_in_threadpool

from greval.report.case_grid import CaseGrid
from greval.runs.text_search import FoundSamples
from greval.serve.file_response import NO_SCRIPTS
from greval.serve.ids import Id
from greval.serve.problems import ServeError, describe_errors
from greval.serve.routes.figures import COMMON, TheRunFigures
from greval.serve.routes.results import MethodOfCase, SampleId, read_case
from greval.serve.service import TheService, TheTenant
from greval.serve.state.run_figures import build_folder_grid, draw_case_walk, index_folder, search_folder

router = APIRouter(prefix="/v1/runs", tags=["runs"])

SVG = "image/svg+xml"
WALK: dict[int | str, dict[str, Any]] = {
    200: {"description": "The drawing.", "content": {SVG: {"schema": {"type": "string"}}}}
}
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
    found = await figures.respond(build_folder_grid, folder)
    await figures.prepare(index_folder, folder)  # who sees the cases may search them
    return found


@router.get("/{id}/search", responses=COMMON, response_model=FoundSamples)
async def search_run(figures: TheRunFigures, id: Id, q: SearchWords) -> Response:  # noqa: A002 - its name in the path
    """Find the samples of a run by words in the full texts: question, answer, expected answer, and reasons."""
    return await figures.respond(search_folder, figures.find_folder(id), query=q)


@router.get("/{id}/walk.svg", responses={**WALK, **describe_errors(404, 409, 422, 503, 504)}, response_class=Response)
async def draw_walk(
    service: TheService,
    tenant: TheTenant,
    id: Id,  # noqa: A002 - its name in the path
    sample_id: SampleId,
    method: MethodOfCase = "",
) -> Response:
    """Draw the walk of a case through the graph: nodes by their distance from the start, and what the gold expects.

    It is the drawing of the HTML report. Of a walk with more than 60 nodes it has the gold and what leads to it.
    """
    case = await run_in_threadpool(read_case, tenant, id, sample_id, method)
    drawing = await service.workers.run(tenant.name, draw_case_walk, case)
    if not drawing:
        message = f"case {sample_id[:64]!r}: records no walk; its traversal has no node and no edge"
        raise ServeError("walk_not_found", message)
    return Response(drawing, media_type=SVG, headers={"Content-Security-Policy": NO_SCRIPTS})
