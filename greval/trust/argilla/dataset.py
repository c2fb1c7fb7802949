"""Datasets of an Argilla server: find them by name, create them from a metric, and complete an interrupted push."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field, ValidationError

from greval.errors import ArgillaArgumentError, ArgillaError
from greval.records.metric import JudgedMetric
from greval.records.metric_input import hash_json
from greval.records.record import Record
from greval.records.scale import JudgedScale
from greval.trust.argilla.client import ArgillaClient
from greval.trust.argilla.form import Json, build_parts, format_all_guidelines, format_guidelines

METADATA_KEY = "greval"
"""The key of greval's settings in the metadata of a dataset."""
MAX_NAME = 200
CONFLICT = 409
READY = "ready"
"""The status of a published dataset."""
PUBLISH_HINT = "call its create() first, or choose another name"


class DatasetSettings(Record):
    """The metadata that greval stores in its datasets: the metric with its scale, and the settings of the push."""

    metric: str
    scale: JudgedScale
    suggested: bool
    sample: str | None
    seed: int
    min_submitted: int
    settings: str


class ArgillaDataset(Record):
    """A dataset on the server."""

    id: str
    name: str
    workspace: str
    about: DatasetSettings
    question_ids: Annotated[dict[str, str], Field(default_factory=dict)]
    fields: frozenset[str] = frozenset()


def find_workspace(server: ArgillaClient, name: str | None) -> tuple[str, str]:
    """Find a workspace and return its id and name. None selects the only one that the user of the key can see.

    Raise `ArgillaArgumentError` if no workspace has this name, or there is not exactly one and no name is given.
    """
    known = _list_workspaces(server)
    if name is None and len(known) == 1:
        return next((found, only) for only, found in known.items())
    if name is None:
        raise ArgillaArgumentError("workspace", f"name one; {server.url} has {len(known)}", known=known)
    if name not in known:
        reason = f"no {name!r} at {server.url}; create it in Argilla, or name another"
        raise ArgillaArgumentError("workspace", reason, "missing", known=known)
    return known[name], name


def ensure_workspace(server: ArgillaClient, name: str) -> None:
    """Create a workspace if it does not exist, or raise `ArgillaArgumentError` if the user of the key may not."""
    if name in _list_workspaces(server):
        return
    try:
        server.call("POST", "/workspaces", {"name": name})
    except ArgillaError as error:
        if error.status == CONFLICT and name in _list_workspaces(server):  # somebody else has just created it
            return
        reason = f"no {name!r} for the user of the key, who could not create it; create it in Argilla as an owner"
        raise ArgillaArgumentError("workspace", reason, "missing") from error


def _list_workspaces(server: ArgillaClient) -> dict[str, str]:
    """Return the ids of the workspaces that the user of the key can see, by their names."""
    return {one["name"]: one["id"] for one in server.list_items("/me/workspaces")}


def find_dataset(server: ArgillaClient, name: str, workspace: str | None) -> ArgillaDataset:
    """Find a dataset by name, or raise `ArgillaArgumentError` if it does not exist or was not created by greval."""
    workspace_id, workspace = find_workspace(server, workspace)
    found = _find_raw_dataset(server, name, workspace_id)
    if found is None:
        known = [one["name"] for one in server.list_items("/me/datasets", workspace_id=workspace_id)]
        raise ArgillaArgumentError("dataset", f"no {name!r} in workspace {workspace!r}", "missing", known=known)
    return _parse_dataset(found, workspace)


def ensure_dataset(
    server: ArgillaClient, name: str, workspace: str | None, *, metric: JudgedMetric, about: DatasetSettings
) -> ArgillaDataset:
    """Find a dataset by name, or create it. Missing parts are added, and the dataset is published.

    Raise `ArgillaArgumentError` if the name is taken by a dataset with other settings.
    """
    _check_dataset_name(name)
    workspace_id, workspace_name = find_workspace(server, workspace)
    raw = _find_raw_dataset(server, name, workspace_id) or _create_dataset(
        server,
        name,
        workspace_id,
        guidelines=format_guidelines(metric),
        min_submitted=about.min_submitted,
        metadata=about.model_dump(mode="json"),
    )
    dataset = _parse_dataset(raw, workspace_name)
    if dataset.about != about:
        difference = _describe_difference(dataset.about, about)
        reason = f"the name {name!r} is taken in workspace {workspace_name!r} by a dataset {difference}"
        raise ArgillaArgumentError("dataset", f"{reason}; choose another name, or the same settings", "taken")
    if raw["status"] != READY:
        _add_missing_parts(server, dataset.id, build_parts([metric], suggested=about.suggested))
    questions = server.list_items(f"/datasets/{dataset.id}/questions")
    ids = {one["name"]: one["id"] for one in questions}
    fields = frozenset(one["name"] for one in server.list_items(f"/datasets/{dataset.id}/fields"))
    return dataset.model_copy(update={"question_ids": ids, "fields": fields})


