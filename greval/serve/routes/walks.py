"""Routes that draw the walk of a case through the graph: of a case of a run, and of one that is sent."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from greval.records.case import Case
from greval.report.walk import draw_walk_svg
from greval.serve.child_routes import in_child
from greval.serve.file_response import NO_SCRIPTS
from greval.serve.jobs.info import JudgedFolder
from greval.serve.problems import ServeError, describe_errors
from greval.serve.routes.results import MethodOfCase, SampleId, read_case
from greval.serve.schemas.cases import SINGLE_INPUT, check_limits, parse_cases
from greval.serve.schemas.requests import StrictRequest
from greval.serve.service import TheService
from greval.serve.workers.child import TaskAnswer

router = APIRouter(prefix="/v1", tags=["runs"])

SVG = "image/svg+xml"
DRAWING: dict[int | str, dict[str, Any]] = {
    200: {"description": "The drawing.", "content": {SVG: {"schema": {"type": "string"}}}}
}


class WalkRequest(StrictRequest):
    """A case whose walk is to be drawn, under greval's names of the fields or those of other tools."""

    input: dict[str, Any]


@router.get(
    "/runs/{id}/walk.svg",
    responses={**DRAWING, **describe_errors(404, 409)},
    response_class=Response,
    response_model=None,
)
@in_child
def draw_walk(folder: JudgedFolder, sample_id: SampleId, method: MethodOfCase = "") -> TaskAnswer:
    """Draw the walk of a case through the graph: nodes by their distance from the start, and what the gold expects.

    It is the drawing of the HTML report. Of a walk with more than 60 nodes it has the gold and what leads to it.
    """
    return _draw(read_case(folder, sample_id, method), f"case {sample_id[:64]!r}")


@router.post("/walk.svg", responses={**DRAWING, **describe_errors(404)}, response_class=Response, response_model=None)
@in_child
def draw_sent_walk(body: WalkRequest, service: TheService) -> TaskAnswer:
    """Draw the walk of a case that is sent, as that of a case of a run."""
    check_limits([body.input], service.settings.limits, SINGLE_INPUT)
    (case,) = parse_cases([body.input], SINGLE_INPUT)
    return _draw(case, SINGLE_INPUT)


def _draw(case: Case, name: str) -> TaskAnswer:
    """Return the drawing of a case's walk, or raise `ServeError` (404) if it visits nothing and expects no edge."""
    if case.traversal is None or not (case.traversal.visited or (case.gold and case.gold.expected_edges)):
        raise ServeError("walk_not_found", f"{name}: records no walk; its traversal has no node and no edge")
    drawing = draw_walk_svg(case.traversal, case.gold, title=case.question)
    return TaskAnswer(drawing, {"Content-Type": SVG, "Content-Security-Policy": NO_SCRIPTS})
