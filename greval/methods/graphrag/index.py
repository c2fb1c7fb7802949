"""The tables that Microsoft GraphRAG writes, versions 2 and 3, read as an inventory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from greval.case import Edge
from greval.errors import DataError
from greval.inventory import Inventory
from greval.methods.edges import dangling, label_of, listed
from greval.methods.tables import Row, read_table

TABLES = ("documents", "text_units", "entities", "relationships")
NAME = "{}.parquet"
DocumentName = Literal["id", "title"]


def read_graphrag(folder: str | Path, *, document: DocumentName = "id") -> Inventory:
    """Read what an index of Microsoft GraphRAG holds.

    A node is named by its entity's title. Relationships have no predicate, so the label of an edge is
    the relationship's description, as in the triples of the adapter. An edge whose end is no entity is
    kept and told in the notes, and so is a missing table.

    Args:
        folder: The folder with the Parquet files, or the project's root that has them in `output`.
        document: What names a document: its `id`, which is a hash of its text, or its `title`, which is
            most often the name of its file.

    Raises:
        DataError: Where the folder holds none of the tables, or a table cannot be read.
        MissingExtraError: Where pyarrow is not installed.
    """
    place = find_tables(Path(folder))
    if place is None:
        wanted = ", ".join(NAME.format(name) for name in TABLES)
        raise DataError(f"{folder}: no index of Microsoft GraphRAG: none of {wanted} is there; name its output folder")
    notes = [f"{NAME.format(name)} is missing: its part of the index is unknown" for name in _missing(place)]
    names = document_names(place, document)
    chunks = _chunks(place, names, notes)
    nodes = _nodes(_rows(place, "entities", "title", "text_unit_ids"), chunks, notes)
    edges = _edges(_rows(place, "relationships", "source", "target", "description", "text_unit_ids"), chunks)
    notes += dangling(edges, nodes) if nodes else []
    documents = frozenset(names.values()) or frozenset(chunks.values()) - {""}
    return Inventory(documents=documents, chunks=chunks, nodes=nodes, edges=edges, notes=tuple(notes))


def find_tables(folder: Path) -> Path | None:
    """Give the folder that holds the tables: this one or its `output`; None where neither does."""
    return next((place for place in (folder, folder / "output") if len(_missing(place)) < len(TABLES)), None)


def document_names(place: Path, document: DocumentName) -> dict[str, str]:
    """Give the name of each document by its id; where the title is empty the id stands for it."""
    return {row["id"]: row[document] or row["id"] for row in _rows(place, "documents", "id", "title")}


def document_of(row: Row) -> tuple[str, ...]:
    """Give the ids of a text unit's documents: one since version 3, a list before."""
    if row.get("document_id"):
        return (str(row["document_id"]),)
    return tuple(map(str, row["document_ids"])) if row.get("document_ids") is not None else ()


def _missing(place: Path) -> list[str]:
    return [name for name in TABLES if not (place / NAME.format(name)).is_file()]


def _rows(place: Path, name: str, *columns: str) -> list[Row]:
    path = place / NAME.format(name)
    return read_table(path, *columns) if path.is_file() else []


def _chunks(place: Path, names: Mapping[str, str], notes: list[str]) -> dict[str, str]:
    """Give the document of each text unit, the first where it has several; "" where it has none."""
    documents = {r["id"]: document_of(r) for r in _rows(place, "text_units", "id", "document_id", "document_ids")}
    if several := [unit for unit, found in documents.items() if len(found) > 1]:
        notes.append(f"{len(several)} text units come from several documents; the first of them is counted")
    told = {name for found in documents.values() for name in found}
    if unknown := sorted(told - {*names}) if names else []:
        notes.append(f"text units name documents that documents.parquet does not have: {listed(unknown)}")
    return {unit: names.get(found[0], found[0]) if found else "" for unit, found in documents.items()}


def _nodes(rows: Iterable[Row], chunks: Mapping[str, str], notes: list[str]) -> dict[str, tuple[str, ...]]:
    nodes: dict[str, dict[str, None]] = {}
    lost: set[str] = set()
    for row in rows:
        units = row["text_unit_ids"] or ()
        lost.update(unit for unit in units if unit not in chunks)
        nodes.setdefault(row["title"], {}).update(_documents(units, chunks))
    if lost and chunks:
        notes.append(f"entities name text units that text_units.parquet does not have: {listed(sorted(lost))}")
    return {name: tuple(found) for name, found in nodes.items()}


def _edges(rows: Iterable[Row], chunks: Mapping[str, str]) -> dict[Edge, tuple[str, ...]]:
    edges: dict[Edge, dict[str, None]] = {}
    for row in rows:
        edge = (row["source"], label_of(row["description"]), row["target"])
        edges.setdefault(edge, {}).update(_documents(row["text_unit_ids"] or (), chunks))
    return {edge: tuple(found) for edge, found in edges.items()}


def _documents(units: Iterable[str], chunks: Mapping[str, str]) -> dict[str, None]:
    """Give the documents of text units, each once, in their order."""
    return dict.fromkeys(chunks[unit] for unit in units if chunks.get(unit))
