"""A `SearchResult`, the form in which GraphRAG and searches built on it return an answer, read as a response.

It has `response`, `context_data`, `context_text`, `completion_time`, `llm_calls`, `prompt_tokens` and `output_tokens`,
as attributes of an object or keys of a mapping.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from greval.errors import MethodError
from greval.records.case import Chunk, Edge, Response, ResponseUsage, Traversal
from greval.records.inventory import format_edge_label

if TYPE_CHECKING:
    from greval.datasets.parquet_tables import Row
USAGE_FIELDS = {
    "completion_time": "latency",
    "llm_calls": "llm_calls",
    "prompt_tokens": "prompt_tokens",
    "output_tokens": "output_tokens",
}
"""The figures of a search result, each with its name in the usage of a response."""
OTHER_FIELDS = ("context_data", "context_text", *USAGE_FIELDS)
IGNORED_FIELDS = frozenset(
    {
        *("llm_calls_categories", "prompt_tokens_categories", "output_tokens_categories", "map_responses"),
        *("reduce_context_data", "reduce_context_text"),
    }
)
"""Further fields of GraphRAG's search results: parts of the figures and of the context above."""
PARTS = {
    "sources": "sources",
    "chunks": "sources",
    "text_units": "sources",
    "relationships": "relationships",
    "triples": "relationships",
    "entities": "entities",
    "reports": "reports",
    "claims": "claims",
}
"""The names of tables in `context_data`, each with the name that GraphRAG gives to such a table."""
MADE_IDS = {"sources": "c", "relationships": "t"}
NAME_COLUMNS = ("entity", "name", "title")
TEXT_COLUMNS = ("text", "content", "summary", "full_content")
DOCUMENT_COLUMNS = ("doc_id", "document_id")
END_COLUMNS = (("source", "target"), ("subject", "object"))
LABEL_COLUMNS = ("description", "label", "predicate", "relation")
EDGE_SIZE = 3
PATH_FIELDS = ("edges", "path", "triples", "steps")


def build_response(fields: Mapping[str, Any]) -> Response:
    """Build the response of a search result from its fields.

    The answer is `response`, as JSON if it is a list or a mapping. The chunks are those of `context_data`, else
    `context_text`.
    """
    answer, usage = _read_answer(fields["response"]), _read_usage(fields)
    return build_context_response(answer, fields.get("context_data"), fields.get("context_text"), usage)


def build_context_response(
    answer: str | None, data: object, text: object = None, usage: ResponseUsage | None = None
) -> Response:
    """Build a response from an answer and its context: the tables of `context_data`, else the text `context_text`."""
    from greval.datasets.replies import graphrag

    contexts = _list_contexts(data)
    tables: dict[str, list[Row]] = {}
    for context in contexts:
        _add_tables(tables, context)
    paths = [path for context in contexts for path in _read_paths(context)]
    if "relationships" not in tables and paths:
        edges = dict.fromkeys(edge for path in paths for edge in path)
        tables["relationships"] = [
            row for n, edge in enumerate(edges, 1) if (row := _read_row("relationships", edge, n))
        ]
    # The ids are those of the rows; entities and claims, which are numbered too, keep a prefix.
    documents = {row["id"]: row["doc_id"] for row in tables.get("sources", ()) if row.get("doc_id")}
    by_number = {part: {row["id"]: row["id"] for row in tables.get(part, ())} for part in ("sources", "relationships")}
    built = graphrag.build_response(answer, [tables], graphrag.IndexIds(by_number, documents), usage=usage)
    has_graph = any(part in tables for part in ("relationships", "entities", "claims"))
    text_chunks = _read_context_text(text)
    has_chunks = text_chunks is not None or any(part in tables for part in ("sources", "reports"))
    return built.model_copy(
        update={
            "chunks": (built.chunks or text_chunks or ()) if has_chunks else None,
            "triples": built.triples if has_graph else None,
            "traversal": _build_traversal(paths) if paths else built.traversal,
        }
    )


def _list_contexts(data: object) -> list[object]:
    """List the contexts of a search: one, or one for each of its parts, which DRIFT search gives by name."""
    if isinstance(data, Mapping) and data and PARTS.keys().isdisjoint(data):
        inner = [part for part in data.values() if isinstance(part, Mapping)]
        if len(inner) == len(data) and all(not PARTS.keys().isdisjoint(part) for part in inner):
            return [*inner]
    return [data]


