"""Routes for push to and pull from the operator's Argilla server, in which each tenant has a workspace of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeVar

from fastapi import APIRouter, Response
from pydantic import Field, StringConstraints

from greval.errors import ArgillaArgumentError, ArgillaError
from greval.serve.file_response import JsonContent
from greval.serve.jobs.info import JudgedFolder
from greval.serve.logs import ERRORS
from greval.serve.problems import ServeError, build_fault, describe_errors
from greval.serve.schemas.requests import INTEGRAL, MAX_METRICS, MetricName, ShortText, StrictRequest
from greval.serve.service import Service, Tenant, TenantTasks, TheTasks
from greval.serve.state.run_paths import dump_without_paths, hide_paths_in_errors
from greval.serve.tenant_quotas import get_tenant_quotas
from greval.trust.argilla.client import KEY_VARIABLE, URL_VARIABLE, ArgillaClient
from greval.trust.argilla.dataset import ensure_workspace
from greval.trust.argilla.pull import PullResult
from greval.trust.argilla.pull import pull_from_argilla as pull
from greval.trust.argilla.push import PushResult
from greval.trust.argilla.push import push_to_argilla as push

router = APIRouter(prefix="/v1/runs", tags=["people"])

ARGILLA_SECONDS = 120.0
"""The seconds for which the server waits for Argilla; the child process that asks it is killed then."""
Request = TypeVar("Request", "PushRequest", "PullRequest")
REFUSED_STATUSES = frozenset({400, 404, 409, 422})
"""The statuses by which Argilla refuses what a client sent; others concern the server's account, or Argilla itself."""
ACCOUNT_STATUSES = frozenset({401, 403})


class PushRequest(StrictRequest):
    """Judged items for people to annotate in Argilla.

    `metrics` are judged metrics of the run, each a question of every record, and `dataset` the dataset in Argilla,
    created if it is missing. `workspace` can be left out: a key has one workspace, and without keys it is the only
    one. `sample` is `random:N`, `stratified:N` (the same number of each verdict) or `uncertain:N`; by default all items
    are pushed. `blind`: people do not see the judge's verdicts. `min_submitted` people annotate each item of a dataset
    that is created, by default 2. `seed` is the random seed of the sample.
    """

    metrics: Annotated[list[MetricName], Field(min_length=1, max_length=MAX_METRICS)]
    dataset: ShortText
    workspace: ShortText | None = None
    sample: Annotated[str, StringConstraints(pattern=r"^(random|stratified|uncertain):[1-9][0-9]{0,8}$")] | None = None
    blind: bool = True
    min_submitted: Annotated[int, Field(ge=1, le=1000), INTEGRAL] | None = None
    seed: Annotated[int, Field(ge=0, le=2**31 - 1), INTEGRAL] = 0


class PullRequest(StrictRequest):
    """A dataset in Argilla whose responses are to be pulled; `workspace` as in a push.

    `metrics` are judged metrics of the run, by default all after which a question of the dataset is named.
    """

    dataset: ShortText
    workspace: ShortText | None = None
    metrics: Annotated[list[MetricName], Field(min_length=1, max_length=MAX_METRICS)] | None = None


@router.post("/{id}/argilla/push", responses=describe_errors(403, 404, 409, 501, 502), response_model=PushResult)
async def push_to_argilla(body: PushRequest, tasks: TheTasks, folder: JudgedFolder) -> Response:
    """Push judged items to the operator's Argilla server; a repeated push adds new items and changes nothing else.

    The workspace of the tenant is created if it does not exist.
    """
    return await _ask_argilla(tasks, push_run, folder, body)


def push_run(folder: Path, request: PushRequest, workspace: str | None, is_own: bool) -> str:  # noqa: FBT001 - a child process gets no keywords
    """Push judged items of a run in a child process; `is_own` is whether the workspace is a tenant's."""
    with hide_paths_in_errors(folder), _answer_argilla_errors(workspace):
        # Without keys the workspace is the operator's, who creates it.
        if is_own and workspace:
            with ArgillaClient() as server:
                ensure_workspace(server, workspace)
        options = request.model_dump(include={"dataset", "sample", "min_submitted", "seed"})
        done = push(folder, request.metrics, workspace=workspace, suggestions=not request.blind, **options)
        return dump_without_paths(done, folder)


