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
from greval.reference.storage.graph_store import NO_PARAMETERS, check_graph, check_query

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


class LadybugStore:
    """A graph in one file. Any number of processes and threads may read it at the same time.

    Args:
        path: The file.
        read_only: Whether `write` is refused.
    """

    def __init__(self, path: Path, *, read_only: bool = True) -> None:
        self._path = path
        self._read_only = read_only
        self._database: Any = None
        self._idle: list[Any] = []
        self._lock = Lock()
        self._ladybug = _import_ladybug()
        if read_only:
            self._open()

    def write(self, entities: Sequence[Entity], relations: Sequence[Relation]) -> None:
        """Replace the whole graph: the file is written beside the old one and takes its place when it is complete.

        Raises:
            DataError: If the store was opened to be read, or the graph is invalid.
        """
        if self._read_only:
            raise DataError(f"{self._path}: the graph is open to be read; open it with read_only=False to write it")
        check_graph(entities, relations)
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

    def query(self, cypher: str, parameters: Mapping[str, object] = NO_PARAMETERS) -> list[dict[str, object]]:
        """Return the rows of a reading query. Nodes and relations in it are dictionaries of their properties.

        Raises:
            DataError: If the query is invalid, or would write.
        """
        check_query(cypher, parameters)
        with self._connect() as connection, _translate_errors(cypher):
            result = connection.execute(cypher, dict(parameters))
            rows: list[dict[str, object]] = result.rows_as_dict().get_all()
            result.close()
        return [{name: _strip_value(value) for name, value in row.items()} for row in rows]

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


@contextmanager
def _translate_errors(cypher: str) -> Iterator[None]:
    """Turn an error of ladybug into one that names the query."""
    try:
        yield
    except (RuntimeError, ValueError, TypeError) as error:
        raise DataError(f"{cypher.strip()}: {error}") from error


def _strip_value(value: object) -> object:
    """Return a value without the internal fields of ladybug."""
    if isinstance(value, dict):
        if "_NODES" in value:
            return {"nodes": _strip_value(value["_NODES"]), "relations": _strip_value(value["_RELS"])}
        return {name: _strip_value(part) for name, part in value.items() if name not in INTERNAL}
    if isinstance(value, list):
        return [_strip_value(part) for part in value]
    return value
