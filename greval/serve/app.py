"""The FastAPI app: routes, middleware and lifespan."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.util import find_spec
from operator import attrgetter
from typing import TYPE_CHECKING

from fastapi import Depends, FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.middleware.gzip import GZipMiddleware

import greval
from greval._util.concurrency import reduce_collections, run_in_background
from greval.errors import MissingExtraError
from greval.serve.call_limit import FairCallLimit
from greval.serve.middleware.access import AccessMiddleware
from greval.serve.middleware.cancellation import CancellationMiddleware
from greval.serve.middleware.head import HeadMiddleware
from greval.serve.middleware.request_body import RequestBodyMiddleware
from greval.serve.middleware.request_log import RequestLogMiddleware
from greval.serve.openapi import GrevalApi, refuse_unknown_parameters
from greval.serve.problems import add_error_handlers
from greval.serve.prometheus import ServerCounters, has_process_ended, remove_ended_processes
from greval.serve.routes import (
    argilla,
    datasets,
    downloads,
    duels,
    evaluate,
    figures,
    forecast,
    grid,
    health,
    history,
    imports,
    metrics,
    page,
    people,
    replay,
    results,
    runs,
    trust,
    usage,
    walks,
)
from greval.serve.service import Service
from greval.serve.settings import ServerSettings
from greval.serve.state.figure_cache import FigureCache
from greval.serve.state.metric_runner import MetricRunner

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from greval.judging.model.judge import Judge

OUTER_MIDDLEWARE = (RequestLogMiddleware, HeadMiddleware)
INNER_MIDDLEWARE = (AccessMiddleware, RequestBodyMiddleware, CancellationMiddleware)
"""The middleware that a request passes, outermost first; compression is between: HEAD has the headers of its result."""
ROUTES = (
    *(health, metrics, evaluate, datasets),
    *(runs, replay, imports, duels, trust, results, grid, walks, figures, history, downloads, people, argilla),
    *(forecast, usage, page),
)
"""The modules that have routes, in the order of the OpenAPI document."""
LANGSERVE_PACKAGES = ("langserve", "sse_starlette")
"""The packages of the extra `langserve`, which the server does without."""


MAX_THREADS = 64
MIN_GZIP_BYTES = 4096
"""The size in bytes from which a response is compressed; smaller ones are sent sooner as they are."""
GZIP_LEVEL = 4
"""Half as much work as the default, for responses that are some percent larger."""
CORS_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
CORS_HEADERS = ("Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "X-Request-ID")
CORS_EXPOSED_HEADERS = ("Allow", "ETag", "Location", "Retry-After", "X-Request-ID")


def create_app(settings: ServerSettings, models: Mapping[str, Judge | BaseChatModel] | None = None) -> FastAPI:
    """Create the app that serves metrics.

    Args:
        settings: The operator's settings.
        models: Judges by the names that clients use, such as test models; they replace those of the settings. Runs are
            processes of their own, so that chat models serve requests only.

    Example:
        >>> create_app(ServerSettings()).title
        'greval'
    """
    meters = ServerCounters()
    # Each process has its share of the calls.
    gate = FairCallLimit(max(1, settings.limits.calls // settings.workers), meters.set_calls_in_flight)
    service = Service(settings, models or settings.judges, gate, meters)
    app = GrevalApi(
        requires_keys=settings.keys is not None or settings.token is not None,
        title="greval",
        version=greval.__version__,
        description="Metrics for RAG and GraphRAG: judge cases, start and follow runs, read their figures.",
        # FastAPI's pages load their scripts from another server, so that they are empty offline.
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(refuse_unknown_parameters)],
        # The name of the route, so that generated clients have short names.
        generate_unique_id_function=attrgetter("name"),
        lifespan=_lifespan,
    )
    app.state.service = service
    app.state.runner = MetricRunner(service)
    app.state.readiness = health.ReadinessCheck(settings, service.models)
    app.state.figures = FigureCache()
    app.state.files = downloads.create_temporary_files()
    # What is added last is outermost.
    for inner in reversed(INNER_MIDDLEWARE):
        app.add_middleware(inner, service=service)
    # Between the groups, so that HEAD has the headers of the compressed response.
    app.add_middleware(GZipMiddleware, minimum_size=MIN_GZIP_BYTES, compresslevel=GZIP_LEVEL)
    for outer in reversed(OUTER_MIDDLEWARE):
        app.add_middleware(outer, service=service)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=CORS_METHODS,
            allow_headers=CORS_HEADERS,
            expose_headers=CORS_EXPOSED_HEADERS,
        )
    add_error_handlers(app)
    for module in ROUTES:
        app.include_router(module.router)
    _add_langserve(app)
    return app


def _add_langserve(app: FastAPI) -> None:
    """Add the LangServe routes, or without LangServe one in their place that says what to install."""
    if any(find_spec(package) is None for package in LANGSERVE_PACKAGES):
        app.add_api_route("/metrics/{path:path}", _refuse_langserve, methods=["GET", "POST"], include_in_schema=False)
        return
    from greval.serve.routes import langserve

    app.state.handlers = langserve.cache_handlers(app.state.runner)
    app.include_router(langserve.router)


async def _refuse_langserve() -> None:
    """Refuse a request of a LangServe client."""
    extra = "langserve"
    raise MissingExtraError(extra, extra)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Start and stop what lives as long as the server."""
    service: Service = app.state.service
    # A killed process leaves its counts of what was in flight.
    remove_ended_processes(has_process_ended)
    service.workers.start()
    # More than any tenant may take; the usual number is that of the cores and a few.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="files"))
    try:
        async with run_in_background(service.workers.stop_at(service.stopping)):
            with reduce_collections():
                yield
    finally:
        service.stopping.set()
        service.ledger.close()
        remove_ended_processes(os.getpid().__eq__)
