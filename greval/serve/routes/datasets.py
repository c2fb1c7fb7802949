"""Routes of the data sets that clients upload."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from greval.datasets.column_map import parse_columns
from greval.records.record import Record
from greval.serve.ids import ID_PATTERN, Id
from greval.serve.jobs.queue import JobQueue, read_job_spec
from greval.serve.problems import ServeError, describe_errors
from greval.serve.service import TheService, TheTenant
from greval.serve.state.file_receiver import describe_file_body, find_extension
from greval.serve.state.uploads import KINDS, DatasetInfo, Uploads

router = APIRouter(prefix="/v1/datasets", tags=["datasets"])

ROWS_SCHEMA = {"type": "array", "minItems": 1, "items": {}}
"""The schema accepts any row: one that is not a case is reported, not refused."""
ColumnLines = Annotated[
    list[str] | None,
    Query(max_length=100, description="the column of a field that is called otherwise, as `FIELD=NAME`; repeatable"),
]
DatasetName = Annotated[str, Query(pattern=ID_PATTERN, description="what the data set is called")]


class DatasetList(Record):
    """The data sets of a client, newest first."""

    datasets: tuple[DatasetInfo, ...]


@router.post(
    "",
    status_code=201,
    openapi_extra=describe_file_body(KINDS, json=ROWS_SCHEMA),
    responses=describe_errors(408, 413, 415, 422, 507),
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

    The file may be JSON lines (`application/jsonl`), a JSON list, CSV or Parquet. It is read once: a row that is not a
    case is listed in `unread` and does not stop the others. Field names of other tools are recognised.
    """
    ending = find_extension(request.headers.get("content-type", ""), KINDS)
    uploads, columns = Uploads(tenant.datasets), parse_columns(column or ())
    found = await uploads.receive(name, ending, request.stream(), service.settings.limits.upload, columns)
    response.headers["Location"] = f"/v1/datasets/{found.id}"
    return found


@router.get("")
def list_datasets(tenant: TheTenant) -> DatasetList:
    """List all uploaded data sets, newest first."""
    return DatasetList(datasets=tuple(Uploads(tenant.datasets).list_datasets()))


@router.get("/{id}", responses=describe_errors(404, 422))
def show_dataset(tenant: TheTenant, id: Id) -> DatasetInfo:  # noqa: A002 - its name in the path
    """Show a data set: the number of its cases, and the rows that could not be read."""
    return Uploads(tenant.datasets).find(id)


@router.delete("/{id}", status_code=204, responses=describe_errors(404, 409, 422))
def delete_dataset(service: TheService, tenant: TheTenant, id: Id) -> None:  # noqa: A002 - its name in the path
    """Delete a data set. Its runs stay, but cannot be resumed. Cancel queued or running ones first."""
    uploads = Uploads(tenant.datasets)
    uploads.find(id)
    for entry in JobQueue(service.settings.runs).list_entries():
        spec = read_job_spec(entry.folder)
        if spec and spec.tenant == tenant.name and spec.asked.dataset == id:
            raise ServeError(409, f"data set {id!r}: the run {spec.id!r} needs it; cancel that first")
    uploads.remove(id)
