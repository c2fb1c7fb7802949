"""A real database server that speaks Bolt and openCypher: ArcadeDB, from the package `arcadedb-embedded` with its Java.

It is not Neo4j, which no package index has. What is tested against it is the real driver, a real network connection,
real transactions and real queries; what only Neo4j has (clusters, its planner, its access modes) is not.
"""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
from pathlib import Path
from typing import Self

from waiting import until

USER = "root"
PASSWORD = "correct-horse-battery"
DATABASE = "greval"
PACKAGE = "arcadedb_embedded"
SERVE = """
import sys
import arcadedb_embedded

folder, password, database, bolt, http = sys.argv[1:]
config = {
    "http_port": int(http),
    "server_plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
    "bolt_port": int(bolt),
}
server = arcadedb_embedded.create_server(root_path=folder, root_password=password, config=config)
server.start()
server.create_database(database)
print("ready", flush=True)
sys.stdin.read()
server.stop()
"""


def is_installed() -> bool:
    return importlib.util.find_spec(PACKAGE) is not None


class BoltDatabase:
    """The server in a process of its own, with an empty database; use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        """Keep the folder that the server writes to; nothing is started yet."""
        self.folder = folder
        self.port = find_port()
        self.address = f"bolt://127.0.0.1:{self.port}"
        self.environment = {"NEO4J_USERNAME": USER, "NEO4J_PASSWORD": PASSWORD, "NEO4J_DATABASE": DATABASE}

    def __enter__(self) -> Self:
        """Start the server and wait until it answers."""
        output = self.folder / "output"
        given = [self.folder / "databases", PASSWORD, DATABASE, self.port, find_port()]
        with output.open("w") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SERVE, *map(str, given)],
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

        def is_ready() -> bool:
            assert self._process.poll() is None, output.read_text()
            return "ready\n" in output.read_text()

        until(is_ready)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def find_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port
