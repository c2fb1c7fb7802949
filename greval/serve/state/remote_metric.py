"""A metric as remote callers have it: in the turn of who asks, by the judge that the call names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.utils import ConfigurableFieldSpec
from pydantic import JsonValue

from greval._util.concurrency import all_of
from greval.datasets.case_records import CaseLike
from greval.judging.metric_runnable import MetricRunnable, run_sync
from greval.records.case import Case
from greval.records.result import Result
from greval.serve.service import Service, Tenant
from greval.serve.state.metric_library import Found
from greval.serve.state.metric_runner import Bench

JUDGE = "judge"
"""All that a caller may configure."""


class RemoteMetric(Runnable[CaseLike, Result]):
    """A metric of the server's as a runnable; no callback of a call reaches the judge, whose prompts stay here.

    Args:
        service: The judges and the counters.
        bench: Where metrics are compiled.
        tenant: Who asks.
        metrics: The metrics that it builds on, in order, and last the metric itself.
    """

    def __init__(self, service: Service, bench: Bench, tenant: Tenant, metrics: tuple[Found, ...]) -> None:
        """Keep what does not change from call to call."""
        self.name = metrics[-1].metric.name
        self._service = service
        self._bench = bench
        self._tenant = tenant
        self._metrics = metrics

    @property
    def InputType(self) -> type[Case]:  # noqa: N802 - LangChain's name
        """The type of the input, from which schemas are made."""
        return Case

    @property
    def OutputType(self) -> type[Result]:  # noqa: N802 - LangChain's name
        """The type of the output, from which schemas are made."""
        return Result

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What a caller may configure, from which the schema of the config is made."""
        names = tuple(self._service.models)
        kind: Any = Literal[names] if names else str
        said = "one of the server's judges; the first where none is named"
        return [ConfigurableFieldSpec(id=JUDGE, annotation=kind | None, name=JUDGE, description=said, default=None)]

    def invoke(self, input: CaseLike, config: RunnableConfig | None = None, **_: Any) -> Result:  # noqa: A002, ANN401
        """Judge one case; see `ainvoke`."""
        return run_sync(self.ainvoke(input, config))

    async def ainvoke(self, input: CaseLike, config: RunnableConfig | None = None, **_: Any) -> Result:  # noqa: A002, ANN401
        """Judge one case; what fails is in the result."""
        return await self._judge(self._runnable(judge_of(config or {})), input)

    async def abatch(  # type: ignore[override] # a list of configs, as LangServe gives it
        self,
        inputs: list[CaseLike],
        config: Sequence[RunnableConfig],
        **_: Any,  # noqa: ANN401
    ) -> list[Result]:
        """Judge cases at once; the server's limit of calls bounds them, and where the caller goes away all end."""
        judges = [judge_of(settings) for settings in config]
        runnables = {judge: self._runnable(judge).for_batch() for judge in dict.fromkeys(judges)}
        results: dict[int, Result] = {}

        async def one(number: int, case: CaseLike, judge: str | None) -> None:
            results[number] = await self._judge(runnables[judge], case)

        await all_of(one(n, *given) for n, given in enumerate(zip(inputs, judges, strict=True)))
        return [results[number] for number in range(len(inputs))]

    def _runnable(self, judge: str | None) -> MetricRunnable:
        return self._bench.compiled(self._tenant, judge, self._metrics)

    async def _judge(self, runnable: MetricRunnable, case: CaseLike) -> Result:
        """Judge one case, and count the result with those that it builds on."""
        result = await runnable.ainvoke(case)
        for row in (*result.built_on, result):
            self._service.meters.judged(row)
        return result


def judge_of(config: Mapping[str, Any]) -> str | None:
    """Give the judge that a config names, None for the first.

    Example:
        >>> judge_of({"configurable": {"judge": "fast"}})
        'fast'
    """
    return cast("str | None", (config.get("configurable") or {}).get(JUDGE))


class PlainJson:
    """Writes results for LangServe as plain REST writes them; its own way stumbles over some numbers."""

    def dumps(self, obj: Result) -> bytes:
        """Give the JSON of a result."""
        return obj.model_dump_json().encode()

    def dumpd(self, obj: Result | list[Result]) -> JsonValue:
        """Give a result, or several, as JSON content."""
        if isinstance(obj, list):
            return [self.dumpd(one) for one in obj]
        content: JsonValue = obj.model_dump(mode="json")
        return content
