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
from greval.runs.run_reader import read_known_scales
from greval.runs.store import Store
from greval.runs.store.disk import lock_folder
from greval.serve.ids import Id
from greval.serve.jobs.info import find_judged_folder
from greval.serve.problems import ServeError
from greval.serve.schemas.cursors import Cursor, decode_row_cursor, encode_cursor
from greval.serve.service import TheService, TheTenant
from greval.serve.state.figure_cache import hide_paths_in_errors
from greval.serve.state.file_receiver import MAX_WHOLE_FILE_BYTES, describe_file_body, find_extension, receive_file
from greval.serve.statuses import describe_errors
from greval.trust.annotations.files import ANNOTATIONS_FILE, keep_annotations, read_annotations, read_run_annotations
from greval.trust.argilla.ledger import get_ledger_folder

router = APIRouter()

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
    """Read a file of annotations and store them.

    Raises:
        ServeError: If rows are invalid (422), with each of them, or if annotations are being written already (409).
    """
    with hide_paths_in_errors(folder), Store.open(folder) as store:
        found = read_annotations(new, read_known_scales(store))
    if found.faults:
        faults = [f"line {fault.place.rpartition(':')[2]}: {fault.message}" for fault in found.faults]
        raise ServeError(
            422, f"body: {len(faults):,} rows are no annotations; {faults[0]}", faults=faults[:MAX_LISTED_FAULTS]
        )
    try:
        held = lock_folder(get_ledger_folder(folder))
    except StoreError as error:
        raise ServeError(409, "annotations: somebody else writes them; send them again in a moment") from error
    with held, hide_paths_in_errors(folder):
        keep_annotations(folder, found.annotations)
        return StoredAnnotations(annotations=len(found.annotations), held=len(read_run_annotations(folder).annotations))
