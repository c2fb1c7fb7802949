"""State shared by the routes: the settings, the judges, the limit of calls in flight, and the tenant of a request."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeVar, TypeVarTuple, cast

from fastapi import Depends, Request
from langchain_core.language_models import BaseChatModel

from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import NO_JUDGE_MESSAGE, Judge, build_chosen_judge
from greval.judging.model.judge_names import complete_judge_name, parse_judge_name
from greval.records.metric import JudgedMetric, Metric
from greval.serve.call_limit import FairCallLimit, RequestedSlot
from greval.serve.problems import ServeError
from greval.serve.prometheus import ServerCounters
from greval.serve.settings import ServerSettings
from greval.serve.state.metric_library import MetricLibrary
from greval.serve.usage_ledger import LEDGER_FILE, UsageLedger
from greval.serve.workers.pool import WorkerPool

MAX_TENANT_THREADS = 4
"""The most threads in which files of a tenant are read and written for its requests."""
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

METRICS_FOLDER = ".metrics"
DATASETS_FOLDER = ".datasets"
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
        return self.runs / METRICS_FOLDER

    @property
    def datasets(self) -> Path:
        """The folder of the data sets that it uploaded."""
        return self.runs / DATASETS_FOLDER


async def start_local_judges(judges: Iterable[object]) -> dict[str, str]:
    """Start the embedded models among these judges, and return the environment by which child processes use them."""
    from greval.judging.local.serve import serve, share_servers

    # Whoever asks such a model fails with the reason.
    with suppress(Exception):
        for judge in judges:
            if isinstance(judge, Judge) and judge.local:
                await asyncio.to_thread(serve, parse_judge_name(judge.model)[1] or None)
    return dict(share_servers())


@dataclass
class Service:
    """State shared by the routes; one object per process.

    `models` are the judges by the name that clients use: settings, or chat models in tests. `is_child` is whether this
    is a child process, which may parse what clients sent. `stopping` is set when the server begins to shut down, which
    ends the event streams.
    """

    settings: ServerSettings
    models: Mapping[str, Judge | BaseChatModel]
    call_limit: FairCallLimit | RequestedSlot
    counters: ServerCounters = field(default_factory=ServerCounters)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    threads: Mapping[str, asyncio.Semaphore] = field(
        default_factory=lambda: defaultdict(lambda: asyncio.Semaphore(MAX_TENANT_THREADS))
    )
    is_child: bool = field(default=False, kw_only=True)
    library: MetricLibrary = field(init=False)
    workers: WorkerPool = field(init=False)
    ledger: UsageLedger = field(init=False)

    def __post_init__(self) -> None:
        """Create the library of metrics, which loads those that the operator named, and what the routes share."""
        self.workers = WorkerPool(self.settings)
        self.ledger = UsageLedger(self.settings.runs / LEDGER_FILE)
        self.library = MetricLibrary(*self.settings.library, metrics=self.settings.metrics, parses=self.is_child)

    def get_call_slot(self, tenant: Tenant) -> AbstractAsyncContextManager[object]:
        """Return the context manager to enter for each call of the judge; tenants take turns."""
        return self.call_limit.get_slot(tenant.name)

    @property
    def child_settings(self) -> ServerSettings:
        """The settings for child processes, to which chat models cannot be passed."""
        judges = {name: judge for name, judge in self.models.items() if isinstance(judge, Judge)}
        return self.settings.model_copy(update={"judges": judges})

    def find_judge(self, name: str | None = None) -> Judge | BaseChatModel:
        """Return a judge, the first by default, or raise `ServeError` (404 for an unknown name, 503 without judges)."""
        if not self.models:
            raise ServeError("no_judge", f"the server has no judge; its operator must name one. {NO_JUDGE_MESSAGE}")
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            message = f"judge {name!r}: the server has none of this name; it has {', '.join(self.models)}"
            raise ServeError("judge_not_found", message)
        return self.models[name]

    def choose_judge(self, metric: Metric, name: str | None = None) -> Judge | BaseChatModel:
        """Return the judge of a metric: the one that it names, if the server offers it, else the one of this name.

        A metric names a model. Its server must be the one that the operator named, so that no request can send texts
        elsewhere. Raise `ServeError` (409) if the server does not offer the model, and the errors of `find_judge`.
        """
        choice = metric.judge if isinstance(metric, JudgedMetric) else None
        if choice is None:
            return self.find_judge(name)
        for model in self.models.values():
            if not isinstance(model, Judge):
                if JudgeClient(model).label == choice.model:
                    return model
            elif (
                complete_judge_name(choice.model) in {model.model, model.label}
                and choice.base_url in {None, model.base_url}
                and {**model.options, **choice.judge_options} == model.options
            ):
                return build_chosen_judge(choice.model_copy(update={"model": model.model}), model)
        offered = ", ".join(JudgeClient(model).label for model in self.models.values()) or "none"
        where = f" at {choice.base_url}" if choice.base_url else ""
        where += " with judge_options of its own" if choice.judge_options else ""
        raise ServeError(
            "judge_not_offered",
            f"metric {metric.name!r}: names the judge {choice.model}{where}, which the server does not offer; it has "
            f"{offered}. Take judge out of the metric, or ask the operator to start the server with it",
        )

    def choose_judges(self, metrics: Iterable[Metric], name: str | None = None) -> dict[str, Judge | BaseChatModel]:
        """Return the judge of each judged metric by its name; see `choose_judge`."""
        return {metric.name: self.choose_judge(metric, name) for metric in metrics if metric.kind == "judged"}


async def get_service(request: Request) -> Service:
    """Return the service of the app that received a request."""
    return cast("Service", request.app.state.service)


async def get_tenant(request: Request) -> Tenant:
    """Return the tenant of a request; requests without a valid key were refused before."""
    return cast("Tenant", request.state.tenant)


TheService = Annotated[Service, Depends(get_service)]
TheTenant = Annotated[Tenant, Depends(get_tenant)]
"""Dependencies of routes. They are coroutines because FastAPI runs a plain function in a thread each time."""


def open_service(settings: ServerSettings) -> Service:
    """Open the state that the routes share in a child process."""
    return Service(settings, settings.judges, FairCallLimit(settings.limits.calls), is_child=True)


@dataclass
class TenantTasks:
    """Child processes that answer requests of a tenant: what its content decides is done there."""

    service: TheService
    tenant: TheTenant

    async def run(self, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """Call a function in a child process, and return its value; see `WorkerPool.run`."""
        return await self.service.workers.run(self.tenant.name, function, *arguments)

    async def run_in_thread(self, function: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """Call a function that reads or writes small files in a thread; each tenant has its share of the threads."""
        async with self.service.threads[self.tenant.name]:
            return await asyncio.to_thread(function, *arguments)


TheTasks = Annotated[TenantTasks, Depends()]
