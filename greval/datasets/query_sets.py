"""Data sets of queries with a corpus, as LlamaIndex keeps them for fine-tuning, read as questions with gold."""

from __future__ import annotations

from collections.abc import Mapping

JUDGED_NAMES = ("relevant_docs", "qrels")


def read_query_set(content: Mapping[str, object]) -> list[object] | None:
    """Return a row for each query of a data set; None if the content of a file is none.

    Example:
        >>> read_query_set({"queries": {"q1": "Who?"}, "corpus": {"d1": "Ada."}, "relevant_docs": {"q1": ["d1"]}})
        [{'id': 'q1', 'question': 'Who?', 'gold': {'essential_docs': ['d1']}}]
    """
    queries = content.get("queries")
    judged = next((content[name] for name in JUDGED_NAMES if isinstance(content.get(name), Mapping)), None)
    if not isinstance(queries, Mapping) or not isinstance(judged, Mapping):
        return None
    return [
        {"id": name, "question": text, **({"gold": _build_gold(judged[name])} if name in judged else {})}
        for name, text in queries.items()
    ]


def _build_gold(documents: object) -> object:
    return documents if isinstance(documents, Mapping) else {"essential_docs": documents}