@router.post("/{id}/argilla/pull", responses=describe_errors(403, 404, 409, 501, 502), response_model=PullResult)
async def pull_from_argilla(body: PullRequest, tasks: TheTasks, folder: JudgedFolder) -> Response:
    """Pull people's responses into the annotations of the run; only submitted responses count."""
    get_tenant_quotas(tasks.service, tasks.tenant).check_stored("disk")
    return await _ask_argilla(tasks, pull_run, folder, body)


def pull_run(folder: Path, request: PullRequest, workspace: str | None, _: bool) -> str:  # noqa: FBT001 - as above
    """Pull people's responses to a run in a child process."""
    with hide_paths_in_errors(folder), _answer_argilla_errors(workspace):
        done = pull(folder, dataset=request.dataset, metrics=request.metrics, workspace=workspace)
        return dump_without_paths(done, folder)


async def _ask_argilla(
    tasks: TenantTasks,
    function: Callable[[Path, Request, str | None, bool], str],
    folder: Path,
    body: Request,
) -> Response:
    """Call a function that asks Argilla in a child process, and give it up if Argilla does not answer in time."""
    service, tenant = tasks.service, tasks.tenant
    workspace = _choose_workspace(service, tenant, body.workspace)
    environment = _read_argilla_settings()
    order = folder, body, workspace, bool(tenant.name)
    try:
        async with asyncio.timeout(ARGILLA_SECONDS):
            content = await service.workers.run_to_json(
                tenant.name, function, *order, environment=environment, waits=True
            )
        return JsonContent(content)
    except TimeoutError as error:
        message = f"Argilla: the operator's Argilla server did not answer within {ARGILLA_SECONDS:g} s"
        raise ServeError("argilla_error", f"{message}. What was done stays, and the same request goes on") from error


def _choose_workspace(service: Service, tenant: Tenant, requested: str | None) -> str | None:
    """Return the workspace of a tenant, None for the only one, or raise `ServeError` (403) if another one is named.

    Without keys the only client is the operator, who may name any workspace unless the settings have one.
    """
    tenant_workspace = service.settings.argilla_workspaces.get(tenant.name, tenant.name)
    if tenant_workspace and requested not in {None, tenant_workspace}:
        raise ServeError(
            "workspace_not_own", f"workspace: this key has the workspace {tenant_workspace!r} only; leave the field out"
        )
    return tenant_workspace or requested


def _read_argilla_settings() -> dict[str, str]:
    """Return the variables of the operator's Argilla server, or raise `ServeError` (501) without one."""
    settings = {name: os.environ.get(name, "") for name in (URL_VARIABLE, KEY_VARIABLE)}
    if missing := [name for name, value in settings.items() if not value]:
        message = f"the server has no Argilla server; its operator sets {' and '.join(missing)}"
        raise ServeError("argilla_not_configured", message)
    return settings


@contextmanager
def _answer_argilla_errors(workspace: str | None) -> Iterator[None]:
    """Raise each error of Argilla as a `ServeError` that speaks of the request, without names of other tenants."""
    try:
        yield
    except ArgillaArgumentError as error:
        raise _build_argument_error(error, workspace) from error
    except ArgillaError as error:
        if error.status in REFUSED_STATUSES:
            raise ServeError("argilla_refused", str(error)) from error
        ERRORS.warning("argilla: %s", error)
        cause = "refuses the account of this server" if error.status in ACCOUNT_STATUSES else "gives no answer to use"
        message = f"Argilla: the operator's Argilla server {cause}; ask the operator, whose log has more"
        raise ServeError("argilla_error", f"{message}. What was done stays, and the same request goes on") from error


def _build_argument_error(error: ArgillaArgumentError, workspace: str | None) -> ServeError:
    match error.argument, error.kind:
        case "workspace", "missing":
            message = f"workspace: Argilla has no {workspace!r} that the account of this server can use or create"
            return ServeError("argilla_workspace_not_found", f"{message}; push first, or ask the operator to create it")
        case "workspace", _:
            reason = "the operator's Argilla server does not have exactly one; name one"
            return ServeError("invalid_request", f"workspace: {reason}", faults=[build_fault("body.workspace", reason)])
        case _, "missing":
            return ServeError("argilla_dataset_not_found", f"{error.argument}: {error.reason}; push to it first")
        case _, "taken":
            return ServeError("argilla_dataset_taken", f"{error.argument}: {error.reason}")
    fault = build_fault(f"body.{error.argument}", error.reason)
    return ServeError("invalid_request", f"{error.argument}: {error.reason}", faults=[fault])
