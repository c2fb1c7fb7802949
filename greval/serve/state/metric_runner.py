"""The metrics of a tenant, and judging with them within a request; judge clients and runnables are cached."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Annotated, Any, NamedTuple, TypeVar, TypeVarTuple

from fastapi import Depends, Path, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import TypeAdapter

from greval.judging.metric_runnable import MetricRunnable
from greval.judging.model.budget import RunGuard
from greval.judging.model.call_context import CallContext
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.records.case import Case
from greval.records.metric import Metric, ReasonDepth, set_reason_depth
from greval.records.result import Failed, Failure, Result
from greval.runs.judges import JudgeModel, is_same_judge
from greval.runs.runnable import compile_metrics
from greval.runs.worker import JudgingLoop, MemoryLog
from greval.serve.call_limit import GrantedSlots, RequestedSlot
from greval.serve.problems import ServeError
from greval.serve.prometheus import ResultCounts, count_results
from greval.serve.service import Service, Tenant, TheService, TheTenant, start_local_judges
from greval.serve.settings import ServerSettings
from greval.serve.state.metric_definitions import UnreadMetricError, parse_file
from greval.serve.state.metric_library import LibraryMetric, MetricLibrary, dump_metrics
from greval.serve.tenant_quotas import get_tenant_quotas
from greval.serve.workers.child import list_secrets

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

MAX_LOOKUPS = 10
"""The most times that files are parsed for one look-up: those of one metric name those of others."""
MAX_CLIENTS = 128
MAX_RUNNABLES = 1_024
MAX_CHILD_CALLS = 8
"""The most calls of the judge that a child process makes at once for a request."""
LIGHT_BYTES = 128 * 1024
"""The most bytes of a request, once for each judged metric, that the server's process makes prompts of itself."""
LIGHT_JUDGEMENTS = 64
"""The most judgements of a request that the server's process makes itself."""
ASKED, RETURNED = b"+", b"-"
"""What a child process writes for each slot that it asks for and returns; the server grants a slot by the first."""
MAX_SIGNS = 4096
_COUNTS: TypeAdapter[tuple[ResultCounts, ...]] = TypeAdapter(tuple[ResultCounts, ...])
KEY_HINT = "the server's operator must look after its key"


class JudgingOrder(NamedTuple):
    """What a child process needs to judge: the metrics with those that they build on, in order, as dumped."""

    settings: ServerSettings
    tenant: Tenant
    definitions: Sequence[object]
    judge: str | None
    channel: Connection

    def open(self) -> tuple[MetricRunner, tuple[LibraryMetric, ...]]:
        """Return a runner and the metrics in the child process, within the event loop.

        The server grants each call of the judge, so that tenants take turns call by call.
        """
        descriptor = self.channel.fileno()

        def send(asked: int, returned: int) -> None:
            os.write(descriptor, ASKED * asked + RETURNED * returned)

        def receive() -> None:
            for _ in os.read(descriptor, MAX_SIGNS):
                slot.grant()

        slot = RequestedSlot(MAX_CHILD_CALLS, send)
        asyncio.get_running_loop().add_reader(descriptor, receive)
        service = Service(self.settings, self.settings.judges, slot, is_child=True)
        metrics = map(service.library.restore, self.definitions)
        return MetricRunner(service), tuple(LibraryMetric(metric, "own") for metric in metrics)


def _send_sign(descriptor: int) -> None:
    """Signal to a child process that it has a slot; it may have ended."""
    with suppress(OSError):
        os.write(descriptor, ASKED)


