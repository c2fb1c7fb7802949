"""Readers of inventories: the index of a known system, or a file of rows, chosen by the content of a path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from greval.apps import import_by_name
from greval.datasets.row_purpose import RowPurpose
from greval.datasets.row_sources import read_rows
from greval.errors import DataError
from greval.methods.graphrag.index import find_table_folders, find_tables, read_graphrag
from greval.methods.index_records import describe_dangling
from greval.methods.lightrag.index import has_lightrag_files, read_lightrag
from greval.methods.loading import read_spec
from greval.methods.reference_index import has_reference_index
from greval.records.case import Edge
from greval.records.inventory import IndexInventory
from greval.records.record import Record

IndexSystem = Literal["reference", "graphrag", "lightrag"]
INVENTORY_FILES = ("inventory.jsonl", "inventory.json")


_PARTS: dict[str, frozenset[str]] = {
    "edge": frozenset({"documents"}),
    "node": frozenset({"documents", "aliases"}),
    "chunk": frozenset({"document"}),
    "document": frozenset(),
}
"""The kinds of rows by the name that each has, with the names that belong to it."""
INVENTORY_ROWS = RowPurpose("row", "a document, a chunk, a node or an edge", (*_PARTS,), has_listed_values=True)


class InventoryRow(Record):
    """A row of a file: an edge as (source, label, target), a node, a chunk or a document, with what belongs to it."""

    document: str = ""
    chunk: str = ""
    node: str = ""
    edge: Edge | None = None
    documents: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


def read_inventory(path: str | Path) -> IndexInventory:
    """Read the inventory of an index: a folder of `greval index`, Microsoft GraphRAG or LightRAG, or a file of rows.

    A file of rows is JSONL, or JSON with a list of rows; each row is a document, a chunk, a node or an edge:
    `{"document": "d1"}`, `{"chunk": "c1", "document": "d1"}`, `{"node": "Ada", "documents": ["d1"],
    "aliases": ["Ada Lovelace"]}`, `{"edge": ["Ada", "wrote", "the notes"], "documents": ["d1"]}`.
    A folder may hold such a file as `inventory.jsonl` or `inventory.json`.

    Args:
        path: The folder or the file. Documents are identified by their ids. With `?document=title` after a folder
            of Microsoft GraphRAG they are identified by their titles, with `?document=path` after a folder of
            LightRAG by the paths of their files.

    Raises:
        DataError: If the path is neither, or cannot be read.
        MissingExtraError: If the index is stored as Parquet and pyarrow is not installed, or if the extra `reference`
            is needed and not installed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "index.jsonl")
        ...     _ = file.write_text('{"edge": ["Ada", "wrote", "Notes"], "documents": ["d1"]}', encoding="utf-8")
        ...     read_inventory(file).edges
        {('Ada', 'wrote', 'Notes'): ('d1',)}
    """
    where, document = read_index_spec(path)
    rows_file = (
        where if where.is_file() else next((where / name for name in INVENTORY_FILES if (where / name).is_file()), None)
    )
    if rows_file:
        return _build_inventory(_read_rows(rows_file), rows_file)
    match find_system(where, document):
        case "reference":
            inventory: IndexInventory = import_by_name("greval.reference.index").read_reference(where)
            return inventory
        case "graphrag":
            return read_graphrag(where, document="title" if document == "title" else "id")
        case "lightrag":
            return read_lightrag(where, document="path" if document == "path" else "id")
    if not where.exists():
        raise DataError(f"{path}: is not there; give the folder of an index, or a JSONL file of rows")
    elsewhere = find_table_folders(where)
    hint = f"; tables of Microsoft GraphRAG are in {', '.join(elsewhere)}: give that folder" if elsewhere else ""
    raise DataError(
        f"{path}: no index that is known: give a folder of `greval index`, Microsoft GraphRAG or LightRAG, or a JSONL "
        f"file of rows{hint}"
    )


def read_index_spec(path: str | Path) -> tuple[Path, str]:
    """Return the path of an index, and the field that identifies its documents: `id`, or the one after `?document=`."""
    if Path(path).exists():
        return Path(path), "id"
    location, options = read_spec(str(path), document=("id", "title", "path"))
    return Path(location), options.get("document", "id")


def find_system(folder: Path, document: str = "id") -> IndexSystem | None:
    """Return the system whose index a folder holds, if that identifies documents by the given field; else None."""
    if has_reference_index(folder) and document == "id":
        return "reference"
    if find_tables(folder) and document != "path":
        return "graphrag"
    return "lightrag" if has_lightrag_files(folder) and document != "title" else None


def _read_rows(path: Path) -> Iterator[tuple[str, InventoryRow]]:
    """Read the rows of a file, each with its kind; raise `DataError` for the first that is none."""
    try:
        for row in read_rows(path, INVENTORY_ROWS):
            location = f"{path}{row.unit}{row.number}"
            for name, why in row.faults.items():
                raise DataError(f"{location}: {f'{name}: ' if name else ''}{why}; mend the row or remove it")
            yield _parse_row(location, {name: value for name, value in row.values.items() if value is not None})
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def _parse_row(location: str, row: Mapping[str, object]) -> tuple[str, InventoryRow]:
    kind = next((kind for kind in _PARTS if kind in row), None)
    if kind is None:
        raise DataError(f"{location}: is not a row of an index; it needs one of {', '.join(_PARTS)}")
    for name in row.keys() - _PARTS[kind] - {kind}:
        raise DataError(f"{location}: {kind} is wrong: {name}: is not a part of it; leave it out")
    try:
        return kind, InventoryRow.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        raise DataError(f"{location}: {kind} is wrong: {at}: {first['msg']}") from error


def _build_inventory(rows: Iterator[tuple[str, InventoryRow]], path: Path) -> IndexInventory:
    documents: set[str] = set()
    chunks: dict[str, str] = {}
    nodes: dict[str, tuple[str, ...]] = {}
    edges: dict[Edge, tuple[str, ...]] = {}
    aliases: dict[str, tuple[str, ...]] = {}
    for kind, row in rows:
        if row.edge:
            edges[row.edge] = row.documents
        elif kind == "node":
            nodes[row.node] = row.documents
            aliases |= {row.node: row.aliases} if row.aliases else {}
        elif kind == "chunk":
            chunks[row.chunk] = row.document
        else:
            documents.add(row.document)
    if not (documents or chunks or nodes or edges):
        raise DataError(f"{path}: holds no rows; a row is a document, a chunk, a node or an edge")
    notes = tuple(describe_dangling(edges, nodes)) if nodes else ()
    names = documents | {*chunks.values()} - {""}
    return IndexInventory(frozenset(names), chunks, nodes, edges, aliases, notes)
