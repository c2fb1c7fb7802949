"""The fields of a case that hold content, by their dotted names, such as `answer` and `gold.essential_docs`."""

from __future__ import annotations

from collections.abc import Iterator

from greval.records.case import TAG, Case, is_unnamed

FIELD_ORDER = (
    *("id", "method", "question", "history", "expected_answer", "expected_claims", "answer", "claims"),
    *("chunks", "triples", "aggregates", "traversal", "gold", "usage", "error", "tags", "other_response"),
)
"""The fields of a case in the order in which they are listed."""
PARTED = ("gold", "traversal", "usage")
"""The fields whose parts are listed in place of the field."""
CHUNK_PARTS = ("doc_id", "repo", "version", "score")
"""The optional parts of a chunk, listed in addition to `chunks`."""


def list_recorded_fields(case: Case) -> tuple[str, ...]:
    """List the fields of a case that hold content; only an answer is listed if it is empty, because it is judged.

    Chunks without a text have only their parts. `chunks.doc_id` is listed if a chunk has a document or its own id.

    Example:
        >>> case = Case(question="Who?", answer="", chunks=["Ada wrote it."], gold={"essential_docs": ["d1"]})
        >>> list_recorded_fields(case)
        ('question', 'answer', 'chunks', 'gold.essential_docs')
    """
    return tuple(name for field in FIELD_ORDER for name in _iterate_names(case, field))


def _iterate_names(case: Case, field: str) -> Iterator[str]:
    """Yield the names that a field of a case has in the list."""
    content = getattr(case, field)
    if field == "tags":
        yield from (f"{TAG}{name}" for name in case.tags)
    elif field in PARTED and content is not None:
        yield from (f"{field}.{part}" for part in type(content).model_fields if _has_content(getattr(content, part)))
    elif field == "chunks":
        if any((chunk.text or "").strip() for chunk in case.chunks or ()):
            yield field
        yield from (f"chunks.{part}" for part in CHUNK_PARTS if _has_chunk_part(case, part))
    elif _has_content(content) or (field == "answer" and content is not None):
        yield field


def _has_content(value: object) -> bool:
    """Return whether a value is recorded and not empty; 0 is content."""
    if isinstance(value, str):
        return bool(value.strip())
    return value is not None and (isinstance(value, int | float) or bool(value))


def _has_chunk_part(case: Case, part: str) -> bool:
    chunks = case.chunks or ()
    if part == "doc_id":
        return not all(is_unnamed(chunk, position) for position, chunk in enumerate(chunks, 1))
    return any(getattr(chunk, part) is not None for chunk in chunks)
