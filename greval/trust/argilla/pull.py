"""Pull: convert the responses to a dataset's records into annotations of a run."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from greval.errors import ArgillaError
from greval.records.record import Record
from greval.runs.store import Store
from greval.trust.annotations.files import ANNOTATIONS_FILE
from greval.trust.annotations.judged_items import hash_contents
from greval.trust.argilla.client import FORBIDDEN, ArgillaClient
from greval.trust.argilla.dataset import find_dataset
from greval.trust.argilla.ledger import lock_run, read_ledger
from greval.trust.argilla.responses import AnnotatorCounts, ResponseReader
from greval.trust.argilla.row_store import GONE, OUTDATED, get_excluded_path, replace_annotations


class PullResult(Record):
    """The result of a pull.

    `unanswered` counts records without a submitted answer. `edited` counts records that were changed in
    Argilla after the push; their answers are left out of agreement. `unknown` counts records that greval did
    not push; their answers are left out. `gone` counts, by annotator, the answers of an earlier pull that the
    server no longer has; they are kept in `gone_path`. `outdated` counts answers to content that the run has
    changed since; they are kept only in `outdated_path`.
    """

    dataset: str
    workspace: str
    path: str
    records: int
    annotators: tuple[AnnotatorCounts, ...] = ()
    unanswered: int = 0
    edited: int = 0
    unknown: int = 0
    gone: dict[str, int] = Field(default_factory=dict)
    gone_path: str
    outdated: int = 0
    outdated_path: str


def pull_from_argilla(
    run: Path | str, *, dataset: str, workspace: str | None = None, url: str | None = None, key: str | None = None
) -> PullResult:
    """Pull annotations into `annotations.jsonl` of the run folder, replacing those pulled from this dataset before.

    Args:
        run: A run folder.
        dataset: The name of a dataset created by `push`.
        workspace: Its workspace. None selects the only one.
        url: The URL of the server. Defaults to the environment variable ARGILLA_API_URL.
        key: The API key of an owner or admin. Defaults to the environment variable ARGILLA_API_KEY.

    Returns:
        The counts of pulled answers, by annotator and status.

    Raises:
        ArgillaError: If the server is not available or refuses, or the dataset does not exist. The file is unchanged.
        StoreError: If the run folder cannot be used.
        DataError: If the file cannot be written, or contains invalid rows.
    """
    folder = Path(run)
    with Store.open(folder) as store, lock_run(folder), ArgillaClient(url, key) as server:
        found = find_dataset(server, dataset, workspace)
        ledger = read_ledger(folder, found.id)
        now = hash_contents(store, found.about.metric)
        reading = ResponseReader(found, ledger, contents=now, users=_read_usernames(server, found.workspace))
        rows = [*reading.iter_annotations(server.iter_records(found.id, "responses"))]
        gone = replace_annotations(folder, found.id, ledger, rows=rows, outdated=reading.outdated)
    return PullResult(
        dataset=found.name,
        workspace=found.workspace,
        path=str(folder / ANNOTATIONS_FILE),
        records=reading.records,
        annotators=tuple(reading.iter_counts()),
        unanswered=reading.unanswered,
        edited=reading.edited,
        unknown=reading.unknown,
        gone=dict(gone),
        gone_path=str(get_excluded_path(folder, found.id, GONE)),
        outdated=len(reading.outdated),
        outdated_path=str(get_excluded_path(folder, found.id, OUTDATED)),
    )


def _read_usernames(server: ArgillaClient, workspace: str) -> dict[str, str]:
    """Map user ids to names: all users for an owner, those of the workspace for an admin."""
    try:
        users = server.list_items("/users")
    except ArgillaError as error:
        if error.status != FORBIDDEN:
            raise
        ids = {one["name"]: one["id"] for one in server.list_items("/me/workspaces")}
        users = server.list_items(f"/workspaces/{ids[workspace]}/users")
    return {one["id"]: one["username"] for one in users}
