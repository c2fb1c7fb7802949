"""The forms in which systems give replies and contexts, found by their content and read as fields of a response.

LightRAG, Microsoft GraphRAG, nano-graphrag and neo4j-graphrag have forms of their own. What else holds an answer and
passages under known names, as LangChain and LlamaIndex do, is read by these names, see `greval.datasets.row_fields`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, NamedTuple

from greval.datasets.conversations import unwrap_serialised
from greval.datasets.field_values import ASSISTANT, find_first, read_message
from greval.datasets.replies import search_result
from greval.records.case import Response

PAIR = 2
FAILURES = frozenset({"failure", "failed", "fail", "error"})
"""The values of `status` in a reply that is no answer."""
LIGHTRAG_MARKS = frozenset({"query_mode", "keywords", "processing_info", "failure_reason"})
"""Names in the `metadata` of LightRAG's replies."""
LIGHTRAG_PARTS = ("entities", "relationships", "chunks")
LIGHTRAG_COLUMNS = frozenset({"entity_name", "src_id", "entity1", "chunk_id", "reference_id"})
"""Names that only rows of LightRAG have."""
GRAPHRAG_COLUMNS: Mapping[str, tuple[frozenset[str], ...]] = {
    "sources": (frozenset({"id", "text"}), frozenset({"id", "content"})),
    "text_units": (frozenset({"id", "text"}),),
    "relationships": (frozenset({"source", "target"}),),
    "entities": (frozenset({"entity", "description"}), frozenset({"id", "entity"})),
    "reports": (frozenset({"title", "content"}), frozenset({"id", "content"})),
}
"""The tables of GraphRAG's contexts, with the columns that each has at least."""
CHAIN_STEPS = "intermediate_steps"
MESSAGE_NAMES = frozenset(
    {
        *("content", "role", "type", "id", "name", "example", "refusal", "annotations", "audio", "function_call"),
        *("tool_calls", "invalid_tool_calls", "additional_kwargs", "response_metadata", "usage_metadata"),
        *("tool_call_chunks", "chunk_position"),
    }
)
"""The names of a message in LangChain and at OpenAI."""
REPLY_NAMES = frozenset(
    {
        *("data", "entities", "relationships", "references", "retriever_result", "items", "records", CHAIN_STEPS),
        *("source_documents", "page_content", "node", "messages", "content", "context_data", "context_text"),
        *(*GRAPHRAG_COLUMNS, *search_result.USAGE_FIELDS),
    }
)
"""Names of which a mapping has one if it is a reply, but for several contexts by name."""
CONTEXT_BEGINNINGS = ("-----", "Knowledge Graph Data (", "Document Chunks (")
"""How the text of a context begins; an answer may hold tables too."""
_SECTION = re.compile(
    r"^(?:-{3,}\s*|Knowledge Graph Data \()?"
    r"(Reports|Entities|Entity|Relationships|Relationship|Sources|Document Chunks)"
    r"[^\n`]*\n+```(csv|json)[^\S\n]*\n(.*?)\n?```",
    re.DOTALL | re.MULTILINE,
)
"""A table in the text of a context, as LightRAG and nano-graphrag print it."""
_SECTION_PARTS = {"Entity": "entities", "Relationship": "relationships", "Document Chunks": "sources"}


class SystemReply(NamedTuple):
    """A reply that was recognised: the fields of a response, the path of each in the reply, and the names it used."""

    fields: dict[str, object]
    places: dict[str, str]
    used: frozenset[str]


def read_reply(reply: object) -> SystemReply | None:
    """Read a reply, or the context of one, in a form that is known by its content; return None if it is none."""
    if isinstance(reply, str):
        return _read_context_text(reply)
    if isinstance(reply, Mapping):
        reply = unwrap_serialised(reply)
        return next((parsed for read in _FORMS if (parsed := read(reply)) is not None), None)
    if isinstance(reply, list | tuple) and len(reply) == PAIR:
        return _read_pair(reply)
    return None


