"""A file that several processes write at once."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing

from greval._util.files import MAX_UNMOVED_CHANGES, open_shared_database

TABLE = "CREATE TABLE IF NOT EXISTS numbers (writer TEXT, number INTEGER)"
WRITER = """
    import sys
    from pathlib import Path
    from greval._util.files import open_shared_database
    db = open_shared_database(Path(sys.argv[1]), sys.argv[2], 30)
    for number in range(int(sys.argv[4])):
        db.execute("INSERT INTO numbers VALUES (?, ?)", (sys.argv[3], number))
"""


def test_what_is_written_moves_to_the_main_file_by_and_by(tmp_path):
    """It moves after so many changes, never within a transaction, and others go on reading and writing."""
    path = tmp_path / "numbers.sqlite"
    with closing(open_shared_database(path, TABLE, 30)) as db, closing(open_shared_database(path, TABLE, 30)) as other:
        before = path.stat().st_size
        db.execute("BEGIN")
        db.executemany("INSERT INTO numbers VALUES ('a', ?)", ((n,) for n in range(MAX_UNMOVED_CHANGES)))
        db.execute("SELECT 1")
        assert path.stat().st_size == before
        db.execute("COMMIT")
        assert path.stat().st_size > before
        other.execute("INSERT INTO numbers VALUES ('b', 0)")
        assert db.execute("SELECT count(*) FROM numbers").fetchone() == (MAX_UNMOVED_CHANGES + 1,)


def test_processes_that_write_at_once_lose_nothing(tmp_path):
    """Each of them moves what is written to the main file beside the writes of the others."""
    path, count = tmp_path / "numbers.sqlite", 2 * MAX_UNMOVED_CHANGES
    command = [sys.executable, "-c", textwrap.dedent(WRITER), path, TABLE]
    processes = [subprocess.Popen([*command, name, str(count)]) for name in "abc"]
    assert [process.wait() for process in processes] == [0, 0, 0]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = db.execute("SELECT writer, count(DISTINCT number) FROM numbers GROUP BY writer ORDER BY writer")
        assert rows.fetchall() == [("a", count), ("b", count), ("c", count)]
