"""Pull: what people said of the records of a dataset becomes the annotations of a run."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from greval.errors import ArgillaError
from greval.records.record import Record
from greval.runs.store import Store
from greval.trust.annotations.files import FILE
from greval.trust.annotations.judged_items import contents
from greval.trust.argilla.client import FORBIDDEN, Server
from greval.trust.argilla.dataset import find
from greval.trust.argilla.ledger import hold, load
from greval.trust.argilla.responses import Counts, Reading
from greval.trust.argilla.row_store import GONE, OUTDATED, beside, write


class Pulled(Record):
    """What a pull brought.

    `unanswered` records have no submitted answer, `edited` ones were changed in Argilla after they
    were pushed (an agreement leaves their answers out), `unknown` ones greval did not push (their
    answers are left out), and `gone` are the answers of an earlier pull, by annotator, that the server
    no longer holds; they are kept in `gone_path`. `outdated` answers are of a text that the run has
    changed since: they are kept in `outdated_path` alone.
    """

    dataset: str
    workspace: str
    path: str
    records: int
    annotators: tuple[Counts, ...] = ()
    unanswered: int = 0
    edited: int = 0
    unknown: int = 0
    gone: dict[str, int] = Field(default_factory=dict)
    gone_path: str
    outdated: int = 0
    outdated_path: str


def pull(
    run: Path | str, *, dataset: str, workspace: str | None = None, url: str | None = None, key: str | None = None
) -> Pulled:
    """Pull what people said into `annotations.jsonl` of the run folder, in place of what was pulled from there before.

    Args:
        run: A run folder.
        dataset: The name of a dataset that `push` made.
        workspace: Its workspace; None takes the only one.
        url: The server; None takes ARGILLA_API_URL of the environment.
        key: The API key of an owner or admin; None takes ARGILLA_API_KEY of the environment.

    Returns:
        What was pulled, by annotator and status.

    Raises:
        ArgillaError: Where the server is down or refuses, or there is no such dataset; the file stays as it was.
        StoreError: Where the run folder cannot be used.
        DataError: Where the file cannot be written, or holds rows that are no annotations.
    """
    folder = Path(run)
    with Store.open(folder) as store, hold(folder), Server(url, key) as server:
        found = find(server, dataset, workspace)
        ledger = load(folder, found.id)
        now = contents(store, found.about.metric)
        reading = Reading(found, ledger, contents=now, users=_usernames(server, found.workspace))
        rows = [*reading.rows(server.records(found.id, "responses"))]
        gone = write(folder, found.id, ledger, rows=rows, outdated=reading.outdated)
    return Pulled(
        dataset=found.name,
        workspace=found.workspace,
        path=str(folder / FILE),
        records=reading.records,
        annotators=tuple(reading.people()),
        unanswered=reading.unanswered,
        edited=reading.edited,
        unknown=reading.unknown,
        gone=dict(gone),
        gone_path=str(beside(folder, found.id, GONE)),
        outdated=len(reading.outdated),
        outdated_path=str(beside(folder, found.id, OUTDATED)),
    )


def _usernames(server: Server, workspace: str) -> dict[str, str]:
    """Give the names of users by id: of all to an owner, of the workspace to its admin."""
    try:
        users = server.items("/users")
    except ArgillaError as error:
        if error.status != FORBIDDEN:
            raise
        ids = {one["name"]: one["id"] for one in server.items("/me/workspaces")}
        users = server.items(f"/workspaces/{ids[workspace]}/users")
    return {one["id"]: one["username"] for one in users}
