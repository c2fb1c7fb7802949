"""Routes for people's judgements of a run: annotations as files, and the items that a person labels next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field, StringConstraints

from greval._util.wording import format_count
from greval.errors import ArgillaArgumentError, StoreError
from greval.records.annotation import Annotation
from greval.records.record import Record
from greval.runs.run_reader import read_known_scales
from greval.runs.store import Store
from greval.runs.store.disk import lock_folder
from greval.serve.child_routes import in_child
from greval.serve.jobs.info import JudgedFolder
from greval.serve.problems import ServeError, build_fault, build_invalid_request_error, describe_errors
from greval.serve.schemas.cursors import Cursor, decode_row_cursor, encode_cursor
from greval.serve.schemas.requests import INTEGRAL, ShortText, StrictRequest
from greval.serve.service import TheTasks
from greval.serve.state.file_receiver import (
    MAX_WHOLE_FILE_BYTES,
    describe_file_body,
    find_extension,
    receive_in_folder,
)
from greval.serve.state.run_paths import dump_without_paths, hide_paths_in_errors
from greval.serve.tenant_quotas import get_tenant_quotas
from greval.serve.workers.pool import blame_file_for_limits
from greval.trust.annotations.files import ANNOTATIONS_FILE, keep_annotations, read_run_annotations
from greval.trust.annotations.reading import read_annotations
from greval.trust.argilla.ledger import get_ledger_folder
from greval.trust.labelling.api import DEFAULT_SAMPLE, DISAGREEMENTS, LabelQueue, plan_labels

router = APIRouter(prefix="/v1/runs", tags=["people"])

LIST_SCHEMA = {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Annotation"}}
SAMPLE = rf"^((random|stratified|uncertain):[1-9][0-9]{{0,8}}|{DISAGREEMENTS})$"
MAX_FAULTY_ROWS = 100
"""The most faulty rows that are listed; all are counted."""


class StoredAnnotations(Record):
    """The number of annotations in the file, and of those that the run holds now."""

    annotations: int
    held: int


class AnnotationPage(Record):
    """The annotations of a run; `next` is the cursor of the next page, null on the last one."""

    annotations: tuple[Annotation, ...]
    next: str | None


class LabelRequest(StrictRequest):
    """The items that an annotator labels next.

    `metric` is a judged metric of the run. `sample` is `random:N`, `stratified:N` (equally many of each verdict),
    `uncertain:N`, `disagreements` (what others labelled in another way than the judge or each other), or null for all
    items. `blind`: without the judge's verdicts. `seed` is the random seed of the sample, `limit` the most items in the
    response.
    """

    metric: ShortText
    annotator: ShortText
    sample: Annotated[str, StringConstraints(pattern=SAMPLE)] | None = DEFAULT_SAMPLE
    blind: bool = True
    seed: Annotated[int, Field(ge=0, le=2**31 - 1), INTEGRAL] = 0
    limit: Annotated[int, Field(ge=1, le=1_000), INTEGRAL] = 100


@router.put(
    "/{id}/annotations",
    openapi_extra=describe_file_body(LIST_SCHEMA),
    responses=describe_errors(404, 409, 507),
)
async def put_annotations(
    request: Request,
    tasks: TheTasks,
    folder: JudgedFolder,
    annotator: Annotated[
        str | None, Query(min_length=1, max_length=200, description="who labelled, if the rows do not say it")
    ] = None,
) -> StoredAnnotations:
    """Store annotations in a run: the body is a table or JSON, with the fields of an annotation.

    A label sheet, a table of results with a column of labels, and an export of Argilla are read as well. An annotation
    replaces an older one of the same item and annotator. If a row is invalid, nothing is stored.
    """
    ending = find_extension(request)
    path, limits = folder / f"annotations{ending}", tasks.service.settings.limits
    quotas, most = get_tenant_quotas(tasks.service, tasks.tenant), min(MAX_WHOLE_FILE_BYTES, limits.upload)
    async with receive_in_folder(request.stream(), path, most, quotas=quotas, kind="disk") as sent:
        with blame_file_for_limits():
            return await tasks.run(store_annotations, folder, sent.path, annotator)


def store_annotations(folder: Path, file: Path, annotator: str | None) -> StoredAnnotations:
    """Store a file of annotations in a run, or raise `ServeError`: 422 for faulty rows, 409 if somebody writes them."""
    with hide_paths_in_errors(folder), Store.open(folder) as store:
        reading = read_annotations(file, read_known_scales(store), annotator=annotator)
    if reading.faults:
        faults = [build_fault(_format_row(fault.place), fault.message) for fault in reading.faults[:MAX_FAULTY_ROWS]]
        rows = format_count(len(reading.faults), "row")
        message = f"body: {rows} cannot be read as annotations; {faults[0].place}: {faults[0].message}"
        raise ServeError("invalid_annotations", message, faults=faults)
    try:
        lock = lock_folder(get_ledger_folder(folder))
    except StoreError as error:
        message = "annotations: somebody else writes them; send them again in a moment"
        raise ServeError("annotations_locked", message) from error
    with lock, hide_paths_in_errors(folder):
        # Else an empty row of a sheet would take a label back.
        meant = [row for position, row in enumerate(reading.annotations) if position not in reading.empty_rows]
        keep_annotations(folder, meant)
        return StoredAnnotations(annotations=len(meant), held=len(read_run_annotations(folder).annotations))


def _format_row(place: str) -> str:
    """Return the row of a fault without its file, such as `line 9`; the rows of a list have no lines."""
    number = place.rpartition(":")[2]
    return f"line {number}" if number.isdecimal() else f"row {place.rpartition(' ')[2]}"


@router.get("/{id}/annotations", responses=describe_errors(404, 409))
@in_child
def list_annotations(
    folder: JudgedFolder,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="how many at most")] = 1_000,
) -> AnnotationPage:
    """List the annotations of a run, page by page."""
    # The whole file is read each time.
    with hide_paths_in_errors(folder):
        annotations = read_run_annotations(folder).annotations if (folder / ANNOTATIONS_FILE).is_file() else ()
    begin = decode_row_cursor(cursor)
    end = begin + limit
    return AnnotationPage(
        annotations=tuple(annotations[begin:end]), next=encode_cursor(end if len(annotations) > end else None)
    )


@router.post("/{id}/labels", responses=describe_errors(404, 409), response_model=LabelQueue)
@in_child
def plan_run_labels(body: LabelRequest, folder: JudgedFolder) -> str:
    """Plan the items that an annotator labels next; the same request continues the same sample.

    A label is an annotation with the `content`, `weight` and `stratum` of its item: send it to
    `PUT /v1/runs/{id}/annotations`.
    """
    options = body.model_dump(exclude={"metric", "blind"})
    with hide_paths_in_errors(folder):
        try:
            queue = plan_labels(folder, body.metric, suggestions=not body.blind, **options)
        except ArgillaArgumentError as error:
            raise build_invalid_request_error([build_fault(f"body.{error.argument}", error.reason)]) from error
        return dump_without_paths(queue, folder)
