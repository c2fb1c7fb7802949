"""Metrics as LangServe runnables; the only module that imports LangServe.

Its handlers implement the protocol. What they would get wrong is done here: bodies are read and checked, a config is
reduced to the name of a judge, batches are bounded, and results are serialised as greval does. There is no
playground (it writes descriptions unescaped into its page), and nothing that shows the judge's prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, cast

import anyio
from fastapi import APIRouter, Depends, Request, Response
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.utils import ConfigurableFieldSpec
from langserve import APIHandler
from pydantic import ConfigDict, Field, JsonValue, TypeAdapter, WithJsonSchema
from sse_starlette import EventSourceResponse, ServerSentEvent

from greval._util.concurrency import run_workers
from greval.datasets.case_records import CaseLike
from greval.judging.metric_runnable import CaseRunnable
from greval.records.case import Case
from greval.records.record import Record
from greval.records.result import Result
from greval.serve.middleware.request_body import LARGE_BODY
from greval.serve.problems import build_fault, build_invalid_request_error, describe_errors
from greval.serve.schemas.cases import build_case_schema, build_input_schema, check_limits, parse_cases
from greval.serve.schemas.requests import INTEGRAL, ShortText
from greval.serve.service import Tenant, TheService
from greval.serve.settings import ServerLimits
from greval.serve.state.metric_library import LibraryMetric
from greval.serve.state.metric_runner import (
    JudgingOrder,
    MetricRunner,
    PathName,
    TheTenantMetrics,
)

router = APIRouter(prefix="/metrics", tags=["langserve"])

SentCase = Annotated[Any, WithJsonSchema(build_case_schema())]
"""A case as it is sent; the route parses it, so that all faults are reported in the same form."""


class _Envelope(Record):
    """Base of LangServe bodies; clients send fields that are not used, such as `kwargs`."""

    model_config = ConfigDict(strict=True, extra="ignore")


class Configurable(_Envelope):
    """What a client may choose: one of the server's judges, the first by default."""

    judge: ShortText | None = None


class LangServeConfig(_Envelope):
    """LangChain's config; all but the judge is dropped, because callbacks and tags are the client's own.

    The server decides how many calls are in flight, so `max_concurrency` has no effect.
    """

    configurable: Configurable | None = None
    max_concurrency: Annotated[int, Field(ge=1), INTEGRAL] | None = None

    @property
    def judge(self) -> str | None:
        """The chosen judge."""
        return self.configurable.judge if self.configurable else None

    @property
    def runnable_config(self) -> dict[str, Any]:
        """The config that is passed to the runnable."""
        return {"configurable": {"judge": self.judge}} if self.judge else {}


class InvokeBody(_Envelope):
    """One case."""

    input: SentCase
    config: LangServeConfig = LangServeConfig()


class BatchBody(_Envelope):
    """Several cases, with one config for all or one for each."""

    inputs: Annotated[list[SentCase], Field(min_length=1)]
    config: LangServeConfig | list[LangServeConfig] = LangServeConfig()


class InvokeMetadata(Record):
    """The id of the run, by which LangChain distinguishes runs."""

    run_id: str
    feedback_tokens: Sequence[str] = ()


class BatchMetadata(Record):
    """The ids of the runs, one for each case."""

    run_ids: Sequence[str]
    responses: Sequence[InvokeMetadata]


class InvokeResponse(Record):
    """One result; `callback_events` is empty, because prompts stay on the server."""

    output: Result
    callback_events: Sequence[Any] = ()
    metadata: InvokeMetadata


class BatchResponse(Record):
    """One result for each case, in their order."""

    output: Sequence[Result]
    callback_events: Sequence[Sequence[Any]] = ()
    metadata: BatchMetadata


