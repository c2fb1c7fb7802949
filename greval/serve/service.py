"""State shared by the routes: the settings, the judges, the limit of calls in flight, and the tenant of a request."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, cast

from fastapi import Depends, Request
from langchain_core.language_models import BaseChatModel

from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import HOW_TO_NAME_A_JUDGE, Judge
from greval.serve.call_limit import FairGate
from greval.serve.problems import ServeError
from greval.serve.prometheus import Meters
from greval.serve.readiness import Readiness
from greval.serve.settings import Settings

METRICS = ".metrics"
DATASETS = ".datasets"
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""Valid names of runs and data sets; they become file names."""


@dataclass(frozen=True)
class Tenant:
    """The client of a request: the name of its key and the folder of its runs; without keys there is one, unnamed."""

    name: str
    runs: Path

    @property
    def metrics(self) -> Path:
        """The folder of its own metric files."""
        return self.runs / METRICS

    @property
    def datasets(self) -> Path:
        """The folder of the data sets that it uploaded."""
        return self.runs / DATASETS


@dataclass
class Service:
    """State shared by the routes; one object per process.

    `models` are the judges by the name that clients use: settings, or chat models in tests. Functions in `starting` are
    awaited in order before the first request, those in `closing` after the last one, in reverse order. `stopping` is
    set when the server begins to shut down, which ends the event streams.
    """

    settings: Settings
    models: Mapping[str, Judge | BaseChatModel]
    gate: FairGate
    meters: Meters = field(default_factory=Meters)
    starting: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    closing: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    ready: Readiness = field(init=False)

    def __post_init__(self) -> None:
        """Create the readiness check."""
        self.ready = Readiness(self.settings, self.models)

    def lane(self, tenant: Tenant) -> AbstractAsyncContextManager[object]:
        """Return the context manager to enter for each call of the judge; tenants take turns."""
        return self.gate.lane(tenant.name)

    def model(self, name: str | None = None) -> Judge | BaseChatModel:
        """Return the judge with a name, the first by default.

        Raises:
            ServeError: If there is no judge of this name (404), or no judge at all (503).
        """
        if not self.models:
            raise ServeError(503, f"the server has no judge; its operator must name one. {HOW_TO_NAME_A_JUDGE}")
        chosen = next(iter(self.models)) if name is None else name
        if chosen not in self.models:
            raise ServeError(
                404, f"judge {chosen!r}: the server has none of this name; it has {', '.join(self.models)}"
            )
        return self.models[chosen]

    def client(self, tenant: Tenant, name: str | None = None) -> JudgeClient:
        """Create a client of a judge that uses the tenant's share of the call limit.

        Raises:
            ServeError: As `find_judge` does.
        """
        return JudgeClient(self.model(name), gate=self.lane(tenant))


def service_of(request: Request) -> Service:
    """Return the service of the app that received a request."""
    return cast("Service", request.app.state.service)


def tenant_of(request: Request) -> Tenant:
    """Return the tenant of a request; requests without a valid key were refused before."""
    return cast("Tenant", request.state.tenant)


async def _service(request: Request) -> Service:
    return service_of(request)


async def _tenant(request: Request) -> Tenant:
    return tenant_of(request)


TheService = Annotated[Service, Depends(_service)]
TheTenant = Annotated[Tenant, Depends(_tenant)]
"""Dependencies of routes. They are coroutines because FastAPI runs a plain function in a thread each time."""
