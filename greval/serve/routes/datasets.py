"""Routes of the data sets that clients upload."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse

from greval._util.files import write_atomically
from greval.datasets.column_map import parse_columns
from greval.records.case import Case
from greval.records.record import Record
from greval.serve.child_routes import in_child
from greval.serve.file_response import DownloadResponse
from greval.serve.ids import ID_PATTERN, Id, build_not_found_error, create_id
from greval.serve.jobs.queue import JobQueue, read_job_head
from greval.serve.problems import ServeError, describe_errors
from greval.serve.schemas.cursors import Cursor, Limit, decode_named_cursor, decode_row_cursor
from greval.serve.service import Tenant, TheService, TheTasks, TheTenant
from greval.serve.state.datasets import (
    FILE_STEM,
    INFO_FILE,
    DatasetFile,
    DatasetInfo,
    UnreadRow,
    dump_dataset_page,
    dump_datasets,
    find_dataset,
    find_dataset_file,
    inspect_dataset,
    remove_dataset,
)
from greval.serve.state.file_receiver import (
    KINDS,
    describe_file_body,
    describe_file_content,
    find_extension,
    publish_folder,
    receive_in_folder,
)
from greval.serve.tenant_quotas import get_tenant_quotas
from greval.serve.workers.pool import blame_file_for_limits

router = APIRouter(prefix="/v1/datasets", tags=["datasets"])

ROWS_SCHEMA = {"type": "array", "minItems": 1, "items": {}}
"""The schema accepts any row: one that is not a case is reported, not refused."""
ColumnLines = Annotated[
    list[str] | None,
    Query(max_length=100, description="the column of a field that is called otherwise, as `FIELD=NAME`; repeatable"),
]
DatasetName = Annotated[str, Query(pattern=ID_PATTERN, description="what the data set is called")]


class DatasetList(Record):
    """Data sets, newest first; `next` is the cursor of the next page, null on the last one."""

    datasets: tuple[DatasetInfo, ...]
    next: str | None


class DatasetCases(Record):
    """A page of the cases of a data set, and the rows of it that are not cases; `next` is null on the last page."""

    cases: tuple[Case, ...]
    unread: tuple[UnreadRow, ...]
    next: str | None


@router.post(
    "",
    status_code=201,
    openapi_extra=describe_file_body(ROWS_SCHEMA),
    responses=describe_errors(409, 507),
)
async def upload_dataset(
    request: Request,
    response: Response,
    service: TheService,
    tenant: TheTenant,
    name: DatasetName,
    column: ColumnLines = None,
) -> DatasetInfo:
    """Upload cases as a file: the body is the file, the header `Content-Type` its type.

    The file may be JSON lines (`application/jsonl`), a JSON list, CSV, TSV, Excel or Parquet. It is read once: a row
    that is not a case, or beyond the server's limits, is listed in `unread` and does not stop the others. Field names
    of other tools are recognised.
    """
    ending = find_extension(request)
    limits, quotas, columns = service.settings.limits, get_tenant_quotas(service, tenant), parse_columns(column or ())
    path, dataset_id = tenant.datasets / f"{FILE_STEM}{ending}", create_id(name)
    async with receive_in_folder(request.stream(), path, limits.upload, quotas=quotas, kind="datasets") as sent:
        file = DatasetFile(sent.path, name, columns)
        with blame_file_for_limits():
            info = await service.workers.run(tenant.name, inspect_dataset, file, sent, dataset_id, limits)
        await asyncio.to_thread(write_atomically, sent.path.with_name(INFO_FILE), info.model_dump_json())
        await publish_folder(sent.path.parent, tenant.datasets / dataset_id, quotas=quotas, kind="datasets")
    response.headers["Location"] = f"/v1/datasets/{info.id}"
    return info


@router.get("", response_model=DatasetList)
@in_child
def list_datasets(tenant: TheTenant, cursor: Cursor = None, limit: Limit = 100) -> str:
    """List the uploaded data sets page by page, newest first."""
    return dump_datasets(tenant, decode_named_cursor(cursor), limit)


@router.get("/{id}", responses=describe_errors(404))
async def show_dataset(tasks: TheTasks, id: Id) -> DatasetInfo:  # noqa: A002 - its name in the path
    """Show a data set: the number of its cases, and the rows that could not be read."""
    return await tasks.run_in_thread(find_dataset, tasks.tenant, id)


@router.get("/{id}/cases", responses=describe_errors(404), response_model=DatasetCases)
@in_child
def list_dataset_cases(
    service: TheService,
    tenant: TheTenant,
    id: Id,  # noqa: A002 - its name in the path
    cursor: Cursor = None,
    limit: Limit = 100,
) -> str:
    """List the cases of a data set as they are read, page by page, in the order of the file.

    A row of the page that is not a case is listed in `unread`, and counts for `limit`.
    """
    file = find_dataset_file(tenant, id)
    return dump_dataset_page(file, service.settings.limits, decode_row_cursor(cursor), limit)


@router.get(
    "/{id}/file",
    responses={
        200: {"description": "The file, to save.", "content": describe_file_content({})},
        **describe_errors(404),
    },
    response_class=FileResponse,
)
async def download_dataset(service: TheService, tenant: TheTenant, id: Id) -> DownloadResponse:  # noqa: A002 - its name in the path
    """Save the file of a data set as it was sent."""
    info = find_dataset(tenant, id)
    try:
        return DownloadResponse(
            find_dataset_file(tenant, id).path,
            filename=f"{info.name}{info.kind}",
            media_type=next(kind for kind, ending in KINDS.items() if ending == info.kind),
            patience=service.settings.limits.patience,
            headers={"ETag": f'"{info.sha256}"'},
        )
    except FileNotFoundError as error:
        # It was deleted meanwhile.
        raise build_not_found_error("data set", id) from error


@router.delete("/{id}", status_code=204, responses=describe_errors(404, 409))
async def delete_dataset(tasks: TheTasks, id: Id) -> None:  # noqa: A002 - its name in the path
    """Delete a data set. Its runs stay, but cannot be resumed. Cancel queued or running ones first."""
    await tasks.run_in_thread(remove_unused_dataset, tasks.service.settings.runs, tasks.tenant, id)


def remove_unused_dataset(runs: Path, tenant: Tenant, dataset_id: str) -> None:
    """Remove a data set, or raise `ServeError` (409) if a waiting or running job in this folder of runs needs it."""
    find_dataset(tenant, dataset_id)
    for entry in JobQueue(runs).list_entries():
        head = read_job_head(entry.folder)
        if head and head.tenant == tenant.name and head.dataset == dataset_id:
            message = f"data set {dataset_id!r}: the run {head.id!r} needs it; cancel that first"
            raise ServeError("dataset_in_use", message)
    remove_dataset(tenant, dataset_id)
