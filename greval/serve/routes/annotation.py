"""Routes to upload and list the annotations of a run."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request

from greval.errors import StoreError
from greval.records.annotation import Annotation
from greval.records.record import Record
from greval.runs.store import Store
from greval.runs.store.disk import lock
from greval.serve.ids import Id
from greval.serve.jobs.info import judged_folder
from greval.serve.problems import ServeError
from greval.serve.schemas.cursors import Cursor, cursor_of, row_of
from greval.serve.service import TheService, TheTenant
from greval.serve.state.figure_cache import named
from greval.serve.state.file_receiver import LARGEST_WHOLE, ending_of, file_body, receive
from greval.serve.statuses import may_answer
from greval.trust.annotations.files import FILE, keep, kept, read_annotations
from greval.trust.annotations.values import scales
from greval.trust.argilla.ledger import folder_of

router = APIRouter()

KINDS = {"application/jsonl": ".jsonl", "application/x-ndjson": ".jsonl", "text/csv": ".csv"}
MOST_TOLD = 100


class Kept(Record):
    """The number of annotations in the file, and of those that the run holds now."""

    annotations: int
    held: int


class Annotations(Record):
    """The annotations of a run; `next` is the cursor of the next page, null on the last one."""

    annotations: tuple[Annotation, ...]
    next: str | None


@router.put(
    "/{id}/annotations", openapi_extra=file_body(KINDS), responses=may_answer(404, 408, 409, 413, 415, 422, 507)
)
async def put_annotations(
    request: Request,
    service: TheService,
    tenant: TheTenant,
    id: Id,  # noqa: A002 - its name in the path
) -> Kept:
    """Store annotations in a run: the body is the file, JSON lines or CSV, with the fields of an annotation.

    An annotation replaces an older one of the same item and annotator. If a row is invalid, nothing is stored.
    """
    folder = await asyncio.to_thread(judged_folder, tenant, id)
    ending = ending_of(request.headers.get("content-type", ""), KINDS)
    new = folder / f".annotations-{secrets.token_hex(8)}{ending}"
    try:
        await receive(request.stream(), new, min(LARGEST_WHOLE, service.settings.limits.upload))
        return await asyncio.to_thread(_taken, folder, new)
    finally:
        new.unlink(missing_ok=True)


@router.get("/{id}/annotations", responses=may_answer(404, 409, 422))
def list_annotations(
    tenant: TheTenant,
    id: Id,  # noqa: A002 - its name in the path
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="how many at most")] = 1_000,
) -> Annotations:
    """List the annotations of a run, page by page."""
    folder, begin = judged_folder(tenant, id), row_of(cursor)
    with named(folder):
        found = kept(folder).annotations if (folder / FILE).is_file() else ()
    more = begin + limit if len(found) > begin + limit else None
    return Annotations(annotations=found[begin : begin + limit], next=cursor_of(more))


def _taken(folder: Path, new: Path) -> Kept:
    """Read a file of annotations and store them.

    Raises:
        ServeError: If rows are invalid (422), with each of them, or if annotations are being written already (409).
    """
    with named(folder), Store.open(folder) as store:
        found = read_annotations(new, scales(store.fact("metrics")))
    if found.faults:
        faults = [f"line {fault.place.rpartition(':')[2]}: {fault.message}" for fault in found.faults]
        raise ServeError(422, f"body: {len(faults):,} rows are no annotations; {faults[0]}", faults=faults[:MOST_TOLD])
    try:
        held = lock(folder_of(folder))
    except StoreError as error:
        raise ServeError(409, "annotations: somebody else writes them; send them again in a moment") from error
    with held, named(folder):
        keep(folder, found.annotations)
        return Kept(annotations=len(found.annotations), held=len(kept(folder).annotations))
