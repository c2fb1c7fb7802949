"""Objects of LangChain, LlamaIndex and GraphRAG as plain mappings, known by their attributes: none is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SHAPES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("page_content", "metadata"), ("id",)),
    (("source_nodes", "response"), ()),
    (("node", "score"), ()),
    (("response", "context_data"), ("context_text", "completion_time", "llm_calls", "prompt_tokens", "output_tokens")),
    (("response", "completion_time"), ("context_text", "llm_calls", "prompt_tokens", "output_tokens")),
    (("text", "metadata"), ("id_", "node_id", "doc_id", "ref_doc_id", "score")),
    (("content", "meta"), ("id", "score")),
    (("content", "metadata"), ("id", "score")),
    (("answer", "retriever_result"), ()),
    (("items", "metadata"), ()),
    (("payload", "score"), ("id",)),
    (("content", "type"), ()),
)
"""The attributes by which an object is known, and those that it may have besides."""


def read_attributes(given: Any) -> Mapping[str, object] | None:  # noqa: ANN401 - an object of any package
    """Return the content of a document, a node, a message or a reply; None for any other object.

    Example:
        >>> from types import SimpleNamespace
        >>> read_attributes(SimpleNamespace(page_content="Nine.", metadata={"source": "hours.md"}))
        {'page_content': 'Nine.', 'metadata': {'source': 'hours.md'}}
    """
    if isinstance(given, type):
        return None
    for needed, others in SHAPES:
        values = {name: getattr(given, name, None) for name in needed}
        if all(hasattr(given, name) and not callable(value) for name, value in values.items()):
            more = {name: getattr(given, name, None) for name in others}
            return {**values, **{name: value for name, value in more.items() if not (value is None or callable(value))}}
    return None
