"""Judging within a request: judges' clients and compiled metrics are kept from one request to the next."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import lru_cache

from greval.case import Case
from greval.client import JudgeClient
from greval.compile import compile_metric
from greval.material import lacking
from greval.metric import JudgedMetric
from greval.plan import built_on
from greval.result import Failed, Result
from greval.runnable import MetricRunnable
from greval.serve.library import Found
from greval.serve.service import Service, Tenant
from greval.tasks import all_of
from greval.work import narrow

CLIENTS = 128
RUNNABLES = 1_024
Marks = tuple[tuple[str, str], ...]


class Bench:
    """Compiles metrics for judges, and judges cases by them.

    Args:
        service: The judges, the limit of calls in flight and the counters.
    """

    def __init__(self, service: Service) -> None:
        """Begin with nothing compiled."""
        self._service = service
        self._client = lru_cache(maxsize=CLIENTS)(service.client)
        self._compiled = lru_cache(maxsize=RUNNABLES)(self._compile)

    def client(self, tenant: Tenant, judge: str | None) -> JudgeClient:
        """Give a judge's client, the same each time, as connections belong to it.

        Raises:
            ServeError: Where there is no such judge.
        """
        return self._client(tenant, next(iter(self._service.models), None) if judge is None else judge)

    def compiled(
        self, tenant: Tenant, judge: str | None, found: Found, *, repeats: int = 1, marks: Marks = ()
    ) -> MetricRunnable:
        """Give a metric compiled for a judge.

        Args:
            tenant: Who asks.
            judge: The judge's name, None for the first.
            found: The metric.
            repeats: How often each case is judged.
            marks: The names and fingerprints of the metrics that it builds on.

        Raises:
            ServeError: Where there is no such judge.
        """
        return self._compiled(tenant, judge, found, repeats, marks)

    async def ready(self, tenant: Tenant, judge: str | None, *metrics: Found) -> None:
        """See to it that the judge can be asked where a metric needs one.

        Raises:
            ServeError: Where there is no such judge.
            JudgeError: Where it cannot be used as it is set up.
        """
        if judge is not None:
            self._service.model(judge)
        if any(isinstance(found.metric, JudgedMetric) for found in metrics):
            await self.client(tenant, judge).ready()

    async def results(
        self, tenant: Tenant, cases: Sequence[Case], metrics: Sequence[Found], *, judge: str | None, repeats: int
    ) -> list[Result]:
        """Judge cases by metrics, each after those it builds on; what fails is a row.

        Args:
            tenant: Who asks.
            cases: The cases.
            metrics: The metrics with all that they build on, in order.
            judge: The judge's name, None for the first.
            repeats: How often each case is judged.

        Raises:
            ServeError: Where there is no such judge.
            JudgeError: Where it cannot be used as it is set up.
        """
        await self.ready(tenant, judge, *metrics)
        runnables: dict[str, MetricRunnable] = {}
        for found in metrics:
            marks = tuple((name, runnables[name].fingerprint) for name in built_on(found.metric))
            runnables[found.metric.name] = self.compiled(tenant, judge, found, repeats=repeats, marks=marks)
        table: dict[int, list[Result]] = {}

        async def row(number: int, case: Case) -> None:
            table[number] = await self._row(case, runnables)

        await all_of(row(number, case) for number, case in enumerate(cases))
        return [result for number in sorted(table) for result in table[number]]

    async def _row(self, case: Case, runnables: Mapping[str, MetricRunnable]) -> list[Result]:
        """Judge a case by every metric, each as soon as what it builds on is there."""
        due: dict[str, asyncio.Task[Result]] = {}
        async with asyncio.TaskGroup() as group:
            for name, runnable in runnables.items():
                before = {other: due[other] for other in built_on(runnable.metric)}
                due[name] = group.create_task(self._judged(case, runnable, before))
        return [task.result() for task in due.values()]

    async def _judged(self, case: Case, runnable: MetricRunnable, before: Mapping[str, asyncio.Task[Result]]) -> Result:
        known = {name: await task for name, task in before.items()}
        seen, broken = narrow(case, runnable.metric, known)
        if broken and case.error is None and not lacking(runnable.metric, case):
            result = runnable.row(case, Failed(error=broken))
        else:
            result = await runnable.ainvoke(seen)
        self._service.meters.judged(result)
        return result

    def _compile(self, tenant: Tenant, judge: str | None, found: Found, repeats: int, marks: Marks) -> MetricRunnable:
        client = self.client(tenant, judge) if isinstance(found.metric, JudgedMetric) else None
        return compile_metric(found.metric, client, repeats=repeats, built_on=dict(marks))
