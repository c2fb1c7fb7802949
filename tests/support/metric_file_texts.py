"""Texts of metric files, and what is read of them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

from greval.errors import DefinitionError
from greval.metrics.files import build_file_schema, parse_metric, write_metric
from greval.metrics.library import find_predefined_folder
from greval.records.metric import JudgedMetric, build_metric

FILES = sorted(find_predefined_folder().glob("*.yaml"))

GOOD = """\
name: tone
description: Whether the answer is polite.
needs: [answer]
scale:
  categories:
    Polite: {means: Courteous., score: 1}
    Rude:
steps: [Read the answer.]
notes:
  advice: what to say instead
"""

EXAMPLE = """\
examples:
  - case: {{question: q, answer: a, {}}}
    reason: r
    value: Rude
    notes: {{advice: z}}
steps:"""


def build_chunk_metric(name: str, **changes: object) -> JudgedMetric:
    """Build a metric over chunks, with some fields changed."""
    scale = {"categories": {"Good": "It helps.", "Bad": "It does not."}}
    content = {"name": name, "description": "d", "over": "chunks", "needs": ["chunks"], "steps": ["s"], "scale": scale}
    return build_metric({**content, **changes})


def write_metrics(folder: Path, *metrics: JudgedMetric) -> Path:
    """Write a file of each metric into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for metric in metrics:
        (folder / f"{metric.name}.yaml").write_text(write_metric(metric), encoding="utf-8")
    return folder


def faults_of(text: str) -> tuple[str, ...]:
    with pytest.raises(DefinitionError) as caught:
        parse_metric(text, "tone.yaml")
    return caught.value.faults


def faults_or_none(text: str) -> tuple[str, ...]:
    try:
        parse_metric(text)
    except DefinitionError as error:
        return error.faults
    return ()


def as_editors_see(text: str) -> object:
    return json.loads(json.dumps(YAML(typ="safe", pure=True).load(text)))


def accepts(text: str) -> bool:
    return jsonschema.Draft7Validator(build_file_schema()).is_valid(as_editors_see(text))