def _read_pair(pair: Sequence[object]) -> SystemReply | None:
    """Read an answer and its context, as GraphRAG's functions return them."""
    answer, context = read_message(pair[0]), pair[1]
    if not isinstance(answer, str) or isinstance(context, str):
        return None
    rows = context if isinstance(context, list | tuple) else ()
    if rows and all(isinstance(row, Mapping) and _is_search_context(row) for row in rows):
        # Such as a context of each part of a search.
        context = {str(number): row for number, row in enumerate(rows)}
    if rows and all(isinstance(table, list | tuple) for table in rows):
        # Tables without names.
        listed = [row for table in rows for row in table]
        response = search_result.build_context_response(answer, listed)
        return _build(response, {"answer": "[0]"}, ()) if response.chunks or response.triples else None
    parsed = read_reply(context)
    if parsed is None or "answer" in parsed.fields:
        return None
    return SystemReply({"answer": answer, **parsed.fields}, {"answer": "[0]"}, frozenset())


def _build(response: Response, places: Mapping[str, str], used: Iterator[str] | Sequence[str]) -> SystemReply:
    fields = {name: value for name, value in dict(response).items() if value not in (None, "")}
    return SystemReply(fields, {name: path for name, path in places.items() if name in fields}, frozenset(used))


def _read_lightrag_reply(reply: Mapping[str, Any]) -> SystemReply | None:
    """Read a reply of LightRAG, as `aquery_llm` and `/query/data` give it; a failure is an error, not an answer."""
    status, data = reply.get("status"), reply.get("data")
    metadata = reply.get("metadata")
    marks = metadata if isinstance(metadata, Mapping) and not LIGHTRAG_MARKS.isdisjoint(metadata) else {}
    if not isinstance(status, str) or not (data is None or isinstance(data, Mapping)):
        return None
    used = ["status", "message", "data", "llm_response", *(["metadata"] if marks or not metadata else [])]
    content = reply.get("llm_response")
    answer = content.get("content") if isinstance(content, Mapping) else None
    # With no results LightRAG answers that it does not know, and reports a failure.
    if status.lower() in FAILURES and not (answer and marks.get("failure_reason") == "no_results"):
        if not (marks or ("message" in reply and not data)):
            return None
        why = reply.get("message") or "the query failed, and no reason was reported"
        return SystemReply({"error": str(why)}, {"error": "message"}, frozenset(used))
    if not (marks and not data) and not is_lightrag_context(data):
        return None
    from greval.datasets.replies import lightrag

    response = lightrag.build_response(answer or None, lightrag.clean_context(data or {}), mode=marks.get("query_mode"))
    places = {"answer": "llm_response.content", **_LIGHTRAG_PLACES_IN_DATA}
    return _build(response, places, used)


_LIGHTRAG_PLACES = {"chunks": "chunks", "triples": "relationships", "traversal": "entities"}
_LIGHTRAG_PLACES_IN_DATA = {name: f"data.{place}" for name, place in _LIGHTRAG_PLACES.items()}


def is_lightrag_context(context: object) -> bool:
    """Return whether a mapping holds the entities, relationships and chunks of a LightRAG query; all may be empty."""
    if not isinstance(context, Mapping) or not any(name in context for name in LIGHTRAG_PARTS[:PAIR]):
        return False
    tables = [context.get(name) for name in LIGHTRAG_PARTS]
    if not all(table is None or isinstance(table, list | tuple) for table in tables):
        return False
    rows = [table[0] for table in tables if table]
    if not rows:
        return all(name in context for name in LIGHTRAG_PARTS)
    return any(isinstance(row, Mapping) and not LIGHTRAG_COLUMNS.isdisjoint(row) for row in rows)


def _read_lightrag_context(context: Mapping[str, Any]) -> SystemReply | None:
    if not is_lightrag_context(context):
        return None
    from greval.datasets.replies import lightrag

    response = lightrag.build_response(None, lightrag.clean_context(context))
    return _build(response, _LIGHTRAG_PLACES, (*LIGHTRAG_PARTS, "references"))


