"""Metrics as LangServe runnables; the only module that imports LangServe.

Its handlers implement the protocol. What they would get wrong is done here: bodies are read and checked, a config is
reduced to the name of a judge, batches are bounded, and results are serialised as greval does. There is no
playground (it writes descriptions unescaped into its page), and nothing that shows the judge's prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, cast

import anyio
from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from langserve import APIHandler
from sse_starlette import EventSourceResponse, ServerSentEvent

from greval.records.case import Case
from greval.serve.problems import ServeError
from greval.serve.schemas.cases import strict_cases, within
from greval.serve.schemas.langserve import BatchBody, BatchInvoked, InvokeBody, Invoked
from greval.serve.service import Service, Tenant, TheService
from greval.serve.state.dependencies import PathName, Shelf, TheShelf
from greval.serve.state.metric_library import Found
from greval.serve.state.remote_metric import PlainJson, RemoteMetric
from greval.serve.statuses import may_answer

router = APIRouter(prefix="/metrics", tags=["langserve"])

HANDLERS = 512
HEARTBEAT_SECONDS = 15
Answers = dict[int | str, dict[str, Any]]
FAULTS = may_answer(404, 422, 500, 502, 503)
SCHEMA: Answers = {200: {"description": "A JSON schema."}, **may_answer(404, 422, 500)}
EVENT = {
    "type": "object",
    "properties": {
        "event": {"enum": ["metadata", "data", "end", "error"]},
        "data": {"type": "string", "description": "JSON: of `data` the result, of `metadata` the id of the run"},
    },
}
STREAM: Answers = {
    200: {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": EVENT}}},
    **FAULTS,
}


class _Read(Request):
    """A request whose body was read and checked already."""

    def __init__(self, request: Request, content: Mapping[str, object]) -> None:
        """Store the content that replaces the body."""
        super().__init__(request.scope, request.receive)
        self._content = content

    async def json(self) -> Mapping[str, object]:
        """Return the content."""
        return self._content


class _Events(EventSourceResponse):
    """An event stream that ends with its work.

    The exit signal of the base class belongs to the first event loop that streams, so it is not awaited.
    """

    @staticmethod
    async def listen_for_exit_signal() -> None:
        """Wait for ever; the server lets streams in flight finish."""
        await anyio.sleep_forever()


@dataclass(frozen=True)
class Runnables:
    """The metrics as one client calls them; LangServe's handlers are created once per client and metric."""

    service: Service
    shelf: Shelf
    handlers: Callable[[Tenant, tuple[Found, ...]], APIHandler]

    async def handler(self, name: str) -> APIHandler:
        """Return the handler of a metric.

        Raises:
            ServeError: If there is no such metric (404).
        """
        return (await run_in_threadpool(self._made, name))[1]

    async def ready(self, name: str, *judges: str | None) -> APIHandler:
        """Return the handler of a metric, after checking that its judges can be used.

        Raises:
            ServeError: If there is no such metric or judge (404).
            JudgeError: If a judge cannot be used as it is set up.
        """
        metrics, handler = await run_in_threadpool(self._made, name)
        for judge in dict.fromkeys(judges):
            await self.shelf.bench.ready(self.shelf.tenant, judge, *metrics)
        return handler

    def _made(self, name: str) -> tuple[tuple[Found, ...], APIHandler]:
        """Find a metric, with those that it builds on before it, and its handler, which takes some time to create."""
        metrics = tuple(self.shelf.find_all([name]))
        return metrics, self.handlers(self.shelf.tenant, metrics)

    async def cases(self, given: list[Any], place: str) -> list[Case]:
        """Parse the cases that were sent.

        Raises:
            ServeError: If one is not a case, or there are more than the server accepts (422).
        """
        within(given, self.service.settings.limits, place)
        return await run_in_threadpool(strict_cases, given, place)


