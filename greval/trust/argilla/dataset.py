"""Datasets of an Argilla server: find them by name, create them from metrics, and complete an interrupted creation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import ValidationError

from greval.errors import ArgillaArgumentError, ArgillaError
from greval.records.metric import JudgedMetric
from greval.records.record import Record
from greval.trust.argilla.client import ArgillaClient
from greval.trust.argilla.form import JUDGE_FIELD, Json, build_parts, format_guidelines, hash_form

METADATA_KEY = "greval"
"""The key of greval's settings in the metadata of a dataset."""
MAX_NAME = 200
MIN_SUBMITTED = 2
"""The number of annotators per record if a push does not say it."""
CONFLICT = 409
READY = "ready"
"""The status of a published dataset."""
PUBLISH_HINT = "call its create() first, or choose another name"
IDENTIFYING = ("sample_id", "content", "weight")
"""The metadata that a record needs so that its answers find their items again."""


class DatasetSettings(Record):
    """What a push stores in the metadata of a dataset that it creates.

    `metrics` has the hash of each metric's form, which differs between definitions. `suggested` is whether annotators
    see the judge's verdicts.
    """

    metrics: dict[str, str]
    suggested: bool


class DatasetTarget(NamedTuple):
    """The dataset into which is pushed: its name, its workspace, and the number of annotators per record."""

    name: str
    workspace: str | None = None
    min_submitted: int | None = None

    def check(self) -> None:
        """Raise `ArgillaArgumentError` if no dataset can be made of it."""
        if not 1 <= len(self.name) <= MAX_NAME:
            raise ArgillaArgumentError("dataset", f"expected 1 to {MAX_NAME} characters, got {len(self.name)}")
        if self.min_submitted is not None and self.min_submitted < 1:
            raise ArgillaArgumentError("min_submitted", f"expected 1 or more, got {self.min_submitted}")


class ArgillaDataset(NamedTuple):
    """A published dataset on the server, as far as records and answers depend on it.

    `fields` says of each field whether it is required. `metadata` are the names of the metadata properties.
    """

    id: str
    name: str
    workspace: str
    questions: Sequence[Json]
    fields: Mapping[str, bool]
    metadata: Collection[str]
    allows_any_metadata: bool

    def check_takes(self, fields: Iterable[str]) -> None:
        """Raise `ArgillaArgumentError` if new records with these fields do not fit the dataset."""
        needed = {*fields}
        faults = []
        if missing := sorted(needed - self.fields.keys()):
            faults.append(f"it has no field {', '.join(missing)}")
        if extra := sorted(name for name, is_required in self.fields.items() if is_required and name not in needed):
            faults.append(f"it requires {', '.join(extra)}, which the metrics do not have")
        lost = [name for name in IDENTIFYING if not self._takes_metadata(name)]
        if lost:
            faults.append(f"it takes no metadata {', '.join(lost)}, by which answers find their items again")
        if faults:
            hint = "build it with greval.argilla.settings, or add records whose ids are the ids of the samples"
            raise ArgillaArgumentError("dataset", f"{self.name!r}: {'; '.join(faults)}; {hint}")

    def fit_record(self, record: Json) -> Json:
        """Return a record without the optional field and the metadata that the dataset does not take."""
        fields = {name: text for name, text in record["fields"].items() if name in self.fields or name != JUDGE_FIELD}
        metadata = {name: value for name, value in record["metadata"].items() if self._takes_metadata(name)}
        return {**record, "fields": fields, "metadata": metadata}

    def _takes_metadata(self, name: str) -> bool:
        return self.allows_any_metadata or name in self.metadata


def find_workspace(server: ArgillaClient, name: str | None) -> tuple[str, str]:
    """Find a workspace and return its id and name. None selects the only one that the user of the key can see."""
    ids = _list_workspaces(server)
    if name is None and len(ids) == 1:
        (name,) = ids
    if name is None:
        raise ArgillaArgumentError("workspace", f"name one; {server.url} has {len(ids)}", known=ids)
    if name not in ids:
        reason = f"no {name!r} at {server.url}; create it in Argilla, or name another"
        raise ArgillaArgumentError("workspace", reason, "missing", known=ids)
    return ids[name], name


def ensure_workspace(server: ArgillaClient, name: str) -> None:
    """Create a workspace if it does not exist, or raise `ArgillaArgumentError` if the user of the key may not."""
    if name in _list_workspaces(server):
        return
    try:
        server.call("POST", "/workspaces", {"name": name})
    except ArgillaError as error:
        # Somebody else has just created it.
        if error.status == CONFLICT and name in _list_workspaces(server):
            return
        reason = f"no {name!r} for the user of the key, who could not create it; create it in Argilla as an owner"
        raise ArgillaArgumentError("workspace", reason, "missing") from error


def _list_workspaces(server: ArgillaClient) -> dict[str, str]:
    """Return the ids of the workspaces that the user of the key can see, by their names."""
    return {workspace["name"]: workspace["id"] for workspace in server.list_items("/me/workspaces")}