def _read_lightrag_answer(reply: Mapping[str, Any]) -> SystemReply | None:
    """Read what `/query` of LightRAG gives: an answer with the files that it refers to, and perhaps their texts."""
    answer, references = reply.get("response"), reply.get("references")
    if not isinstance(answer, str) or not isinstance(references, list | tuple):
        return None
    if not all(isinstance(row, Mapping) and {"reference_id", "file_path"} <= row.keys() for row in references):
        return None
    chunks: list[object] = []
    for row in references:
        texts = row.get("content")
        listed = texts if isinstance(texts, list | tuple) else [texts]
        chunks += [{"doc_id": row["file_path"], **({} if text is None else {"text": text})} for text in listed]
    fields: dict[str, object] = {"answer": answer, "chunks": chunks}
    return SystemReply(fields, {"answer": "response", "chunks": "references"}, frozenset({"response", "references"}))


def _read_search_result(result: Mapping[str, Any]) -> SystemReply | None:
    """Read a `SearchResult` of GraphRAG; columns of a row that belong to no such result are left."""
    names = ("response", *search_result.OTHER_FIELDS, *search_result.IGNORED_FIELDS)
    if "response" not in result or not any(name in result for name in search_result.OTHER_FIELDS):
        return None
    response = search_result.build_response(
        {name: result.get(name) for name in ("response", *search_result.OTHER_FIELDS)}
    )
    places = {"answer": "response", "chunks": "context_data", "triples": "context_data", "traversal": "context_data"}
    return _build(response, places, names)


def _is_search_context(context: object) -> bool:
    """Return whether a mapping holds tables of GraphRAG's contexts, or several such contexts by name."""
    if not isinstance(context, Mapping) or not context:
        return False
    tables = {name: [*search_result.iterate_table(context[name])] for name in GRAPHRAG_COLUMNS if name in context}
    if any(rows for rows in tables.values()):
        return any(
            isinstance(rows[0], Mapping) and any(columns <= rows[0].keys() for columns in GRAPHRAG_COLUMNS[name])
            for name, rows in tables.items()
            if rows
        )
    if tables:
        return len(tables) > 1 or context.keys() <= search_result.PARTS.keys()
    return all(isinstance(part, Mapping) and _is_search_context(part) for part in context.values())


def _read_search_context(context: Mapping[str, Any]) -> SystemReply | None:
    if not _is_search_context(context):
        return None
    response = search_result.build_context_response(None, context)
    places = {"chunks": "sources" if "sources" in context else "", "triples": "relationships", "traversal": "entities"}
    return _build(response, places, [name for name in search_result.PARTS if name in context] or [*context])


def _read_retriever_result(result: Mapping[str, Any]) -> SystemReply | None:
    """Read a `RetrieverResult` or a `RagResultModel` of neo4j-graphrag, or the records of a raw search."""
    inner = result.get("retriever_result")
    if isinstance(inner, Mapping):
        inner_reply = _read_retriever_result(inner)
        answer = result.get("answer")
        fields = {
            **({} if answer is None else {"answer": answer}),
            **(inner_reply.fields if inner_reply else {"chunks": []}),
        }
        places = {
            name: f"retriever_result.{path}" for name, path in (inner_reply.places if inner_reply else {}).items()
        }
        return SystemReply(fields, {**places, "answer": "answer"}, frozenset({"answer", "retriever_result"}))
    items, records, is_alone = (
        result.get("items"),
        result.get("records"),
        result.keys() <= {"items", "records", "metadata"},
    )
    if isinstance(items, list | tuple) and (items or is_alone) and all(map(_is_retrieved_item, items)):
        return SystemReply({"chunks": [*items]}, {"chunks": "items"}, frozenset({"items", "metadata"}))
    if isinstance(records, list | tuple) and is_alone and all(isinstance(row, Mapping) for row in records):
        return SystemReply({"chunks": [*records]}, {"chunks": "records"}, frozenset({"records", "metadata"}))
    return None


def _is_retrieved_item(item: object) -> bool:
    return isinstance(item, Mapping) and "content" in item and item.keys() <= {"content", "metadata"}


