"""The annotations that are given to a figure: records, files of them, or those kept in the run's folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.scale import Scale
from greval.trust.annotations.files import AnnotationFile, kept, read_annotations

MOST_TOLD = 3
Source = str | Path | Iterable[str | Path | Annotation] | None
"""A file, several, annotations themselves, or None for those kept in the run's folder."""


class Given(NamedTuple):
    """The annotations, and the rows of files that are none, each with its place."""

    annotations: tuple[Annotation, ...]
    unread: tuple[str, ...]


def given(folder: Path, source: Source, scales: Mapping[str, Scale] | None = None) -> Given:
    """Read annotations of any metric.

    Args:
        folder: The run's folder.
        source: Where they are.
        scales: The scales of metrics, by which values of files are read; None where any value will do.

    Raises:
        DataError: Where a file cannot be read, none is kept in the run's folder, or no row of them can be read.
    """
    files = [*_files(folder, source, scales)]
    found = Given(
        tuple(one for file in files for one in file.annotations),
        tuple(f"{fault.place}: {fault.message}" for file in files for fault in file.faults),
    )
    if found.unread and not found.annotations:
        more = [f"... and {len(found.unread) - MOST_TOLD} more"] if len(found.unread) > MOST_TOLD else []
        fields = "a row has sample_id, metric, annotator and value, and method and item where the run has them"
        raise DataError("\n".join([*found.unread[:MOST_TOLD], *more, f"no row is an annotation; {fields}"]))
    return found


def _files(folder: Path, source: Source, scales: Mapping[str, Scale] | None) -> Iterator[AnnotationFile]:
    if source is None:
        yield kept(folder, scales)
        return
    for one in [source] if isinstance(source, str | Path) else source:
        yield AnnotationFile(annotations=(one,)) if isinstance(one, Annotation) else read_annotations(one, scales)
