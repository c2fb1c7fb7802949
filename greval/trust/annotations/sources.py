"""Sources of annotations: annotation objects, files, or the file in the run's folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from greval.errors import DataError
from greval.records.annotation import Annotation
from greval.records.scale import Scale
from greval.trust.annotations.files import AnnotationFile, read_annotations, read_run_annotations

MAX_LISTED = 3
AnnotationSource = str | Path | Iterable[str | Path | Annotation] | None
"""One or several files, annotations, or None for the file in the run's folder."""


class LoadedAnnotations(NamedTuple):
    """Annotations, and the invalid rows of their files with their place."""

    annotations: tuple[Annotation, ...]
    unread: tuple[str, ...]


def load_annotations(
    folder: Path, source: AnnotationSource, scales: Mapping[str, Scale] | None = None
) -> LoadedAnnotations:
    """Load annotations of any metric.

    Args:
        folder: The run's folder.
        source: The files or annotations.
        scales: The scales of metrics, by which values in files are parsed; None accepts any value.

    Raises:
        DataError: If a file cannot be read, the run's folder has no annotations, or every row is invalid.
    """
    files = [*_load_files(folder, source, scales)]
    found = LoadedAnnotations(
        tuple(one for file in files for one in file.annotations),
        tuple(f"{fault.place}: {fault.message}" for file in files for fault in file.faults),
    )
    if found.unread and not found.annotations:
        more = [f"... and {len(found.unread) - MAX_LISTED} more"] if len(found.unread) > MAX_LISTED else []
        fields = "a row has sample_id, metric, annotator and value, and method and item where the run has them"
        raise DataError("\n".join([*found.unread[:MAX_LISTED], *more, f"no row is an annotation; {fields}"]))
    return found


def _load_files(folder: Path, source: AnnotationSource, scales: Mapping[str, Scale] | None) -> Iterator[AnnotationFile]:
    """Yield the contents of each source."""
    if source is None:
        yield read_run_annotations(folder, scales)
        return
    for one in [source] if isinstance(source, str | Path) else source:
        yield AnnotationFile(annotations=(one,)) if isinstance(one, Annotation) else read_annotations(one, scales)
