"""Routes for people's judgements: annotation files, and push to and pull from the operator's Argilla server."""

from __future__ import annotations

import asyncio
import os
import secrets
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, StringConstraints

from greval._util.wording import format_count
from greval.errors import StoreError
from greval.records.annotation import Annotation
from greval.records.record import Record
from greval.runs.run_reader import read_known_scales
from greval.runs.store import Store
from greval.runs.store.disk import lock_folder
from greval.serve.ids import Id
from greval.serve.jobs.info import find_judged_folder
from greval.serve.problems import ServeError, describe_errors
from greval.serve.schemas.cursors import Cursor, decode_row_cursor, encode_cursor
from greval.serve.service import TheService, TheTenant
from greval.serve.state.figure_cache import dump_without_paths, hide_paths_in_errors
from greval.serve.state.file_receiver import MAX_WHOLE_FILE_BYTES, describe_file_body, find_extension, receive_file
from greval.trust.annotations.files import ANNOTATIONS_FILE, keep_annotations, read_annotations, read_run_annotations
from greval.trust.argilla.client import KEY_VARIABLE, URL_VARIABLE
from greval.trust.argilla.ledger import get_ledger_folder
from greval.trust.argilla.pull import PullResult
from greval.trust.argilla.pull import pull_from_argilla as pull
from greval.trust.argilla.push import PushResult
from greval.trust.argilla.push import push_to_argilla as push

router = APIRouter(prefix="/v1/runs", tags=["people"])

KINDS = {"application/jsonl": ".jsonl", "application/x-ndjson": ".jsonl", "text/csv": ".csv"}
MAX_LISTED_FAULTS = 100


class StoredAnnotations(Record):
    """The number of annotations in the file, and of those that the run holds now."""

    annotations: int
    held: int


class AnnotationPage(Record):
    """The annotations of a run; `next` is the cursor of the next page, null on the last one."""

    annotations: tuple[Annotation, ...]
    next: str | None


@router.put(
    "/{id}/annotations",
    openapi_extra=describe_file_body(KINDS),
    responses=describe_errors(404, 408, 409, 413, 415, 422, 507),
)
async def put_annotations(
    request: Request,
    service: TheService,
    tenant: TheTenant,
    id: Id,  # noqa: A002 - its name in the path
) -> StoredAnnotations:
    """Store annotations in a run: the body is the file, JSON lines or CSV, with the fields of an annotation.

    An annotation replaces an older one of the same item and annotator. If a row is invalid, nothing is stored.
    """
    folder = await asyncio.to_thread(find_judged_folder, tenant, id)
    ending = find_extension(request.headers.get("content-type", ""), KINDS)
    new = folder / f".annotations-{secrets.token_hex(8)}{ending}"
    try:
        await receive_file(request.stream(), new, min(MAX_WHOLE_FILE_BYTES, service.settings.limits.upload))
        return await asyncio.to_thread(_store_annotations, folder, new)
    finally:
        new.unlink(missing_ok=True)


@router.get("/{id}/annotations", responses=describe_errors(404, 409, 422))
def list_annotations(
    tenant: TheTenant,
    id: Id,  # noqa: A002 - its name in the path
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="how many at most")] = 1_000,
) -> AnnotationPage:
    """List the annotations of a run, page by page."""
    folder, begin = find_judged_folder(tenant, id), decode_row_cursor(cursor)
    with hide_paths_in_errors(folder):
        found = read_run_annotations(folder).annotations if (folder / ANNOTATIONS_FILE).is_file() else ()
    more = begin + limit if len(found) > begin + limit else None
    return AnnotationPage(annotations=found[begin : begin + limit], next=encode_cursor(more))


def _store_annotations(folder: Path, new: Path) -> StoredAnnotations:
    """Store a file of annotations, or raise `ServeError`: 422 with each invalid row, 409 during another upload."""
    with hide_paths_in_errors(folder), Store.open(folder) as store:
        found = read_annotations(new, read_known_scales(store))
    if found.faults:
        faults = [f"line {fault.place.rpartition(':')[2]}: {fault.message}" for fault in found.faults]
        rows = format_count(len(faults), "row")
        message = f"body: {rows} cannot be read as annotations; {faults[0]}"
        raise ServeError(422, message, faults=faults[:MAX_LISTED_FAULTS])
    try:
        held = lock_folder(get_ledger_folder(folder))
    except StoreError as error:
        raise ServeError(409, "annotations: somebody else writes them; send them again in a moment") from error
    with held, hide_paths_in_errors(folder):
        keep_annotations(folder, found.annotations)
        return StoredAnnotations(annotations=len(found.annotations), held=len(read_run_annotations(folder).annotations))


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
def push_to_argilla(body: PushRequest, tenant: TheTenant, id: Id) -> Response:  # noqa: A002 - its name in the path
    """Push judged items to the operator's Argilla server; a repeated push adds new items and changes nothing else."""
    folder = find_judged_folder(tenant, id)
    _check_argilla_configured()
    with hide_paths_in_errors(folder):
        done = push(
            folder,
            body.metric,
            dataset=body.dataset,
            workspace=body.workspace,
            sample=body.sample,
            suggestions=not body.blind,
            min_submitted=body.min_submitted,
            seed=body.seed,
        )
    return Response(dump_without_paths(done, folder), media_type="application/json")


@router.post("/{id}/argilla/pull", responses=describe_errors(404, 409, 422, 501, 502), response_model=PullResult)
def pull_from_argilla(body: PullRequest, tenant: TheTenant, id: Id) -> Response:  # noqa: A002 - its name in the path
    """Pull people's responses into the annotations of the run; only submitted responses count."""
    folder = find_judged_folder(tenant, id)
    _check_argilla_configured()
    with hide_paths_in_errors(folder):
        done = pull(folder, dataset=body.dataset, workspace=body.workspace)
    return Response(dump_without_paths(done, folder), media_type="application/json")


def _check_argilla_configured() -> None:
    """Raise `ServeError` (501) if the operator has configured no Argilla server; clients cannot name one."""
    if missing := [name for name in (URL_VARIABLE, KEY_VARIABLE) if not os.environ.get(name)]:
        raise ServeError(501, f"the server has no Argilla server; its operator sets {' and '.join(missing)}")
