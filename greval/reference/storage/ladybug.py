"""The graph in a file of its own: an embedded property graph with Cypher (ladybug)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from threading import Lock
from typing import Any

from greval.errors import DataError, MissingExtraError
from greval.methods.index_records import Entity, Relation
from greval.reference.storage.graph_store import GraphStore

GIB = 1 << 30
MOST_MEMORY = GIB
"""The most memory that the pages of one graph may take. The default of ladybug is 80 % of the machine's."""
SHARE_OF_MEMORY = 0.25
MOST_ON_DISK = 64 * GIB
"""Addresses reserved for one graph; the default of 8 TiB can be opened only a few times in one process."""
TABLES = (
    "CREATE NODE TABLE Entity(name STRING PRIMARY KEY, type STRING, aliases STRING[], chunks STRING[])",
    "CREATE REL TABLE RELATION(FROM Entity TO Entity, label STRING, chunks STRING[], documents STRING[], weight INT64)",
)
_IMPORT_LOCK = Lock()
INTERNAL = ("_ID", "_LABEL", "_SRC", "_DST")


class LadybugStore(GraphStore):
    """A graph in one file."""

    def __init__(self, path: Path, *, read_only: bool = True) -> None:
        super().__init__(str(path), read_only=read_only)
        self._path = path
        self._database: Any = None
        self._idle: list[Any] = []
        self._lock = Lock()
        self._ladybug = _import_ladybug()
        if read_only:
            self._open()

    def _replace_graph(self, entities: Sequence[Entity], relations: Sequence[Relation]) -> None:
        """Write the graph beside the old one, whose place it takes when it is complete."""
        self.close()
        new = self._path.with_name(f"{self._path.name}.new")
        # A process that was killed while it wrote leaves files behind.
        for leftover in self._path.parent.glob(f"{new.name}*"):
            leftover.unlink()
        database = self._open_database(new, read_only=False)
        connection = self._ladybug.Connection(database)
        try:
            _copy_graph(connection, entities, relations)
        finally:
            connection.close()
            database.close()
        new.replace(self._path)

    def _read_rows(self, cypher: str, parameters: dict[str, object]) -> list[dict[str, object]]:
        with self._connect() as connection:
            try:
                result = connection.execute(cypher, parameters)
                rows: list[dict[str, object]] = result.rows_as_dict().get_all()
            except (RuntimeError, ValueError, TypeError) as error:
                raise DataError(f"{cypher.strip()}: {error}") from error
            result.close()
        return rows

    def _convert_value(self, value: object) -> object:
        if not isinstance(value, dict):
            return value
        if "_NODES" in value:
            return {"nodes": value["_NODES"], "relations": value["_RELS"]}
        return {name: part for name, part in value.items() if name not in INTERNAL}

    def close(self) -> None:
        """Close the file. Closing again changes nothing."""
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()
            if self._database is not None:
                self._database.close()
                self._database = None

    def _open(self) -> None:
        # ladybug opens an empty file as an empty graph.
        if not self._path.is_file() or not self._path.stat().st_size:
            raise DataError(f"{self._path}: there is no graph; build the index again with greval index build")
        self._database = self._open_database(self._path, read_only=True)

    def _open_database(self, path: Path, *, read_only: bool) -> Any:  # noqa: ANN401 - ladybug has no types
        pool = MOST_MEMORY
        # Windows has no `sysconf`.
        if hasattr(os, "sysconf"):
            memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
            pool = int(min(MOST_MEMORY, memory * SHARE_OF_MEMORY))
        try:
            return self._ladybug.Database(
                str(path), buffer_pool_size=pool, max_db_size=MOST_ON_DISK, read_only=read_only
            )
        except RuntimeError as error:
            raise DataError(
                f"{path}: the graph cannot be opened ({error}); if no other process writes it, build the index again "
                "with greval index build"
            ) from error

    @contextmanager
    def _connect(self) -> Iterator[Any]:
        """Yield a connection for the calling thread."""
        with self._lock:
            if self._database is None:
                self._open()
            # A prepared query of one connection is not for two threads.
            connection = self._idle.pop() if self._idle else self._ladybug.Connection(self._database)
        try:
            yield connection
        finally:
            with self._lock:
                self._idle.append(connection)


def _import_ladybug() -> Any:  # noqa: ANN401 - ladybug has no types
    try:
        with _IMPORT_LOCK:
            # ladybug makes its symbols global on Linux. The embedded model (xllamacpp) has C++ functions of the same
            # names, would get those of ladybug, and would end the process.
            _load_with_local_symbols("ladybug", "ladybug._lbug")
            import ladybug
        import pyarrow as pa  # noqa: F401 - ladybug needs it for tables
    except ImportError as error:
        raise MissingExtraError("reference", error.name or "ladybug") from error
    return ladybug


def _load_with_local_symbols(package: str, extension: str) -> None:
    """Load the native module of a package before the package does, so that its symbols are not global."""
    if package in sys.modules:
        return
    package_spec = find_spec(package)
    spec = PathFinder.find_spec(extension, package_spec.submodule_search_locations) if package_spec else None
    if spec is not None and spec.loader is not None:
        sys.modules[extension] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[extension])


def _copy_graph(
    connection: Any,  # noqa: ANN401 - ladybug has no types
    entities: Sequence[Entity],
    relations: Sequence[Relation],
) -> None:
    """Create the tables and fill them."""
    import pyarrow as pa

    text, texts = pa.string(), pa.list_(pa.string())

    def build_table(rows: Sequence[Any], columns: Mapping[str, Any]) -> Any:  # noqa: ANN401 - pyarrow has no types
        return pa.table(
            {name: pa.array([getattr(row, name) for row in rows], type=kind) for name, kind in columns.items()}
        )

    for statement in TABLES:
        connection.execute(statement)
    if entities:
        nodes = build_table(entities, {"name": text, "type": text, "aliases": texts, "chunks": texts})
        connection.execute("COPY Entity FROM $rows", {"rows": nodes})
    if relations:
        edges = build_table(
            relations,
            {"source": text, "target": text, "label": text, "chunks": texts, "documents": texts},
        ).append_column("weight", pa.array([len(relation.chunks) for relation in relations], type=pa.int64()))
        connection.execute("COPY RELATION FROM $rows", {"rows": edges})
