"""Where the property graph of an index is: embedded (ladybug), or at the address of a Neo4j server."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from greval.errors import DataError

if TYPE_CHECKING:
    from greval.reference.storage.graph_store import GraphStore

EMBEDDED = "embedded"
SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def open_graph(graph: str, folder: Path, *, read_only: bool = True) -> GraphStore:
    """Open the graph of a build.

    Args:
        graph: `embedded`, or the address of a Neo4j server such as `bolt://localhost:7687`.
        folder: The folder of the build, which the embedded graph is in.
        read_only: Whether the graph is only read. Any number of processes may read it at the same time.
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

    Raises:
        DataError: If it names another server.

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
