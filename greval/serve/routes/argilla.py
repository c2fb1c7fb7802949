"""Routes for people's judgements: annotation files, and push to and pull from the operator's Argilla server."""

from __future__ import annotations

import os
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field, StringConstraints

from greval.records.record import Record
from greval.serve.ids import Id
from greval.serve.jobs.info import find_judged_folder
from greval.serve.problems import ServeError
from greval.serve.routes import annotation as annotating
from greval.serve.service import TheTenant
from greval.serve.state.figure_cache import dump_without_paths, hide_paths_in_errors
from greval.serve.statuses import describe_errors
from greval.trust.argilla import PullResult, PushResult
from greval.trust.argilla import pull_from_argilla as pull
from greval.trust.argilla import push_to_argilla as push
from greval.trust.argilla.client import KEY_VARIABLE, URL_VARIABLE

router = APIRouter(prefix="/v1/runs", tags=["people"])
router.include_router(annotating.router)

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class PushRequest(Record):
    """Judged items for people to annotate in Argilla.

    `metric` is a judged metric of the run, `dataset` the dataset in Argilla, created if it is missing, `workspace` its
    workspace, optional if there is only one. `sample` is `random:N`, `stratified:N` (the same number of each verdict)
    or `uncertain:N`; by default all items are pushed. `blind`: people do not see the judge's verdicts. `min_submitted`
    people annotate each item. `seed` is the random seed of the sample.
    """

    metric: Name
    dataset: Name
    workspace: Name | None = None
    sample: Annotated[str, StringConstraints(pattern=r"^(random|stratified|uncertain):[1-9][0-9]{0,8}$")] | None = None
    blind: bool = True
    min_submitted: Annotated[int, Field(ge=1, le=1000)] = 2
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


class PullRequest(Record):
    """A dataset in Argilla, created by a push, whose responses are to be pulled."""

    dataset: Name
    workspace: Name | None = None


@router.post("/{id}/argilla/push", responses=describe_errors(404, 409, 422, 501, 502), response_model=PushResult)
def push_to_argilla(asked: PushRequest, tenant: TheTenant, id: Id) -> Response:  # noqa: A002 - its name in the path
    """Push judged items to the operator's Argilla server; a repeated push adds new items and changes nothing else."""
    folder = find_judged_folder(tenant, id)
    _check_argilla_configured()
    with hide_paths_in_errors(folder):
        done = push(
            folder,
            asked.metric,
            dataset=asked.dataset,
            workspace=asked.workspace,
            sample=asked.sample,
            suggestions=not asked.blind,
            min_submitted=asked.min_submitted,
            seed=asked.seed,
        )
    return Response(dump_without_paths(done, folder), media_type="application/json")


@router.post("/{id}/argilla/pull", responses=describe_errors(404, 409, 422, 501, 502), response_model=PullResult)
def pull_from_argilla(asked: PullRequest, tenant: TheTenant, id: Id) -> Response:  # noqa: A002 - its name in the path
    """Pull people's responses into the annotations of the run; only submitted responses count."""
    folder = find_judged_folder(tenant, id)
    _check_argilla_configured()
    with hide_paths_in_errors(folder):
        done = pull(folder, dataset=asked.dataset, workspace=asked.workspace)
    return Response(dump_without_paths(done, folder), media_type="application/json")


def _check_argilla_configured() -> None:
    """Raise `ServeError` (501) if the operator has configured no Argilla server; clients cannot name one."""
    if missing := [name for name in (URL_VARIABLE, KEY_VARIABLE) if not os.environ.get(name)]:
        raise ServeError(501, f"the server has no Argilla server; its operator sets {' and '.join(missing)}")