async def runnables_of(request: Request, service: TheService, shelf: TheShelf) -> Runnables:
    """Return the metrics of the client that calls."""
    state = request.app.state
    if not hasattr(state, "handlers"):
        state.handlers = lru_cache(maxsize=HANDLERS)(_maker(service, shelf))
    return Runnables(service, shelf, cast("Callable[[Tenant, tuple[Found, ...]], APIHandler]", state.handlers))


TheRunnables = Annotated[Runnables, Depends(runnables_of)]


@router.post("/{name}/invoke", responses={200: {"model": Invoked}, **FAULTS})
async def invoke(name: PathName, body: InvokeBody, request: Request, runnables: TheRunnables) -> Response:
    """Judge one case, in the protocol of `langserve.RemoteRunnable.invoke`.

    A metric that builds on others judges those first, as a local one does; the result holds theirs in `built_on`.
    """
    (case,) = await runnables.cases([body.input], "input")
    handler = await runnables.ready(name, body.config.judge)
    return await handler.invoke(_Read(request, {"input": case, "config": body.config.kept}))


@router.post("/{name}/batch", responses={200: {"model": BatchInvoked}, **FAULTS})
async def batch(name: PathName, body: BatchBody, request: Request, runnables: TheRunnables) -> Response:
    """Judge several cases, in the protocol of `langserve.RemoteRunnable.batch`; a failure is a failed result."""
    cases = await runnables.cases(body.inputs, "inputs")
    configs = body.config if isinstance(body.config, list) else [body.config] * len(cases)
    if len(configs) != len(cases):
        raise ServeError(422, f"config: holds {len(configs):,} for {len(cases):,} inputs; give one, or one for each")
    handler = await runnables.ready(name, *(config.judge for config in configs))
    content = {"inputs": cases, "config": [config.kept for config in configs]}
    return await handler.batch(_Read(request, content))


@router.post("/{name}/stream", response_class=_Events, responses=STREAM)
async def stream(name: PathName, body: InvokeBody, request: Request, runnables: TheRunnables) -> Response:
    """Judge one case, in the protocol of `langserve.RemoteRunnable.stream`: one event holds the whole result."""
    (case,) = await runnables.cases([body.input], "input")
    handler = await runnables.ready(name, body.config.judge)
    events = await handler.stream(_Read(request, {"input": case, "config": body.config.kept}))
    return _Events(events.body_iterator, ping=HEARTBEAT_SECONDS, ping_message_factory=_heartbeat)


@router.get("/{name}/input_schema", responses=SCHEMA)
async def input_schema(name: PathName, request: Request, runnables: TheRunnables) -> dict[str, Any]:
    """Return the JSON schema of a case."""
    return cast("dict[str, Any]", await (await runnables.handler(name)).input_schema(request))


@router.get("/{name}/output_schema", responses=SCHEMA)
async def output_schema(name: PathName, request: Request, runnables: TheRunnables) -> dict[str, Any]:
    """Return the JSON schema of a result."""
    return cast("dict[str, Any]", await (await runnables.handler(name)).output_schema(request))


@router.get("/{name}/config_schema", responses=SCHEMA)
async def config_schema(name: PathName, request: Request, runnables: TheRunnables) -> dict[str, Any]:
    """Return the JSON schema of a call's config: the judge."""
    return cast("dict[str, Any]", await (await runnables.handler(name)).config_schema(request))


def _maker(service: Service, shelf: Shelf) -> Callable[[Tenant, tuple[Found, ...]], APIHandler]:
    bench = shelf.bench

    def made(tenant: Tenant, metrics: tuple[Found, ...]) -> APIHandler:
        return APIHandler(
            RemoteMetric(service, bench, tenant, metrics),
            path=f"/{metrics[-1].metric.name}",
            prefix=router.prefix,
            config_keys=("configurable",),
            serializer=cast("Any", PlainJson()),
        )

    return made


def _heartbeat() -> ServerSentEvent:
    return ServerSentEvent(comment="still judging")
