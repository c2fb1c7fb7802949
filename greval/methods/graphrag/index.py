"""Readers of the tables that Microsoft GraphRAG writes, versions 0 to 3: as an inventory, and as a graph with texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from greval._util.wording import format_count, format_names
from greval.datasets.parquet_tables import Row, read_table
from greval.datasets.replies.graphrag import list_document_ids
from greval.errors import DataError
from greval.methods.index_records import (
    MAX_LISTED,
    Entity,
    IndexedChunk,
    IndexGraph,
    Relation,
    describe_dangling,
    map_documents,
)
from greval.records.case import Edge
from greval.records.inventory import IndexInventory, format_edge_label, strip_quotes

TABLES = ("documents", "text_units", "entities", "relationships")
GRAPH_TABLES = ("text_units", "entities", "relationships")
"""The tables that a graph with its texts needs."""
FILE_NAMES = ("{}.parquet", "create_final_{}.parquet")
"""The file names of tables: since version 2, and before."""
ALL_FILES = frozenset(name.format(table) for name in FILE_NAMES for table in TABLES)
RUN_FOLDERS = ("output/*/artifacts", "*/artifacts")
"""The folders of the tables of each run in early versions, named by a timestamp."""
UPDATE_FOLDERS = "update_output/*"
"""The folders of the tables merged by each incremental update, named by a timestamp."""
SETTINGS_FILES = ("settings.yaml", "settings.yml")
OUTPUT_SECTIONS = ("output", "storage")
"""The section of the settings that names the folder of the tables: since version 1, and before."""
DocumentName = Literal["id", "title"]


def read_graphrag(folder: str | Path, *, document: DocumentName = "id") -> IndexInventory:
    """Read the inventory of a Microsoft GraphRAG index.

    The folder has the Parquet files, or is the root of the project, see `find_tables`. A document is identified by its
    `id`, a hash of the text, or its `title`.

    A node is named by its entity's title, without the quotes that version 0 put around it. Relationships have no
    predicate, so the label of an edge is the relationship's description, as in the triples of the adapter. An edge
    with an end that is not an entity is kept. The notes report such edges and missing tables.
    """
    tables = _require_tables(folder)
    notes = [tables.note] if tables.note else []
    notes += [
        f"{tables.table_path(name).name} is missing: its part of the index is unknown" for name in tables.missing_tables
    ]
    names = _read_document_names(tables, document, notes)
    chunks = _read_chunks(tables, names, notes)
    nodes = _read_nodes(tables, chunks, notes)
    edges = map_documents(_iterate_relationships(tables, notes), chunks)
    notes += describe_dangling(edges, nodes) if nodes else []
    documents = frozenset(names.values()) or frozenset(chunks.values()) - {""}
    return IndexInventory(documents=documents, chunks=chunks, nodes=nodes, edges=edges, notes=tuple(notes))


def read_graphrag_graph(folder: str | Path, *, document: DocumentName = "id") -> IndexGraph:
    """Read the text units of a Microsoft GraphRAG index with their texts, its entities and its relationships.

    Names, labels and documents are those of `read_graphrag`.
    """
    tables = _require_tables(folder)
    if lost := [tables.table_path(name).name for name in tables.missing_tables if name in GRAPH_TABLES]:
        expected = ", ".join(tables.table_path(name).name for name in GRAPH_TABLES)
        raise DataError(
            f"{tables.folder}: expected {expected}, found no {', '.join(lost)}; index again with GraphRAG, or give the "
            "folder of its documents"
        )
    notes = [tables.note] if tables.note else []
    documents = _read_chunks(tables, _read_document_names(tables, document, notes), notes)
    texts = tables.read_rows("text_units", "id", "text", needed=[("id",), ("text",)], notes=notes)
    chunks = [IndexedChunk(id=row["id"], doc_id=documents.get(row["id"], ""), text=row["text"]) for row in texts]
    entities = [
        Entity(name=name, type=kind, chunks=tuple(units)) for name, kind, units in _iterate_entities(tables, notes)
    ]
    relations = [
        Relation(source=source, label=label, target=target, chunks=tuple(units))
        for (source, label, target), units in _iterate_relationships(tables, notes)
    ]
    return IndexGraph(chunks, entities, relations, tuple(notes))


class TableFolder(NamedTuple):
    """The folder with the tables of an index, the pattern of their file names, and why it is this folder."""

    folder: Path
    name: str
    note: str = ""

    def table_path(self, table: str) -> Path:
        """Return the path of a table, whether it exists or not."""
        return self.folder / self.name.format(table)

    @property
    def missing_tables(self) -> list[str]:
        """The names of the tables that do not exist."""
        return [table for table in TABLES if not self.table_path(table).is_file()]

    def read_rows(self, table: str, *columns: str, needed: Sequence[tuple[str, ...]], notes: list[str]) -> list[Row]:
        """Read columns of a table; no rows if it is not there. A column that the table lacks is None in every row.

        Each required column in `needed` is a tuple of alternative names. Rows without a value are left out, and a
        sentence on them is appended to `notes`.
        """
        path = self.table_path(table)
        every = read_table(path, *columns) if path.is_file() else []
        complete = [row for row in every if all(any(row[name] for name in names) for names in needed)]
        required = " and ".join(" or ".join(names) for names in needed)
        if every and not complete:
            raise DataError(f"{path}: no row has {required}, which GraphRAG 0 to 3 write; is it a table of GraphRAG?")
        if dropped := len(every) - len(complete):
            notes.append(f"{path.name}: left out {format_count(dropped, 'row')} without {required}")
        return complete


def _require_tables(folder: str | Path) -> TableFolder:
    """Return the tables of a folder; raise `DataError` if it has none."""
    tables = find_tables(Path(folder))
    if tables is None:
        expected = ", ".join(FILE_NAMES[0].format(name) for name in TABLES)
        raise DataError(
            f"{folder}: no index of Microsoft GraphRAG: none of {expected} is there; name its output folder"
        )
    return tables


def find_tables(folder: Path) -> TableFolder | None:
    """Find the tables of an index: in this folder, or, if it is the root of a project, in one of the folders below.

    The latest incremental update with all tables comes first, then the folder with the fewest missing tables among
    `output`, the folder that the settings name, and the runs of early versions, the latest first.
    """
    if tables := _find_in(folder):
        return tables
    # The names are timestamps, so that the last is the latest.
    updates = [tables for path in sorted(folder.glob(UPDATE_FOLDERS), reverse=True) if (tables := _find_in(path))]
    if merged := next((tables for tables in updates if not tables.missing_tables), None):
        return merged._replace(note=f"read {_format_inner(merged.folder, folder)}, the latest update")
    runs = sorted((run for pattern in RUN_FOLDERS for run in folder.glob(pattern)), reverse=True)
    paths = [folder / "output", *_list_configured(folder), *runs]
    candidates = [tables for path in paths if (tables := _find_in(path))]
    if not candidates:
        return None
    # `min` returns the first of those that lack equally many.
    fullest = min(candidates, key=lambda tables: len(tables.missing_tables))
    if fullest is candidates[0]:
        return fullest
    passed_over = _format_inner(candidates[0].folder, folder)
    lacking = ", ".join(candidates[0].table_path(name).name for name in candidates[0].missing_tables)
    return fullest._replace(
        note=f"read {_format_inner(fullest.folder, folder)}, because {passed_over} has no {lacking}"
    )


def _find_in(folder: Path) -> TableFolder | None:
    """Return the tables that a folder itself holds, or None."""
    candidates = (TableFolder(folder, name) for name in FILE_NAMES)
    return next((tables for tables in candidates if len(tables.missing_tables) < len(TABLES)), None)


def _format_inner(inner: Path, folder: Path) -> str:
    return inner.relative_to(folder).as_posix() if inner.is_relative_to(folder) else str(inner)


def _list_configured(folder: Path) -> list[Path]:
    """List the folder of the tables that the settings of a project name; none if they are unreadable or name none."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    for file in (folder / name for name in SETTINGS_FILES):
        if not file.is_file():
            continue
        try:
            settings = YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, YAMLError):
            continue
        sections = [settings.get(name) for name in OUTPUT_SECTIONS] if isinstance(settings, Mapping) else []
        base_dirs = [section.get("base_dir") for section in sections if isinstance(section, Mapping)]
        return [folder / name for name in base_dirs if isinstance(name, str)]
    return []