def _read_answer(response: object) -> str:
    if isinstance(response, str):
        return response
    if isinstance(response, Mapping | list | tuple):
        try:
            return json.dumps(response, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise MethodError(f"the search result is wrong: response: cannot be written as JSON: {error}") from error
    raise MethodError(
        f"the search result is wrong: response: expected a text, a list or a mapping, got {_name_type(response)}"
    )


def _read_usage(fields: Mapping[str, Any]) -> ResponseUsage | None:
    """Read the figures; None if no figure is given."""
    figures = {name: fields[name] for name in USAGE_FIELDS if fields.get(name) is not None}
    for name, number in figures.items():
        is_count = name != "completion_time"
        is_number = isinstance(number, int if is_count else int | float) and not isinstance(number, bool)
        if not is_number or not isfinite(number) or number < 0:
            what = "a whole number" if is_count else "a number of seconds"
            raise MethodError(f"the search result is wrong: {name}: expected {what}, 0 or more, got {number!r}")
    return ResponseUsage(**{USAGE_FIELDS[name]: number for name, number in figures.items()}) if figures else None


def _read_context_text(context: object) -> tuple[Chunk, ...] | None:
    """Read the text of a context as chunks: one, or one for each text of a list or a mapping; None if it is None."""
    if context is None:
        return None
    parts: object = {"context": context} if isinstance(context, str) else context
    if isinstance(parts, list | tuple):
        parts = {f"context-{number}": text for number, text in enumerate(parts, 1)}
    if not isinstance(parts, Mapping) or not all(isinstance(text, str) for text in parts.values()):
        raise MethodError(
            "the search result is wrong: context_text: expected a text, or a list or mapping of texts, "
            f"got {_name_type(context)}"
        )
    return tuple(Chunk(id=str(name), text=text) for name, text in parts.items() if text.strip())


def _add_tables(tables: dict[str, list[Row]], data: object) -> None:
    """Add the known tables of `context_data`, by GraphRAG's names. Rows that lack what is needed are left out."""
    if not (data is None or isinstance(data, str | Mapping | list | tuple) or hasattr(data, "to_dict")):
        raise MethodError(
            "the search result is wrong: context_data: expected tables by name (sources, relationships, paths) or a "
            f"text, got {_name_type(data)}"
        )
    if isinstance(data, Mapping):
        named_tables = [(PARTS[name], table) for name, table in data.items() if name in PARTS]
    else:
        listed = data if isinstance(data, list | tuple) else [data]
        rows = [row for item in listed for row in ([item] if isinstance(item, Mapping) else iterate_table(item))]
        named_tables = [(part, rows) for part in ("sources", "relationships")]
    for part, table in named_tables:
        read = [row for number, item in enumerate(iterate_table(table), 1) if (row := _read_row(part, item, number))]
        if read or isinstance(data, Mapping):
            tables.setdefault(part, []).extend(read)


def iterate_table(table: object) -> Iterator[object]:
    """Iterate over the rows of a DataFrame, of a list, or of an object of columns as `DataFrame.to_dict` returns it."""
    rows = table.to_dict("records") if hasattr(table, "to_dict") else table
    if isinstance(rows, Mapping):
        columns = [[*part.values()] if isinstance(part, Mapping) else part for part in rows.values()]
        if all(isinstance(column, list | tuple) and len(column) == len(columns[0]) for column in columns):
            rows = [dict(zip(rows, cells, strict=True)) for cells in zip(*columns, strict=True)]
    yield from rows if isinstance(rows, list | tuple) else ()


def _read_row(part: str, item: object, number: int) -> Row | None:
    """Read a row of a table as GraphRAG would have it; None if it lacks what is needed."""
    fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {}
    read = _read_fields(part, item, fields)
    made_id = f"{MADE_IDS.get(part, '')}{number}"
    in_context = fields.get("in_context", True)
    return None if read is None else {**read, "id": _read_id(fields.get("id"), made_id), "in_context": in_context}


def _read_fields(part: str, item: object, fields: Mapping[str, Any]) -> Row | None:
    """Read the fields of a row; `fields` is the row if it is a mapping."""
    if part == "relationships":
        edge = _read_edge(item)
        return None if edge is None else {"source": edge[0], "description": edge[1], "target": edge[2]}
    if part in {"sources", "reports"}:
        text = item if isinstance(item, str) else _find_text(fields, TEXT_COLUMNS)
        return {"text": text, "content": text, "doc_id": _find_text(fields, DOCUMENT_COLUMNS)} if text else None
    name = _find_text(fields, NAME_COLUMNS)
    return {"entity": name, "description": _find_text(fields, ("description",))} if name else None


def _read_id(value: object, made_id: str) -> str:
    """Read an id, which tables may hold as a number; an id is made if it is missing."""
    is_missing = value is None or value == "" or value != value  # noqa: PLR0124 - NaN, as pandas has for no value
    return made_id if is_missing else str(value)


def _find_text(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((row[name] for name in names if isinstance(row.get(name), str) and row[name].strip()), None)


def _read_edge(item: object) -> Edge | None:
    """Read an edge given as three texts or as a mapping with two ends."""
    if isinstance(item, Mapping):
        for source, target in END_COLUMNS:
            if isinstance(item.get(source), str) and isinstance(item.get(target), str):
                return item[source], format_edge_label(_find_text(item, LABEL_COLUMNS)), item[target]
        return None
    if isinstance(item, list | tuple) and len(item) == EDGE_SIZE and all(isinstance(part, str) for part in item):
        return item[0], item[1], item[2]
    return None


def _read_paths(context: object) -> list[list[Edge]]:
    """Read the paths of `context_data`, each as its edges. Those in other forms are left out."""
    listed = context.get("paths") if isinstance(context, Mapping) else None
    return [path for item in iterate_table(listed) if (path := _read_path(item))]


def _read_path(item: object) -> list[Edge]:
    """Read a path: an edge, a list of edges, names and labels in turn, or a mapping with such a list."""
    if (edge := _read_edge(item)) is not None:
        return [edge]
    if isinstance(item, Mapping):
        return next((path for name in PATH_FIELDS if (path := _read_path(item.get(name)))), [])
    if not isinstance(item, list | tuple):
        return []
    if all(isinstance(part, str) for part in item):
        return [(item[n], item[n + 1], item[n + 2]) for n in range(0, len(item) - 2, 2)] if len(item) % 2 else []
    edges = [_read_edge(part) for part in item]
    return [edge for edge in edges if edge is not None]


def _build_traversal(paths: Sequence[Sequence[Edge]]) -> Traversal:
    """Build the traversal of paths: it starts at the first node of each, and ends at the last."""
    return Traversal(
        start_nodes=tuple(dict.fromkeys(path[0][0] for path in paths)),
        traversed_edges=tuple(dict.fromkeys(edge for path in paths for edge in path)),
        final_nodes=tuple(dict.fromkeys(path[-1][2] for path in paths)),
    )


def _name_type(value: object) -> str:
    return "nothing (None)" if value is None else type(value).__name__