def ensure_form_dataset(
    server: ArgillaClient,
    name: str,
    workspace: str | None,
    metrics: Sequence[JudgedMetric],
    *,
    suggested: bool,
    min_submitted: int,
) -> str:
    """Find a dataset by name, or create it with the form of several metrics, and return its id.

    A published dataset is left as it is. A creation that was interrupted is completed.

    Raises:
        ArgillaArgumentError: If the dataset is not published and was not created by such a call.
    """
    _check_dataset_name(name)
    workspace_id, _ = find_workspace(server, workspace)
    parts = build_parts(metrics, suggested=suggested, named=True)
    guidelines = format_all_guidelines(metrics)
    mark = {"metrics": [metric.name for metric in metrics], "settings": hash_json(json.dumps([guidelines, parts]))}
    raw = _find_raw_dataset(server, name, workspace_id) or _create_dataset(
        server, name, workspace_id, guidelines=guidelines, min_submitted=min_submitted, metadata=mark
    )
    if raw["status"] != READY:
        if (raw.get("metadata") or {}).get(METADATA_KEY) != mark:
            raise ArgillaArgumentError("dataset", f"{name!r} is not published; {PUBLISH_HINT}", "taken")
        _add_missing_parts(server, raw["id"], parts)
    return str(raw["id"])


def _check_dataset_name(name: str) -> None:
    if not 1 <= len(name) <= MAX_NAME:
        raise ArgillaArgumentError("dataset", f"expected 1 to {MAX_NAME} characters, got {len(name)}")


def _create_dataset(
    server: ArgillaClient, name: str, workspace_id: str, *, guidelines: str, min_submitted: int, metadata: Json
) -> Json:
    """Create the dataset without its parts, or return the one that a concurrent push has just created."""
    content = {
        "name": name,
        "workspace_id": workspace_id,
        "guidelines": guidelines,
        "allow_extra_metadata": True,
        "distribution": {"strategy": "overlap", "min_submitted": min_submitted},
        "metadata": {METADATA_KEY: metadata},
    }
    try:
        return server.call("POST", "/datasets", content)
    except ArgillaError as error:
        found = _find_raw_dataset(server, name, workspace_id) if error.status == CONFLICT else None
        if found is None:
            raise
        return found


def _add_missing_parts(server: ArgillaClient, dataset_id: str, parts_by_path: Mapping[str, list[Json]]) -> None:
    """Add the missing parts of a dataset, and publish it."""
    for path, wanted in parts_by_path.items():
        prefix = "/me" if path == "metadata-properties" else ""
        there = {one["name"] for one in server.list_items(f"{prefix}/datasets/{dataset_id}/{path}")}
        for one in wanted:
            if one["name"] not in there:
                server.call("POST", f"/datasets/{dataset_id}/{path}", one)
    server.call("PUT", f"/datasets/{dataset_id}/publish")


def _find_raw_dataset(server: ArgillaClient, name: str, workspace_id: str) -> Json | None:
    found = server.list_items("/me/datasets", workspace_id=workspace_id, name=name)
    return next((one for one in found if one["name"] == name), None)


def _parse_dataset(raw: Json, workspace: str) -> ArgillaDataset:
    try:
        about = DatasetSettings.model_validate((raw.get("metadata") or {})[METADATA_KEY])
    except (KeyError, TypeError, ValidationError) as error:
        reason = f"{raw['name']!r} in workspace {workspace!r} was not made by a push of greval, or by another version"
        raise ArgillaArgumentError("dataset", f"{reason}; choose another name", "taken") from error
    return ArgillaDataset(id=raw["id"], name=raw["name"], workspace=workspace, about=about, question_ids={})


def _describe_difference(there: DatasetSettings, wanted: DatasetSettings) -> str:
    """Describe the first setting in which two datasets differ."""
    names = {"metric": "the metric", "suggested": "suggestions", "sample": "the sample", "seed": "the seed"}
    names["min_submitted"] = "min_submitted"
    for field, name in names.items():
        if getattr(there, field) != getattr(wanted, field):
            return f"with {name} {getattr(there, field)} (asked for: {getattr(wanted, field)})"
    return "with another definition of the metric"
