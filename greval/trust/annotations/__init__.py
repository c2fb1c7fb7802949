"""Annotations: read and written as CSV and JSON lines, stored in a run's folder, and matched with its judgements."""

from greval.trust.annotations.adjudication import Adjudication, adjudicate
from greval.trust.annotations.files import (
    AnnotationFile,
    keep_annotations,
    read_annotations,
    read_run_annotations,
    write_annotations,
)
from greval.trust.annotations.matching import AnnotatedItem, MatchedAnnotations, match_annotations

__all__ = [
    "Adjudication",
    "AnnotatedItem",
    "AnnotationFile",
    "MatchedAnnotations",
    "adjudicate",
    "keep_annotations",
    "match_annotations",
    "read_annotations",
    "read_run_annotations",
    "write_annotations",
]