class MetricRunner:
    """Compiles metrics for judges, and judges cases with them."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._clients: list[tuple[Tenant, JudgeModel, JudgeClient]] = []
        # It returns the same objects each time.
        self.get_runnables = lru_cache(maxsize=MAX_RUNNABLES)(self._compile_all)

    def open_judge(self, tenant: Tenant, judge: str | None) -> tuple[JudgeClient, CallContext]:
        """Return the client of a judge by the server's name of it, the first by default, and the context of its calls.

        Its calls have no results, so they are counted one by one. Raise `ServeError` (429) if a quota of the tenant's
        calls is used up.
        """
        model = self.service.find_judge(judge)
        quotas = get_tenant_quotas(self.service, tenant)
        quotas.check_calls()
        meter = replace(quotas, on_usage=self.service.counters.count_usage)
        return self._get_model_client(tenant, model), CallContext(meter=meter)

    def get_clients(
        self, tenant: Tenant, judge: str | None, metrics: Iterable[LibraryMetric]
    ) -> dict[str, JudgeClient]:
        """Return the client of each judged metric: of the judge that it names, else of that of the request."""
        chosen = self.service.choose_judges((library_metric.metric for library_metric in metrics), judge)
        return {name: self._get_model_client(tenant, model) for name, model in chosen.items()}

    def _get_model_client(self, tenant: Tenant, model: JudgeModel) -> JudgeClient:
        """Return the client of a judge for a tenant, the same object each time because it owns connections."""
        for owner, cached_model, client in self._clients:
            if owner == tenant and is_same_judge(cached_model, model):
                return client
        client = JudgeClient(model, gate=self.service.get_call_slot(tenant))
        self._clients = [*self._clients[1 - MAX_CLIENTS :], (tenant, model, client)]
        return client

    async def check_ready(self, tenant: Tenant, judge: str | None, *metrics: LibraryMetric) -> None:
        """Check that the judges of the metrics can be used."""
        if judge is not None:
            self.service.find_judge(judge)
        clients = dict.fromkeys(self.get_clients(tenant, judge, metrics).values())
        if clients:
            get_tenant_quotas(self.service, tenant).check_calls()
        for client in clients:
            await client.ready()

    async def judge_cases(
        self,
        tenant: Tenant,
        cases: Sequence[Case],
        metrics: Sequence[LibraryMetric],
        *,
        judge: str | None,
        repeats: int,
        requested: Collection[str],
    ) -> list[Result]:
        """Judge cases by metrics (with all that they build on, in order) as a run does, in memory; a failure is a row.

        Metrics that are not `requested` are skipped on cases on which no formula reads them.

        If the judge stopped working, the remaining results are failures. It raises the errors of `check_ready`.
        """
        await self.check_ready(tenant, judge, *metrics)
        runnables = self.get_runnables(tenant, judge, tuple(metrics), repeats)
        clients = [*dict.fromkeys(runnable.client for runnable in runnables.values() if runnable.client)]
        guard = RunGuard(hint=KEY_HINT, model=clients[0].label if len(clients) == 1 else "")
        work = JudgingLoop(
            MemoryLog(),
            runnables,
            guard,
            # One judge has the guard of the request.
            guards={
                client: guard.for_judge(cost=guard.cost, hint=KEY_HINT, model=client.label)
                for client in clients
                if len(clients) > 1
            },
            meter=get_tenant_quotas(self.service, tenant),
            on_result=self.service.counters.count_result,
            asked=requested,
        )
        rows = await work.judge_cases(cases)
        unasked = Failed(error=Failure(kind=guard.kind or "error", message=f"the judge was not asked: {guard.why}"))
        return [
            results.get(name) or runnable.row(case, unasked)
            for case, results in zip(cases, rows, strict=True)
            for name, runnable in runnables.items()
        ]

    def is_light(self, metrics: Iterable[LibraryMetric], judge: str | None, size: int, judgements: int) -> bool:
        """Return whether cases of this size are judged in the server's process: little of it is computed there.

        Whatever computes, such as a computed metric or a formula, and long texts are for a child process. A judge that
        is a chat model cannot be passed to one.
        """
        metrics = tuple(metrics)
        judged = [library_metric.metric for library_metric in metrics if library_metric.metric.kind == "judged"]
        models = self.service.choose_judges(judged, judge).values()
        if not all(isinstance(model, Judge) for model in models):
            return True
        is_small = size * len(judged) <= LIGHT_BYTES and judgements * len(judged) <= LIGHT_JUDGEMENTS
        return is_small and len(judged) == len(metrics)

    async def judge_in_child(
        self,
        tenant: Tenant,
        metrics: Sequence[LibraryMetric],
        judge: str | None,
        function: JudgeInChild[*Arguments],
        *arguments: *Arguments,
    ) -> bytes:
        """Let a child process judge by metrics (with all that they build on, in order), and return what it answers."""
        definitions = [library_metric.metric for library_metric in metrics]
        judges = self.service.choose_judges(definitions, judge).values()
        environment = {**list_secrets(), **await start_local_judges(judges)}
        async with self._grant_calls(tenant) as channel:
            order = JudgingOrder(self.service.child_settings, tenant, dump_metrics(definitions), judge, channel)
            content = await self.service.workers.run_to_json(
                tenant.name, judge_order, order, function, *arguments, environment=environment, waits=bool(judges)
            )
        counts, _, answer = content.partition(b"\n")
        self.service.counters.add_counts(_COUNTS.validate_json(counts))
        return answer

    @asynccontextmanager
    async def _grant_calls(self, tenant: Tenant) -> AsyncIterator[Connection]:
        """Yield the end of a pipe by which a child process asks for slots of calls."""
        channel, child_channel = Pipe()
        descriptor, loop = channel.fileno(), asyncio.get_running_loop()
        slots = GrantedSlots(partial(self.service.get_call_slot, tenant), lambda: _send_sign(descriptor))

        def receive() -> None:
            signs = os.read(descriptor, MAX_SIGNS)
            slots.receive(signs.count(ASKED), signs.count(RETURNED))

        loop.add_reader(descriptor, receive)
        try:
            yield child_channel
        finally:
            loop.remove_reader(descriptor)
            await slots.close()
            channel.close()
            child_channel.close()

    def _compile_all(
        self, tenant: Tenant, judge: str | None, metrics: tuple[LibraryMetric, ...], repeats: int
    ) -> Mapping[str, MetricRunnable]:
        clients = self.get_clients(tenant, judge, metrics)
        return compile_metrics([library_metric.metric for library_metric in metrics], clients, repeats=repeats)


JudgeInChild = Callable[
    [MetricRunner, Sequence[LibraryMetric], JudgingOrder, *Arguments], Coroutine[Any, Any, tuple[str, list[Result]]]
]
"""A function that judges in a child process, and returns the content of the response and all results."""


def judge_order(order: JudgingOrder, judge: JudgeInChild[*Arguments], *arguments: *Arguments) -> str:
    """Judge in a child process, and return counts of the results in a line, and the content of the response."""

    async def judge_all() -> str:
        content, results = await judge(*order.open(), order, *arguments)
        return f"{_COUNTS.dump_json(count_results(results)).decode()}\n{content}"

    return asyncio.run(judge_all())


PathName = Annotated[
    str, Path(min_length=1, max_length=100, description="the metric's name; a computed one with any setting")
]


@dataclass(frozen=True)
class TenantMetrics:
    """The metric library as one client sees it, and the runner that judges with its metrics."""

    library: MetricLibrary
    runner: MetricRunner
    tenant: Tenant

    def find(self, name: str) -> LibraryMetric:
        """Return the client's metric with a name, or raise `ServeError` (404)."""
        return self.library.find(self.tenant.metrics, name)

    def find_all(
        self, names: list[str], depth: ReasonDepth | None = None, unsaved: Sequence[LibraryMetric] = ()
    ) -> list[LibraryMetric]:
        """Return the metrics with these names and those that they build on, in order, with this reason depth if any.

        Each metric of `unsaved` stands for the one of its name.
        """
        unsaved_by_name = {library_metric.metric.name: library_metric for library_metric in unsaved}
        metrics = [(unsaved_by_name.get(name) or self.find(name)).metric for name in dict.fromkeys(names)]
        resolved = self.library.resolve_dependencies(self.tenant.metrics, metrics, unsaved_by_name)
        return [
            _apply_reason_depth(unsaved_by_name.get(metric.name) or self.find(metric.name), depth)
            for metric in resolved
        ]

    def list_all(self) -> Iterable[LibraryMetric]:
        """Return all metrics of the client, sorted by name."""
        return self.library.list_metrics(self.tenant.metrics).values()

    def find_metrics(self, names: list[str], depth: ReasonDepth | None = None) -> list[Metric]:
        """Return the definitions of the metrics that `find_all` finds."""
        return [library_metric.metric for library_metric in self.find_all(names, depth)]

    async def look_up(self, find: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """Call a function that finds metrics, in a thread if files may have to be read, which would block the loop.

        Files of the client whose definitions are not kept are parsed in a child process first.
        """
        if not self.library.has_files(self.tenant.metrics):
            return find(*arguments)
        for _ in range(MAX_LOOKUPS):
            try:
                return await run_in_threadpool(find, *arguments)
            except UnreadMetricError as error:
                workers = self.runner.service.workers
                await workers.run(self.tenant.name, parse_file, error.file, self.tenant.metrics)
        raise ServeError("metric_file_faulty", "metrics: files change while they are read; ask again in a moment")


@lru_cache(maxsize=MAX_RUNNABLES)
def _apply_reason_depth(library_metric: LibraryMetric, depth: ReasonDepth | None) -> LibraryMetric:
    """Return a metric with this reason depth: the same object each time, because compiled metrics are cached by it."""
    (metric,) = set_reason_depth([library_metric.metric], depth)
    return library_metric if metric is library_metric.metric else replace(library_metric, metric=metric)


async def get_tenant_metrics(request: Request, service: TheService, tenant: TheTenant) -> TenantMetrics:
    """Return the metrics of the tenant."""
    return TenantMetrics(service.library, request.app.state.runner, tenant)


TheTenantMetrics = Annotated[TenantMetrics, Depends(get_tenant_metrics)]
