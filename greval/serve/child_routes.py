"""Routes whose functions child processes call, since what clients sent and stored decides how long they take."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

from fastapi import Request, Response

from greval.serve.file_response import JsonContent
from greval.serve.service import Service, Tenant, TheTasks, open_service
from greval.serve.settings import ServerSettings
from greval.serve.state.metric_runner import MetricRunner, TenantMetrics

NO_CONTENT = 204
_FUNCTIONS: dict[str, Callable[..., object]] = {}
"""The functions of the routes, by their names."""


def in_child(function: Callable[..., object]) -> Callable[..., Coroutine[Any, Any, Response]]:
    """Make a route of a plain function: a child process calls it with what FastAPI read of the request.

    What it returns is sent as it was written there: a record, a text of JSON, or a `TaskAnswer` with headers. It may
    take the service and the metrics of the tenant, which the child process opens anew.
    """
    module, name = function.__module__, function.__qualname__
    hints = get_type_hints(function, include_extras=True)
    _FUNCTIONS[name] = function

    async def call_in_child(*, request: Request, tasks: TheTasks, **arguments: object) -> Response:
        opened = {key: type(value) for key, value in arguments.items() if isinstance(value, Service | TenantMetrics)}
        sent = {key: value for key, value in arguments.items() if key not in opened}
        order = module, name, tasks.service.child_settings, tasks.tenant, sent, opened
        content, headers = await tasks.service.workers.run_to_answer(tasks.tenant.name, call_function, *order)
        status = request.scope["route"].status_code or 200
        return Response(status_code=status) if status == NO_CONTENT else JsonContent(content, status, dict(headers))

    parameters = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
        for parameter in signature(function).parameters.values()
    ]
    added = [
        Parameter("request", Parameter.KEYWORD_ONLY, annotation=Request),
        Parameter("tasks", Parameter.KEYWORD_ONLY, annotation=TheTasks),
    ]
    returned = None if hints["return"] is type(None) else hints["return"]
    call_in_child.__signature__ = Signature([*parameters, *added], return_annotation=returned)  # type: ignore[attr-defined] # which FastAPI reads
    call_in_child.__name__, call_in_child.__doc__ = function.__name__, function.__doc__
    return call_in_child


def call_function(
    module: str,
    name: str,
    settings: ServerSettings,
    tenant: Tenant,
    arguments: Mapping[str, object],
    opened: Mapping[str, type[object]],
) -> object:
    """Call the function of a route in a child process."""
    import_module(module)
    more: dict[str, object] = {}
    if opened:
        service = open_service(settings)
        metrics = TenantMetrics(service.library, MetricRunner(service), tenant)
        more = {key: service if kind is Service else metrics for key, kind in opened.items()}
    return _FUNCTIONS[name](**arguments, **more)
