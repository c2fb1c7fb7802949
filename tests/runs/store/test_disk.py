"""The files of the log: who writes it, which tables it has, and what an error of the disk says."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.errors import StoreError
from greval.runs.store.disk import (
    FILE,
    LAYOUT_VERSION,
    LOCK_FILE,
    NO_SPACE,
    LogSync,
    lock_folder,
    prepare_tables,
    translate_errors,
)

# Without waiting for the disk there are more checkpoints.
FLUSHER = """
    import os, sys
    from pathlib import Path
    from threading import Event, Thread
    from greval.runs.store.disk import LogSync
    sync, ended = LogSync(Path(sys.argv[1])), Event()
    os.fsync = lambda file: None
    Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    print("ready", flush=True)
    while not ended.is_set():
        sync.flush()
"""


def connect(folder):
    """Open the database of a folder."""
    return sqlite3.connect(folder / FILE, isolation_level=None)


class TestLockFolder:
    """One process writes to a folder at a time."""

    def test_the_second_writer_is_refused_until_the_first_ends(self, tmp_path):
        """The message names the folder and the way out; the end of the first writer frees the folder."""
        with lock_folder(tmp_path):
            with pytest.raises(StoreError) as refused:
                lock_folder(tmp_path)
            assert str(tmp_path) in str(refused.value)
            assert "another run writes to this folder; wait for it or choose another with out=..." in str(refused.value)
        lock_folder(tmp_path).close()

    def test_missing_folders_are_created(self, tmp_path):
        """A folder in a folder that is not there is created for the run."""
        lock_folder(tmp_path / "a" / "b").close()
        assert (tmp_path / "a" / "b" / LOCK_FILE).is_file()

    def test_a_file_in_the_way(self, tmp_path):
        """A file is no run folder, and the message says to choose another."""
        (tmp_path / "run").touch()
        with pytest.raises(StoreError, match=r"cannot be used as a run folder: .*; choose another with out=\.\.\."):
            lock_folder(tmp_path / "run")


class TestTables:
    """`prepare_tables` creates the tables once and reads no others."""

    def test_tables_are_created_once(self, tmp_path):
        """A new log has the current version, and preparing it again keeps its rows."""
        database = connect(tmp_path)
        prepare_tables(database, tmp_path, write=True)
        database.execute("INSERT INTO facts VALUES ('a', '1')")
        prepare_tables(database, tmp_path, write=True)
        prepare_tables(database, tmp_path, write=False)
        assert database.execute("PRAGMA user_version").fetchone() == (LAYOUT_VERSION,)
        assert database.execute("SELECT * FROM facts").fetchall() == [("a", "1")]

    def test_a_log_without_tables_is_no_run(self, tmp_path):
        """Reading says how to begin the run, and creates nothing."""
        with pytest.raises(StoreError, match=f"run greval evaluate with -o {tmp_path} again"):
            prepare_tables(connect(tmp_path), tmp_path, write=False)

    @given(st.integers(1, 2**31 - 1).filter(lambda version: version != LAYOUT_VERSION))
    def test_tables_of_another_version_are_refused(self, tmp_path_factory, version):
        """Neither a reader nor a writer uses tables that it does not know; both versions are in the message."""
        folder = tmp_path_factory.mktemp("run")
        database = connect(folder)
        database.executescript(f"CREATE TABLE results (row TEXT); PRAGMA user_version={version}")
        for write in (True, False):
            with pytest.raises(StoreError, match=f"layout {version}, this one reads {LAYOUT_VERSION}"):
                prepare_tables(database, folder, write=write)
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("results",)]


def test_a_closed_log_is_synced_no_more(tmp_path):
    """`flush` and `close` after `close` do nothing, so that a flushing thread may be late."""
    database = connect(tmp_path)
    prepare_tables(database, tmp_path, write=True)
    sync = LogSync(tmp_path)
    sync.flush()
    for _ in range(2):
        sync.close()
        sync.flush()


def test_a_log_is_checkpointed_only_after_a_further_commit(tmp_path, monkeypatch):
    """An emptied log that is checkpointed again may meet a commit that reuses it, which damages the file."""
    statements = []

    class Recorder(sqlite3.Connection):
        def execute(self, sql, *parameters):
            statements.append(sql)
            return super().execute(sql, *parameters)

    with closing(connect(tmp_path)) as database:
        prepare_tables(database, tmp_path, write=True)
        monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Recorder))
        sync = LogSync(tmp_path)
        checkpoints = []
        for commits in (0, 1, 0, 2, 0):
            for _ in range(commits):
                database.execute("INSERT INTO kept_results (plan) VALUES (1)")
            sync.flush()
            checkpoints.append(sum("wal_checkpoint" in sql for sql in statements))
        sync.close()
    assert checkpoints == [0, 1, 1, 2, 2]


@pytest.mark.nightly
@pytest.mark.parametrize("time", range(5))
def test_checkpoints_beside_commits_damage_nothing(tmp_path, time):
    """Another process syncs without a pause. If it checkpointed each time, one file in four was damaged."""
    pipe, count = subprocess.PIPE, 20_000
    with closing(connect(tmp_path)) as database:
        prepare_tables(database, tmp_path, write=True)
        # An index takes commits of several pages.
        database.executescript("CREATE TABLE numbers (number INTEGER, text TEXT); CREATE INDEX i ON numbers (number)")
        command = [sys.executable, "-c", textwrap.dedent(FLUSHER), tmp_path]
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as flusher:
            assert flusher.stdout
            assert flusher.stdout.readline() == "ready\n"
            for number in range(count):
                with database:
                    database.execute("BEGIN")
                    database.execute("INSERT INTO numbers VALUES (?, ?)", (number, "x" * 300))
            flusher.communicate("")
    with closing(connect(tmp_path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT count(*) FROM numbers").fetchone() == (count,)


@pytest.mark.parametrize("word", NO_SPACE)
def test_a_full_disk_asks_for_space(tmp_path, word):
    """All messages of a full disk lead to the same advice, and the cause is kept."""
    cause = sqlite3.OperationalError(f"database or disk is {word.upper()}")
    with (
        pytest.raises(StoreError, match="free some space and run the same command again") as told,
        translate_errors(tmp_path),
    ):
        raise cause
    assert told.value.__cause__ is cause


def test_other_errors_keep_their_kind(tmp_path):
    """An error of SQLite names the file; an error of the program passes through."""
    with pytest.raises(StoreError, match=f"{FILE}: malformed; is it a run folder"), translate_errors(tmp_path):
        raise sqlite3.DatabaseError("malformed")
    with pytest.raises(ZeroDivisionError), translate_errors(tmp_path):
        raise ZeroDivisionError
