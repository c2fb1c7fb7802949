"""The parsed definitions of a tenant's metrics, kept beside their texts: a text is parsed once, in a child process."""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from greval._util.files import write_atomically
from greval.errors import DefinitionError
from greval.metrics.files import read_metric
from greval.records.formula_metric import FileMetric, build_file_metric

DEFINITIONS_FOLDER = ".definitions"


class UnreadMetricError(Exception):
    """A metric file whose definition is not kept: a child process must parse it first."""

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self.file = file


class ReadMetric(NamedTuple):
    """A metric file: its text, and the metric that it defines, None if it is faulty."""

    text: str
    metric: FileMetric | None


def read_definition(file: Path, folder: Path) -> ReadMetric:
    """Read a metric file by its kept definition; raise `UnreadMetricError` if none of this text is kept.

    `folder` is that of the tenant's metrics.
    """
    text = file.read_text("utf-8-sig")
    try:
        content = json.loads(_get_path(folder, text).read_bytes())
        return ReadMetric(text, None if content is None else build_file_metric(content))
    # Also what an older version of greval kept.
    except (OSError, ValueError, ValidationError, DefinitionError):
        raise UnreadMetricError(file) from None


def parse_definition(file: Path, folder: Path) -> ReadMetric:
    """Read a metric file, and parse and keep its definition if none of this text is kept."""
    try:
        return read_definition(file, folder)
    except UnreadMetricError:
        text = file.read_text("utf-8-sig")
        try:
            metric = read_metric(file)
        except DefinitionError:
            metric = None
        keep_definition(folder, text, metric)
        return ReadMetric(text, metric)


def parse_file(file: Path, folder: Path) -> None:
    """Parse and keep the definition of a file, in a child process."""
    # It was deleted meanwhile.
    with suppress(FileNotFoundError):
        parse_definition(file, folder)


def keep_definition(folder: Path, text: str, metric: FileMetric | None) -> None:
    """Keep the definition of a text, None if it is faulty."""
    path = _get_path(folder, text)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "null" if metric is None else metric.model_dump_json())


def remove_definition(file: Path, folder: Path) -> None:
    """Remove the definition of a file that is about to be deleted; no other file of the tenant has its text."""
    with suppress(OSError):
        _get_path(folder, file.read_text("utf-8-sig")).unlink()


def _get_path(folder: Path, text: str) -> Path:
    """Return the path of a definition: it is found by the text, which versions of a metric keep as well."""
    return folder / DEFINITIONS_FOLDER / f"{sha256(text.encode()).hexdigest()[:40]}.json"
