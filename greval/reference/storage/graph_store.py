"""The property graph of an index: what its stores have in common, and their addresses.

A graph is embedded (ladybug), or on a Neo4j server.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from greval._util.wording import format_names, shorten_text
from greval.errors import DataError
from greval.methods.index_records import Entity, Relation

NO_PARAMETERS: Mapping[str, object] = MappingProxyType({})
EMBEDDED = "embedded"
SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


class GraphStore(ABC):
    """A property graph for queries in Cypher. The arrays of the index hold the same, and everything else reads those.

    Nodes are `Entity {name, type, aliases, chunks}`; edges are `RELATION {label, chunks, documents, weight}`. Threads
    may share a store, and any number of processes may read one graph.
    """

    def __init__(self, location: str, *, read_only: bool) -> None:
        self._location = location
        self._read_only = read_only

    def write(self, entities: Sequence[Entity], relations: Sequence[Relation]) -> None:
        """Replace the whole graph."""
        if self._read_only:
            raise DataError(f"{self._location}: the graph is open to be read; open it with read_only=False to write it")
        self._replace_graph(entities, relations)

    def query(self, cypher: str, parameters: Mapping[str, object] = NO_PARAMETERS) -> list[dict[str, object]]:
        """Return the rows of a reading query. Nodes and relations in it are dictionaries of their properties."""
        check_query(cypher, parameters)
        rows = self._read_rows(cypher, dict(parameters))
        return [{name: self._strip_value(value) for name, value in row.items()} for row in rows]

    @abstractmethod
    def close(self) -> None:
        """Close the connection or file. Closing again changes nothing."""

    @abstractmethod
    def _replace_graph(self, entities: Sequence[Entity], relations: Sequence[Relation]) -> None:
        """Replace the whole graph."""

    @abstractmethod
    def _read_rows(self, cypher: str, parameters: dict[str, object]) -> Iterable[Mapping[str, object]]:
        """Return the rows of a query."""

    @abstractmethod
    def _convert_value(self, value: object) -> object:
        """Return nodes, relations and paths as dictionaries, without what is the database's own; others as they are."""

    def _strip_value(self, value: object) -> object:
        plain = self._convert_value(value)
        if isinstance(plain, dict):
            return {name: self._strip_value(part) for name, part in plain.items()}
        return [self._strip_value(part) for part in plain] if isinstance(plain, list) else plain


def open_graph(graph: str, folder: Path, *, read_only: bool = True) -> GraphStore:
    """Open the graph of a build.

    It is `embedded` in the folder, or the address of a Neo4j server such as `bolt://localhost:7687`. Any number of
    processes may read it at the same time.
    """
    if graph == EMBEDDED:
        from greval.reference.storage.ladybug import LadybugStore

        return LadybugStore(folder / "graph.lbug", read_only=read_only)
    if graph.partition("://")[0] in SCHEMES and "://" in graph:
        from greval.reference.storage.neo4j import Neo4jStore

        return Neo4jStore(graph, read_only=read_only)
    raise DataError(
        f"graph: expected {EMBEDDED!r} or an address such as bolt://localhost:7687 or neo4j://localhost:7687, "
        f"got {hide_password(graph)!r}; the schemes are {', '.join(SCHEMES)}"
    )


def check_stored_address(graph: str) -> None:
    """Check that the graph that an index names may be opened.

    An index can come from someone else, so user and password are sent only to a server of this computer, or to the one
    that `NEO4J_URI` names.

    Example:
        >>> check_stored_address("bolt://localhost:7687")
    """
    if graph == EMBEDDED or urlsplit(graph).hostname in LOCAL_HOSTS or graph == os.environ.get("NEO4J_URI"):
        return
    raise DataError(
        f"the graph of this index is on {hide_password(graph)}; if you trust this server with NEO4J_USERNAME and "
        "NEO4J_PASSWORD, set NEO4J_URI to this address"
    )


def hide_password(address: str) -> str:
    """Return an address without user and password.

    Example:
        >>> hide_password("bolt://ada:secret@db.example.org:7687")
        'bolt://db.example.org:7687'
    """
    return re.sub("//[^/]*@", "//", address)


def check_query(cypher: str, parameters: Mapping[str, object]) -> None:
    """Check that a query only reads the graph and that its parameters are given.

    A graph that is opened to be read refuses writing itself. Here, what reads or writes other files, loads extensions
    or changes settings is refused too.
    """
    # Quoted texts, quoted names and comments may hold any word.
    bare = _QUOTED.sub(" ", cypher)
    first = re.match(r"\s*(\w*)", bare)
    if first is None or first[1].upper() not in _BEGINNINGS:
        raise DataError(
            f"{shorten_text(cypher.strip())!r}: queries only read the graph; begin with {format_names(_BEGINNINGS)}"
        )
    refused = _REFUSED.search(bare)
    if refused:
        raise DataError(
            f"{refused[0].upper()}: queries only read the graph; begin with MATCH, and write a name that is also a "
            f"keyword in backquotes: `{refused[0]}`"
        )
    if ";" in bare.rstrip().removesuffix(";"):
        raise DataError("';': expected one query per call, found several")
    missing = [name for name in dict.fromkeys(_PARAMETER.findall(bare)) if name not in parameters]
    if missing:
        raise DataError(f"the query has parameters without a value: {format_names(missing)}; give them")


_QUOTED = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|/\*.*?\*/|//[^\n]*""",
    re.DOTALL,
)
_BEGINNINGS = ("MATCH", "OPTIONAL", "UNWIND", "WITH", "RETURN")
_REFUSED = re.compile(
    r"(?<![\w.:$])(?:ALTER|ATTACH|CALL|COMMENT|COPY|CREATE|DELETE|DETACH|DROP|EXPORT|FOREACH|IMPORT|INSTALL|LOAD|MERGE"
    r"|REMOVE|SET|UNINSTALL|USE)(?!\w)",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"\$(\w+)")
