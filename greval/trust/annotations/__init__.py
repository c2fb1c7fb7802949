"""Annotations: read and written as CSV and JSON lines, stored in a run's folder, and matched with its judgements."""

from greval.trust.annotations.adjudication import Adjudicated, adjudicated
from greval.trust.annotations.files import AnnotationFile, keep, kept, read_annotations, write_annotations
from greval.trust.annotations.matching import Matched, Thing, match

__all__ = [
    "Adjudicated",
    "AnnotationFile",
    "Matched",
    "Thing",
    "adjudicated",
    "keep",
    "kept",
    "match",
    "read_annotations",
    "write_annotations",
]
