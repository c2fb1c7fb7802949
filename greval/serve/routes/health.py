"""Routes for operators: health, readiness, counters."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse, PlainTextResponse

import greval
from greval.records.record import Record
from greval.serve.readiness import ReadinessReport
from greval.serve.service import TheService

router = APIRouter(tags=["operating"])
EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8"
NOT_READY = 503


class Health(Record):
    """The status of a responding server, and its version."""

    status: Literal["ok"] = "ok"
    version: str


@router.get("/health", operation_id="health")
async def health() -> Health:
    """Return whether the server responds. No judge is called."""
    return Health(version=greval.__version__)


@router.get(
    "/ready",
    operation_id="ready",
    response_model=ReadinessReport,
    responses={NOT_READY: {"model": ReadinessReport, "description": "Something that the server needs does not work."}},
)
async def ready(service: TheService) -> JSONResponse:
    """Return whether the judges can be reached and the folder of runs can be written. It costs no tokens."""
    found = await service.check_readiness()
    return JSONResponse(found.model_dump(mode="json"), 200 if found.ready else NOT_READY)


@router.get("/metrics-exposition", operation_id="figures", response_class=PlainTextResponse)
async def exposition(service: TheService) -> Response:
    """Return the server's counters in the text format of Prometheus."""
    return Response(service.counters.export_text(), media_type=EXPOSITION_TYPE)
