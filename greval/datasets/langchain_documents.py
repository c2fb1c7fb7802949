"""Documents and messages in the formats of LangChain and of model APIs, read as chunks and as texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

IDS = ("id", "chunk_id", "_id")
DOC_IDS = ("doc_id", "document_id", "source", "file_path", "url")
SCORES = ("score", "relevance_score", "similarity", "_score")
TEXTS = ("page_content", "content")
"""Names of the text of a chunk other than `text`."""
_READ = frozenset({*TEXTS, "metadata", "type"})


def read_document(text: object, metadata: Mapping[str, object], own_id: object = None) -> dict[str, object]:
    """Return the chunk fields of a LangChain document.

    Args:
        text: Its text.
        metadata: Its metadata, of which an id, `doc_id` or `source`, `repo`, `version` and a score are used.
        own_id: Its own id; without it, the id of the metadata is used.

    Example:
        >>> read_document("Nine.", {"source": "hours.md", "page": 4})
        {'text': 'Nine.', 'doc_id': 'hours.md'}
    """
    found: dict[str, object] = {"text": text}
    if (given := own_id if own_id is not None else find_first(metadata, IDS)) is not None:
        found["id"] = str(given)
    if (doc_id := find_first(metadata, DOC_IDS)) is not None:
        found["doc_id"] = str(doc_id)
    found |= {name: str(metadata[name]) for name in ("repo", "version") if metadata.get(name) is not None}
    score = find_first(metadata, SCORES)
    return found if score is None else {**found, "score": score}


def read_chunk(given: Mapping[str, object]) -> Mapping[str, object]:
    """Return the fields of a chunk; a document in JSON has its text under `page_content` or `content`.

    Example:
        >>> read_chunk({"page_content": "Nine.", "metadata": {"source": "hours.md"}, "type": "Document"})
        {'text': 'Nine.', 'doc_id': 'hours.md'}
    """
    if "text" in given:
        return given
    given = unwrap_serialised(given)
    text = find_first(given, TEXTS)
    if text is None:
        return given
    metadata = given.get("metadata")
    found = read_document(text, metadata if isinstance(metadata, Mapping) else {})
    return {**found, **{name: value for name, value in given.items() if name not in _READ and value is not None}}


def read_message(value: object) -> object:
    """Return the text of a message, a mapping with `content` and a `role` or `type`; return anything else unchanged.

    Example:
        >>> read_message({"role": "assistant", "content": [{"type": "text", "text": "At nine."}]})
        'At nine.'
    """
    if isinstance(value, str) or not isinstance(value, Mapping):  # the first test is faster
        return value
    given = unwrap_serialised(value)
    content = given.get("content")
    if content is None or given.keys().isdisjoint({"role", "type"}):
        return value
    blocks = content if isinstance(content, list | tuple) else [content]
    texts = [block.get("text") if isinstance(block, Mapping) else block for block in blocks]
    return "".join(text for text in texts if isinstance(text, str))


def unwrap_serialised(given: Mapping[str, object]) -> Mapping[str, object]:
    """Return the content of an object serialised by LangChain's `dumpd`, and any other mapping unchanged."""
    inner = given.get("kwargs") if "lc" in given else None
    return inner if isinstance(inner, Mapping) else given


def find_first(record: Mapping[str, object], names: Iterable[str]) -> object:
    """Return the value of the first of several names that is recorded, or None."""
    return next((record[name] for name in names if record.get(name) is not None), None)