def find_table_folders(folder: Path) -> list[str]:
    """List the folders within a folder that hold tables, for a message; at most three."""
    inner = (path for path in sorted(folder.glob("*/*.parquet")) if path.name in ALL_FILES)
    return [*dict.fromkeys(str(path.parent) for path in inner)][:3]


def _read_document_names(tables: TableFolder, document: DocumentName, notes: list[str]) -> dict[str, str]:
    """Return the name of each document by its id; an empty title is replaced by the id."""
    rows = tables.read_rows("documents", "id", "title", needed=[("id",)], notes=notes)
    return {row["id"]: row[document] or row["id"] for row in rows}


def _read_chunks(tables: TableFolder, names: Mapping[str, str], notes: list[str]) -> dict[str, str]:
    """Return the first document of each text unit, or an empty string if the unit has none."""
    rows = tables.read_rows("text_units", "id", "document_id", "document_ids", needed=[("id",)], notes=notes)
    documents = {row["id"]: list_document_ids(row) for row in rows}
    if several := [unit for unit, document_ids in documents.items() if len(document_ids) > 1]:
        notes.append(f"{len(several)} text units come from several documents; the first of them is counted")
    referenced = {name for document_ids in documents.values() for name in document_ids}
    if unknown := sorted(referenced - {*names}) if names else []:
        table = tables.table_path("documents").name
        notes.append(
            f"text units name documents that {table} does not have: {format_names(map(repr, unknown), MAX_LISTED)}"
        )
    return {
        unit: names.get(document_ids[0], document_ids[0]) if document_ids else ""
        for unit, document_ids in documents.items()
    }


