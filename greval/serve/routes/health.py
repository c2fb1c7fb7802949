"""Routes for operators: health, readiness, counters."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import httpx
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

import greval
from greval.errors import GrevalError
from greval.judging.model.judge import KEY_VARIABLE, URL_VARIABLE, Judge, get_calling_model
from greval.records.record import Record
from greval.serve.logs import ERRORS
from greval.serve.service import TheService
from greval.serve.settings import ServerSettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

router = APIRouter(tags=["operating"])

CACHE_SECONDS = 10.0
"""The seconds for which a result is cached, so that frequent checks cause no more requests to the judges."""
TIMEOUT_SECONDS = 5.0
OPENAI_URL = "https://api.openai.com/v1"
KEY_REFUSED_STATUSES = frozenset({401, 403})
SERVER_ERROR = 500
NOT_READY = 503
MIN_FREE_BYTES = 1_000_000
EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8"

JudgeReadiness = Literal["ok", "its key is refused", "it cannot be reached", "it cannot be used as set up"]


class ReadinessReport(Record):
    """Whether the server is ready; `judges` and `runs` show what is not. The server's log has more."""

    ready: bool
    judges: dict[str, JudgeReadiness]
    runs: Literal["ok", "cannot be written"]


class ReadinessCheck:
    """Checks whether the server is ready, and caches the result for some seconds."""

    def __init__(self, settings: ServerSettings, models: Mapping[str, Judge | BaseChatModel]) -> None:
        self._settings = settings
        self._models = models
        self._turn = asyncio.Lock()
        self._found: ReadinessReport | None = None
        self._at = 0.0

    async def __call__(self) -> ReadinessReport:
        """Return whether the server is ready."""
        # Requests that come at once share one check.
        async with self._turn:
            if self._found is None or time.monotonic() - self._at > CACHE_SECONDS:
                self._found = await self._check_all()
                self._at = time.monotonic()
            return self._found

    async def _check_all(self) -> ReadinessReport:
        states = await asyncio.gather(*(_check_judge(name, model) for name, model in self._models.items()))
        judges = dict(zip(self._models, states, strict=True))
        writable = await asyncio.to_thread(_is_writable, self._settings.runs)
        ready = writable and all(state == "ok" for state in states)
        return ReadinessReport(ready=ready, judges=judges, runs="ok" if writable else "cannot be written")


async def _check_judge(name: str, model: Judge | BaseChatModel) -> JudgeReadiness:
    """Return the status of a judge: an OpenAI server is asked for its models, other judges are only set up."""
    if not isinstance(model, Judge):
        return "ok"
    try:
        await get_calling_model(model)
        if not model.model.startswith("openai:"):
            return "ok"
        return await _check_server(model.base_url or os.environ.get(URL_VARIABLE) or OPENAI_URL)
    except GrevalError as error:
        ERRORS.warning("judge %s: %s", name, error)
        return "it cannot be used as set up"
    except httpx.HTTPError as error:
        ERRORS.warning("judge %s: %s", name, type(error).__name__)
        return "it cannot be reached"


async def _check_server(url: str) -> JudgeReadiness:
    headers = {"Authorization": f"Bearer {os.environ.get(KEY_VARIABLE) or 'none'}"}
    async with (
        httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as client,
        # Only the status is read.
        client.stream("GET", f"{url.rstrip('/')}/models", headers=headers) as response,
    ):
        status = response.status_code
    if status in KEY_REFUSED_STATUSES:
        return "its key is refused"
    return "ok" if status < SERVER_ERROR else "it cannot be reached"


def _is_writable(folder: Path) -> bool:
    """Return whether the folder, or its nearest existing parent, is writable and has room; nothing is created."""
    nearest = next((path for path in (folder, *folder.absolute().parents) if path.exists()), folder)
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        return False
    disk = os.statvfs(nearest)
    return disk.f_bavail * disk.f_frsize >= MIN_FREE_BYTES and (disk.f_favail > 0 or not disk.f_files)


class Health(Record):
    """The status of a responding server, and its version."""

    status: Literal["ok"] = "ok"
    version: str


@router.get("/health")
async def check_health() -> Health:
    """Return whether the server responds. No judge is called."""
    return Health(version=greval.__version__)


@router.get(
    "/ready",
    response_model=ReadinessReport,
    responses={NOT_READY: {"model": ReadinessReport, "description": "Something that the server needs does not work."}},
)
async def check_readiness(request: Request) -> JSONResponse:
    """Return whether the judges can be reached and the folder of runs can be written. It costs no tokens."""
    report = await cast("ReadinessCheck", request.app.state.readiness)()
    return JSONResponse(report.model_dump(mode="json"), 200 if report.ready else NOT_READY)


@router.get("/metrics-exposition", response_class=PlainTextResponse)
async def export_counters(service: TheService) -> Response:
    """Return the server's counters in the text format of Prometheus."""
    return Response(service.counters.export_text(), media_type=EXPOSITION_TYPE)
