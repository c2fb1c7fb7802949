"""Entities and relations of a chunk by a model, checked against a schema and against the text."""

from __future__ import annotations

from typing import Any

from greval.judging.model.client import JudgeClient
from greval.methods.reference.records import Extraction, IndexedChunk
from greval.records.result import Usage

EXTRACTION_VERSION = "1"
"""The version of the prompt and of the checks, part of the key of an extraction. Increase it whenever they change."""


async def extract_with_model(
    chunk: IndexedChunk,
    client: JudgeClient,
    schema: Any = None,  # noqa: ANN401 - a GraphSchema
) -> tuple[Extraction, Usage]:
    """Return the entities and relations of a chunk as a model reads them, with the usage."""
    raise NotImplementedError((chunk, client, schema))
