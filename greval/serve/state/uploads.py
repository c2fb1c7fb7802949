"""Uploaded data sets: the file as it was sent, and a summary of its content."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, ValidationError

from greval._util.files import sync_folder, write_atomically
from greval.datasets.case_reader import CaseReader
from greval.datasets.row_faults import build_unreadable_error
from greval.records.record import Record
from greval.serve.ids import build_not_found_error, create_id, resolve_folder
from greval.serve.problems import ServeError, build_fault
from greval.serve.quotas import KeptName
from greval.serve.settings import ServerLimits
from greval.serve.state.dataset_files import DatasetContent, DatasetFile, UnreadRow
from greval.serve.state.file_receiver import ReceivedFile, receive_file, report_full_disk, run_to_completion
from greval.serve.tenant_quotas import TenantQuotas

KINDS: Mapping[str, str] = {
    "application/jsonl": ".jsonl",
    "application/x-ndjson": ".jsonl",
    "application/json": ".json",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/vnd.apache.parquet": ".parquet",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
}
"""File extensions by content type."""
InspectDataset = Callable[[DatasetFile, ServerLimits], Awaitable[DatasetContent]]
INFO_FILE = "dataset.json"
FILE_STEM = "cases"


class DatasetInfo(Record):
    """An uploaded data set.

    `cases` is the number of cases, `unread` the first hundred rows that are not judged, as they are no case or beyond
    a limit of the server, and `unread_count` the number of all; `fields` maps columns with another name to the field of
    a case that each became, `ignored` lists the columns that are no field, the first 200 of each; `columns` is the
    column map that it was uploaded with, and `proposed_columns` one that gives the cases their methods, if a column
    seems to name them; `bytes` and `sha256` are of the file as it was sent.
    """

    id: str
    name: str
    kind: str
    cases: int
    unread: tuple[UnreadRow, ...] = ()
    unread_count: int = 0
    fields: dict[str, str]
    ignored: tuple[str, ...] = ()
    columns: dict[str, str] = Field(default_factory=dict)
    proposed_columns: dict[str, str] = Field(default_factory=dict)
    created: datetime
    bytes: int
    sha256: str


class Uploads:
    """The data sets of one tenant, each in a subfolder that is created atomically."""

    def __init__(self, folder: Path, quotas: TenantQuotas | None = None) -> None:
        """Store the folder, and the quotas for what is received; nothing is created yet."""
        self._folder = folder
        self._quotas = quotas

    async def receive(
        self,
        name: str,
        kind: str,
        parts: AsyncIterator[bytes],
        limits: ServerLimits,
        columns: Mapping[str, str] | None = None,
        *,
        inspect: InspectDataset,
    ) -> DatasetInfo:
        """Store the file that a client sends, then read it once; `kind` is its extension, `columns` its column map.

        `inspect` calls `inspect_dataset`, in a child process. Raise `ServeError` if the file is too large (413), no row
        is a case (422), a quota is used up (409) or the disk is full (507), and `DataError` if it cannot be read as a
        file of this kind.
        """
        dataset_id = create_id(name)
        new = self._folder / f".new-{secrets.token_hex(8)}"
        try:
            with report_full_disk():
                await asyncio.to_thread(new.mkdir, parents=True)
                sent = await self._receive_file(parts, new / f"{FILE_STEM}{kind}", limits.upload)
                file = DatasetFile(sent.path, name, dict(columns or {}))
                content = await inspect(file, limits)
                _check_content(content)
                info = _describe_dataset(dataset_id, file, sent, content)
                await run_to_completion(self._publish_folder, new, info)
        finally:
            # Not in a thread: the request may be cancelled here too.
            shutil.rmtree(new, ignore_errors=True)
        return info

    async def _receive_file(self, parts: AsyncIterator[bytes], path: Path, most: int) -> ReceivedFile:
        """Receive a file of at most `most` bytes, and of no more than the quota of the disk leaves."""
        if self._quotas is None:
            return await receive_file(parts, path, most)
        return await receive_within_quotas(parts, path, most, quotas=self._quotas, kind="datasets")

    def _publish_folder(self, new: Path, info: DatasetInfo) -> None:
        """Move a data set to its final folder and flush it to disk, atomically."""
        with self._quotas.reserve("datasets") if self._quotas else nullcontext():
            write_atomically(new / INFO_FILE, info.model_dump_json())
            new.rename(self._folder / info.id)
            sync_folder(self._folder)

    def find(self, dataset_id: str) -> DatasetInfo:
        """Return a data set, or raise `ServeError` (404)."""
        try:
            return DatasetInfo.model_validate_json(
                (resolve_folder(self._folder, dataset_id, "data set") / INFO_FILE).read_bytes()
            )
        except (OSError, ValidationError) as error:
            raise build_not_found_error("data set", dataset_id) from error

    def has_dataset(self, dataset_id: str) -> bool:
        """Return whether a data set exists."""
        return (resolve_folder(self._folder, dataset_id, "data set") / INFO_FILE).is_file()

    def list_datasets(self) -> list[DatasetInfo]:
        """List all data sets, newest first."""
        return sorted(self._iterate_datasets(), key=lambda info: (info.created, info.id), reverse=True)

    def _iterate_datasets(self) -> Iterator[DatasetInfo]:
        for file in self._folder.glob(f"[!.]*/{INFO_FILE}"):
            # It was deleted meanwhile.
            with suppress(ServeError):
                yield self.find(file.parent.name)

    def open_cases(self, dataset_id: str, limits: ServerLimits) -> CaseReader:
        """Open the cases of a data set; a case beyond the limits, which may have changed since, is a faulty row.

        The places of its rows name the data set, not a path of this machine.
        """
        return self.find_file(dataset_id).open(limits)

    def find_file(self, dataset_id: str) -> DatasetFile:
        """Return the file of a data set, as it was sent, or raise `ServeError` (404)."""
        info = self.find(dataset_id)
        return DatasetFile(self._folder / info.id / f"{FILE_STEM}{info.kind}", info.name, info.columns)

    def remove(self, dataset_id: str) -> None:
        """Remove a data set, or raise `ServeError` (404)."""
        info = self.find(dataset_id)
        trash = self._folder / f".gone-{secrets.token_hex(8)}"
        try:
            # Atomic: no reader sees a part of it.
            (self._folder / info.id).rename(trash)
        except FileNotFoundError as error:
            raise build_not_found_error("data set", dataset_id) from error
        shutil.rmtree(trash, ignore_errors=True)


def _check_content(content: DatasetContent) -> None:
    """Raise `ServeError` (422) with the faults of the first rows if no row of a file is a case."""
    if not content.cases:
        lines = [f"{row.place}: {row.message}" for row in content.unread]
        faults = [build_fault(row.place, row.message) for row in content.unread]
        raise ServeError("invalid_case", str(build_unreadable_error(lines, content.unread_count)), faults=faults)


async def receive_within_quotas(
    parts: AsyncIterator[bytes], path: Path, most: int, *, quotas: TenantQuotas, kind: KeptName
) -> ReceivedFile:
    """Receive a file that becomes one more of a kind, of at most `most` bytes and of what the quota of the disk leaves.

    Raise the errors of `receive_file`, and `ServeError` (409) if a quota is used up.
    """
    await asyncio.to_thread(quotas.check_stored, kind)
    free = await asyncio.to_thread(quotas.measure_free_disk)
    try:
        return await receive_file(parts, path, int(min(most, free)))
    except ServeError as error:
        # The quota of the disk was the tighter limit, and so the reason.
        if error.code == "body_too_large" and free < most:
            raise await asyncio.to_thread(quotas.build_disk_error) from error
        raise


def _describe_dataset(dataset_id: str, file: DatasetFile, sent: ReceivedFile, content: DatasetContent) -> DatasetInfo:
    return DatasetInfo(
        id=dataset_id,
        name=file.name,
        kind=file.path.suffix,
        **dict(content),
        columns=dict(file.columns),
        created=datetime.now(UTC),
        bytes=sent.bytes,
        sha256=sent.sha256,
    )
