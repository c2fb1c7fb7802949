"""A metric for remote callers: it takes the caller's turn in the call limit, and uses the judge that the call names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.utils import ConfigurableFieldSpec
from pydantic import JsonValue

from greval._util.concurrency import run_workers
from greval.datasets.case_records import CaseLike
from greval.judging.metric_runnable import CaseRunnable, MetricRunnable
from greval.records.case import Case
from greval.records.result import Result
from greval.serve.service import Service, Tenant
from greval.serve.state.metric_library import LibraryMetric
from greval.serve.state.metric_runner import MetricRunner

JUDGE_FIELD = "judge"
"""The only configurable field of a call."""


class RemoteMetric(CaseRunnable):
    """A metric of the server as a runnable: the last of `metrics`, after those that it builds on.

    A call's callbacks never reach the judge, so that prompts stay on the server.
    """

    def __init__(
        self, service: Service, runner: MetricRunner, tenant: Tenant, metrics: tuple[LibraryMetric, ...]
    ) -> None:
        """Store what is the same for every call."""
        self.name = metrics[-1].metric.name
        self._service = service
        self._runner = runner
        self._tenant = tenant
        self._metrics = metrics

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The configurable fields of a call, from which the schema of the config is built."""
        names = tuple(self._service.models)
        kind: Any = Literal[names] if names else str
        text = "one of the server's judges; the first if none is named"
        return [ConfigurableFieldSpec(JUDGE_FIELD, kind | None, name=JUDGE_FIELD, description=text)]

    async def ainvoke(self, input: CaseLike, config: RunnableConfig | None = None, **_: Any) -> Result:  # noqa: A002, ANN401
        """Judge one case; a failure is part of the result."""
        return await self._judge_case(self._get_runnable(get_judge_name(config or {})), input)

    async def abatch(  # type: ignore[override] # a list of configs, as LangServe passes it
        self,
        inputs: list[CaseLike],
        config: Sequence[RunnableConfig],
        **_: Any,  # noqa: ANN401
    ) -> list[Result]:
        """Judge cases concurrently, within the server's call limit; if the caller cancels, all of them end."""
        judges = [get_judge_name(settings) for settings in config]
        runnables = {judge: self._get_runnable(judge).for_batch() for judge in dict.fromkeys(judges)}
        results: dict[int, Result] = {}

        async def judge_one(number: int, case: CaseLike, judge: str | None) -> None:
            results[number] = await self._judge_case(runnables[judge], case)

        await run_workers(judge_one(n, *pair) for n, pair in enumerate(zip(inputs, judges, strict=True)))
        return [results[number] for number in range(len(inputs))]

    def _get_runnable(self, judge: str | None) -> MetricRunnable:
        return self._runner.get_runnable(self._tenant, judge, self._metrics)

    async def _judge_case(self, runnable: MetricRunnable, case: CaseLike) -> Result:
        """Judge one case, and count the result with those that it builds on.

        LangServe passes the fields of the case that the route has parsed.
        """
        result = await runnable.ainvoke(Case.model_validate(case))
        for row in (*result.built_on, result):
            self._service.counters.count_result(row)
        return result


def get_judge_name(config: Mapping[str, Any]) -> str | None:
    """Return the judge that a config names, None for the first.

    Example:
        >>> get_judge_name({"configurable": {"judge": "fast"}})
        'fast'
    """
    return cast("str | None", (config.get("configurable") or {}).get(JUDGE_FIELD))


class ResultSerializer:
    """Serialises results for LangServe as plain REST does; LangServe's own serialiser fails at some numbers."""

    def dumps(self, obj: Result) -> bytes:
        """Return a result as JSON bytes."""
        return obj.model_dump_json().encode()

    def dumpd(self, obj: Result | list[Result]) -> JsonValue:
        """Return a result, or a list of them, as JSON values."""
        if isinstance(obj, list):
            return [self.dumpd(result) for result in obj]
        content: JsonValue = obj.model_dump(mode="json")
        return content
