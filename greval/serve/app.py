"""The FastAPI app: routes, middleware and lifespan."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI

import greval
from greval.serve import routes
from greval.serve.call_limit import FairGate
from greval.serve.error_handlers import answer_errors
from greval.serve.middleware.access import Access
from greval.serve.middleware.admission import Admission
from greval.serve.middleware.cancellation import Working
from greval.serve.middleware.request_body import Incoming
from greval.serve.middleware.request_log import Observing
from greval.serve.openapi import Api
from greval.serve.prometheus import Meters, forget, gone
from greval.serve.service import Service
from greval.serve.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from greval.judging.model.judge import Judge

LAYERS = (Observing, Access, Admission, Incoming, Working)
"""The middleware that a request passes, outermost first."""


def create_app(settings: Settings, models: Mapping[str, Judge | BaseChatModel] | None = None) -> FastAPI:
    """Create the app that serves metrics.

    Args:
        settings: The operator's settings.
        models: Judges by the names that clients use, such as test models; they replace those of the settings.

    Example:
        >>> create_app(Settings()).title
        'greval'
    """
    meters = Meters()
    gate = FairGate(max(1, settings.limits.calls // settings.workers), meters.flying)
    service = Service(settings, models or settings.judges, gate, meters)
    app = Api(
        keyed=settings.keys is not None,
        title="greval",
        version=greval.__version__,
        description="Metrics for RAG and GraphRAG: judge cases, start and follow runs, read their figures.",
        docs_url=None,
        redoc_url=None,
        lifespan=_life,
    )
    app.state.service = service
    for layer in reversed(LAYERS):
        app.add_middleware(layer, service=service)
    answer_errors(app)
    for router in routes.routers():
        app.include_router(router)
    return app


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    """Start and stop what lives as long as the server."""
    service: Service = app.state.service
    forget(gone)
    for begin in service.starting:
        await begin()
    try:
        yield
    finally:
        service.stopping.set()
        for end in reversed(service.closing):
            await end()
        forget(os.getpid().__eq__)
