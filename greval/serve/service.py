"""What the routes share: the settings, the judges, the limit of calls in flight, and who asks."""

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
"""Names that clients give to runs and data sets: they become names of files."""


@dataclass(frozen=True)
class Tenant:
    """Who asks: the name of a key and the folder of its runs; without keys there is one without a name."""

    name: str
    runs: Path

    @property
    def metrics(self) -> Path:
        """The folder of the metric files that it made."""
        return self.runs / METRICS

    @property
    def datasets(self) -> Path:
        """The folder of the data sets that it uploaded."""
        return self.runs / DATASETS


@dataclass
class Service:
    """What the routes share; one for each process.

    `models` are the judges by the name that clients use: settings, or chat models in tests. What is in `starting`
    is awaited in order before the first request, what is in `closing` after the last one, in the opposite order.
    `stopping` is set when the server begins to end: streams without an end are ended then.
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
        """Watch over the judges."""
        self.ready = Readiness(self.settings, self.models)

    def lane(self, tenant: Tenant) -> AbstractAsyncContextManager[object]:
        """Give what is entered for each call of the judge: tenants take turns."""
        return self.gate.lane(tenant.name)

    def model(self, name: str | None = None) -> Judge | BaseChatModel:
        """Give the judge of a name, the first where none is named.

        Raises:
            ServeError: Where there is none of this name (404), or no judge at all (503).
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
        """Give a judge that is ready to be asked in the tenant's turn.

        Raises:
            ServeError: As `model` does.
        """
        return JudgeClient(self.model(name), gate=self.lane(tenant))


def service_of(request: Request) -> Service:
    """Give the service of the app that a request came to."""
    return cast("Service", request.app.state.service)


def tenant_of(request: Request) -> Tenant:
    """Give who asks; who has no valid key was turned away before."""
    return cast("Tenant", request.state.tenant)


async def _service(request: Request) -> Service:
    return service_of(request)


async def _tenant(request: Request) -> Tenant:
    return tenant_of(request)


TheService = Annotated[Service, Depends(_service)]
TheTenant = Annotated[Tenant, Depends(_tenant)]
"""Arguments of routes; given by coroutines, as FastAPI would start a thread for a plain function each time."""