def _read_chain_result(result: Mapping[str, Any]) -> SystemReply | None:
    """Read the result of a LangChain chain for questions, which names its answer `result`."""
    answer, steps = result.get("result"), result.get(CHAIN_STEPS)
    if not isinstance(answer, str) or not ("source_documents" in result or isinstance(steps, list | tuple)):
        return None
    fields: dict[str, object] = {"answer": answer}
    if isinstance(steps, list | tuple):
        # Of a graph chain: a query, then the records that it found.
        contexts = [step["context"] for step in steps if isinstance(step, Mapping) and "context" in step]
        rows = [row for context in contexts for row in (context if isinstance(context, list | tuple) else [context])]
        texts = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False, default=str) for row in rows]
        fields |= {"chunks": texts} if contexts else {}
    return SystemReply(fields, {"answer": "result", "chunks": CHAIN_STEPS}, frozenset({"result", CHAIN_STEPS}))


def _read_document(document: Mapping[str, Any]) -> SystemReply | None:
    """Read a document of LangChain or a node of LlamaIndex that is given alone."""
    is_node = isinstance(document.get("node"), Mapping) and "score" in document
    if not is_node and not (
        "page_content" in document and document.keys() <= {"page_content", "metadata", "id", "type"}
    ):
        return None
    return SystemReply({"chunks": [document]}, {"chunks": ""}, frozenset(document))


def _read_messages(reply: Mapping[str, Any]) -> SystemReply | None:
    """Read a message of an assistant, or the last one of the messages of an agent, as the answer."""
    messages = reply.get("messages")
    if isinstance(messages, list | tuple) and messages and find_first(reply, ("answer", "response", "output")) is None:
        answer, path, used = _read_answer(messages[-1]), "messages", frozenset({"messages"})
    elif reply.keys() <= MESSAGE_NAMES:
        answer, path, used = _read_answer(reply), "", frozenset(reply)
    else:
        return None
    return None if answer is None else SystemReply({"answer": answer}, {"answer": path}, used)


def _read_answer(message: object) -> str | None:
    """Return the text of a message of the assistant; None if it is by anybody else."""
    if not isinstance(message, Mapping):
        return None
    content = unwrap_serialised(message)
    text = read_message(content)
    role = str(content.get("role", content.get("type"))).removesuffix("MessageChunk").lower()
    return text if role in ASSISTANT and isinstance(text, str) else None


_FORMS: tuple[Callable[[Mapping[str, Any]], SystemReply | None], ...] = (
    _read_lightrag_reply,
    _read_lightrag_context,
    _read_lightrag_answer,
    _read_search_result,
    _read_search_context,
    _read_retriever_result,
    _read_chain_result,
    _read_document,
    _read_messages,
)


def _read_context_text(text: str) -> SystemReply | None:
    """Read the text of a context with its tables, as LightRAG and nano-graphrag give it with `only_need_context`."""
    if not text.lstrip().startswith(CONTEXT_BEGINNINGS):
        return None
    tables: dict[str, list[Mapping[str, Any]]] = {}
    for title, kind, body in _SECTION.findall(text):
        part = _SECTION_PARTS.get(title, title.lower())
        tables.setdefault(part, []).extend(_read_section(kind, body))
    if not tables:
        return None
    return _read_search_context(_rename_columns(tables))


def _read_section(kind: str, body: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table in a text; lines that are no rows are left out."""
    if kind == "csv":
        # nano-graphrag and early LightRAG separate cells by a comma and a tab.
        lines = body.replace(",\t", ",")
        yield from csv.DictReader(StringIO(lines.strip()), skipinitialspace=True)
        return
    try:
        content = json.loads(body)
        rows = content if isinstance(content, list) else [content]
    except ValueError:
        rows = []
        for line in body.splitlines():
            try:
                rows.append(json.loads(line))
            except ValueError:
                continue
    yield from (row for row in rows if isinstance(row, dict))


def _rename_columns(tables: Mapping[str, list[Mapping[str, Any]]]) -> dict[str, list[Mapping[str, Any]]]:
    names = {"entity1": "source", "entity2": "target", "reference_id": "id"}
    return {
        part: [{names.get(name, name) if name else "": cell for name, cell in row.items()} for row in rows]
        for part, rows in tables.items()
    }


def join_place(column: str, path: str) -> str:
    """Return the path of a part of a column, as `--column` takes it.

    Example:
        >>> join_place("reply", "data.chunks"), join_place("pair", "[0]"), join_place("context", "")
        ('reply.data.chunks', 'pair[0]', 'context')
    """
    return f"{column}{path if not path or path.startswith('[') else f'.{path}'}"