MAX_HANDLERS = 512
JUDGE_FIELD = "judge"
"""The only configurable field of a call."""
HEARTBEAT_SECONDS = 15
Responses = dict[int | str, dict[str, Any]]
ERROR_RESPONSES = describe_errors(404, 502)
SCHEMA_RESPONSES: Responses = {200: {"description": "A JSON schema."}, **describe_errors(404)}
EVENT_SCHEMA = {
    "type": "object",
    "properties": {
        "event": {"enum": ["metadata", "data", "end", "error"]},
        "data": {"type": "string", "description": "JSON: of `data` the result, of `metadata` the id of the run"},
    },
}
STREAM_RESPONSES: Responses = {
    200: {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": EVENT_SCHEMA}}},
    **ERROR_RESPONSES,
}


class _ParsedRequest(Request):
    """A request whose body was read and checked already."""

    def __init__(self, request: Request, content: Mapping[str, object]) -> None:
        super().__init__(request.scope, request.receive)
        self._content = content

    async def json(self) -> Mapping[str, object]:
        """Return the content."""
        return self._content


class _EventResponse(EventSourceResponse):
    """An event stream that ends with its work.

    The exit signal of the base class belongs to the first event loop that streams, so it is not awaited.
    """

    @staticmethod
    async def listen_for_exit_signal() -> None:
        """Wait for ever; the server lets streams in flight finish."""
        await anyio.sleep_forever()


@dataclass
class TenantRunnables:
    """The metrics as one client calls them."""

    request: Request
    service: TheService
    tenant_metrics: TheTenantMetrics

    async def get_handler(self, name: str, *judges: str | None) -> APIHandler:
        """Return the handler of a metric, after a check that it can be judged by these judges."""
        metrics, handler = await self.tenant_metrics.look_up(self._find_handler, name)
        for judge in dict.fromkeys(judges):
            await self.tenant_metrics.runner.check_ready(self.tenant_metrics.tenant, judge, *metrics)
        return handler

    def _find_handler(self, name: str) -> tuple[tuple[LibraryMetric, ...], APIHandler]:
        """Find a metric, with those that it builds on before it, and its handler."""
        metrics = tuple(self.tenant_metrics.find_all([name]))
        return metrics, self.request.app.state.handlers(self.tenant_metrics.tenant, metrics)

    async def parse_cases(self, sent: list[Any], field: str) -> list[Case]:
        """Parse the cases that were sent, or raise `ServeError` (422) if one is not a case or there are too many."""
        limits = self.service.settings.limits
        if getattr(self.request.state, "bytes_in", 0) < LARGE_BODY:
            return parse_sent_cases(sent, limits, field)
        return await self.service.workers.run(self.tenant_metrics.tenant.name, parse_sent_cases, sent, limits, field)


TheRunnables = Annotated[TenantRunnables, Depends()]


@router.post("/{name}/invoke", responses={200: {"model": InvokeResponse}, **ERROR_RESPONSES})
async def invoke_metric(name: PathName, body: InvokeBody, request: Request, runnables: TheRunnables) -> Response:
    """Judge one case, in the protocol of `langserve.RemoteRunnable.invoke`.

    A metric that builds on others judges those first, as a local one does; the result holds theirs in `built_on`.
    """
    (case,) = await runnables.parse_cases([body.input], "input")
    handler = await runnables.get_handler(name, body.config.judge)
    return await handler.invoke(_ParsedRequest(request, {"input": case, "config": body.config.runnable_config}))


@router.post("/{name}/batch", responses={200: {"model": BatchResponse}, **ERROR_RESPONSES})
async def invoke_metric_batch(name: PathName, body: BatchBody, request: Request, runnables: TheRunnables) -> Response:
    """Judge several cases, in the protocol of `langserve.RemoteRunnable.batch`; a failure is a failed result."""
    cases = await runnables.parse_cases(body.inputs, "inputs")
    configs = body.config if isinstance(body.config, list) else [body.config] * len(cases)
    if len(configs) != len(cases):
        message = f"holds {len(configs):,} for {len(cases):,} inputs; give one, or one for each"
        raise build_invalid_request_error([build_fault("body.config", message)])
    handler = await runnables.get_handler(name, *(config.judge for config in configs))
    content = {"inputs": cases, "config": [config.runnable_config for config in configs]}
    return await handler.batch(_ParsedRequest(request, content))


@router.post("/{name}/stream", response_class=_EventResponse, responses=STREAM_RESPONSES)
async def stream_metric(name: PathName, body: InvokeBody, request: Request, runnables: TheRunnables) -> Response:
    """Judge one case, in the protocol of `langserve.RemoteRunnable.stream`: one event holds the whole result."""
    (case,) = await runnables.parse_cases([body.input], "input")
    handler = await runnables.get_handler(name, body.config.judge)
    events = await handler.stream(_ParsedRequest(request, {"input": case, "config": body.config.runnable_config}))
    heartbeat = ServerSentEvent(comment="still judging")
    return _EventResponse(events.body_iterator, ping=HEARTBEAT_SECONDS, ping_message_factory=lambda: heartbeat)


@router.get("/{name}/input_schema", responses=SCHEMA_RESPONSES)
async def show_input_schema(name: PathName, tenant_metrics: TheTenantMetrics) -> dict[str, Any]:
    """Return the JSON schema of the cases that the metric can judge: what it needs is required.

    A case is also accepted without that, and with the field names of other tools; it is skipped if it lacks something.
    """
    return build_input_schema((await tenant_metrics.look_up(tenant_metrics.find, name)).metric)


@router.get("/{name}/output_schema", responses=SCHEMA_RESPONSES)
async def show_output_schema(name: PathName, request: Request, runnables: TheRunnables) -> dict[str, Any]:
    """Return the JSON schema of a result."""
    return cast("dict[str, Any]", await (await runnables.get_handler(name)).output_schema(request))


@router.get("/{name}/config_schema", responses=SCHEMA_RESPONSES)
async def show_config_schema(name: PathName, request: Request, runnables: TheRunnables) -> dict[str, Any]:
    """Return the JSON schema of a call's config: the judge."""
    return cast("dict[str, Any]", await (await runnables.get_handler(name)).config_schema(request))


def parse_sent_cases(sent: list[Any], limits: ServerLimits, field: str) -> list[Case]:
    """Read cases that were sent, large ones in a child process."""
    check_limits(sent, limits, field)
    return parse_cases(sent, field)


def cache_handlers(runner: MetricRunner) -> Callable[[Tenant, tuple[LibraryMetric, ...]], APIHandler]:
    """Return a function that returns LangServe's handler of a tenant's metric, created once because it takes a while.

    The metric is the last one, after those that it builds on.
    """

    @lru_cache(maxsize=MAX_HANDLERS)
    def create_handler(tenant: Tenant, metrics: tuple[LibraryMetric, ...]) -> APIHandler:
        return APIHandler(
            RemoteMetric(runner, tenant, metrics),
            path=f"/{metrics[-1].metric.name}",
            prefix=router.prefix,
            config_keys=("configurable",),
            serializer=cast("Any", ResultSerializer()),
        )

    return create_handler


class RemoteMetric(CaseRunnable):
    """A metric of the server as a runnable: the last of `metrics`, after those that it builds on.

    A call's callbacks never reach the judge, so that prompts stay on the server.
    """

    def __init__(self, runner: MetricRunner, tenant: Tenant, metrics: tuple[LibraryMetric, ...]) -> None:
        self.name = metrics[-1].metric.name
        self._runner, self._tenant, self._metrics = runner, tenant, metrics

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The configurable fields of a call, from which the schema of the config is built."""
        names = tuple(self._runner.service.models)
        kind: Any = Literal[names] if names else str
        text = "one of the server's judges; the first if none is named"
        return [ConfigurableFieldSpec(JUDGE_FIELD, kind | None, name=JUDGE_FIELD, description=text)]

    async def ainvoke(self, input: CaseLike, config: RunnableConfig | None = None, **_: Any) -> Result:  # noqa: A002, ANN401
        """Judge one case; a failure is part of the result."""
        (result,) = await self._judge_cases([input], _get_judge_name(config or {}))
        return result

    async def abatch(  # type: ignore[override] # a list of configs, as LangServe passes it
        self,
        inputs: list[CaseLike],
        config: Sequence[RunnableConfig],
        **_: Any,  # noqa: ANN401
    ) -> list[Result]:
        """Judge cases concurrently, within the server's call limit; if the caller cancels, all of them end."""
        numbers: dict[str | None, list[int]] = {}
        for number, settings in enumerate(config):
            numbers.setdefault(_get_judge_name(settings), []).append(number)
        results: dict[int, Result] = {}

        async def judge_some(judge: str | None, chosen: list[int]) -> None:
            judged = await self._judge_cases([inputs[number] for number in chosen], judge)
            results.update(zip(chosen, judged, strict=True))

        await run_workers(judge_some(*group) for group in numbers.items())
        return [results[number] for number in range(len(inputs))]

    async def _judge_cases(self, inputs: Sequence[CaseLike], judge: str | None) -> list[Result]:
        """Judge cases by one judge; LangServe passes the fields of the cases that the route has parsed."""
        cases = [Case.model_validate(case) for case in inputs]
        lines = [case.model_dump_json() for case in cases]
        if not self._runner.is_light(self._metrics, judge, sum(map(len, lines)), len(lines)):
            content = await self._runner.judge_in_child(self._tenant, self._metrics, judge, invoke_in_child, lines)
            return _RESULTS.validate_json(content)
        return _nest_results(await _judge_last(self._runner, self._tenant, self._metrics, judge, cases), self._metrics)


async def _judge_last(
    runner: MetricRunner, tenant: Tenant, metrics: Sequence[LibraryMetric], judge: str | None, cases: Sequence[Case]
) -> list[Result]:
    """Judge cases by the last of the metrics and, as far as it needs them, by those that it builds on."""
    asked = {metrics[-1].metric.name}
    return await runner.judge_cases(tenant, cases, metrics, judge=judge, repeats=1, requested=asked)


def _nest_results(rows: Sequence[Result], metrics: Sequence[LibraryMetric]) -> list[Result]:
    """Return the result of the last metric for each case, with those that it builds on."""
    groups = zip(*[iter(rows)] * len(metrics), strict=True)
    return [result.replace(built_on=tuple(built_on)) for *built_on, result in groups]


_RESULTS: TypeAdapter[list[Result]] = TypeAdapter(list[Result])


async def invoke_in_child(
    runner: MetricRunner, metrics: Sequence[LibraryMetric], order: JudgingOrder, lines: Sequence[str]
) -> tuple[str, list[Result]]:
    """Judge cases, each a text of JSON, by the last metric of an order in a child process."""
    cases = [Case.model_validate_json(line) for line in lines]
    rows = await _judge_last(runner, order.tenant, metrics, order.judge, cases)
    return _RESULTS.dump_json(_nest_results(rows, metrics)).decode(), rows


def _get_judge_name(config: Mapping[str, Any]) -> str | None:
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