def _read_nodes(tables: TableFolder, chunks: Mapping[str, str], notes: list[str]) -> dict[str, tuple[str, ...]]:
    units_by_name = [(name, units) for name, _, units in _iterate_entities(tables, notes)]
    lost = {unit for _, units in units_by_name for unit in units if unit not in chunks}
    if lost and chunks:
        table = tables.table_path("text_units").name
        notes.append(
            f"entities name text units that {table} does not have: {format_names(map(repr, sorted(lost)), MAX_LISTED)}"
        )
    return map_documents(units_by_name, chunks)


def _iterate_entities(tables: TableFolder, notes: list[str]) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Iterate over the entities: name, type, and the ids of their text units."""
    columns = ("title", "name", "type", "text_unit_ids")
    for row in tables.read_rows("entities", *columns, needed=[("title", "name")], notes=notes):
        name, kind = strip_quotes(row["title"] or row["name"]), strip_quotes(row["type"] or "")
        yield name, kind, _split_unit_ids(row["text_unit_ids"])


def _split_unit_ids(value: object) -> Sequence[str]:
    """Return the ids of text units; early versions may have joined them with commas."""
    if isinstance(value, str):
        return [unit.strip() for unit in value.split(",") if unit.strip()]
    return value if isinstance(value, list) else ()


def _iterate_relationships(tables: TableFolder, notes: list[str]) -> Iterator[tuple[Edge, Sequence[str]]]:
    """Iterate over the relationships as edges, with the ids of their text units."""
    columns = ("source", "target", "description", "text_unit_ids")
    for row in tables.read_rows("relationships", *columns, needed=[("source",), ("target",)], notes=notes):
        edge = (strip_quotes(row["source"]), format_edge_label(row["description"]), strip_quotes(row["target"]))
        yield edge, _split_unit_ids(row["text_unit_ids"])
