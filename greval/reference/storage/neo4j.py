"""The graph on a Neo4j server, or on another server that speaks Bolt and Cypher.

User and password are read from `NEO4J_USERNAME` and `NEO4J_PASSWORD`, the name of the database from `NEO4J_DATABASE` if
it is not the user's default one. A graph takes a database of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from greval._util.groups import take_groups
from greval.errors import DataError, MissingExtraError
from greval.methods.index_records import Entity, Relation
from greval.reference.storage.graph_store import GraphStore

BATCH = 5_000
"""The number of rows that are sent with one query."""
SECONDS = 10
"""How long a server may take to accept a connection."""
UNIQUE_NAMES = "CREATE CONSTRAINT entity_name IF NOT EXISTS FOR (e:Entity) REQUIRE e.name IS UNIQUE"
FIND_MARKER = "MATCH (m:GrevalGraph) RETURN count(m) AS count"
COUNT_ENTITIES = "MATCH (e:Entity) RETURN count(e) AS count"
DELETE_ENTITIES = "MATCH (e:Entity) DETACH DELETE e"
ADD_MARKER = "MERGE (m:GrevalGraph {format: 1})"
ADD_ENTITIES = (
    "UNWIND $rows AS row CREATE (:Entity {name: row.name, type: row.type, aliases: row.aliases, chunks: row.chunks})"
)
ADD_EDGES = (
    "UNWIND $rows AS row MATCH (s:Entity {name: row.source}) MATCH (t:Entity {name: row.target}) "
    "CREATE (s)-[:RELATION {label: row.label, chunks: row.chunks, documents: row.documents, weight: row.weight}]->(t)"
)


class Neo4jStore(GraphStore):
    """A graph on a server."""

    def __init__(self, address: str, *, read_only: bool = True) -> None:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
        super().__init__(f"{parts.scheme}://{host}", read_only=read_only)
        if parts.netloc != host:
            raise DataError(
                f"{self._location}: expected an address without user and password; set NEO4J_USERNAME and "
                "NEO4J_PASSWORD"
            )
        self._neo4j = _import_driver()
        with self._translate_errors():
            self._driver = self._neo4j.GraphDatabase.driver(
                address, auth=_read_credentials(), connection_timeout=SECONDS, telemetry_disabled=True
            )
        try:
            with self._translate_errors(), self._driver.session(**_read_database()) as session:
                # The driver connects when it is first used, so that a wrong address or user would show late.
                session.run("RETURN 1").consume()
        except DataError:
            self._driver.close()
            raise

    def _replace_graph(self, entities: Sequence[Entity], relations: Sequence[Relation]) -> None:
        """Replace the whole graph in one transaction; refuse a database with entities that greval did not write."""
        nodes = [
            {"name": row.name, "type": row.type, "aliases": [*row.aliases], "chunks": [*row.chunks]} for row in entities
        ]
        edges = [
            {
                "source": row.source,
                "label": row.label,
                "target": row.target,
                "chunks": [*row.chunks],
                "documents": [*row.documents],
                "weight": len(row.chunks),
            }
            for row in relations
        ]

        def replace_graph(transaction: Any) -> None:  # noqa: ANN401 - the driver is loaded late
            # Only entities of a database that greval has marked as its own may be deleted.
            markers = transaction.run(FIND_MARKER).single()["count"]
            if not markers and transaction.run(COUNT_ENTITIES).single()["count"]:
                raise DataError(
                    f"{self._location}: the database has Entity nodes that greval did not write; give the index a "
                    "database of its own with NEO4J_DATABASE"
                )
            for statement in (DELETE_ENTITIES, ADD_MARKER):
                transaction.run(statement).consume()
            for statement, rows in ((ADD_ENTITIES, nodes), (ADD_EDGES, edges)):
                for batch in take_groups(rows, BATCH):
                    transaction.run(statement, {"rows": batch}).consume()

        with self._translate_errors(), self._driver.session(**_read_database()) as session:
            session.run(UNIQUE_NAMES).consume()
            session.execute_write(replace_graph)

    def _read_rows(self, cypher: str, parameters: dict[str, object]) -> list[dict[str, object]]:
        def read(transaction: Any) -> list[dict[str, object]]:  # noqa: ANN401 - the driver is loaded late
            return [dict(record) for record in transaction.run(cypher, parameters)]

        with self._translate_errors(cypher), self._driver.session(**_read_database()) as session:
            rows: list[dict[str, object]] = session.execute_read(read)
        return rows

    def close(self) -> None:
        """Close the connections. Closing again changes nothing."""
        self._driver.close()

    def _convert_value(self, value: object) -> object:
        graph = self._neo4j.graph
        if isinstance(value, graph.Path):
            return {"nodes": [*value.nodes], "relations": [*value.relationships]}
        return dict(value) if isinstance(value, graph.Node | graph.Relationship) else value

    @contextmanager
    def _translate_errors(self, cypher: str = "") -> Iterator[None]:
        """Turn an error of the driver into one that names the server and the query, and never the password."""
        errors = self._neo4j.exceptions
        try:
            yield
        except errors.AuthError as error:
            raise DataError(
                f"{self._location}: the server refuses the user; set NEO4J_USERNAME and NEO4J_PASSWORD to those of the "
                "server"
            ) from error
        except (errors.ServiceUnavailable, errors.ConfigurationError, ValueError, OSError) as error:
            raise DataError(
                f"{self._location}: the server cannot be reached ({error}); start it, or correct the address"
            ) from error
        except (errors.Neo4jError, errors.DriverError) as error:
            raise DataError(f"{self._location}: {f'{cypher.strip()}: ' if cypher else ''}{error}") from error


def _import_driver() -> Any:  # noqa: ANN401 - the package is optional
    try:
        import neo4j
        import neo4j.exceptions
        import neo4j.graph
    except ImportError as error:
        raise MissingExtraError("neo4j", "neo4j") from error
    return neo4j


def _read_credentials() -> tuple[str, str] | None:
    """Return user and password, None if neither is set: some servers ask for none."""
    user, password = os.environ.get("NEO4J_USERNAME", ""), os.environ.get("NEO4J_PASSWORD", "")
    if bool(user) != bool(password):
        raise DataError("expected both NEO4J_USERNAME and NEO4J_PASSWORD, or neither, got one; set the other one too")
    return (user, password) if user else None


def _read_database() -> dict[str, str]:
    """Return the option that chooses the database, empty for the default one."""
    name = os.environ.get("NEO4J_DATABASE")
    return {"database": name} if name else {}
