"""Routes for files of people's judgements of a run."""

from __future__ import annotations

import asyncio
import secrets
from typing import Annotated, assert_never

from fastapi import APIRouter, Query, Request

from greval._util.wording import format_count
from greval.records.annotation import Annotation
from greval.records.record import Record
from greval.serve.ids import Id
from greval.serve.jobs.info import find_judged_folder
from greval.serve.problems import ServeError, build_fault, describe_errors
from greval.serve.schemas.cursors import Cursor, decode_row_cursor, encode_cursor
from greval.serve.service import TheService, TheTenant
from greval.serve.state.annotation_files import (
    FaultyRows,
    StoredAnnotations,
    read_annotation_page,
    store_annotations,
)
from greval.serve.state.file_receiver import MAX_WHOLE_FILE_BYTES, describe_file_body, find_extension, receive_file
from greval.serve.state.uploads import KINDS
from greval.serve.workers.pool import blame_file_for_limits

router = APIRouter(prefix="/v1/runs", tags=["people"])

LIST_SCHEMA = {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Annotation"}}


class AnnotationPage(Record):
    """The annotations of a run; `next` is the cursor of the next page, null on the last one."""

    annotations: tuple[Annotation, ...]
    next: str | None


@router.put(
    "/{id}/annotations",
    openapi_extra=describe_file_body(KINDS, json=LIST_SCHEMA),
    responses=describe_errors(404, 408, 409, 413, 415, 422, 503, 507),
)
async def put_annotations(
    request: Request,
    service: TheService,
    tenant: TheTenant,
    id: Id,  # noqa: A002 - its name in the path
    annotator: Annotated[
        str | None, Query(min_length=1, max_length=200, description="who labelled, if the rows do not say it")
    ] = None,
) -> StoredAnnotations:
    """Store annotations in a run: the body is a table or JSON, with the fields of an annotation.

    A label sheet, a table of results with a column of labels, and an export of Argilla are read as well. An annotation
    replaces an older one of the same item and annotator. If a row is invalid, nothing is stored.
    """
    folder = await asyncio.to_thread(find_judged_folder, tenant, id)
    ending = find_extension(request.headers.get("content-type", ""), KINDS)
    new = folder / f".annotations-{secrets.token_hex(8)}{ending}"
    try:
        await receive_file(request.stream(), new, min(MAX_WHOLE_FILE_BYTES, service.settings.limits.upload))
        with blame_file_for_limits():
            stored = await service.workers.run(tenant.name, store_annotations, folder, new, annotator)
    finally:
        new.unlink(missing_ok=True)
    match stored:
        case StoredAnnotations():
            return stored
        case FaultyRows():
            raise _build_fault_error(stored)
        case None:
            message = "annotations: somebody else writes them; send them again in a moment"
            raise ServeError("annotations_locked", message)
        case _:
            assert_never(stored)


@router.get("/{id}/annotations", responses=describe_errors(404, 409, 422, 503, 504))
async def list_annotations(
    service: TheService,
    tenant: TheTenant,
    id: Id,  # noqa: A002 - its name in the path
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="how many at most")] = 1_000,
) -> AnnotationPage:
    """List the annotations of a run, page by page."""
    folder, begin = find_judged_folder(tenant, id), decode_row_cursor(cursor)
    annotations, more = await service.workers.run(tenant.name, read_annotation_page, folder, begin, limit)
    return AnnotationPage(annotations=annotations, next=encode_cursor(begin + limit if more else None))


def _build_fault_error(faulty: FaultyRows) -> ServeError:
    """Build the error that lists the rows that are no annotations."""
    faults = [build_fault(location, message) for location, message in faulty.rows]
    rows = format_count(faulty.total, "row")
    message = f"body: {rows} cannot be read as annotations; {faults[0].place}: {faults[0].message}"
    return ServeError("invalid_annotations", message, faults=faults)
