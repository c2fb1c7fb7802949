"""The FastAPI app: routes, middleware and lifespan."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI

import greval
from greval.serve.call_limit import FairCallLimit
from greval.serve.middleware.access import AccessMiddleware
from greval.serve.middleware.cancellation import CancellationMiddleware
from greval.serve.middleware.request_body import RequestBodyMiddleware
from greval.serve.middleware.request_log import RequestLogMiddleware
from greval.serve.openapi import GrevalApi
from greval.serve.problems import add_error_handlers
from greval.serve.prometheus import ServerCounters, has_process_ended, remove_ended_processes
from greval.serve.routes import annotations as people
from greval.serve.routes import datasets, evaluate, figures, health, langserve, metrics, page, runs
from greval.serve.service import Service
from greval.serve.settings import ServerSettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from greval.judging.model.judge import Judge

MIDDLEWARE = (RequestLogMiddleware, AccessMiddleware, RequestBodyMiddleware, CancellationMiddleware)
"""The middleware that a request passes, outermost first."""


def create_app(settings: ServerSettings, models: Mapping[str, Judge | BaseChatModel] | None = None) -> FastAPI:
    """Create the app that serves metrics.

    Args:
        settings: The operator's settings.
        models: Judges by the names that clients use, such as test models; they replace those of the settings.

    Example:
        >>> create_app(ServerSettings()).title
        'greval'
    """
    meters = ServerCounters()
    gate = FairCallLimit(max(1, settings.limits.calls // settings.workers), meters.set_calls_in_flight)
    service = Service(settings, models or settings.judges, gate, meters)
    app = GrevalApi(
        requires_keys=settings.keys is not None,
        title="greval",
        version=greval.__version__,
        description="Metrics for RAG and GraphRAG: judge cases, start and follow runs, read their figures.",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.service = service
    app.state.readiness = health.ReadinessCheck(settings, service.models)
    for layer in reversed(MIDDLEWARE):
        app.add_middleware(layer, service=service)
    add_error_handlers(app)
    for module in (health, metrics, evaluate, langserve, datasets, runs, figures, people, page):
        app.include_router(module.router)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Start and stop what lives as long as the server."""
    service: Service = app.state.service
    remove_ended_processes(has_process_ended)
    for begin in service.starting:
        await begin()
    try:
        yield
    finally:
        service.stopping.set()
        for end in reversed(service.closing):
            await end()
        remove_ended_processes(os.getpid().__eq__)