def find_dataset(server: ArgillaClient, name: str, workspace: str | None) -> ArgillaDataset:
    """Find a dataset by name, or raise `ArgillaArgumentError` if it does not exist or is not published."""
    workspace_id, workspace = find_workspace(server, workspace)
    raw = _find_raw_dataset(server, name, workspace_id)
    if raw is None:
        names = [dataset["name"] for dataset in server.list_items("/me/datasets", workspace_id=workspace_id)]
        raise ArgillaArgumentError("dataset", f"no {name!r} in workspace {workspace!r}", "missing", known=names)
    if raw["status"] != READY:
        raise _build_draft_error(name)
    return _read_parts(server, raw, workspace)


def ensure_dataset(
    server: ArgillaClient, target: DatasetTarget, metrics: Sequence[JudgedMetric], *, suggested: bool
) -> ArgillaDataset:
    """Find a dataset by name, or create it with the form of the metrics."""
    name, min_submitted = target.name, target.min_submitted
    workspace_id, workspace = find_workspace(server, target.workspace)
    settings = DatasetSettings(metrics={metric.name: hash_form(metric) for metric in metrics}, suggested=suggested)
    parts = build_parts(metrics, suggested=suggested)
    raw = _find_raw_dataset(server, name, workspace_id)
    if raw is None:
        content = {
            "name": name,
            "workspace_id": workspace_id,
            "guidelines": format_guidelines(metrics),
            # Otherwise the server refuses records with metadata that it does not know.
            "allow_extra_metadata": True,
            "distribution": {"strategy": "overlap", "min_submitted": min_submitted or MIN_SUBMITTED},
            "metadata": {METADATA_KEY: settings.model_dump(mode="json")},
        }
        raw = _create_dataset(server, content)
    stored = _parse_settings(raw)
    if difference := _describe_difference(raw, stored, settings, min_submitted):
        reason = f"the name {name!r} is taken in workspace {workspace!r} by a dataset {difference}"
        raise ArgillaArgumentError("dataset", f"{reason}; choose another name, or the same settings", "taken")
    if raw["status"] != READY:
        if stored is None:
            raise _build_draft_error(name)
        _add_missing_parts(server, raw["id"], parts)
    return _read_parts(server, raw, workspace)


def _create_dataset(server: ArgillaClient, content: Json) -> Json:
    """Create the dataset without its parts, or return the one that a concurrent push has just created."""
    try:
        return server.call("POST", "/datasets", content)
    except ArgillaError as error:
        is_taken = error.status == CONFLICT
        raw = _find_raw_dataset(server, content["name"], content["workspace_id"]) if is_taken else None
        if raw is None:
            raise
        return raw


def _add_missing_parts(server: ArgillaClient, dataset_id: str, parts_by_path: Mapping[str, Sequence[Json]]) -> None:
    """Add the missing parts of a dataset, and publish it."""
    for path, parts in parts_by_path.items():
        names = {part["name"] for part in _list_parts(server, dataset_id, path)}
        for part in parts:
            if part["name"] not in names:
                server.call("POST", f"/datasets/{dataset_id}/{path}", part)
    # Last, because no question can be added to a published dataset.
    server.call("PUT", f"/datasets/{dataset_id}/publish")


def _list_parts(server: ArgillaClient, dataset_id: str, path: str) -> list[Json]:
    # The server has no other route to list these.
    prefix = "/me" if path == "metadata-properties" else ""
    return server.list_items(f"{prefix}/datasets/{dataset_id}/{path}")


def _find_raw_dataset(server: ArgillaClient, name: str, workspace_id: str) -> Json | None:
    listed = server.list_items("/me/datasets", workspace_id=workspace_id, name=name)
    return next((dataset for dataset in listed if dataset["name"] == name), None)


def _read_parts(server: ArgillaClient, raw: Json, workspace: str) -> ArgillaDataset:
    return ArgillaDataset(
        id=raw["id"],
        name=raw["name"],
        workspace=workspace,
        questions=_list_parts(server, raw["id"], "questions"),
        fields={field["name"]: bool(field["required"]) for field in _list_parts(server, raw["id"], "fields")},
        metadata={term["name"] for term in _list_parts(server, raw["id"], "metadata-properties")},
        allows_any_metadata=bool(raw.get("allow_extra_metadata")),
    )


def _parse_settings(raw: Json) -> DatasetSettings | None:
    """Return the settings of a dataset that a push created, None of another one."""
    try:
        return DatasetSettings.model_validate((raw.get("metadata") or {})[METADATA_KEY])
    except (KeyError, TypeError, ValidationError):
        return None


def _describe_difference(
    raw: Json, stored: DatasetSettings | None, requested: DatasetSettings, min_submitted: int | None
) -> str | None:
    """Describe the first setting in which a dataset differs from what was requested, or None if none does."""
    number = (raw.get("distribution") or {}).get("min_submitted")
    if min_submitted is not None and min_submitted != number:
        return f"with min_submitted {number} (asked for: {min_submitted})"
    if stored is None or stored == requested:
        return None
    if stored.metrics.keys() != requested.metrics.keys():
        return f"with the metrics {', '.join(stored.metrics)} (asked for: {', '.join(requested.metrics)})"
    if stored.suggested != requested.suggested:
        return f"with suggestions {stored.suggested} (asked for: {requested.suggested})"
    changed = [name for name, form in requested.metrics.items() if stored.metrics[name] != form]
    return f"with another definition of {', '.join(changed)}"


def _build_draft_error(name: str) -> ArgillaArgumentError:
    return ArgillaArgumentError("dataset", f"{name!r} is not published; {PUBLISH_HINT}", "taken")
