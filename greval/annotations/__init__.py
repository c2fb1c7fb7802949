"""Annotations of people: read and written as CSV and JSON lines, kept beside a run, matched with its judgements."""

from greval.annotations.adjudicating import Adjudicated, adjudicated
from greval.annotations.files import AnnotationFile, keep, kept, read_annotations, write_annotations
from greval.annotations.matching import Matched, Thing, match

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
