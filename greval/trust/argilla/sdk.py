"""Argilla's own Python objects, built from the same form and records that are sent over REST.

This is the only module that imports the package `argilla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from greval.errors import ArgillaArgumentError, MissingExtraError
from greval.records.metric import JudgedMetric
from greval.trust.argilla.client import ArgillaClient
from greval.trust.argilla.dataset import PUBLISH_HINT
from greval.trust.argilla.form import Json, build_parts, format_guidelines

if TYPE_CHECKING:
    import argilla as rg

QUESTION_CLASSES = {"rating": "RatingQuestion", "label_selection": "LabelQuestion", "text": "TextQuestion"}
METADATA_CLASSES = {"terms": "TermsMetadataProperty", "float": "FloatMetadataProperty"}
"""The names of the SDK's classes for the types of questions and metadata in a form."""


def import_sdk() -> ModuleType:
    """Import the package `argilla`, or raise `MissingExtraError` if it or what it needs is not installed."""
    try:
        import argilla
    except ImportError as error:
        raise MissingExtraError("argilla", error.name or "argilla") from error
    module: ModuleType = argilla
    return module


def connect_dataset(dataset: rg.Dataset) -> ArgillaClient:
    """Return a REST client that sends requests through the client of a dataset.

    Raises:
        ArgillaArgumentError: If the dataset is not on the server.
    """
    client: rg.Argilla = dataset._client  # noqa: SLF001 - the SDK has no other way to the client of a dataset
    if dataset.id is None:
        raise ArgillaArgumentError("dataset", f"{dataset.name!r} is not on the server; {PUBLISH_HINT}", "missing")
    return ArgillaClient(client=client.http_client)


def build_settings(metrics: Sequence[JudgedMetric], *, suggested: bool, min_submitted: int) -> rg.Settings:
    """Build the settings of a dataset with the form of the metrics."""
    sdk = import_sdk()
    parts = build_parts(metrics, suggested=suggested)
    metadata = []
    for term in parts["metadata-properties"]:
        build = getattr(sdk, METADATA_CLASSES[term["settings"]["type"]])
        is_visible = term["visible_for_annotators"]
        metadata.append(build(name=term["name"], title=term["title"], visible_for_annotators=is_visible))
    return sdk.Settings(
        fields=[sdk.TextField.from_dict(field) for field in parts["fields"]],
        questions=[
            getattr(sdk, QUESTION_CLASSES[question["settings"]["type"]]).from_dict(question)
            for question in parts["questions"]
        ],
        metadata=metadata,
        guidelines=format_guidelines(metrics),
        allow_extra_metadata=True,
        distribution=sdk.TaskDistribution(min_submitted=min_submitted),
    )


def build_sdk_records(records: Iterable[Json]) -> list[rg.Record]:
    """Build records of the SDK from those that are sent over REST; they name questions instead of giving their ids."""
    sdk = import_sdk()
    return [
        sdk.Record(
            id=record["external_id"],
            fields=record["fields"],
            metadata=record["metadata"],
            suggestions=[
                # A record of the SDK has no dataset before it is logged, so its suggestions name their questions.
                sdk.Suggestion(
                    verdict["question_id"], verdict["value"], score=verdict.get("score"), agent=verdict.get("agent")
                )
                for verdict in record["suggestions"]
            ],
        )
        for record in records
    ]
