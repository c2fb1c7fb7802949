"""The context of a Microsoft GraphRAG search, converted to chunks, triples and a traversal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from greval.records.case import Chunk, Response, ResponseUsage, Traversal, Triple
from greval.records.inventory import format_edge_label

if TYPE_CHECKING:
    from greval.datasets.parquet_tables import Row

Search = Callable[[str], Awaitable[str]]
"""A search of a project: from the question to the answer. Its contexts are in the current trace."""
Table = Any
"""A pandas DataFrame, or a list of rows."""
TABLE_OF_PART = {
    "sources": "text_units",
    "entities": "entities",
    "relationships": "relationships",
    "claims": "covariates",
}
"""The table of the index that each part of a context comes from."""
ID_COLUMNS = ("id", "human_readable_id", "title", "document_id", "document_ids", "community", "text_unit_ids")
"""The columns from which ids are read."""


@dataclass(frozen=True)
class IndexIds:
    """The ids of an index by the numbers that contexts hold (`human_readable_id`).

    `by_number` has the ids for each part of a context. `documents` has the document of each text unit, by its id, and
    `reports` that of each community report, by the number of the community, if it has a single document.
    """

    by_number: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)
    reports: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_tables(cls, tables: Mapping[str, Table | None], document: str = "id") -> IndexIds:
        """Read the ids from the tables of an index, by name; `document` is the field that identifies documents."""
        rows = {name: list(iterate_rows(_select_id_columns(table))) for name, table in tables.items()}
        names = {str(row["id"]): str(row.get(document) or row["id"]) for row in rows.get("documents", ())}
        units = {str(row["id"]): list_document_ids(row) for row in rows.get("text_units", ())}
        documents = {
            unit: names.get(document_ids[0], document_ids[0]) for unit, document_ids in units.items() if document_ids
        }
        by_number = {
            part: {str(row["human_readable_id"]): str(row["id"]) for row in rows.get(table, ())}
            for part, table in TABLE_OF_PART.items()
        }
        return cls(by_number, documents, _find_report_documents(rows.get("communities", ()), documents))

    def find_id(self, part: str, row: Row) -> str:
        """Return the id of a row of a context; a row unknown to the index gets its part and number as id."""
        number = str(row.get("id", ""))
        return self.by_number.get(part, {}).get(number, f"{part}:{number}")


def list_document_ids(row: Row) -> tuple[str, ...]:
    """Return the document ids of a text unit: a single id since version 3, a list before."""
    if row.get("document_id"):
        return (str(row["document_id"]),)
    return tuple(map(str, row["document_ids"])) if row.get("document_ids") is not None else ()


def _select_id_columns(table: Table) -> Table:
    """Select the columns that ids are read from, and drop large ones such as the texts."""
    return table[[name for name in ID_COLUMNS if name in table.columns]] if hasattr(table, "columns") else table


def _find_report_documents(communities: Iterable[Row], documents: Mapping[str, str]) -> dict[str, str]:
    report_documents: dict[str, str] = {}
    for row in communities:
        units = row.get("text_unit_ids")
        names = {documents.get(str(unit)) for unit in (() if units is None else units)} - {None}
        if len(names) == 1:
            report_documents[str(row["community"])] = str(names.pop())
    return report_documents


def iterate_rows(table: Table) -> Iterator[Row]:
    """Iterate over the rows of a table that the model was given; a missing table has no rows."""
    rows = table.to_dict("records") if hasattr(table, "to_dict") else table
    return (row for row in rows or () if row.get("in_context", True))


def build_response(
    answer: str | None,
    contexts: Sequence[Mapping[str, Table]],
    ids: IndexIds,
    *,
    ranking: Mapping[str, float] | None = None,
    usage: ResponseUsage | None = None,
) -> Response:
    """Build a response from an answer and its contexts: tables of sources, entities, relationships, reports and claims.

    Text units become chunks in the order of the context, or of `ranking` (their similarity to the question by id).
    Community reports follow them, with ids such as `report:7`. Relationships become triples whose predicate is the
    description. The descriptions of entities (predicate `description`) and the claims follow them. If there are
    entities, the traversal starts at them and follows the relationships. An item of several contexts is included once.
    """
    parts = {
        part: [row for context in contexts for row in iterate_rows(context.get(part))]
        for part in (*TABLE_OF_PART, "reports")
    }
    units = _drop_duplicates(_build_unit_chunks(parts["sources"], ids, ranking or {}))
    reports = _drop_duplicates(_build_report_chunks(parts["reports"], ids))
    triples = _drop_duplicates(
        (
            *_build_relationship_triples(parts, ids),
            *_build_description_triples("entities", "description", parts, ids),
            *_build_description_triples("claims", "claim", parts, ids),
        )
    )
    return Response(
        answer=answer,
        chunks=units + reports,
        triples=triples,
        traversal=_build_traversal(parts) if parts["entities"] else None,
        usage=usage,
    )


Item = TypeVar("Item", Chunk, Triple)


def _drop_duplicates(items: Iterable[Item]) -> tuple[Item, ...]:
    """Drop items with an id that occurred before."""
    by_id: dict[str, Item] = {}
    for item in items:
        by_id.setdefault(item.id, item)
    return tuple(by_id.values())


def _build_unit_chunks(rows: Iterable[Row], ids: IndexIds, ranking: Mapping[str, float]) -> list[Chunk]:
    chunks = [
        Chunk(id=unit, text=str(row["text"]), doc_id=ids.documents.get(unit), score=ranking.get(unit))
        for row in rows
        for unit in [ids.find_id("sources", row)]
    ]
    # Basic search gives its context in the order of the index, not by similarity.
    rank = {unit: n for n, unit in enumerate(ranking)}
    return sorted(chunks, key=lambda chunk: rank.get(chunk.id, len(rank)))


def _build_report_chunks(rows: Iterable[Row], ids: IndexIds) -> Iterator[Chunk]:
    for row in rows:
        text = str(row.get("content") or row.get("summary") or row.get("full_content") or "")
        number = str(row.get("id", ""))
        yield Chunk(id=f"report:{number}", text=text, doc_id=ids.reports.get(number))


def _build_relationship_triples(parts: Mapping[str, Iterable[Row]], ids: IndexIds) -> Iterator[Triple]:
    for row in parts["relationships"]:
        source, target, label = str(row["source"]), str(row["target"]), format_edge_label(row.get("description"))
        yield Triple(id=ids.find_id("relationships", row), subject=source, predicate=label, object=target)


def _build_description_triples(
    part: str, predicate: str, parts: Mapping[str, Iterable[Row]], ids: IndexIds
) -> Iterator[Triple]:
    """Yield a triple with the description of each entity or claim that has one."""
    for row in parts[part]:
        if text := str(row.get("description") or ""):
            yield Triple(id=ids.find_id(part, row), subject=str(row["entity"]), predicate=predicate, object=text)


def _build_traversal(parts: Mapping[str, Iterable[Row]]) -> Traversal:
    """Build the traversal: the matched entities, their relationships, and all nodes that were reached."""
    start = tuple(dict.fromkeys(str(row["entity"]) for row in parts["entities"]))
    edges = tuple(
        dict.fromkeys(
            (str(row["source"]), format_edge_label(row.get("description")), str(row["target"]))
            for row in parts["relationships"]
        )
    )
    ends = tuple(dict.fromkeys((*start, *(end for source, _, target in edges for end in (source, target)))))
    return Traversal(start_nodes=start, traversed_edges=edges, final_nodes=ends)
