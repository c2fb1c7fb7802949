"""Routes for push to and pull from the operator's Argilla server, in which each tenant has a workspace of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field, StringConstraints

from greval.errors import ArgillaArgumentError, ArgillaError
from greval.serve.jobs.info import JudgedFolder
from greval.serve.logs import ERRORS
from greval.serve.problems import ServeError, build_fault, describe_errors
from greval.serve.schemas.requests import INTEGRAL, MAX_METRICS, MetricName, ShortText, StrictRequest
from greval.serve.service import Service, Tenant, TheService, TheTenant
from greval.serve.state.run_paths import dump_without_paths, hide_paths_in_errors
from greval.trust.argilla.client import KEY_VARIABLE, URL_VARIABLE, ArgillaClient
from greval.trust.argilla.dataset import ensure_workspace
from greval.trust.argilla.pull import PullResult
from greval.trust.argilla.pull import pull_from_argilla as pull
from greval.trust.argilla.push import PushResult
from greval.trust.argilla.push import push_to_argilla as push

router = APIRouter(prefix="/v1/runs", tags=["people"])

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


@router.post("/{id}/argilla/push", responses=describe_errors(403, 404, 409, 422, 501, 502), response_model=PushResult)
def push_to_argilla(body: PushRequest, service: TheService, tenant: TheTenant, folder: JudgedFolder) -> Response:
    """Push judged items to the operator's Argilla server; a repeated push adds new items and changes nothing else.

    The workspace of the tenant is created if it does not exist.
    """
    workspace = _choose_workspace(service, tenant, body.workspace)
    _check_argilla_configured()
    with hide_paths_in_errors(folder), _answer_argilla_errors(workspace):
        # Without keys the workspace is the operator's, who creates it.
        if tenant.name and workspace:
            with ArgillaClient() as server:
                ensure_workspace(server, workspace)
        done = push(
            folder,
            body.metrics,
            dataset=body.dataset,
            workspace=workspace,
            sample=body.sample,
            suggestions=not body.blind,
            min_submitted=body.min_submitted,
            seed=body.seed,
        )
    return Response(dump_without_paths(done, folder), media_type="application/json")


@router.post("/{id}/argilla/pull", responses=describe_errors(403, 404, 409, 422, 501, 502), response_model=PullResult)
def pull_from_argilla(body: PullRequest, service: TheService, tenant: TheTenant, folder: JudgedFolder) -> Response:
    """Pull people's responses into the annotations of the run; only submitted responses count."""
    workspace = _choose_workspace(service, tenant, body.workspace)
    _check_argilla_configured()
    with hide_paths_in_errors(folder), _answer_argilla_errors(workspace):
        done = pull(folder, dataset=body.dataset, metrics=body.metrics, workspace=workspace)
    return Response(dump_without_paths(done, folder), media_type="application/json")


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


def _check_argilla_configured() -> None:
    """Raise `ServeError` (501) if the operator has configured no Argilla server; clients cannot name one."""
    if missing := [name for name in (URL_VARIABLE, KEY_VARIABLE) if not os.environ.get(name)]:
        message = f"the server has no Argilla server; its operator sets {' and '.join(missing)}"
        raise ServeError("argilla_not_configured", message)


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
