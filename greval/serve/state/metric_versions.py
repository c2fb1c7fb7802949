"""Former versions of a tenant's metrics: each save keeps the file that it replaces, up to a number of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from greval.metrics.library import FILE_SUFFIX, get_expected_name
from greval.records.metric_input import compute_fingerprint
from greval.records.record import Record
from greval.serve.problems import ServeError
from greval.serve.state.metric_definitions import parse_definition, remove_definition

VERSIONS_FOLDER = ".versions"
MAX_VERSIONS = 50
"""The most former versions of a metric that are kept; the oldest is deleted first."""


class MetricVersion(Record):
    """A version of a metric: its number, when it was saved, and whether it is the current one.

    `fingerprint` is that of the definition alone: two versions with the same one judge equally. It is null if the file
    is not valid any more.
    """

    version: int
    saved: datetime
    fingerprint: str | None
    current: bool


def keep_version(file: Path) -> None:
    """Keep a metric file, which is about to be replaced, as a version; call it under the lock of its folder.

    The version is a further link to the same file, so that a kill at any time leaves both or one of them whole.
    """
    folder = _get_folder(file)
    folder.mkdir(parents=True, exist_ok=True)
    former = [*_iterate_versions(file)]
    if former and former[-1][1].samefile(file):
        # Kept before a kill that prevented the replacement.
        return
    os.link(file, folder / f"{_find_next(former)}{FILE_SUFFIX}")
    for _, oldest in former[: max(0, len(former) + 1 - MAX_VERSIONS)]:
        remove_definition(oldest, file.parent)
        oldest.unlink(missing_ok=True)


def list_versions(file: Path, folder: Path) -> tuple[MetricVersion, ...]:
    """List the versions of a metric, the newest first; that is the current one. `folder` is that of all metrics.

    Texts whose definitions are not kept are parsed, which may take long: call it in a child process.
    """
    former = [(number, path) for number, path in _iterate_versions(file) if not path.samefile(file)]
    numbered = [*former, (_find_next(former), file)]
    return tuple(_describe_version(number, path, folder, current=path is file) for number, path in reversed(numbered))


def read_version(file: Path, version: int) -> str:
    """Return the text of a version of a metric, or raise `ServeError` (404)."""
    former = {number: path for number, path in _iterate_versions(file) if not path.samefile(file)}
    version_file = {**former, _find_next([*former.items()]): file}.get(version)
    if version_file is None:
        name = get_expected_name(file)
        message = f"metric {name!r}: has no version {version}; GET /v1/metrics/{name}/versions lists those"
        raise ServeError("version_not_found", message)
    return version_file.read_text("utf-8-sig")


def remove_versions(file: Path, folder: Path) -> None:
    """Delete all former versions of a metric, and their definitions, which are in this folder of all metrics."""
    for _, path in _iterate_versions(file):
        remove_definition(path, folder)
    shutil.rmtree(_get_folder(file), ignore_errors=True)


def _describe_version(number: int, file: Path, folder: Path, *, current: bool) -> MetricVersion:
    metric = parse_definition(file, folder).metric
    fingerprint = None if metric is None else compute_fingerprint(metric, {})
    saved = datetime.fromtimestamp(file.stat().st_mtime, UTC).replace(microsecond=0)
    return MetricVersion(version=number, saved=saved, fingerprint=fingerprint, current=current)


def _get_folder(file: Path) -> Path:
    return file.parent / VERSIONS_FOLDER / get_expected_name(file)


def _find_next(former: list[tuple[int, Path]]) -> int:
    """Return the number of the version after these."""
    return former[-1][0] + 1 if former else 1


def _iterate_versions(file: Path) -> Iterator[tuple[int, Path]]:
    """Iterate over the former versions with their numbers, the oldest first."""
    numbered = [(int(path.stem), path) for path in _get_folder(file).glob(f"*{FILE_SUFFIX}") if path.stem.isdecimal()]
    yield from sorted(numbered)
